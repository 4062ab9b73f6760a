"""Arrival processes that only networks have: renewal processes and Markovian arrival processes.

Markovian: D0 the rates between phases without an arrival, D1 those with one; p (D0 + D1) = 0, rate p D1 1.
"""

import math
from typing import Annotated

import msgspec
import numpy as np

from npexplore.errors import InputError, positive
from npexplore.networks.times import AnyTime, Row, Trace, check_rates, phases
from npexplore.rows.distributions import Arrivals, Batch, Deterministic, Exponential, OnOff, Periodic, Poisson
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats


class Renewal(Arrivals, frozen=True, kw_only=True, tag="renewal"):
    """Single arrivals with independent times between them, of any distribution; `rate` defaults to 1 / mean."""

    interval: AnyTime
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not self.rate:
            msgspec.structs.force_setattr(self, "rate", _rate(self.interval))

    def check(self, place: str) -> None:
        """Raise InputError for an interval out of range, and for a rate that is not 1 / mean."""
        self.interval.check(f"{place}.interval")
        mean = self.interval.moments()[0]
        if not math.isclose(self.rate * mean, 1, rel_tol=1e-6):
            raise InputError(f"{place}: rate must be 1 / mean interval ({1 / mean:.6g}) or left out, got {self.rate}")

    def dispersion(self) -> float:
        """Return the squared coefficient of variation of the intervals."""
        return self.interval.moments()[1]


class Markovian(Arrivals, frozen=True, kw_only=True, tag="markovian"):
    """Single arrivals by a Markov chain: rates between phases, `quiet` without an arrival and `arrive` with one.

    The diagonal of `quiet` is minus the sum of all other rates of its row. `rate` follows from these, and may be
    omitted.
    """

    quiet: Annotated[list[Row], msgspec.Meta(min_length=1, max_length=200)]
    arrive: list[Row]
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not self.rate and len({len(row) for row in (*self.quiet, *self.arrive)}) == 1 == len(
            {len(self.quiet), len(self.arrive), len(self.quiet[0])}
        ):
            msgspec.structs.force_setattr(self, "rate", self._rate())

    def _rate(self) -> float:
        try:
            return float(self.steady() @ np.array(self.arrive).sum(axis=1))
        except np.linalg.LinAlgError:
            return 0.0

    def steady(self) -> Floats:
        """Return the stationary probabilities of the phases."""
        return long_run(np.array(self.quiet) + np.array(self.arrive))

    def check(self, place: str) -> None:
        """Raise InputError for tables of different sizes, wrong rates or row sums, and for a chain that falls apart."""
        n = len(self.quiet)
        check_rates(f"{place}: quiet", self.quiet, n)
        if len(self.arrive) != n or any(len(row) != n for row in self.arrive):
            raise InputError(f"{place}: arrive must be a table of {n} x {n} rates as quiet is")
        for row in self.arrive:
            for rate in row:
                positive(f"{place}: each of arrive", rate, zero=True)
        for i, (a, b) in enumerate(zip(self.quiet, self.arrive, strict=True)):
            if abs(math.fsum(a) + math.fsum(b)) > 1e-6 * abs(a[i]):
                raise InputError(
                    f"{place}: row {i} of quiet and arrive must add up to 0, got {math.fsum(a) + math.fsum(b):.6g}"
                )
        exact = self._rate()
        if not exact > 0:
            raise InputError(f"{place}: arrive must let somebody come, and quiet be one chain, got a rate of {exact:g}")
        if not math.isclose(self.rate, exact, rel_tol=1e-6):
            raise InputError(
                f"{place}: rate must be what quiet and arrive give ({exact:.6g}) or left out, got {self.rate}"
            )

    def dispersion(self) -> float:
        """Return variance / mean of the number of arrivals in a long time.

        1 + 2 (p D1 (1 p - D)^-1 D1 1 / rate - rate), D = D0 + D1 (Fischer and Meier-Hellstern, Performance
        Evaluation 18, 1993).
        """
        p, ones = self.steady(), np.ones(len(self.quiet))
        arrive = np.array(self.arrive)
        generator = np.array(self.quiet) + arrive
        deviation = np.linalg.solve(np.outer(ones, p) - generator, arrive @ ones)
        return float(1 + 2 * (p @ arrive @ deviation / self.rate - self.rate))


AnyArrivals = Poisson | Periodic | Batch | OnOff | Renewal | Markovian


def arrival_phases(arrivals: AnyArrivals) -> tuple[Floats, Floats] | None:
    """Return (quiet, arrive) of an arrival process of single customers or batches; None if it has no phases."""
    if isinstance(arrivals, Markovian):
        return np.array(arrivals.quiet), np.array(arrivals.arrive)
    batches = Exponential(mean=arrivals.size / arrivals.rate) if isinstance(arrivals, Batch) else None
    interval = batches or interval_of(arrivals)
    times = None if interval is None else phases(interval)
    return None if times is None else (times.rates, np.outer(-times.rates.sum(axis=1), times.first))


def interval_of(arrivals: AnyArrivals) -> AnyTime | None:
    """Return the distribution of the times between arrivals of a renewal process, else None."""
    match arrivals:
        case Poisson():
            return Exponential(mean=1 / arrivals.rate)
        case Periodic():
            return Deterministic(mean=1 / arrivals.rate)
        case OnOff():
            return arrivals.interval()
        case Renewal() if not isinstance(arrivals.interval, Trace):
            return arrivals.interval
        case _:
            return None


def _rate(interval: AnyTime) -> float:
    try:
        mean = interval.moments()[0]
    except (ZeroDivisionError, IndexError, ValueError, np.linalg.LinAlgError):
        return 0.0
    return 1 / mean if mean > 0 else 0.0
