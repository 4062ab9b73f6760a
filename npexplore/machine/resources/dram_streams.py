"""Generates streams of accesses to one channel of DRAM: random, row hits, runs of accesses to a row, groups in turn.

random     each access to a random bank and a random row of 2^14
hits       one row per bank, random banks: only row hits once the rows are open
runs       a random bank and row, then accesses to them; after each access the run ends with probability 1/4
turn       row hits, bank groups in round-robin order
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from npexplore.errors import one_of
from npexplore.machine.resources.dram_device import DramDevice
from npexplore.machine.resources.dram_policy import Integers
from npexplore.records import by_content

Pattern = Literal["random", "hits", "runs", "turn"]
ROWS = 1 << 14
STAY = 0.75  # probability that a run continues after an access


@by_content
@dataclass(frozen=True)
class Accesses:
    """Accesses in order of time: clock of the device, bank (its group is bank mod groups), row, and a flag of writes.

    Example:
        >>> import numpy as np
        >>> from npexplore.machine import Accesses
        >>> one = np.arange(2)
        >>> len(Accesses(one, one, one, one > 0).clock)
        2
    """

    clock: Integers
    bank: Integers
    row: Integers
    write: npt.NDArray[np.bool_]


def dram_accesses(
    device: DramDevice, pattern: Pattern, n: int, seed: int, *, writes: float = 0.0, interval: float = 0.0,
    among: tuple[int, int] | None = None, units: int | None = None,
) -> Accesses:  # fmt: skip
    """Return `n` accesses of a pattern, a share of them writes.

    device: the device whose banks and rows are accessed. pattern: the order of banks and rows. n: number of accesses.
    seed: of the random numbers. writes: the share of writes, 0 to 1. interval: mean clocks between arrivals of a
    Poisson process (0: all at once). among: numbers of groups, and of banks of each group, that are used (None: all).
    units: number of pseudo-channels, used in turn (None: all of the device).
    """
    one_of("pattern of accesses", pattern, get_args(Pattern))
    rng = np.random.default_rng([seed, n])
    groups, banks_per_group = among or (device.groups, device.banks // device.groups)
    group, bank, row = rng.integers(0, groups, n), rng.integers(0, banks_per_group, n), rng.integers(0, ROWS, n)
    if pattern in ("hits", "turn"):
        row[:] = 7
    if pattern == "turn":
        group = np.arange(n) % groups
    if pattern == "runs":
        starts = np.flatnonzero(np.concatenate([[True], rng.random(n - 1) < 1 - STAY]))
        first = np.repeat(starts, np.diff([*starts, n]))
        group, bank, row = group[first], bank[first], row[first]
    unit = np.arange(n) % (units or device.pseudo_channels)
    clock = np.cumsum(rng.exponential(interval, n)) if interval else np.zeros(n)
    whole = np.ceil(clock).astype(np.int64)
    return Accesses(whole, unit * device.banks + bank * device.groups + group, row, rng.random(n) < writes)
