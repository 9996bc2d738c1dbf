"""Reports: what a checkpoint holds, what a step is compiled to, how fast it runs; the command line words them."""
