"""Estimates: every number with a 95 % interval, by exact theory or by controlled replications."""
