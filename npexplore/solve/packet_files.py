"""The files of a run: a row per packet in Parquet, sent frames at their departures, dropped frames at their arrivals.

Captures are pcap with nanoseconds, or pcapng if the input has several link types (draft-ietf-opsawg-pcap,
draft-ietf-opsawg-pcapng). All files are written part by part: rows as row groups, frames from a copy on the disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.fates import NOWHERE, Fates
from npexplore.errors import InputError
from npexplore.mapped_arrays import arrays_in_files, extremes, mapped_file, parts
from npexplore.packets.columns import RECORD_COLUMNS, PacketTable, TableBuilder
from npexplore.packets.files import Scan, open_captures, paths_of
from npexplore.packets.output import replacing
from npexplore.packets.writing import CaptureWriter
from npexplore.progress import Task
from npexplore.solve.packet_run import PacketRun
from npexplore.solve.row_files import ROW_FILE, write_rows

Integers = npt.NDArray[np.int64]


def write_run(
    result: PacketRun, trace: str | Path | Scan, folder: str | Path,
    with_progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> dict[str, Path]:  # fmt: skip
    """Write `packets.parquet`, `sent.pcap` and `dropped.pcap` (pcapng where one has several link types); return paths.

    result: a run of a capture. trace: that capture; its frames are read again, into an unnamed file in the folder.
    folder: created if it does not exist. with_progress: wraps the reading, for example with a progress bar. Times of
    sent frames are the first packet's time plus the departure, rounded to nanoseconds. Raises InputError if the capture
    has changed.
    """
    folder, scan = Path(folder), open_captures(trace)
    folder.mkdir(parents=True, exist_ok=True)
    sources, number = paths_of(scan), result.number
    rows, tick = result.fates.rows, result.fates.model.tick
    files = {"packets": folder / ROW_FILE}
    if result.row_file != files["packets"]:
        write_rows(result.rows, sources, files["packets"])
    frames = Frames.copied(scan, folder, with_progress)
    if frames.table.rows <= (last := extremes(number)[1]):
        raise InputError(f"{', '.join(sources)}: has {frames.table.rows} packets now, and packet {last} was run")
    links: set[int] = set()
    first = int(np.iinfo(np.int64).max)
    for part in parts(len(number)):
        links.update(np.unique(frames.table.stored["interface"][number[part]]).tolist())
        first = min(first, int(frames.table.stored["t_ns"][number[part]].min()))
    several = len(np.unique(frames.table.link_types[sorted(links)])) > 1
    form, suffix = ("pcapng", "pcapng") if several else ("pcap-ns", "pcap")

    def sent() -> Iterator[tuple[Integers, Integers]]:
        for places in departing(result.fates):
            yield number[places], first + np.round(rows[places, engine.F_END] * (tick * 1e9)).astype(np.int64)

    def dropped() -> Iterator[tuple[Integers, Integers]]:
        for part in result.fates.parts():
            packets = number[part][result.fates.part(part).lost]
            yield packets, frames.table.stored["t_ns"][packets]

    for name, packets in {"sent": sent(), "dropped": dropped()}.items():
        files[name] = folder / f"{name}.{suffix}"
        progress = Task(f"packets {name}", unit="packet", total=result.counts[name])
        with replacing(sources, files[name]) as path, CaptureWriter(path, form) as writer, progress as task:
            for chosen, t_ns in packets:
                frames.write(writer, chosen, t_ns)
                task.advance(len(chosen))
    return files


def departing(fates: Fates) -> Iterator[Integers]:
    """Yield the places of the sent packets, part by part, in the order of their departures.

    Packets are in the order of their arrivals and depart after they arrive. So packets that depart before the next
    part's first arrival come before all later packets.
    """
    rows, waiting = fates.rows, np.zeros(0, dtype=np.int64)
    for part in fates.parts():
        waiting = np.concatenate([waiting, part.start + np.flatnonzero(fates.part(part).finished)])
        ends = rows[waiting, engine.F_END]
        order = np.argsort(ends, kind="stable")
        complete = len(order)
        if part.stop < len(rows) and (arrival := rows[part.stop, engine.F_ARRIVAL]) != NOWHERE:
            complete = int(np.searchsorted(ends[order], arrival))
        yield waiting[order[:complete]]
        waiting = np.sort(waiting[order[complete:]])


@dataclass(frozen=True)
class Frames:
    """Frames of a capture: their bytes one after the other, and a table with their positions and times."""

    data: npt.NDArray[np.uint8]
    table: PacketTable

    @staticmethod
    def copied(scan: Scan, folder: Path, with_progress: Callable[[Iterable[Any]], Iterable[Any]]) -> Frames:
        """Copy a capture's frames into an unnamed file in a folder; with_progress: wraps the reading."""
        builder, at = TableBuilder(RECORD_COLUMNS), 0
        with closing(scan), arrays_in_files(folder), tempfile.TemporaryFile(dir=folder) as file:
            for table in with_progress(scan):
                data, base = scan.window
                position, captured = table["position"].astype(np.int64), table["captured"].astype(np.int64)
                low, high = int(position.min()), int((position + captured).max())
                file.write(data[low - base : high - base].data)
                moved = {name: table[name] for name in RECORD_COLUMNS} | {"position": position - low + at}
                builder.append(PacketTable.of_records(moved, table.link_types), scan.share_read)
                at += high - low
            file.flush()
            frames = mapped_file(file.fileno()) if at else np.zeros(0, dtype=np.uint8)
            return Frames(frames, builder.finish(scan.link_types))

    def write(self, writer: CaptureWriter, packets: Integers, t_ns: Integers) -> None:
        """Append frames to a capture in this order; packets: their places in the table, t_ns: their times."""
        stored = {name: column[packets] for name, column in self.table.stored.items()} | {"t_ns": t_ns}
        captured = stored["captured"].astype(np.int64)
        writer.write(
            self.data, 0, PacketTable.of_records(stored, self.table.link_types), np.arange(len(packets)), captured
        )
