"""Searches the highest rates that a machine forwards without loss (NDR) and within given loss ratios (PDR).

Trials are simulations, each with its own seed, at loads between X / 1000 and X / (1 - loss), where X is the machine's
highest rate: above this load more is lost in the long run, whatever the buffers (RFC 2544 section 26.1). mlrsearch.py
has the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from npexplore.designs import DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.study.loading.mlrsearch import Found, Goal, Search
from npexplore.study.loading.offered import Offered
from npexplore.study.loading.points import LoadPoint, Saturation, of_rows
from npexplore.study.sweeping.sweep import opened, sweep
from npexplore.units import readable

FLOOR = 1e-3  # lowest load of the search as a share of the machine's highest rate
LOSSES = (0.0, 0.005)
Progress = Callable[[float, int, int], None]  # load, packets of its next trials, trials so far


@dataclass(frozen=True, repr=False)
class LoadSearch(Result):
    """The result of a search: an answer for each goal, the measured points, and the machine's saturation.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.study import search_lossless
        >>> found = search_lossless("smartnic", 64, losses=[0.0])
        >>> found.design
        'smartnic'
    """

    design: str
    workload: str
    arrivals: str
    found: tuple[Found, ...]
    points: tuple[LoadPoint, ...]
    saturation: Saturation

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each loss ratio: the highest rate within it, and the rate's interval."""
        return [{"loss": result.goal.loss_ratio, **_rates(result)} for result in self.found]

    def heading(self) -> str:
        """Return a title with the machine and its saturation."""
        full = readable(self.saturation.rate_pps, "packets/s")
        return f"{self.design}, {self.workload}, {self.arrivals}: saturates at {full} ({self.saturation.bottleneck})"

    def to_dict(self) -> dict[str, Any]:
        """Return the search in plain types; the names contain the units."""
        rates = [{"loss": result.goal.loss_ratio, **_rates(result)} for result in self.found]
        document = {
            "design": self.design, "workload": self.workload, "arrivals": self.arrivals,
            "points": [point.to_dict() for point in self.points],
            "saturation": {
                "simulation": {"rate_mpps": self.saturation.rate_pps / 1e6, "bottleneck": self.saturation.bottleneck}
            },
            "ndr": next(({k: v for k, v in row.items() if k != "loss"} for row in rates if not row["loss"]), None),
            "pdr": [row for row in rates if row["loss"]] or None,
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}


def _rates(result: Found) -> dict[str, Any]:
    rates = {
        "rate_mpps": result.load, "low": result.low, "high": result.high, "loses_at_mpps": result.loses_at,
        "conditional_mpps": result.conditional,
    }  # fmt: skip
    return {name: None if value is None else value / 1e6 for name, value in rates.items()}


def search_lossless(
    design: DesignLike, workload: WorkloadLike | None = None, *, losses: Sequence[float] = LOSSES,
    arrivals: str = "periodic", goal: Goal | None = None, seed: int = 1, store: str | Path | None = None,
    resume: bool = True, progress: Progress | None = None,
) -> LoadSearch:  # fmt: skip
    """Return the highest rates at which a design loses at most each of `losses`.

    design: the machine. workload: the packets (None: the design's own). losses: accepted loss ratios. arrivals: the
    arrival process, such as "periodic" or "poisson". goal: width of the interval and lengths of trials (its loss ratio
    is not used). seed: seed of the first trial at each load. store: a Parquet file of the trials, from which a stopped
    search is resumed. resume: whether to use the rows in the store. progress: called before trials with (load, their
    packets, trials so far). Raises InputError for a loss ratio that no load achieves.
    """
    design = design_of(design)
    offered, base = Offered.of(design, design.packets(workload), arrivals), goal or Goal()
    goals = [Goal(loss, base.exceed_ratio, base.width, base.final, base.total, base.initial) for loss in losses]
    if not goals:
        raise InputError("a search needs at least one loss")
    measurements: list[pd.DataFrame] = []
    with opened(store, resume) as stored:

        def measured(rate_pps: float | None, packets: int, numbers: range) -> pd.DataFrame:
            points = [offered.point(rate_pps, "simulation", seed + number) for number in numbers]
            rows = sweep(points, store=stored, packets=packets)
            measurements.append(rows)
            for reason in rows["refused"].dropna():
                raise NpexploreError(f"{design.name}: {reason}")
            return rows

        row = measured(None, base.final, range(1)).iloc[0]
        full = Saturation(float(row["rate_mpps"]) * 1e6, str(row["bottleneck"]))
        highest_pps = offered.most(full)

        def trial(load: float, length: int, numbers: range) -> list[float]:
            if progress is not None:
                progress(load, length * len(numbers), sum(map(len, measurements)))
            return [float(loss) for loss in measured(load, length, numbers)["loss"]]

        search = Search(trial, FLOOR * highest_pps, highest_pps)
        results = []
        for loss_goal in sorted(goals, key=lambda goal: goal.loss_ratio):
            search.high = highest_pps / (1 - loss_goal.loss_ratio)
            results.append(search.run(loss_goal))
    rows = pd.concat(measurements[1:])
    longest = rows[rows["packets"] == rows.groupby("offered_mpps")["packets"].transform("max")]
    points = tuple(of_rows(part) for _, part in longest.groupby("offered_mpps", sort=True))
    return LoadSearch(design.name, offered.name, arrivals, tuple(results), points, full)
