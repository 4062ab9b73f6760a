"""The counts of many captures as one: files are the tasks of an executor, and the counts are joined in their order.

All counters are whole numbers, so joined counts equal those of one pass over the packets of all files in every digit.
Files that follow each other may be one task: where they are counted they are joined too, and only their sum is sent.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
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

TASK_BYTES = 1 << 29
"""The most bytes of several files that are one task: about half a second of work, which is lost if a worker dies."""


@dataclass(frozen=True)
class FileSummary:
    """One file of many: its packets, link types by name, first and last time stamp, and what went wrong with it.

    missing: whoever counted it found no such file.
    """

    path: str
    format: str
    packets: int
    link_types: tuple[str, ...]
    times_ns: tuple[int, int] | None
    damage: Damage | None
    error: str | None
    missing: bool = False

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

    @classmethod
    def of(cls, one: FileCounts) -> "SeveralCounts":
        """Return the counts of one file, which become these."""
        times: tuple[int, int] | None = None
        counts = one.counts or CaptureCounts()
        if counts.totals[TIMED]:
            times = (int(counts.totals[FIRST_NS]), int(counts.totals[LAST_NS]))
        links = tuple(link_format(number).name for number in sorted(counts.link_types))
        about = (one.path, one.format, counts.packets, links, times, one.damage, one.error, one.missing)
        return cls(counts, [FileSummary(*about)])

    def add(self, later: "SeveralCounts") -> None:
        """Join the counts of files that come after these."""
        self.counts.merge(later.counts)
        self.files += later.files

    def document(self, name: str) -> dict[str, Any]:
        """Return the fields of `npexplore trace stats --json`, and `files` with one row per file."""
        damage = next((file.damage for file in self.files if file.damage), None)
        formats = ", ".join(dict.fromkeys(file.format for file in self.files if file.format))
        return {**self.counts.document(name, formats, damage), "files": [file.row() for file in self.files]}

    def notices(self) -> list[str]:
        """Return warnings about the files together: several link types, clocks that step back between files."""
        lines = []
        kinds = {name for file in self.files for name in file.link_types}
        if len(kinds) > 1:
            lines.append(f"the files have {len(kinds)} link types: {', '.join(sorted(kinds))}")
        timed = [(file, file.times_ns) for file in self.files if file.times_ns]
        back = [(a, b, t[0] - s[1]) for (a, s), (b, t) in pairwise(timed) if t[0] < s[1]]
        if back:
            before, after, step = back[0]
            more = f" (and {len(back) - 1} more such steps)" if len(back) > 1 else ""
            lines.append(
                f"{after.path} begins {-step / 1e9:.6g} s before {before.path} ends{more}; times between packets take "
                "the files in this order"
            )
        return lines


def count_file(path: str | Path) -> FileCounts:
    """Count one capture; a file that cannot be read is reported in the answer, which may come from another computer."""
    try:
        counts, scan = count_capture(path)
    except InputError as error:
        return FileCounts(str(path), error=str(error), missing=not Path(path).exists())
    return FileCounts(str(path), counts, scan.format, scan.damage)


def count_files(paths: Sequence[str]) -> SeveralCounts:
    """Count captures one after the other and join their counts."""
    counts = SeveralCounts.of(count_file(paths[0]))
    for path in paths[1:]:
        counts.add(SeveralCounts.of(count_file(path)))
    return counts


def tasks(sizes: Sequence[int], slots: int) -> list[int]:
    """Return how many of the files, of so many bytes each and taken in order, are each task.

    A task takes its part of what is left, for two tasks a slot, and less than TASK_BYTES: first large ones, which cost
    least to send, then smaller ones, so that all workers end at about the same time. A file is never divided.
    """
    indices: list[int] = []
    left, done = sum(sizes), 0
    while done < len(sizes):
        most = min(TASK_BYTES, left / (2 * slots))
        taken, end = sizes[done], done + 1
        while end < len(sizes) and taken + sizes[end] / 2 <= most:
            taken, end = taken + sizes[end], end + 1
        indices.append(end - done)
        left, done = left - taken, end
    return indices


def count_captures(
    paths: Sequence[str], executor: Executor, *, slots: int = 1, progress: Callable[[str], None] = lambda path: None,
    store: KeptCounts | None = None,
) -> SeveralCounts:  # fmt: skip
    """Count captures side by side; the result is that of one pass over all of them, one after the other.

    slots: how many files the executor reads at once; progress: called with each file when it is counted; store: the
    folder that keeps the counts of finished files, each of which is then a task of its own. Raises InputError if no
    file can be read. Errors of an executor that lost its workers are passed on.
    """
    counts = SeveralCounts()
    for some in _stored(paths, executor, 2 * slots, store) if store else _joined(paths, executor, slots):
        counts.add(some)
        for file in some.files:
            progress(file.path)
    counts.files = [_explained(file) for file in counts.files]
    if all(file.error for file in counts.files):
        raise InputError(counts.files[0].error or "no file was given")
    return counts


def _explained(file: FileSummary) -> FileSummary:
    """Return a file's summary; one that is here, and that its worker did not find, says so."""
    if not file.missing or not Path(file.path).exists():
        return file
    why = "is here, but not where the worker looks: workers must see the files under the same names"
    return replace(file, error=f"{file.path}: {why}")


def _joined(paths: Sequence[str], executor: Executor, slots: int) -> Iterator[SeveralCounts]:
    """Yield the counts of several files a task, in order; no more than twice the slots wait."""
    sizes = []
    for path in paths:
        sizes.append(0)
        with suppress(OSError):
            sizes[-1] = Path(path).stat().st_size
    waiting: deque[Future[SeveralCounts]] = deque()
    done = 0
    try:
        for count in tasks(sizes, slots):
            waiting.append(executor.submit(count_files, paths[done : done + count]))
            done += count
            if len(waiting) > 2 * slots:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for one in waiting:
            one.cancel()


def _stored(paths: Sequence[str], executor: Executor, ahead: int, store: KeptCounts) -> Iterator[SeveralCounts]:
    """Yield each file's counts in order; no more than `ahead` wait, so that memory does not grow with the files."""
    waiting: deque[Future[FileCounts] | FileCounts] = deque()
    failed: list[BaseException] = []

    def put_away(done: Future[FileCounts]) -> None:
        """Keep counts as soon as a task has them, in any order."""
        try:
            if not done.cancelled() and done.exception() is None:
                store.keep(done.result())
        except InputError as error:
            failed.append(error)

    def first() -> SeveralCounts:
        one = waiting.popleft()
        counts = SeveralCounts.of(one if isinstance(one, FileCounts) else one.result())
        if failed:
            raise failed[0]
        return counts

    try:
        for path in paths:
            if counts := store.find(path):
                waiting.append(counts)
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
