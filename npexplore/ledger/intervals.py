"""Interval arithmetic over floats: the set of results when each operand may be anywhere in its interval.

R. E. Moore, Interval Analysis (1966): the ends of a result are the extremes over the ends of the operands. A quantity
that occurs twice is treated as two, so results may be too wide, never too narrow (apart from float rounding).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

SLACK = 1e-9  # relative tolerance; far above the rounding errors of decimal texts scaled by unit factors


@dataclass(frozen=True)
class Interval:
    """A closed interval lo..hi; an end may be infinite."""

    lo: float
    hi: float

    def __post_init__(self) -> None:
        if not self.lo <= self.hi:
            raise ValueError(f"an interval must have lo <= hi, got {self.lo!r}..{self.hi!r}")

    @classmethod
    def at(cls, x: float) -> "Interval":
        """Return the interval that holds `x` alone."""
        return cls(x, x)

    @property
    def middle(self) -> float:
        """The point halfway between the ends; infinite or NaN if an end is infinite."""
        return (self.lo + self.hi) / 2

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> "Interval":
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: "Interval") -> "Interval":
        return self + -other

    def __mul__(self, other: "Interval") -> "Interval":
        return _over_ends(lambda x, y: x * y if x and y else 0.0, self, other)

    def __truediv__(self, other: "Interval") -> "Interval":
        if other.lo <= 0 <= other.hi:
            return Interval(-math.inf, math.inf)
        return self * Interval(1 / other.hi, 1 / other.lo)

    def __pow__(self, other: "Interval") -> "Interval":
        if self.lo <= 0:
            raise ValueError(f"a power needs a base above 0, got {self.lo!r}..{self.hi!r}")
        return _over_ends(math.pow, self, other)

    def ceil(self) -> "Interval":
        """Return the interval of the values rounded up; rounding errors above an integer are ignored."""
        return Interval(*(float(math.ceil(end - abs(end) * SLACK)) for end in (self.lo, self.hi)))

    def meets(self, other: "Interval") -> bool:
        """Return whether the two intervals have a point in common."""
        return self.at_most(other) and other.at_most(self)

    def at_most(self, other: "Interval") -> bool:
        """Return whether some point of this interval is at most some point of the other."""
        return self.lo <= other.hi or math.isclose(self.lo, other.hi, rel_tol=SLACK)


def largest(*intervals: Interval) -> Interval:
    """Return the interval of the maximum."""
    return Interval(max(i.lo for i in intervals), max(i.hi for i in intervals))


def smallest(*intervals: Interval) -> Interval:
    """Return the interval of the minimum."""
    return Interval(min(i.lo for i in intervals), min(i.hi for i in intervals))


def mean(*intervals: Interval) -> Interval:
    """Return the interval of the arithmetic mean."""
    n = len(intervals)
    return Interval(sum(i.lo for i in intervals) / n, sum(i.hi for i in intervals) / n)


def _over_ends(f: Callable[[float, float], float], x: Interval, y: Interval) -> Interval:
    values = [f(left, right) for left, right in product((x.lo, x.hi), (y.lo, y.hi))]
    return Interval(min(values), max(values))
