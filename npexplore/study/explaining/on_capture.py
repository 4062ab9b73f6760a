"""What a capture would do to each listed machine: throughput by all three solvers, and what binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npexplore.designs import DESIGNS
from npexplore.errors import InputError
from npexplore.machine.workload import Workload
from npexplore.study.explaining.compare import compare

if TYPE_CHECKING:
    import pandas as pd


def machines_for_workloads() -> list[str]:
    """Return the listed designs that take a workload instead of bringing their own."""
    return [name for name, make in DESIGNS.items() if make().own is None]


def on_machines(load: Workload, *, seed: int = 1, progress: Callable[[str], None] | None = None) -> pd.DataFrame:
    """Return one row a machine that takes a workload, each with its parameters as they come (columns: compare).

    Raises InputError if no machine takes a workload; `progress` is told each machine's name before its turn.
    """
    names = machines_for_workloads()
    if not names:
        raise InputError("no listed machine takes a workload")
    return compare(load, names, seed=seed, progress=progress)
