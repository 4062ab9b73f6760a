"""Random times that networks have beyond those of machines, and the phases of all of them.

Phase-type times (Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, chapter 2): exponential phases with a
way among them, T the rates between phases, a the chances of the first. Moments: E X^n = (-1)^n n! a T^-n 1.
"""

import math
from typing import Annotated

import msgspec
import numpy as np

from npexplore.errors import InputError, positive
from npexplore.rows.distributions import Distribution, Time
from npexplore.rows.phases import Phases, erlang, in_a_row, plain_phases

DUST = 1e-9
Row = list[float]


class Coxian(Distribution, frozen=True, tag="coxian"):
    """Exponential phases one after the other; after each it goes on to the next with a probability, else it is over."""

    means: Annotated[list[float], msgspec.Meta(min_length=1, max_length=200)]
    go_on: list[float]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the phases."""
        return phases_of(self).moments()

    def longest(self) -> float:
        """Return the largest mean of a phase."""
        return max(self.means)

    def check(self, place: str) -> None:
        """Refuse means that are not above 0, chances outside 0..1, and other than one chance less than means."""
        for mean in self.means:
            positive(f"{place}: each of means", mean)
        if len(self.go_on) != len(self.means) - 1:
            raise InputError(
                f"{place}: go_on must be one less than means ({len(self.means) - 1}), got {len(self.go_on)}"
            )
        for chance in self.go_on:
            if not 0 <= chance <= 1:
                raise InputError(f"{place}: each of go_on must be in 0..1, got {chance}")


class PhaseType(Distribution, frozen=True, tag="phase_type"):
    """Phases with chances to begin with and rates from each to each other; the rest of the diagonal ends the time."""

    first: Annotated[Row, msgspec.Meta(min_length=1, max_length=200)]
    rates: list[Row]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the phases."""
        return phases_of(self).moments()

    def longest(self) -> float:
        """Return the largest mean stay in a phase."""
        return max(-1 / self.rates[i][i] for i in range(len(self.rates)))

    def check(self, place: str) -> None:
        """Refuse probabilities that do not add up to 1, negative rates, and phases without an exit."""
        if not all(0 <= chance <= 1 for chance in self.first) or abs(math.fsum(self.first) - 1) > DUST:
            raise InputError(f"{place}: first must be chances that add up to 1, got {self.first}")
        check_rates(f"{place}: rates", self.rates, len(self.first))
        table = np.array(self.rates)
        leaves, ends = -table.sum(axis=1) > DUST * -np.diag(table), np.zeros(len(table), bool)
        for _ in table:
            ends = leaves | ((table > 0) & ends[None]).any(axis=1)
            leaves = leaves | ends
        if not leaves.all():
            raise InputError(f"{place}: rates: phase {int(np.flatnonzero(~leaves)[0])} never comes to an end")


class Gamma(Distribution, frozen=True, tag="gamma"):
    """Gamma with a mean and a shape; 1 / shape is its squared coefficient of variation."""

    mean: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return the mean and 1 / shape."""
        return self.mean, 1 / self.shape

    def check(self, place: str) -> None:
        """Refuse a mean or shape that is not above 0."""
        super().check(place)
        positive(f"{place}: shape", self.shape)


class Pareto(Distribution, frozen=True, tag="pareto"):
    """At least `minimum`; longer than t with probability (minimum / t)^shape."""

    minimum: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return s m / (s - 1) and 1 / (s (s - 2)), infinite up to shape 2."""
        s = self.shape
        return self.minimum * s / (s - 1), 1 / (s * (s - 2)) if s > 2 else math.inf

    def check(self, place: str) -> None:
        """Refuse a minimum that is not above 0, and a shape without a mean."""
        positive(f"{place}: minimum", self.minimum)
        if not (self.shape > 1 and math.isfinite(self.shape)):
            raise InputError(f"{place}: shape must be greater than 1 (else there is no mean), got {self.shape}")


class Lognormal(Distribution, frozen=True, tag="lognormal"):
    """The exponential of a normal number, by mean and squared coefficient of variation."""

    mean: float
    scv: float

    def moments(self) -> tuple[float, float]:
        """Return mean and scv."""
        return self.mean, self.scv

    def check(self, place: str) -> None:
        """Refuse a mean or scv that is not above 0."""
        super().check(place)
        positive(f"{place}: scv", self.scv)


class Weibull(Distribution, frozen=True, tag="weibull"):
    """Longer than t with probability exp(-(t / scale)^shape)."""

    scale: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return scale G(1 + 1 / shape) and G(1 + 2 / shape) / G(1 + 1 / shape)^2 - 1, G the gamma function."""
        once, twice = math.gamma(1 + 1 / self.shape), math.gamma(1 + 2 / self.shape)
        return self.scale * once, twice / once**2 - 1

    def check(self, place: str) -> None:
        """Refuse a scale or shape that is not above 0."""
        positive(f"{place}: scale", self.scale)
        positive(f"{place}: shape", self.shape)
        if self.shape < 0.05:
            raise InputError(f"{place}: shape must be at least 0.05, got {self.shape}")


class Trace(Distribution, frozen=True, tag="trace"):
    """Times that were measured, in their order and then from the first again."""

    values: Annotated[Row, msgspec.Meta(min_length=1, max_length=1_000_000)]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the values."""
        values = np.array(self.values)
        return float(values.mean()), float(values.var() / values.mean() ** 2)

    def longest(self) -> float:
        """Return the largest value."""
        return max(self.values)

    def check(self, place: str) -> None:
        """Refuse negative values and a mean of 0."""
        for value in self.values:
            positive(f"{place}: each of values", value, zero=True)
        super().check(place)


AnyTime = Time | Coxian | PhaseType | Gamma | Pareto | Lognormal | Weibull | Trace


def phases(time: AnyTime) -> Phases | None:
    """Return the phases of a time, None where it has none."""
    match time:
        case Gamma() if time.shape == round(time.shape) and time.shape <= 200:
            return erlang(time.mean, round(time.shape))
        case Coxian() | PhaseType():
            return phases_of(time)
        case _:
            return plain_phases(time)


def phases_of(time: Coxian | PhaseType) -> Phases:
    """Return the phases of a time that is described by them."""
    if isinstance(time, Coxian):
        return in_a_row(time.means, time.go_on)
    return Phases(np.array(time.first), np.array(time.rates))


def check_rates(place: str, rates: list[Row], size: int) -> None:
    """Refuse a table of another size, rates that are negative, and rows that add up to more than 0."""
    if len(rates) != size or any(len(row) != size for row in rates):
        raise InputError(f"{place} must be a table of {size} x {size} numbers")
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            if not math.isfinite(rate) or (rate < 0) != (i == j):
                rule = "below 0 on the diagonal" if i == j else "at least 0 beside the diagonal"
                raise InputError(f"{place}: row {i} column {j} must be {rule}, got {rate}")
        if math.fsum(row) > DUST * -row[i]:
            raise InputError(f"{place}: row {i} must add up to 0 at most, got {math.fsum(row):.6g}")
