"""A run of packets as files: a row a packet in Parquet, sent frames at their departures, dropped ones as they came.

Captures are written as others are (pcap with nanoseconds, or pcapng where the input has several link types:
draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable
from npexplore.packets.files import Scan, open_captures, paths_of
from npexplore.packets.output import replacing
from npexplore.packets.writing import CaptureWriter
from npexplore.solve.packet_run import PacketRun

Integers = npt.NDArray[np.int64]


def write_run(
    result: PacketRun, trace: str | Path | Scan, folder: str | Path,
    told: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> dict[str, Path]:  # fmt: skip
    """Write `packets.parquet`, `sent.pcap` and `dropped.pcap` (pcapng where one has several link types); return paths.

    result: what a run of a capture gave. trace: that capture; frames are read again from there, and held in memory.
    folder: is made if it is not there. told: wraps the reading, as in a progress bar. Times of sent frames count from
    the first packet's own time, in nanoseconds, rounded. Raises InputError if the capture is another one by now.
    """
    folder, scan = Path(folder), open_captures(trace)
    folder.mkdir(parents=True, exist_ok=True)
    sources = paths_of(scan)
    rows, tick = result.fates.rows, result.fates.model.tick
    ends, finished, lost = rows[:, engine.F_END], result.fates.finished, result.fates.lost
    found = {"packets": folder / "packets.parquet"}
    with replacing(sources, found["packets"]) as part:
        result.packets.to_parquet(part)
    data, table, kept = _frames(scan, told)
    if len(kept) <= result.number.max(initial=-1):
        raise InputError(f"{', '.join(sources)}: has {len(kept)} packets now, and packet {result.number.max()} was run")
    came = table["t_ns"].astype(np.int64)
    first = int(came[result.number].min(initial=np.iinfo(np.int64).max))
    links = np.unique(table["link_type"][result.number])
    form, suffix = ("pcap-ns", "pcap") if len(links) == 1 else ("pcapng", "pcapng")
    sent = departing(result)
    times = {
        "sent": (result.number[finished][sent], first + np.round(ends[finished][sent] * (tick * 1e9)).astype(np.int64)),
        "dropped": (result.number[lost], came[result.number[lost]]),
    }
    for name, (packets, t_ns) in times.items():
        found[name] = folder / f"{name}.{suffix}"
        stamped = {column: values[packets] for column, values in table.stored.items()} | {"t_ns": t_ns}
        with replacing(sources, found[name]) as part, CaptureWriter(part, form) as writer:
            writer.write(
                data, 0, PacketTable.of_records(stamped, table.link_types), np.arange(len(packets)), kept[packets]
            )
    return found


def departing(result: PacketRun) -> Integers:
    """Return the places of the packets that were sent, among these, in the order of their departures."""
    return np.argsort(result.fates.rows[result.fates.finished, engine.F_END], kind="stable")


def _frames(
    scan: Scan, told: Callable[[Iterable[Any]], Iterable[Any]]
) -> tuple[npt.NDArray[np.uint8], PacketTable, Integers]:
    """Return the bytes of a capture's frames, the table of them with places in these bytes, and their kept lengths."""
    pieces: list[npt.NDArray[np.uint8]] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("t_ns", "length", "position", "interface", "captured")}
    at, links = 0, np.zeros(0, dtype=np.uint16)

    with closing(scan):
        for table in told(scan):
            data, base = scan.window
            position, captured = table["position"].astype(np.int64), table["captured"].astype(np.int64)
            low, high = int(position.min()), int((position + captured).max())
            pieces.append(data[low - base : high - base].copy())
            moved: Mapping[str, Any] = {"position": position - low + at, "captured": captured}
            for name, parts in columns.items():
                parts.append(moved[name] if name in moved else table[name])
            at, links = at + high - low, table.link_types
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    kept = joined.pop("captured")
    return np.concatenate(pieces), PacketTable.of_records(joined, links), kept
