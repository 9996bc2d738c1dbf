"""Step graphs: ops with their float64 meanings, shape rules, builder, verification, reference interpreter."""
