"""Formulas of queueing theory as functions of arrays: single stations, closed and open networks, bounds, polling."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.solve.queueing import *  # noqa: F403
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
