"""The names of the solvers that a sweep may use."""

from typing import Literal, get_args

# rtl: only for designs with hardware
Solver = Literal["bounds", "queueing", "simulation", "estimate", "rtl"]
ASKABLE: tuple[str, ...] = get_args(Solver)
