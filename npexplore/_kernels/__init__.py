"""Compiled kernels: arrays in, arrays out; each file is self-contained (see npexplore/jit.py)."""
