"""Queueing of a machine whose servers stand in a line, and whose threads fall into step (closed_line.py).

Where threads are always busy they carry what `carried` says. Packets that arrive by themselves meet as many customers
at random as carry so much (queueing_model.py).
"""

from __future__ import annotations

from npexplore.machine.parameters import Parameters
from npexplore.machine.under_load import UnderLoad
from npexplore.solve.prediction import Prediction
from npexplore.solve.queueing_model import queueing


def in_step(_: Parameters, found: UnderLoad) -> Prediction:
    """Return the queueing answer of a machine in a line; raises RefusedError as `queueing` does."""
    return queueing(found.machine, found.workload, found, line=True)
