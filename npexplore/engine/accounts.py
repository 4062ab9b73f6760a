"""Accounts of where packets spend their time: the places of a model, and the event loop's sums for each place.

    latency = sum over places of (served + waited + held up)      every packet, to the tick

served: the place works for the packet, or the packet holds it and waits for nothing else. waited: the packet is in the
line of the place, and the holders of its units work. held up: it is in the line, and the holders themselves wait.
A place is a server. All links of a network are one place, because a packet holds a link while it waits for the next.
Time that passes at no server belongs to the resource that is visited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.rows.server import Server, place_of

Integers = npt.NDArray[np.int64]
GET = "get of "  # prefix of the visit name of rows in which a thread gets its packet
DROP = "drop."  # prefix of the names of counters of lost packets


@dataclass(frozen=True)
class Places:
    """names: of the places; the first name ("") stands for no place. where: one entry per resource, then per row.

    The entry of a resource, and of a row that sleeps or gets a packet, is the number of its place. The entry of another
    row is above 0 for a TRY that is repeated until it succeeds, a FORK whose child has an account, and a COUNT of lost
    packets (docs/engine.md, Accounts).
    """

    names: tuple[str, ...]
    where: Integers


def places(
    rows: Integers, visits: Sequence[str], marks: Sequence[tuple[str, bool]], servers: Mapping[str, tuple[Server, int]],
    counters: Sequence[str] = (),
) -> Places:  # fmt: skip
    """Return the places of a model's rows. visits: of each row; marks: the server each row holds, whether it polls."""
    numbers: dict[str, int] = {"": engine.ELSEWHERE}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    n_resources = max((first + server.members for server, first in servers.values()), default=0)
    where = np.zeros(n_resources + len(rows), dtype=np.int64)
    for server, first in servers.values():
        where[first : first + server.members] = number(place_of(server))
    drop_counters = [number for number, name in enumerate(counters) if name.startswith(DROP)]
    drops = (rows[:, engine.OP] == engine.COUNT) & np.isin(rows[:, engine.A], drop_counters)
    child_has_account = _keeps(rows, drops)
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
            where[at] = child_has_account[k]
        elif op == engine.COUNT:
            where[at] = drops[k]
    return Places(tuple(numbers), where)


def _keeps(rows: Integers, drops: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return for each FORK whether its child needs an account: it may finish, lose or push a packet, or is joined."""
    size, ends = len(rows), (engine.DONE, engine.PUSH)
    successors: list[tuple[int, ...]] = []
    for k, row in enumerate(rows.tolist()):
        op, target = row[engine.OP], row[engine.TARGET]
        jumps = op in (engine.JUMP, engine.TRY, engine.FORK)
        falls = op != engine.END and not (op == engine.JUMP and row[engine.X] == engine.ALWAYS)
        skips = row[engine.X] if op in (engine.ALL, engine.GRAB) else 0
        successors.append((*([target] if jumps else []), *([k + 1 + skips] if falls and k + 1 + skips < size else [])))
    predecessors: list[list[int]] = [[] for _ in range(size)]
    for k, following in enumerate(successors):
        for successor in following:
            predecessors[successor].append(k)
    reaches = np.isin(rows[:, engine.OP], ends) | drops
    todo = np.flatnonzero(reaches).tolist()
    while todo:
        for k in predecessors[todo.pop()]:
            if not reaches[k]:
                reaches[k] = True
                todo.append(k)
    forks = rows[:, engine.OP] == engine.FORK
    target = np.where(forks, rows[:, engine.TARGET], 0)
    may_keep: npt.NDArray[np.bool_] = forks & (reaches[target] | (rows[:, engine.X] == engine.JOINED))
    return may_keep


@dataclass(frozen=True)
class Tally:
    """Accounts of finished packets, summed by class and latency bin: n rows, one per class and bin with packets.

    packets: shape (n,). ticks: shape (n, places, 3), in the order served, waited, held up. latency: ticks by class.
    """

    names: tuple[str, ...]
    classes: Integers
    bins: Integers
    packets: Integers
    ticks: Integers
    latency: Integers

    @staticmethod
    def of(names: tuple[str, ...], histogram: Integers, tally: Integers, latency: Integers) -> Tally:
        """Return the tally of a run's arrays."""
        classes, bins = np.nonzero(histogram)
        ticks = tally[classes, bins].reshape(len(classes), len(names), 3)
        return Tally(names, classes, bins, histogram[classes, bins], ticks, latency.copy())

    def since(self, first: Tally) -> Tally:
        """Return what was added since `first`, an earlier tally of the same run."""
        cells, first_cells = (tally.classes * engine.BINS + tally.bins for tally in (self, first))
        rows = np.searchsorted(cells, first_cells)
        packets, ticks = self.packets.copy(), self.ticks.copy()
        packets[rows] -= first.packets
        ticks[rows] -= first.ticks
        return Tally(self.names, self.classes, self.bins, packets, ticks, self.latency - first.latency)
