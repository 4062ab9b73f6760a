"""Modes: runs of one machine with permanently different rates, caused by the order in which threads first met.

    runs differ if   variance of run means / (variance within runs / batches)  >  F(0.999)   and   deviation > 0.3 %

With constant work, threads keep the order in which they first met at a lock. The interval of a single run does not
include other modes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

SURE = 0.999
FIRST_RUNS, FIRST_BATCHES = 8, 16  # of an estimate
FIRST_QUANTILE = 3.7669752583537486  # of F at SURE for these, since importing scipy takes longer than the runs
DEVIATION = 0.003  # smallest relative standard deviation of run means that counts as modes
WITHIN = 0.01  # largest relative distance of rates of one mode, or ...
WITHIN_DEVIATIONS = 6.0  # ... distance in standard errors of a run


class Rated(Protocol):
    """A run: its seed, and its packets per second, over the whole window and in each batch."""

    @property
    def seed(self) -> int: ...
    @property
    def rate_pps(self) -> float: ...
    @property
    def rates(self) -> npt.NDArray[np.float64]: ...


@dataclass(frozen=True)
class Modes:
    """Rates (packets per second, ascending) of the modes, and the seeds of the runs in each.

    orders: the order of threads that causes each mode, in words. jitter: the effect of jitter of service times on the
    modes, in words.
    """

    rates_pps: tuple[float, ...]
    seeds: tuple[tuple[int, ...], ...]
    orders: tuple[str, ...] = ()
    jitter: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[int, ...]:
        """The number of runs in each mode."""
        return tuple(len(seeds) for seeds in self.seeds)

    @property
    def commonest(self) -> tuple[int, ...]:
        """The seeds of the mode with the most runs."""
        return max(self.seeds, key=len)

    def __str__(self) -> str:
        labels = [f" ({order})" for order in self.orders] or [""] * len(self.seeds)
        rates = ", ".join(
            f"{rate / 1e6:.4g} Mpps in {len(seeds)} of {sum(self.runs)} runs{order}"
            for rate, seeds, order in zip(self.rates_pps, self.seeds, labels, strict=True)
        )
        return "; ".join([rates, *self.jitter])


def modes_of(runs: Sequence[Rated]) -> Modes | None:
    """Return the modes of saturated runs; None if they do not differ significantly."""
    rates = np.array([run.rate_pps for run in runs])
    batches = min(len(run.rates) for run in runs)
    if len(runs) < 3 or batches < 3:
        return None
    error = float(np.mean([np.var(run.rates, ddof=1) / len(run.rates) for run in runs]))
    between = float(np.var(rates, ddof=1))
    if between <= (DEVIATION * float(rates.mean())) ** 2 or not _differ(between, error, len(runs), batches):
        return None
    order = np.argsort(rates, kind="stable")
    ordered = rates[order]
    gap = np.maximum(WITHIN * ordered[:-1], WITHIN_DEVIATIONS * error**0.5)
    parts = np.split(order, np.flatnonzero(np.diff(ordered) > gap) + 1)
    if len(parts) == 1:
        return None
    return Modes(
        tuple(float(rates[part].mean()) for part in parts),
        tuple(tuple(sorted(runs[int(k)].seed for k in part)) for part in parts),
    )


def _differ(between: float, error: float, runs: int, batches: int) -> bool:
    """Return whether the variance between runs is significantly larger than the variance within them (F test)."""
    if not error > 0:
        return True
    if between <= error:  # the quantile is above 1
        return False
    return bool(between / error > quantile(runs, batches))


def quantile(runs: int, batches: int) -> float:
    """Return the quantile of F at SURE for the variances between and within `runs` runs of `batches` batches."""
    if (runs, batches) == (FIRST_RUNS, FIRST_BATCHES):
        return FIRST_QUANTILE
    from scipy.special import fdtri

    return float(fdtri(runs - 1, runs * (batches - 1), SURE))
