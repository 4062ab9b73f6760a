"""Ceilings and latency of a machine as formulas of its knobs and of the packet."""
