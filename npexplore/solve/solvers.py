"""The names of the solvers that a sweep may ask."""

from typing import Literal, get_args

Solver = Literal["bounds", "queueing", "simulation", "rtl"]  # rtl: of designs with hardware, where it is asked for
ASKABLE: tuple[str, ...] = get_args(Solver)
