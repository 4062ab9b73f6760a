"""Distributions of times that only networks have, and the phases of all distributions.

Phase-type times (Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, chapter 2) consist of exponential
phases: T the rates between phases, a the probabilities of the first. Moments: E X^n = (-1)^n n! a T^-n 1.
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
    """Exponential phases in series; after each, the next follows with a probability, else the time ends."""

    means: Annotated[list[float], msgspec.Meta(min_length=1, max_length=200)]
    go_on: list[float]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the phases."""
        return phases_of(self).moments()

    def longest(self) -> float:
        """Return the largest mean of a phase."""
        return max(self.means)

    def check(self, place: str) -> None:
        """Raise InputError for means or probabilities out of range, or unless there is one probability less."""
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
    """Exponential phases: probabilities of the first, rates between them; what a row lacks to 0 ends the time."""

    first: Annotated[Row, msgspec.Meta(min_length=1, max_length=200)]
    rates: list[Row]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the phases."""
        return phases_of(self).moments()

    def longest(self) -> float:
        """Return the largest mean time in a phase."""
        return max(-1 / self.rates[i][i] for i in range(len(self.rates)))

    def check(self, place: str) -> None:
        """Raise InputError unless probabilities add up to 1, rates are valid, and every phase leads to the end."""
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
    """Gamma distribution by mean and shape; its squared coefficient of variation is 1 / shape."""

    mean: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return the mean and 1 / shape."""
        return self.mean, 1 / self.shape

    def check(self, place: str) -> None:
        """Raise InputError for a mean or shape that is not above 0."""
        super().check(place)
        positive(f"{place}: shape", self.shape)


class Pareto(Distribution, frozen=True, tag="pareto"):
    """Pareto distribution: at least `minimum`, longer than t with probability (minimum / t)^shape."""

    minimum: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return s m / (s - 1) and 1 / (s (s - 2)), infinite up to shape 2."""
        s = self.shape
        return self.minimum * s / (s - 1), 1 / (s * (s - 2)) if s > 2 else math.inf

    def check(self, place: str) -> None:
        """Raise InputError for a minimum that is not above 0, and for a shape without a finite mean."""
        positive(f"{place}: minimum", self.minimum)
        if not (self.shape > 1 and math.isfinite(self.shape)):
            raise InputError(f"{place}: shape must be greater than 1 (else there is no mean), got {self.shape}")


class Lognormal(Distribution, frozen=True, tag="lognormal"):
    """Lognormal distribution by mean and squared coefficient of variation."""

    mean: float
    scv: float

    def moments(self) -> tuple[float, float]:
        """Return mean and scv."""
        return self.mean, self.scv

    def check(self, place: str) -> None:
        """Raise InputError for a mean or scv that is not above 0."""
        super().check(place)
        positive(f"{place}: scv", self.scv)


class Weibull(Distribution, frozen=True, tag="weibull"):
    """Weibull distribution: longer than t with probability exp(-(t / scale)^shape)."""

    scale: float
    shape: float

    def moments(self) -> tuple[float, float]:
        """Return scale G(1 + 1 / shape) and G(1 + 2 / shape) / G(1 + 1 / shape)^2 - 1, G the gamma function."""
        first_moment, second_moment = math.gamma(1 + 1 / self.shape), math.gamma(1 + 2 / self.shape)
        return self.scale * first_moment, second_moment / first_moment**2 - 1

    def check(self, place: str) -> None:
        """Raise InputError for a scale that is not above 0 or a shape below 0.05."""
        positive(f"{place}: scale", self.scale)
        positive(f"{place}: shape", self.shape)
        if self.shape < 0.05:
            raise InputError(f"{place}: shape must be at least 0.05, got {self.shape}")


class Trace(Distribution, frozen=True, tag="trace"):
    """Measured times in their order, repeated from the first after the last."""

    values: Annotated[Row, msgspec.Meta(min_length=1, max_length=1_000_000)]

    def moments(self) -> tuple[float, float]:
        """Return mean and squared coefficient of variation of the values."""
        values = np.array(self.values)
        return float(values.mean()), float(values.var() / values.mean() ** 2)

    def longest(self) -> float:
        """Return the largest value."""
        return max(self.values)

    def check(self, place: str) -> None:
        """Raise InputError for negative values and a mean of 0."""
        for value in self.values:
            positive(f"{place}: each of values", value, zero=True)
        super().check(place)


AnyTime = Time | Coxian | PhaseType | Gamma | Pareto | Lognormal | Weibull | Trace


def phases(time: AnyTime) -> Phases | None:
    """Return the phases of a time; None if it is not of phase type."""
    match time:
        case Gamma() if time.shape == round(time.shape) and time.shape <= 200:
            return erlang(time.mean, round(time.shape))
        case Coxian() | PhaseType():
            return phases_of(time)
        case _:
            return plain_phases(time)


def phases_of(time: Coxian | PhaseType) -> Phases:
    """Return the phases of a Coxian or phase-type time."""
    if isinstance(time, Coxian):
        return in_a_row(time.means, time.go_on)
    return Phases(np.array(time.first), np.array(time.rates))


def check_rates(place: str, rates: list[Row], size: int) -> None:
    """Raise InputError for a table of another size, rates of the wrong sign, and rows that add up to more than 0."""
    if len(rates) != size or any(len(row) != size for row in rates):
        raise InputError(f"{place} must be a table of {size} x {size} numbers")
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            if not math.isfinite(rate) or (rate < 0) != (i == j):
                rule = "below 0 on the diagonal" if i == j else "at least 0 beside the diagonal"
                raise InputError(f"{place}: row {i} column {j} must be {rule}, got {rate}")
        if math.fsum(row) > DUST * -row[i]:
            raise InputError(f"{place}: row {i} must add up to 0 at most, got {math.fsum(row):.6g}")
