"""The tick of a simulation: a common divisor of the periods of the machine's clocks.

    tick = 1 ps / lcm(denominators of the periods in ps)

The tick is 1 ps if all periods are whole picoseconds. A period of 312.5 ps needs 0.5 ps, a clock of 3 GHz 1/3 ps. The
finest tick is 1 fs: other periods are rounded with a warning, and periods below 1 fs are ignored (units.doubt warns).
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from fractions import Fraction

from npexplore.machine.resources.base import Resource
from npexplore.units import UnitWarning

TICK = 1e-12
FINEST = 1000  # largest number of ticks per picosecond
EXACT = 1e-9  # relative rounding error of a period that counts as none: that of binary fractions


def periods(resources: Iterable[Resource], *, needed: bool = False) -> dict[str, float]:
    """Return the periods of the resources' clocks in s, by name; `needed`: only those that must be whole ticks."""
    seconds_by_clock: dict[str, float] = {}
    for resource in resources:
        seconds_by_clock |= {f"{resource.name}: {name}": seconds for name, seconds in resource.clocks(needed).items()}
        seconds_by_clock |= periods(resource.inner, needed=needed)
    return seconds_by_clock


def common_tick(clocks: Mapping[str, float]) -> float:
    """Return the longest tick in s that divides 1 ps and every period, but at least 1 fs.

    Issues UnitWarning for the period with the largest rounding error, if one is rounded.
    """
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
