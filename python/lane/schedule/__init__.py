"""Schedule: how launches run, and the buffers they touch."""
