"""Accounts of where packets' time goes: the places of a model, and the tally that the event loop keeps, read out.

    latency = sum over places of (served + waited + held up)      every packet, to the tick

served: at work there, or held there while nothing else is asked for. waited: in its line, while those who have it work.
held up: in its line, while those who have it wait themselves. A place is a server; the links of a network (their
holders keep them while they wait) count as one; time that passes at no server belongs to the resource that is visited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.rows.server import Server, place_of

Integers = npt.NDArray[np.int64]
GET = "get of "  # how the place of a row begins at which a thread gets its packet
DROP = "drop."  # how the name of a counter of lost packets begins


@dataclass(frozen=True)
class Places:
    """names: of places, the first ("") for what belongs to none. where: the place of each resource, then of each row.

    Rows that sleep or get a packet have the place that the time belongs to; a TRY that is repeated until it succeeds,
    a FORK whose child keeps an account, and a COUNT of lost packets a number above 0 (docs/engine.md).
    """

    names: tuple[str, ...]
    where: Integers


def places(
    rows: Integers, visits: Sequence[str], marks: Sequence[tuple[str, bool]], servers: Mapping[str, tuple[Server, int]],
    counters: Sequence[str] = (),
) -> Places:  # fmt: skip
    """Return the places of a model's rows; visits: what each belongs to; marks: what it holds, whether it polls."""
    numbers: dict[str, int] = {"": engine.ELSEWHERE}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    n_resources = max((first + server.members for server, first in servers.values()), default=0)
    where = np.zeros(n_resources + len(rows), dtype=np.int64)
    for server, first in servers.values():
        where[first : first + server.members] = number(place_of(server))
    lost = [number for number, name in enumerate(counters) if name.startswith(DROP)]
    drops = (rows[:, engine.OP] == engine.COUNT) & np.isin(rows[:, engine.A], lost)
    keeps = _keeps(rows, drops)
    for k, (op, visit, (held, polls)) in enumerate(zip(rows[:, engine.OP].tolist(), visits, marks, strict=True)):
        at = n_resources + k
        if op in (engine.WAIT, engine.ASK):
            where[at] = number(place_of(servers[held][0]) if held else visit.rpartition(".")[0])
        elif op == engine.POP and visit.startswith(GET):
            threads = f"threads.{visit.removeprefix(GET)}"
            where[at] = number(threads if threads in servers else "threads")
        elif op == engine.POP:
            where[at] = number(visit.rpartition(".")[0])
        elif op == engine.TRY:
            where[at] = polls
        elif op == engine.FORK:
            where[at] = keeps[k]
        elif op == engine.COUNT:
            where[at] = drops[k]
    return Places(tuple(numbers), where)


def _keeps(rows: Integers, drops: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Say of each FORK whether its child needs an account: to finish, lose or pass on a packet, or being waited for."""
    size, ends = len(rows), (engine.DONE, engine.PUSH)
    after: list[tuple[int, ...]] = []
    for k, row in enumerate(rows.tolist()):
        op, target = row[engine.OP], row[engine.TARGET]
        jumps = op in (engine.JUMP, engine.TRY, engine.FORK)
        falls = op != engine.END and not (op == engine.JUMP and row[engine.X] == engine.ALWAYS)
        skips = row[engine.X] if op in (engine.ALL, engine.GRAB) else 0
        after.append((*([target] if jumps else []), *([k + 1 + skips] if falls and k + 1 + skips < size else [])))
    before: list[list[int]] = [[] for _ in range(size)]
    for k, others in enumerate(after):
        for other in others:
            before[other].append(k)
    reaches = np.isin(rows[:, engine.OP], ends) | drops
    todo = np.flatnonzero(reaches).tolist()
    while todo:
        for k in before[todo.pop()]:
            if not reaches[k]:
                reaches[k] = True
                todo.append(k)
    forks = rows[:, engine.OP] == engine.FORK
    target = np.where(forks, rows[:, engine.TARGET], 0)
    may_keep: npt.NDArray[np.bool_] = forks & (reaches[target] | (rows[:, engine.X] == engine.JOINED))
    return may_keep


@dataclass(frozen=True)
class Tally:
    """Finished packets by class and bin of latency (n rows): packets (n,), ticks (n, places, 3), latency by class."""

    names: tuple[str, ...]
    classes: Integers
    bins: Integers
    packets: Integers
    ticks: Integers
    latency: Integers

    @staticmethod
    def of(names: tuple[str, ...], histogram: Integers, tally: Integers, latency: Integers) -> Tally:
        """Return what stands in the arrays of a run."""
        classes, bins = np.nonzero(histogram)
        ticks = tally[classes, bins].reshape(len(classes), len(names), 3)
        return Tally(names, classes, bins, histogram[classes, bins], ticks, latency.copy())

    def since(self, first: Tally) -> Tally:
        """Return what was added since an earlier tally of the same run."""
        mine, theirs = (one.classes * engine.BINS + one.bins for one in (self, first))
        at = np.searchsorted(mine, theirs)
        packets, ticks = self.packets.copy(), self.ticks.copy()
        packets[at] -= first.packets
        ticks[at] -= first.ticks
        return Tally(self.names, self.classes, self.bins, packets, ticks, self.latency - first.latency)
