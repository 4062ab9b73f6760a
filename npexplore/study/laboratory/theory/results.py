"""Selects the theoretical result for a resource alone, with its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from npexplore.errors import RefusedError
from npexplore.machine.resources import (
    BankedMemory,
    DramController,
    Lock,
    Policer,
    StaticStreams,
    TokenChannel,
)
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.banks import closed_banks, open_banks
from npexplore.study.laboratory.theory.crossing import closed_crossing, open_crossing
from npexplore.study.laboratory.theory.dram import closed_dram, open_dram
from npexplore.study.laboratory.theory.lines import line_of
from npexplore.study.laboratory.theory.lock import closed_lock, open_lock
from npexplore.study.laboratory.theory.tokens import closed_channel, dropped, open_channel


@dataclass(frozen=True)
class Theory:
    """A result with its source. closed: packets/s by threads; open: mean time in s by offered packets/s.

    Both raise RefusedError if no result is known. bounded: the open result is a lower bound, not exact. loss: share of
    dropped packets by offered packets/s (None: no packet is dropped).
    """

    name: str
    source: str
    closed: Callable[[int], float]
    open: Callable[[float], float]
    bounded: bool = False
    loss: Callable[[float], float] | None = None


def theory_of(lone: LoneResource) -> Theory | None:
    """Return the exact or best known result for a resource alone; None if there is none."""
    if isinstance(lone.resource, BankedMemory) and lone.operands.get("bank") != "random":
        return Theory(
            "banks in turn or one: M/D/banks, in turn a lower bound; closed: a cyclic schedule",
            "Crommelin, Post Office Electrical Engineers' Journal 25, 1932", partial(closed_banks, lone),
            partial(open_banks, lone), bounded=lone.operands.get("bank") == "round_robin",
        )  # fmt: skip
    if isinstance(lone.resource, BankedMemory):
        return Theory(
            "exact chain of bank interference; open: M/D/1 at each bank, a lower bound",
            "Bhandarkar, IEEE Trans. Computers C-24, 1975, with a unit and recovery", partial(closed_banks, lone),
            partial(open_banks, lone), bounded=True,
        )  # fmt: skip
    if isinstance(lone.resource, DramController):
        return Theory(
            "M/D/1 of a bank's cycle, or of row hits; closed: the data sheet's scarcest rule",
            "JEDEC JESD79-4: tRC, tFAW, tRRD, tCCD; Pollaczek, Mathematische Zeitschrift 32, 1930",
            partial(closed_dram, lone), partial(open_dram, lone),
        )  # fmt: skip
    if isinstance(lone.resource, StaticStreams) and lone.resource.change and _several_paths(lone, lone.resource):
        return Theory(
            "limited polling with changes of route: chain at the ends of messages; in turn M/D/1, closed max-plus",
            "Takagi, Analysis of Polling Systems, 1986; Kendall, Ann. Math. Stat. 24, 1953",
            partial(closed_crossing, lone), partial(open_crossing, lone),
        )  # fmt: skip
    if isinstance(lone.resource, TokenChannel):
        return Theory(
            "M/D/1 with saved tokens", "Berger, IEEE Trans. Communications 39, 1991", partial(closed_channel, lone),
            partial(open_channel, lone),
        )  # fmt: skip
    if isinstance(lone.resource, Policer):
        return Theory(
            "loss of M/D/1/depth", "Berger, IEEE Trans. Communications 39, 1991", _no_closed, lambda rate: 0.0,
            loss=partial(dropped, lone),
        )  # fmt: skip
    if isinstance(lone.resource, Lock):
        return Theory(
            "M/G/1 with hand-over; closed: all others asleep", "Kendall, Ann. Math. Stat. 24, 1953",
            partial(closed_lock, lone), partial(open_lock, lone),
        )  # fmt: skip
    line = line_of(lone)
    if line is None:
        return None
    if line.servers > 1 and not line.random:
        name, source = "M/D/c", "Crommelin, Post Office Electrical Engineers' Journal 25, 1932"
    elif line.varies:
        name, source = "M/G/1", "Pollaczek, Mathematische Zeitschrift 32, 1930"
    else:
        name, source = "M/D/1", "Pollaczek, Mathematische Zeitschrift 32, 1930"
    return Theory(f"{name}; closed: a cyclic schedule", source, line.closed, line.open)


def _several_paths(lone: LoneResource, net: StaticStreams) -> bool:
    return len(net.trees) > 1 and isinstance(lone.operands.get("path"), str)


def _no_closed(threads: int) -> float:
    raise RefusedError("theory: a token bucket that drops has no closed rate")
