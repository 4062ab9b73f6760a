"""Compares the DRAM controller with recorded experiments of two simulators (data/dram/simulators.csv).

    saturated: accesses per clock after the first fifth;  Poisson: mean latency of reads, from arrival to last data

Both simulators used the devices of models/parts and the same accesses. Each schedules differently: a policy here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
import numpy as np

from npexplore.machine.resources.dram_device import DramDevice, dram_device
from npexplore.machine.resources.dram_policy import DramPolicy
from npexplore.machine.resources.dram_run import run_accesses
from npexplore.machine.resources.dram_streams import Pattern, dram_accesses
from npexplore.paths import share, table_rows

REFRESH = {"all": "all-bank", "per": "bank", "none": "none"}
POLICIES = {
    # one queue, 32 reads and 32 writes; the row command frees an entry; a refresh that is due blocks all accesses
    "ramulator2": DramPolicy(cap=0, entries_until="row", refresh_holds="all"),
    # 32 reads and 32 writes move on to queues of eight per bank; up to four younger row hits go first
    "dramsim3": DramPolicy(bank_queue=8, high=32, low=8),
}
AIMS = {  # largest relative error by experiment
    "saturated reads": 0.03, "row hits": 0.05, "bank groups": 0.05, "reads and writes": 0.07, "latency": 0.07,
    "latency with writes": 0.07,
}  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One recorded experiment; `rate` in accesses per clock, `latency` in clocks (nan: saturated)."""

    simulator: str
    device: str
    experiment: str
    pattern: Pattern
    page: str
    refresh: str
    writes: float
    among: tuple[int, int] | None
    interval: float
    units: int
    n: int
    seed: int
    load: float
    rate: float
    latency: float

    @property
    def recorded(self) -> float:
        """The recorded result: the rate or, with Poisson arrivals, the latency."""
        return self.latency if self.load else self.rate

    def policy(self) -> DramPolicy:
        """Return the policy that schedules like this simulator."""
        policy = POLICIES[self.simulator]
        return DramPolicy(**{**vars(policy), "page": self.page, "refresh": REFRESH[self.refresh]})

    def made_of(self) -> DramDevice:
        """Return the device, reduced to the pseudo-channels and whole clocks that the simulator models."""
        device = dram_device(self.device)
        if device.pseudo_channels == self.units:
            return device
        return msgspec.structs.replace(device, pseudo_channels=self.units, row_clocks=1, close_clocks=1)

    def here(self) -> float:
        """Return npexplore's result for this experiment: accesses per clock, or the mean latency in clocks."""
        device = self.made_of()
        drawn = dram_accesses(
            device, self.pattern, self.n, self.seed, writes=self.writes, interval=self.interval, among=self.among
        )
        clock_s = device.t_ck * 1e-9
        run = run_accesses(
            device, self.policy(), bank=drawn.bank, row=drawn.row, write=drawn.write, time_s=drawn.clock * clock_s
        )
        first = self.n // 5
        if self.load:
            return float(np.mean(run.waited_s[first:][~drawn.write[first:]])) / clock_s
        return (self.n - 1 - first) / float(run.accepted_s[-1] - run.accepted_s[first]) * clock_s

    def error(self) -> float:
        """Return the relative error of npexplore's result."""
        return self.here() / self.recorded - 1


def experiments() -> list[Experiment]:
    """Return the recorded experiments, in order of the file."""
    return [
        Experiment(
            row["simulator"], row["device"], row["experiment"], cast(Pattern, row["pattern"]), row["page"],
            row["refresh"], float(row["writes"]),
            (int(row["groups"]), int(row["banks_each"])) if row["groups"] else None,
            float(row["interval"]), int(row["units"]), int(row["n"]), int(row["seed"]), float(row["load"]),
            float(row["rate"]), float(row["latency"] or "nan"),
        ) for row in table_rows(share("data", "dram", "simulators.csv"))
    ]  # fmt: skip


def table(results: Sequence[tuple[Experiment, float]]) -> list[dict[str, object]]:
    """Return the worst and the mean absolute error of each kind of experiment, by simulator and device."""
    kinds: dict[tuple[str, str, str], list[float]] = {}
    for experiment, error in results:
        kinds.setdefault((experiment.simulator, experiment.device, experiment.experiment), []).append(error)
    return [
        {
            "simulator": key[0], "device": key[1], "experiment": key[2], "rows": len(errors), "aim": AIMS[key[2]],
            "mean": float(np.mean(np.abs(errors))), "worst": max(errors, key=abs),
        }
        for key, errors in kinds.items()
    ]  # fmt: skip
