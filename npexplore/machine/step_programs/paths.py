"""Turns traces into a model: packets with the same path through a step program share a sequence of recorded steps.

A path is a sequence of segments: some steps, then concurrent calls for which the thread waits. The workload's column
`path` selects the path of a packet; amounts that differ between packets of one path are columns `used0`, `used1`, ...
The recorded program gives demands for bounds and queueing, and rows for the event engine.
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
    """The calls of a step to one accelerator: their number, and the amounts that they use together.

    used: by name, an amount, or the name of the workload's column of amounts.
    """

    accelerator: str
    count: int
    used: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Path:
    """A path through the program: names of its substeps, and (substeps done, calls to wait for) of each wait.

    Example:
        >>> from npexplore.step_programs import Path
        >>> Path(("parse", "send"), (), 1.0).share
        1.0
    """

    steps: tuple[str, ...]
    waits: tuple[tuple[int, tuple[Group, ...]], ...]
    share: float

    def edits(self, split: bool = True) -> tuple[int, ...]:
        """Return the context edits done after 0, 1, ... substeps: one per substep, or (not split) one per step."""
        done = [0]
        for substep, following in zip(self.steps, (*self.steps[1:], ""), strict=True):
            step, _, number = substep.partition(".")
            step_continues = bool(number) and following == f"{step}.{int(number) + 1}"
            done.append(done[-1] + int(split or not step_continues))
        return tuple(done)

    def calls(self) -> int:
        """Return the number of accelerator calls of a packet on this path."""
        return sum(group.count for _, groups in self.waits for group in groups)

    def stalls(self, delay: Mapping[str, float]) -> float:
        """Return the cycles that a packet waits for replies: the slowest call of each step."""
        return sum(max(delay[group.accelerator] for group in groups) for _, groups in self.waits)


@by_content
@dataclass(frozen=True)
class Lowered:
    """The paths of some packets, most frequent first, and workload columns with each packet's path and amounts.

    Example:
        >>> from npexplore.step_programs import Lowered
        >>> Lowered((), {}).paths
        ()
    """

    paths: tuple[Path, ...]
    columns: Mapping[str, Integers]

    def inline(self, accelerators: Collection[str]) -> Lowered:
        """Return the same paths without waits for these accelerators: the thread continues without a stall."""
        paths = []
        for path in self.paths:
            waits = ((at, tuple(g for g in groups if g.accelerator not in accelerators)) for at, groups in path.waits)
            paths.append(replace(path, waits=tuple((at, groups) for at, groups in waits if groups)))
        return replace(self, paths=tuple(paths))

    def record(
        self, compute: Compute, visit: Visit, end: End, split_edits: bool = True
    ) -> Callable[[Recorder, Packet], None]:
        """Return the program of a thread.

        compute(m, requests, edits, first) records these numbers of request builders and context edits between two
        waits; `first` at the start of the packet. visit(m, accelerator, used) records the wait for a step's calls,
        between its request builder and its context edit. end(m, packet, step) records what follows the last step.
        split_edits: each substep has a context edit, else each step has one.
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
    """Return the paths of the packets' traces, with columns in the order of the packets; raises ModelError for none."""
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
    return tuple((step.name, tuple((c.accelerator, *c.used) for c in step.calls)) for step in trace.passed)


def _path(traces: Sequence[Trace], rows: Sequence[int], columns: dict[str, Integers], packets: int) -> Path:
    first, slot = traces[0], 0
    waits = []
    for at, substep in enumerate(first.passed, start=1):
        groups = []
        names = [call.accelerator for call in substep.calls]
        for accelerator, members in groupby(sorted(range(len(names)), key=names.__getitem__), key=names.__getitem__):
            numbers = list(members)
            used: dict[str, int | str] = {}
            for name in dict.fromkeys(name for k in numbers for name in substep.calls[k].used):
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
    return Path(tuple(substep.name for substep in first.passed), tuple(waits), len(traces) / packets)
