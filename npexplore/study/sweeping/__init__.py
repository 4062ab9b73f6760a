"""Makes sweep points, answers them in parallel on any executor, and stores the rows so that sweeps can be resumed."""
