"""Writes the output of a replay: a capture for each port that sent frames, and the table of drops."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.golden.captures.replay import ETHERNET_LINK, NO_TIME, Step
from npexplore.golden.columns import Packets
from npexplore.golden.diffserv.link_rate import Link
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.packets.columns import PacketTable
from npexplore.packets.output import replacing
from npexplore.packets.writing import CaptureWriter

DROP_COLUMNS = ("port", "packet", "time_ns", "reason", "clause")


class OutputCaptures:
    """Writes FOLDER/PORT.pcap (nanoseconds); use it in a `with` block, at whose end the files get their names.

    Times are the arrival times of the causing packets; for a port with a rate, departure times from its link. inputs:
    captures that must not be overwritten. Raises InputError if one would be, or if FOLDER is not a folder.
    """

    def __init__(self, router: Router, folder: Path, inputs: Iterable[str] = ()) -> None:
        self.router, self.folder = router, folder
        self.paths = {port.number: folder / f"{port.name}.pcap" for port in router.ports}
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: must be a folder for the output captures, is a file")
        input_paths = [Path(path) for path in inputs if path != "-"]
        for path in self.paths.values():
            if path.exists() and any(path.samefile(input_path) for input_path in input_paths if input_path.exists()):
                raise InputError(f"{path}: is an input itself; choose another folder for the output")
        self._links = {port.number: Link(port.rate_bps) for port in router.ports if port.rate_bps is not None}
        self._writers: dict[int, CaptureWriter] = {}
        self._open = ExitStack()

    @property
    def written(self) -> dict[str, Path]:
        """The captures written, by the names of their ports."""
        return {self.router.ports[number].name: self.paths[number] for number in sorted(self._writers)}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)
        if error is None:
            for number, path in self.paths.items():
                if number not in self._writers:
                    path.unlink(missing_ok=True)  # from an earlier run; this port sent no frame

    def take(self, step: Step) -> None:
        """Write the frames of a step."""
        forwarded, frames = step.made, step.made.frames
        for number in np.unique(forwarded.port).tolist():
            rows = np.flatnonzero(forwarded.port == number)
            times = step.sent_ns
            if number in self._links:
                times = times.copy()
                times[rows] = self._links[number].departures(times[rows], frames.length[rows])
            self.write(number, frames, times, rows)

    def write(self, number: int, frames: Packets, times: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Append the frames `rows` to a port's capture in this order, with their times."""
        columns: dict[str, Any] = {
            "t_ns": times, "length": frames.length.astype(np.uint32), "position": frames.offset,
            "interface": np.zeros(len(frames), np.uint16),
        }  # fmt: skip
        table = PacketTable.of_records(columns, np.array([ETHERNET_LINK], np.uint16))
        self._writer(number).write(frames.buffer, 0, table, rows, frames.length)

    def _writer(self, number: int) -> CaptureWriter:
        if number not in self._writers:
            part = self._open.enter_context(replacing("-", self.paths[number]))
            self._writers[number] = self._open.enter_context(CaptureWriter(part, "pcap-ns"))
        return self._writers[number]


class DropTable:
    """Writes dropped packets as CSV, in order: port, packet (from 0 in its capture), time_ns, reason, clause."""

    def __init__(self, router: Router, path: Path) -> None:
        self.router, self.path = router, path
        self._open = ExitStack()

    def __enter__(self) -> Self:
        part = self._open.enter_context(replacing("-", self.path))
        file = self._open.enter_context(part.open("w", newline="", encoding="utf-8"))
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(DROP_COLUMNS)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def take(self, step: Step) -> None:
        """Write the drops of a step."""
        self._writer.writerows(row for _, row in self._rows(step))

    def _rows(self, step: Step) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield for each dropped packet its number in the step and its CSV row."""
        rows = step.dropped
        names = [port.name for port in self.router.ports]
        reasons = {int(reason): reason for reason in Reason}
        columns = (rows, step.frames.port[rows], step.part.number[rows], step.part.t_ns[rows], step.made.reason[rows])
        for row, port, number, time_ns, code in zip(*(column.tolist() for column in columns), strict=True):
            time = "" if time_ns == NO_TIME else time_ns
            yield row, (names[port], number, time, reasons[code].name, reasons[code].clause)


class LateDropTable(DropTable):
    """A drop table for drops that are known only at the end: it stores all rows until then."""

    def __init__(self, router: Router, path: Path) -> None:
        super().__init__(router, path)
        self._rows_by_packet: list[tuple[int, tuple[Any, ...]]] = []

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._writer.writerows(row for _, row in sorted(self._rows_by_packet, key=lambda numbered: numbered[0]))
        super().__exit__(kind, error, at)

    def take(self, step: Step, first: int = 0) -> None:
        """Store the drops of a step whose packets are numbered from `first`."""
        self._rows_by_packet += [(first + row, cells) for row, cells in self._rows(step)]

    def add(self, order: int, port: int, number: int, time_ns: int, reason: str, clause: str) -> None:
        """Store a drop decided later; `order` is the packet's number over all steps."""
        time = "" if time_ns == NO_TIME else time_ns
        self._rows_by_packet.append((order, (self.router.ports[port].name, number, time, reason, clause)))
