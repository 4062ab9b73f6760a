"""Studies: what is done with many predictions (compare with published numbers, explain, sweep)."""
