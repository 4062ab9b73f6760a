"""Stores frames in a temporary file until their departure times, and so their order, are known."""

from __future__ import annotations

import mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.captures.replay import ETHERNET_LINK
from npexplore.golden.columns import Packets
from npexplore.packets.columns import PacketTable
from npexplore.packets.writing import CaptureWriter

FILE_HEAD, RECORD_HEAD = 24, 16  # bytes of pcap


class Spool:
    """Frames in a temporary file: `put` appends, `all` returns them as writable `Packets`. Use it in a `with` block."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="npexplore-")
        self._path = Path(self._folder.name) / "frames.pcap"
        self._writer = CaptureWriter(self._path, "pcap-ns")
        self._lengths: list[NDArray[np.int64]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.__exit__(None, None, None)
        self._folder.cleanup()

    def put(self, frames: Packets) -> None:
        """Append frames."""
        columns: dict[str, Any] = {
            "t_ns": np.zeros(len(frames), np.int64), "length": frames.length.astype(np.uint32),
            "position": frames.offset, "interface": np.zeros(len(frames), np.uint16),
        }  # fmt: skip
        table = PacketTable.of_records(columns, np.array([ETHERNET_LINK], np.uint16))
        self._writer.write(frames.buffer, 0, table, np.arange(len(frames)), frames.length)
        self._lengths.append(frames.length.astype(np.int64))

    def all(self) -> Packets:
        """Return all frames in the order of `put`, which must not be called afterwards."""
        self._writer.__exit__(None, None, None)
        length = np.concatenate([np.empty(0, np.int64), *self._lengths])
        begin = FILE_HEAD + np.cumsum(length + RECORD_HEAD) - length
        with self._path.open("r+b") as file:
            file_bytes = np.frombuffer(mmap.mmap(file.fileno(), 0), np.uint8)
        return Packets(file_bytes, begin, length)
