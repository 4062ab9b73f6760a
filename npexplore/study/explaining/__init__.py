"""Explains one machine with one workload: bottleneck, helpful changes, and comparison with other machines."""
