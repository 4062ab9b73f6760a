"""Finds a machine's ceilings and latency as formulas of its knobs and of the packet."""
