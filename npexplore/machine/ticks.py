"""The tick of a simulation, from the clocks that it has to hold: a common divisor of their periods.

    tick = 1 ps / lcm(denominators of the periods in ps)

1 ps where all periods are whole picoseconds; 312.5 ps needs 0.5 ps, 3 GHz a third of one. Nothing is finer than 1 fs:
what that cannot hold is rounded, and a warning tells by how much. Periods below are none (units.doubt has told).
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from fractions import Fraction

from npexplore.machine.resources.base import Resource
from npexplore.units import UnitWarning

TICK = 1e-12
FINEST = 1000  # ticks a picosecond
EXACT = 1e-9  # of a period: what binary fractions leave


def periods(resources: Iterable[Resource], *, needed: bool = False) -> dict[str, float]:
    """Return the seconds of every clock of some resources by name; `needed`: where no cycle may be rounded alone."""
    seconds_by_clock: dict[str, float] = {}
    for one in resources:
        seconds_by_clock |= {f"{one.name}: {name}": seconds for name, seconds in one.clocks(needed).items()}
        seconds_by_clock |= periods(one.inner, needed=needed)
    return seconds_by_clock


def common_tick(clocks: Mapping[str, float]) -> float:
    """Return the longest tick that divides 1 ps and, if 1 fs does, every period; warns of those that are rounded."""
    parts, clocks = 1, {name: seconds for name, seconds in clocks.items() if seconds >= TICK / FINEST}
    for seconds in clocks.values():
        parts = math.lcm(parts, Fraction(seconds / TICK).limit_denominator(FINEST).denominator)
    tick = TICK / min(parts, FINEST)
    worst, name = max(((abs(round(s / tick) * tick / s - 1), name) for name, s in clocks.items()), default=(0.0, ""))
    if worst > EXACT:
        warnings.warn(
            f"{name} of {clocks[name]:.9g} s is not a whole number of ticks of {tick:.3g} s: simulated {worst:.1e} off",
            UnitWarning,
            stacklevel=2,
        )
    return tick
