"""Random times and arrival processes of a network file: keys, checks, and first two moments.

Times are in seconds, rates per second; scv is the squared coefficient of variation, variance / mean^2.
"""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from typing import Annotated, Literal

import msgspec

from npexplore.errors import InputError, positive
from npexplore.toml import Record

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Stages = Annotated[int, msgspec.Meta(ge=1, le=1_000)]  # a run draws each stage; more are nearly constant


class _Abstract(msgspec.StructMeta, ABCMeta):
    """Metaclass of records with abstract methods."""


class Distribution(Record, frozen=True, tag_field="distribution", metaclass=_Abstract):
    """Base of the distributions of a time in seconds.

    Example:
        >>> from npexplore.machine import Distribution, Exponential
        >>> isinstance(Exponential(mean=1e-6), Distribution)
        True
    """

    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """Return (mean, squared coefficient of variation)."""

    def longest(self) -> float:
        """Return the largest possible time, or the largest mean of an exponential part."""
        return self.moments()[0]

    def check(self, place: str) -> None:
        """Raise InputError, naming the place, for a value outside its range."""
        positive(f"{place}: mean", self.moments()[0])


class Deterministic(Distribution, frozen=True, tag="deterministic"):
    """A constant time.

    Example:
        >>> from npexplore.machine import Deterministic
        >>> Deterministic(mean=50e-9).mean
        5e-08
    """

    mean: float

    def moments(self) -> tuple[float, float]:
        """Return the mean and 0."""
        return self.mean, 0.0


class Exponential(Distribution, frozen=True, tag="exponential"):
    """Exponential time with a mean.

    Example:
        >>> from npexplore.machine import Exponential
        >>> Exponential(mean=50e-9).moments()
        (5e-08, 1.0)
    """

    mean: float

    def moments(self) -> tuple[float, float]:
        """Return the mean and 1."""
        return self.mean, 1.0


class Erlang(Distribution, frozen=True, tag="erlang"):
    """The sum of `stages` exponential times with a total mean of `mean`.

    Example:
        >>> from npexplore.machine import Erlang
        >>> Erlang(mean=50e-9, stages=4).moments()
        (5e-08, 0.25)
    """

    mean: float
    stages: Stages

    def moments(self) -> tuple[float, float]:
        """Return the mean and 1 / stages."""
        return self.mean, 1.0 / self.stages


class Hyperexponential(Distribution, frozen=True, tag="hyperexponential"):
    """Exponential time: with the first of `means` with `probability`, else with the second.

    Example:
        >>> from npexplore.machine import Hyperexponential
        >>> Hyperexponential(means=(10e-9, 100e-9), probability=0.9).moments()
        (1.8999999999999998e-08, 5.038781163434902)
    """

    means: tuple[float, float]
    probability: float

    def moments(self) -> tuple[float, float]:
        """Return p m1 + q m2 and 2 (p m1^2 + q m2^2) / mean^2 - 1."""
        p, (first, second) = self.probability, self.means
        mean = p * first + (1 - p) * second
        return mean, 2 * (p * first**2 + (1 - p) * second**2) / mean**2 - 1

    def longest(self) -> float:
        """Return the larger mean."""
        return max(self.means)

    def check(self, place: str) -> None:
        """Raise InputError for means that are not above 0 and for a probability outside 0..1."""
        for mean in self.means:
            positive(f"{place}: each of means", mean)
        if not 0 <= self.probability <= 1:
            raise InputError(f"{place}: probability must be in 0..1, got {self.probability}")


class Uniform(Distribution, frozen=True, tag="uniform"):
    """Uniform time from `low` to `high`.

    Example:
        >>> from npexplore.machine import Uniform
        >>> Uniform(low=40e-9, high=60e-9).moments()
        (5e-08, 0.013333333333333326)
    """

    low: float
    high: float

    def moments(self) -> tuple[float, float]:
        """Return the middle and ((high - low)^2 / 12) / middle^2."""
        middle = (self.low + self.high) / 2
        return middle, (self.high - self.low) ** 2 / 12 / middle**2

    def longest(self) -> float:
        """Return the upper end."""
        return self.high

    def check(self, place: str) -> None:
        """Raise InputError for a negative low and for a high below it."""
        positive(f"{place}: low", self.low, zero=True)
        positive(f"{place}: high", self.high)
        if self.high < self.low:
            raise InputError(f"{place}: high must be at least low ({self.low}), got {self.high}")


class Empirical(Distribution, frozen=True, tag="empirical"):
    """One of `values`, with probabilities in proportion to `weights`.

    Example:
        >>> from npexplore.machine import Empirical
        >>> Empirical(values=[1e-9, 3e-9], weights=[1, 1]).moments()
        (2e-09, 0.24999999999999978)
    """

    values: Annotated[list[float], msgspec.Meta(min_length=1)]
    weights: list[float]

    def moments(self) -> tuple[float, float]:
        """Return the weighted mean and squared coefficient of variation."""
        total = math.fsum(self.weights)
        mean = math.fsum(value * weight for value, weight in zip(self.values, self.weights, strict=True)) / total
        square = (
            math.fsum(value * value * weight for value, weight in zip(self.values, self.weights, strict=True)) / total
        )
        return mean, max(square / mean**2 - 1, 0.0)

    def longest(self) -> float:
        """Return the largest value."""
        return max(self.values)

    def check(self, place: str) -> None:
        """Raise InputError for negative values or weights, different numbers of them, and a mean of 0."""
        if len(self.values) != len(self.weights):
            raise InputError(f"{place}: weights must be one a value ({len(self.values)}), got {len(self.weights)}")
        for subject, numbers in (("each of values", self.values), ("each of weights", self.weights)):
            for number in numbers:
                positive(f"{place}: {subject}", number, zero=True)
        positive(
            f"{place}: weight of the values above 0",
            sum(weight for value, weight in zip(self.values, self.weights, strict=True) if value),
        )


Time = Deterministic | Exponential | Erlang | Hyperexponential | Uniform | Empirical


class Arrivals(Record, frozen=True, tag_field="process"):
    """Base of the arrival processes of customers from outside; rate: long-run customers per second."""

    rate: float

    def check(self, place: str) -> None:
        """Raise InputError, naming the place, for a value outside its range."""
        positive(f"{place}: rate", self.rate)

    def dispersion(self) -> float:
        """Return variance / mean of the number of arrivals in a long time: the scv of a renewal process's intervals."""
        return 1.0


class Poisson(Arrivals, frozen=True, tag="poisson"):
    """Single arrivals with exponential times between them."""


class Periodic(Arrivals, frozen=True, tag="periodic"):
    """Single arrivals with a constant time between them and a random phase."""

    def dispersion(self) -> float:
        """Return 0: no variation."""
        return 0.0


class Batch(Arrivals, frozen=True, tag="batch"):
    """Batches of `size` customers with exponential times between them; geometric sizes (1, 2, ...) have mean `size`."""

    size: Count
    sizes: Literal["fixed", "geometric"] = "fixed"

    def dispersion(self) -> float:
        """Return E[size^2] / E[size] (a compound Poisson process)."""
        return 2.0 * self.size - 1.0 if self.sizes == "geometric" else float(self.size)


class OnOff(Arrivals, frozen=True, tag="on_off"):
    """Poisson arrivals while on, none while off; on, off: means of these exponential periods in seconds.

    Example:
        >>> from npexplore.machine import OnOff
        >>> OnOff(rate=1e6, on=2e-6, off=8e-6).on
        2e-06
    """

    on: float
    off: float

    def check(self, place: str) -> None:
        """Raise InputError also for periods that are not above 0."""
        super().check(place)
        positive(f"{place}: on", self.on)
        positive(f"{place}: off", self.off)

    def dispersion(self) -> float:
        """Return the squared coefficient of variation of the time between arrivals."""
        return self.interval().moments()[1]

    def interval(self) -> Hyperexponential:
        """Return the time between arrivals (Kuczura, Bell System Technical Journal 52, 1973: a renewal process).

        With l the rate while on, w = 1/on, g = 1/off, the rates are
        a, b = (l + w + g +- sqrt((l + w + g)^2 - 4 l g)) / 2 and the probability of a is (l - b) / (a - b).
        """
        rate = self.rate * (self.on + self.off) / self.on
        total = rate + 1 / self.on + 1 / self.off
        root = math.sqrt(total**2 - 4 * rate / self.off)
        a = (total + root) / 2
        b = rate / self.off / a  # a b = l g, without cancellation
        return Hyperexponential(means=(1 / a, 1 / b), probability=(rate - b) / (a - b))
