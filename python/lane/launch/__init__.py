"""Launch kinds: the records that link produces and devices run."""
