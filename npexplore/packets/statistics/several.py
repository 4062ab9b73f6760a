"""Counts many captures as one: files are the tasks of an executor, and their counts are joined in order.

All counters are whole numbers, so the joined counts equal those of one pass over the packets of all files exactly.
Consecutive files may form one task: the worker joins their counts, and only the sum is sent.
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
"""Maximum bytes of a task of several files: about half a second of work, which is lost if a worker dies."""


@dataclass(frozen=True)
class FileSummary:
    """One file of many: its packets, names of link types, first and last time stamp, and damage or error.

    missing: the worker did not find the file.
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
        """The error or damage in one line; None for an undamaged file."""
        return self.error or (f"{self.path}: {self.damage}" if self.damage else None)


@dataclass
class SeveralCounts:
    """The joined counts of all files, and a summary of each file, in order."""

    counts: CaptureCounts = field(default_factory=CaptureCounts)
    files: list[FileSummary] = field(default_factory=list)

    @classmethod
    def of(cls, one: FileCounts) -> "SeveralCounts":
        """Return the counts of one file; the result takes over its counters."""
        times: tuple[int, int] | None = None
        counts = one.counts or CaptureCounts()
        if counts.totals[TIMED]:
            times = (int(counts.totals[FIRST_NS]), int(counts.totals[LAST_NS]))
        links = tuple(link_format(number).name for number in sorted(counts.link_types))
        about = (one.path, one.format, counts.packets, links, times, one.damage, one.error, one.missing)
        return cls(counts, [FileSummary(*about)])

    def add(self, later: "SeveralCounts") -> None:
        """Join the counts of later files."""
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
        backward_steps = [
            (earlier, later, later_ns[0] - earlier_ns[1])
            for (earlier, earlier_ns), (later, later_ns) in pairwise(timed)
            if later_ns[0] < earlier_ns[1]
        ]
        if backward_steps:
            earlier, later, step = backward_steps[0]
            more = f" (and {len(backward_steps) - 1} more such steps)" if len(backward_steps) > 1 else ""
            lines.append(
                f"{later.path} begins {-step / 1e9:.6g} s before {earlier.path} ends{more}; times between packets take "
                "the files in this order"
            )
        return lines


def count_file(path: str | Path) -> FileCounts:
    """Count one capture; an unreadable file gives `error`, because workers may run on another computer."""
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
    """Return the number of files in each task, for files of these sizes in bytes, taken in order.

    A task takes the remaining bytes divided by twice the slots, and at most TASK_BYTES: large tasks first, which cost
    least to send, then smaller ones, so that all workers end at about the same time. A file is never divided.
    """
    file_counts: list[int] = []
    remaining_bytes, done = sum(sizes), 0
    while done < len(sizes):
        max_bytes = min(TASK_BYTES, remaining_bytes / (2 * slots))
        task_bytes, end = sizes[done], done + 1
        while end < len(sizes) and task_bytes + sizes[end] / 2 <= max_bytes:
            task_bytes, end = task_bytes + sizes[end], end + 1
        file_counts.append(end - done)
        remaining_bytes, done = remaining_bytes - task_bytes, end
    return file_counts


def count_captures(
    paths: Sequence[str], executor: Executor, *, slots: int = 1, progress: Callable[[str], None] = lambda path: None,
    store: KeptCounts | None = None,
) -> SeveralCounts:  # fmt: skip
    """Count captures in parallel; the result equals that of one pass over all files in order.

    slots: number of files that the executor reads at once; progress: called with each file when it is counted; store:
    a folder with the counts of finished files (each file is then one task). Raises InputError if no file can be read.
    Errors of an executor that lost its workers are passed on.
    """
    counts = SeveralCounts()
    for part in _stored(paths, executor, 2 * slots, store) if store else _joined(paths, executor, slots):
        counts.add(part)
        for file in part.files:
            progress(file.path)
    counts.files = [_explained(file) for file in counts.files]
    if all(file.error for file in counts.files):
        raise InputError(counts.files[0].error or "no file was given")
    return counts


def _explained(file: FileSummary) -> FileSummary:
    """Return a file's summary with an explanation if the file exists here but its worker did not find it."""
    if not file.missing or not Path(file.path).exists():
        return file
    why = "is here, but not where the worker looks: workers must see the files under the same names"
    return replace(file, error=f"{file.path}: {why}")


def _joined(paths: Sequence[str], executor: Executor, slots: int) -> Iterator[SeveralCounts]:
    """Yield the counts of tasks of several files, in order; at most twice the slots are pending."""
    sizes = []
    for path in paths:
        sizes.append(0)
        with suppress(OSError):
            sizes[-1] = Path(path).stat().st_size
    pending: deque[Future[SeveralCounts]] = deque()
    done = 0
    try:
        for count in tasks(sizes, slots):
            pending.append(executor.submit(count_files, paths[done : done + count]))
            done += count
            if len(pending) > 2 * slots:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def _stored(paths: Sequence[str], executor: Executor, ahead: int, store: KeptCounts) -> Iterator[SeveralCounts]:
    """Yield each file's counts in order; at most `ahead` are pending, so that memory does not grow with the files."""
    pending: deque[Future[FileCounts] | FileCounts] = deque()
    failed: list[BaseException] = []

    def put_away(done: Future[FileCounts]) -> None:
        """Store the counts of a task as soon as it ends."""
        try:
            if not done.cancelled() and done.exception() is None:
                store.keep(done.result())
        except InputError as error:
            failed.append(error)

    def first() -> SeveralCounts:
        item = pending.popleft()
        counts = SeveralCounts.of(item if isinstance(item, FileCounts) else item.result())
        if failed:
            raise failed[0]
        return counts

    try:
        for path in paths:
            if counts := store.find(path):
                pending.append(counts)
            else:
                future = executor.submit(count_file, path)
                future.add_done_callback(put_away)
                pending.append(future)
            if len(pending) > ahead:
                yield first()
        while pending:
            yield first()
    finally:
        for item in pending:
            if isinstance(item, Future):
                item.cancel()
