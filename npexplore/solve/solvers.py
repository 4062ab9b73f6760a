"""The names of the solvers that a sweep may ask."""

from typing import Literal, get_args

# rtl: of designs with hardware, where it is asked for
Solver = Literal["bounds", "queueing", "simulation", "estimate", "rtl"]
ASKABLE: tuple[str, ...] = get_args(Solver)
