"""The counts of many captures as one: each file is a task of an executor, and the counts are joined in their order.

All counters are whole numbers, so joined counts equal those of one pass over the packets of all files in every digit.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from npexplore._kernels.capture_counts import FIRST_NS, LAST_NS, TIMED
from npexplore.errors import InputError
from npexplore.packets.links import link_format
from npexplore.packets.scan import Damage
from npexplore.packets.statistics.counting import CaptureCounts, FileCounts, count_capture
from npexplore.packets.statistics.kept import KeptCounts


@dataclass(frozen=True)
class FileSummary:
    """One file of many: its packets, link types by name, first and last time stamp, and what went wrong with it."""

    path: str
    format: str
    packets: int
    link_types: tuple[str, ...]
    times_ns: tuple[int, int] | None
    damage: Damage | None
    error: str | None

    def row(self) -> dict[str, Any]:
        """Return the row of `files` in the JSON document."""
        damage = vars(self.damage) if self.damage else None
        return {
            "file": self.path, "format": self.format, "packets": self.packets, "damage": damage, "error": self.error,
        }  # fmt: skip

    @property
    def trouble(self) -> str | None:
        """What went wrong, in one line; None for a whole file."""
        return self.error or (f"{self.path}: {self.damage}" if self.damage else None)


@dataclass
class SeveralCounts:
    """The joined counts of all files, and a summary of each in their order."""

    counts: CaptureCounts = field(default_factory=CaptureCounts)
    files: list[FileSummary] = field(default_factory=list)

    def add(self, one: FileCounts) -> None:
        """Join the counts of the next file."""
        times: tuple[int, int] | None = None
        links: tuple[str, ...] = ()
        if one.counts is not None:
            totals = one.counts.totals
            times = (int(totals[FIRST_NS]), int(totals[LAST_NS])) if totals[TIMED] else None
            links = tuple(link_format(number).name for number in sorted(one.counts.link_types))
            self.counts.merge(one.counts)
        packets = one.counts.packets if one.counts else 0
        self.files.append(FileSummary(one.path, one.format, packets, links, times, one.damage, one.error))

    def document(self, name: str) -> dict[str, Any]:
        """Return the fields of `npexplore trace stats --json`, and `files` with a row a file."""
        damage = next((file.damage for file in self.files if file.damage), None)
        formats = ", ".join(dict.fromkeys(file.format for file in self.files if file.format))
        return {**self.counts.document(name, formats, damage), "files": [file.row() for file in self.files]}

    def notices(self) -> list[str]:
        """Return warnings about the files together: several link types, clocks that step back between files."""
        told = []
        kinds = {name for file in self.files for name in file.link_types}
        if len(kinds) > 1:
            told.append(f"the files have {len(kinds)} link types: {', '.join(sorted(kinds))}")
        timed = [(file, file.times_ns) for file in self.files if file.times_ns]
        back = [(a, b, t[0] - s[1]) for (a, s), (b, t) in pairwise(timed) if t[0] < s[1]]
        if back:
            before, after, step = back[0]
            more = f" (and {len(back) - 1} more such steps)" if len(back) > 1 else ""
            told.append(
                f"{after.path} begins {-step / 1e9:.6g} s before {before.path} ends{more}; times between packets take "
                "the files in this order"
            )
        return told


def count_file(path: str | Path) -> FileCounts:
    """Count one capture; a file that cannot be read is reported in the answer, which may come from another computer."""
    try:
        counts, scan = count_capture(path)
    except InputError as error:
        return FileCounts(str(path), error=str(error), missing=not Path(path).exists())
    return FileCounts(str(path), counts, scan.format, scan.damage)


def count_captures(
    paths: Sequence[str], executor: Executor, *, slots: int = 1, progress: Callable[[str], None] = lambda path: None,
    kept: KeptCounts | None = None,
) -> SeveralCounts:  # fmt: skip
    """Count captures side by side; the result is that of one pass over all of them, one after the other.

    slots: how many files the executor reads at once; progress: called with each file when it is counted; kept: the
    folder that keeps the counts of finished files. Raises InputError if no file can be read. Errors of an executor that
    lost its workers are passed on.
    """
    found = SeveralCounts()
    for one in _in_order(paths, executor, 2 * slots, kept):
        found.add(one)
        progress(one.path)
    if all(file.error for file in found.files):
        raise InputError(found.files[0].error or "no file was given")
    return found


def _in_order(paths: Sequence[str], executor: Executor, ahead: int, kept: KeptCounts | None) -> Iterator[FileCounts]:
    """Yield each file's counts in order; no more than `ahead` wait, so that memory does not grow with the files."""
    waiting: deque[Future[FileCounts] | FileCounts] = deque()
    failed: list[BaseException] = []

    def put_away(done: Future[FileCounts]) -> None:
        """Keep counts as soon as they are there, whoever's turn it is."""
        try:
            if kept and not done.cancelled() and done.exception() is None:
                kept.keep(done.result())
        except InputError as error:
            failed.append(error)

    def first() -> FileCounts:
        one = waiting.popleft()
        found = one if isinstance(one, FileCounts) else one.result()
        if found.missing and Path(found.path).exists():
            why = "is here, but not where the worker looks: workers must see the files under the same names"
            found = replace(found, error=f"{found.path}: {why}")
        if failed:
            raise failed[0]
        return found

    try:
        for path in paths:
            if found := kept and kept.find(path):
                waiting.append(found)
            else:
                future = executor.submit(count_file, path)
                future.add_done_callback(put_away)
                waiting.append(future)
            if len(waiting) > ahead:
                yield first()
        while waiting:
            yield first()
    finally:
        for one in waiting:
            if isinstance(one, Future):
                one.cancel()
