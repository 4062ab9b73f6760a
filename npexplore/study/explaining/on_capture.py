"""How each listed machine would forward a capture: throughput by all three solvers, and the bottleneck."""

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
    """Return the listed designs that accept any workload, instead of bringing their own."""
    return [name for name, make in DESIGNS.items() if make().own is None]


def on_machines(load: Workload, *, seed: int = 1, progress: Callable[[str], None] | None = None) -> pd.DataFrame:
    """Return a row for each machine that accepts any workload, with its default parameters (columns as in `compare`).

    Raises InputError if no machine takes a workload; `progress` is told each machine's name before its turn.
    """
    names = machines_for_workloads()
    if not names:
        raise InputError("no listed machine takes a workload")
    return compare(load, names, seed=seed, progress=progress)
