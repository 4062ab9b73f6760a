"""Streams of accesses to one channel of DRAM: at random, row hits, runs of accesses to a row, groups in turn.

random     every access to any bank, any row of 2^14
hits       one row per bank: nothing but row hits once they are open, banks at random
runs       a bank and a row at random, then accesses to it until a coin of 1/4 says otherwise
turn       row hits, the groups of banks in turn
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
STAY = 0.75  # chance that a run goes on


@by_content
@dataclass(frozen=True)
class Accesses:
    """Accesses in order of time: clock of the device, bank (its group is bank mod groups), row, whether written.

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

    interval: mean clocks between arrivals, a Poisson process (0: all at once). among: how many groups, and how many
    banks of each, are used (None: all). units: over how many pseudo-channels, in turn (None: all of the device).
    device: whose banks and rows are accessed. pattern: how banks and rows follow each other. n: how many accesses.
    seed: of the random numbers. writes: the share of writes, 0 to 1.
    """
    one_of("pattern of accesses", pattern, get_args(Pattern))
    rng = np.random.default_rng([seed, n])
    groups, each = among or (device.groups, device.banks // device.groups)
    group, bank, row = rng.integers(0, groups, n), rng.integers(0, each, n), rng.integers(0, ROWS, n)
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
