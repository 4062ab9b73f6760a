"""From traces to a model: packets that take the same way through a step program share a straight piece of machine code.

A path is a sequence of segments: so many steps, then calls side by side that the thread waits for. Which path a packet
takes is the workload's column `path`; amounts that differ between packets of one path are columns `used0`, `used1`, ...
So one program gives visits and demands (bounds, queueing) and the rows of the event engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.step_programs.execution import Trace
from npexplore.records import by_content
from npexplore.rows.expressions import Operand

Integers = npt.NDArray[np.int64]
PATH = "path"
Compute = Callable[[Recorder, int, int, bool], None]
Visit = Callable[[Recorder, str, Mapping[str, Operand]], None]
End = Callable[[Recorder, Packet, str], None]


@dataclass(frozen=True)
class Group:
    """Calls of one accelerator that one step makes: how many, and what they use together.

    used: by name an amount, or the name of the workload's column that has it.
    """

    accelerator: str
    count: int
    used: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Path:
    """A way through the program: names of its substeps, and after how many of them which calls are waited for.

    Example:
        >>> from npexplore.step_programs import Path
        >>> Path(("parse", "send"), (), 1.0).share
        1.0
    """

    steps: tuple[str, ...]
    waits: tuple[tuple[int, tuple[Group, ...]], ...]
    share: float

    def edits(self, split: bool = True) -> tuple[int, ...]:
        """Return the context edits behind no substep, the first, ...: one each, or (split off) one a whole step."""
        done = [0]
        for one, following in zip(self.steps, (*self.steps[1:], ""), strict=True):
            step, _, number = one.partition(".")
            goes_on = bool(number) and following == f"{step}.{int(number) + 1}"
            done.append(done[-1] + int(split or not goes_on))
        return tuple(done)

    def calls(self) -> int:
        """Return how many accelerator calls a packet of this path makes."""
        return sum(group.count for _, groups in self.waits for group in groups)

    def stalls(self, delay: Mapping[str, float]) -> float:
        """Return the cycles that a packet waits for replies: the slowest call of each step."""
        return sum(max(delay[group.accelerator] for group in groups) for _, groups in self.waits)


@by_content
@dataclass(frozen=True)
class Lowered:
    """All paths of some packets, most frequent first, and the workload's columns that tell packets apart.

    Example:
        >>> from npexplore.step_programs import Lowered
        >>> Lowered((), {}).paths
        ()
    """

    paths: tuple[Path, ...]
    columns: Mapping[str, Integers]

    def inline(self, accelerators: Collection[str]) -> Lowered:
        """Return the same with calls that nobody waits for: a thread goes on in the same piece of machine code."""
        paths = []
        for path in self.paths:
            waits = ((at, tuple(g for g in groups if g.accelerator not in accelerators)) for at, groups in path.waits)
            paths.append(replace(path, waits=tuple((at, groups) for at, groups in waits if groups)))
        return replace(self, paths=tuple(paths))

    def record(
        self, compute: Compute, visit: Visit, end: End, split_edits: bool = True
    ) -> Callable[[Recorder, Packet], None]:
        """Return the program of a thread.

        compute(m, requests, edits, first) does so many request builders and context edits between two waits; `first` at
        the begin of the packet. visit(m, accelerator, used) waits for a step's calls, which stand between its request
        builder and its context edit. end(m, packet, step) is what happens after the last step. split_edits: each
        substep has a context edit, else each step has one.
        """

        def way(m: Recorder, packet: Packet, path: Path) -> None:
            edits, done = path.edits(split_edits), (0, 0)
            for after, groups in path.waits:
                compute(m, after - done[0], edits[after - 1] - done[1], done == (0, 0))
                done = after, edits[after - 1]
                parts = [_part(visit, m, packet, group) for group in groups]
                if len(parts) == 1:
                    parts[0]()
                else:
                    m.parallel(*parts)
            steps = len(path.steps)
            compute(m, steps - done[0], edits[-1] - done[1], done == (0, 0))
            end(m, packet, path.steps[-1])

        def choose(m: Recorder, packet: Packet, number: int) -> None:
            if number == len(self.paths) - 1:
                way(m, packet, self.paths[number])
                return
            with m.branch(getattr(packet, PATH) == number, f"path {number}"):
                way(m, packet, self.paths[number])
            with m.otherwise():
                choose(m, packet, number + 1)

        return lambda m, packet: choose(m, packet, 0)


def _part(visit: Visit, m: Recorder, packet: Packet, group: Group) -> Callable[[], None]:
    used: dict[str, Operand] = {
        name: getattr(packet, amount) if isinstance(amount, str) else amount for name, amount in group.used.items()
    }
    return lambda: visit(m, group.accelerator, used)


def lower(traces: Sequence[Trace]) -> Lowered:
    """Return the paths of some packets' traces (at least one), with columns in the order of the packets."""
    if not traces:
        raise ModelError("a step program needs at least one packet to find its paths, got none")
    shapes: dict[object, list[int]] = {}
    for k, trace in enumerate(traces):
        shapes.setdefault(_shape(trace), []).append(k)
    columns: dict[str, Integers] = {PATH: np.zeros(len(traces), np.int64)}
    paths = []
    for number, rows in enumerate(sorted(shapes.values(), key=len, reverse=True)):
        columns[PATH][rows] = number
        paths.append(_path([traces[k] for k in rows], rows, columns, len(traces)))
    return Lowered(tuple(paths), columns)


def _shape(trace: Trace) -> object:
    return tuple((one.name, tuple((c.accelerator, *c.used) for c in one.calls)) for one in trace.passed)


def _path(traces: Sequence[Trace], rows: Sequence[int], columns: dict[str, Integers], packets: int) -> Path:
    first, slot = traces[0], 0
    waits = []
    for at, one in enumerate(first.passed, start=1):
        groups = []
        names = [call.accelerator for call in one.calls]
        for accelerator, members in groupby(sorted(range(len(names)), key=names.__getitem__), key=names.__getitem__):
            numbers = list(members)
            used: dict[str, int | str] = {}
            for name in dict.fromkeys(name for k in numbers for name in one.calls[k].used):
                amounts = np.array([sum(t.passed[at - 1].calls[k].used.get(name, 0) for k in numbers) for t in traces])
                if (amounts == amounts[0]).all():
                    used[name] = int(amounts[0])
                    continue
                used[name] = column = f"used{slot}"
                slot += 1
                columns.setdefault(column, np.zeros(packets, np.int64))[rows] = amounts
            groups.append(Group(accelerator, len(numbers), used))
        if groups:
            waits.append((at, tuple(groups)))
    return Path(tuple(one.name for one in first.passed), tuple(waits), len(traces) / packets)
