"""Merges several captures into one stream of packets in order of time, in bounded memory.

Each step yields the packets that no later packet of any input can precede. Packets of one capture keep the order of
the file, whatever their time stamps; of packets with the same time, those of the input named first come first. A packet
without a time stamp follows the packet before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.packets.columns import Column, PacketTable
from npexplore.packets.scan import CaptureScan


@dataclass(frozen=True)
class Part:
    """Packets in order of time, whose bytes are buffer[offset:][:captured].

    source: the number of the input (from 0) and number: the packet's place there (from 0); t_ns, length and link_type
    as in the packet table.
    """

    buffer: NDArray[np.uint8]
    offset: NDArray[np.int64]
    captured: NDArray[np.int64]
    length: NDArray[np.int64]
    source: NDArray[np.int64]
    number: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    link_type: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.offset)


class _Input:
    """One capture: its current chunk, and the row of the first unmerged packet; `table` is None at the end."""

    def __init__(self, scan: CaptureScan) -> None:
        self.scan = scan
        self.read = 0  # packets of earlier chunks
        self._tables: Iterator[PacketTable] = iter(scan)
        self._latest = np.iinfo(np.int64).min
        self.table: PacketTable | None = None
        self.at = 0
        self.advance()

    def advance(self) -> None:
        """Go to the next chunk that has packets."""
        self.read, self.at = self.read + (self.table.rows if self.table else 0), 0
        self.table = next((table for table in self._tables if table.rows), None)
        if self.table is not None:
            self.key = np.maximum(np.maximum.accumulate(self.table["t_ns"]), self._latest)
            self._latest = self.key[-1]

    def take(self, end: int, source: int) -> dict[str, Any]:
        """Return the columns of the unmerged packets before row `end`."""
        assert self.table is not None
        rows, table = slice(self.at, end), self.table
        data, base = self.scan.window
        self.at = end
        position = table["position"][rows] - base
        captured = table["captured"][rows].astype(np.int64)
        first, last = (int(position[0]), int((position + captured).max())) if len(position) else (0, 0)
        return {
            "buffer": data[first:last], "offset": position - first, "captured": captured,
            "length": table["length"][rows].astype(np.int64), "source": np.full(len(position), source),
            "number": np.arange(rows.start, rows.stop) + self.read, "t_ns": table["t_ns"][rows],
            "link_type": table["link_type"][rows], "key": self.key[rows],
        }  # fmt: skip


def merged(scans: Sequence[CaptureScan]) -> Iterator[Part]:
    """Yield the packets of all captures in order of time; a part's buffer is valid until the next part."""
    inputs = [_Input(scan) for scan in scans]
    while live := [(number, source) for number, source in enumerate(inputs) if source.table is not None]:
        # merge up to the earliest end of a chunk: the next chunk of that input may continue right after it
        limit, last = min((int(source.key[-1]), number) for number, source in live)
        columns = []
        for number, source in live:
            end = int(np.searchsorted(source.key, limit, "right" if number <= last else "left"))
            if end > source.at:
                columns.append(source.take(end, number))
        yield _joined(columns)
        inputs[last].advance()
        for _, source in live:
            if source.table is not None and source.at == source.table.rows:
                source.advance()


def _joined(taken: Sequence[dict[str, Any]]) -> Part:
    columns = {name: [part[name] for part in taken] for name in taken[0]}
    keys = columns.pop("key")
    if len(taken) == 1:
        return Part(**{name: parts[0] for name, parts in columns.items()})
    sizes = np.array([len(buffer) for buffer in columns["buffer"]])
    starts = np.cumsum(sizes) - sizes
    columns["offset"] = [offset + start for offset, start in zip(columns["offset"], starts, strict=True)]
    buffer = np.concatenate(columns.pop("buffer"))
    order = np.argsort(np.concatenate(keys), kind="stable")
    ordered: dict[str, Column] = {name: np.concatenate(parts)[order] for name, parts in columns.items()}
    return Part(buffer=buffer, **ordered)
