"""What a capture would do to each listed machine: throughput by all three solvers, and what binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from npexplore.designs import DESIGNS
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.workload import Workload
from npexplore.study.explain import SOLVERS, explain

if TYPE_CHECKING:
    import pandas as pd


def machines_for_workloads() -> list[str]:
    """Return the listed designs that take a workload instead of bringing their own."""
    return [name for name, make in DESIGNS.items() if make().own is None]


def on_machines(load: Workload, *, seed: int = 1, progress: Callable[[str], None] | None = None) -> pd.DataFrame:
    """Return one row a machine that takes a workload, each with its parameters as they come.

    Columns: machine, bounds_bps, queueing_bps, simulated_bps (None where refused), low_bps and high_bps (95 % interval
    of the simulation), counted, rate_pps, bottleneck, latency_s, refused (why, or None). Raises InputError if no
    machine takes a workload; `progress` is told each machine's name before its turn.
    """
    import pandas as pd

    names = machines_for_workloads()
    if not names:
        raise InputError("no listed machine takes a workload")
    rows = []
    for name in names:
        if progress:
            progress(name)
        rows.append(_row(name, load, seed))
    return pd.DataFrame(rows)


def _row(name: str, load: Workload, seed: int) -> dict[str, Any]:
    empty = dict.fromkeys(("low_bps", "high_bps", "counted", "rate_pps", "bottleneck", "latency_s", "refused"))
    row: dict[str, Any] = {"machine": name, **{f"{solver}_bps": None for solver in SOLVERS}, **empty}
    try:
        found = explain(DESIGNS[name](), load, seed=seed, elasticities=False)
    except NpexploreError as error:
        return {**row, "refused": str(error)}
    for solver, prediction in found.predictions.items():
        row[f"{solver}_bps"] = prediction.throughput_bps
    best = found.best
    row["low_bps"], row["high_bps"] = best.ci95.get("throughput_bps", (None, None))
    row |= {"counted": best.counted, "rate_pps": best.rate_pps, "bottleneck": best.bottleneck}
    return {**row, "latency_s": best.latency_s.mean, "refused": "; ".join(found.refused.values()) or None}
