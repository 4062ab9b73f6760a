"""Opens files, folders and glob patterns of captures as one scan.

Packets are read file after file, as `mergecap -a` joins captures. Files of a folder or pattern are in order of their
names; hidden files and subfolders are skipped.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable
from npexplore.packets.pcapng import Interface
from npexplore.packets.scan import MAX_INTERFACES, CaptureScan, Damage, T, Work

SHOWN_PATHS = 8
Files = str | Path | Sequence[str | Path]


def find_captures(names: Files) -> list[str]:
    """Return the files that paths, folders and glob patterns (`*`, `?`, `[...]`, `**`) name, in their order.

    Raises InputError for a folder or pattern without files, and for a file that is named twice.
    """
    paths: list[str] = []
    for name in [names] if isinstance(names, str | Path) else names:
        text, path = str(name), Path(name)
        if text == "-" or path.is_file():
            paths.append(text)
            continue
        if path.is_dir():
            inside = sorted(path.iterdir())
        elif glob.has_magic(text) and not path.exists():
            inside = sorted(map(Path, glob.glob(text, recursive=True)))
        else:
            paths.append(text)  # opening a missing file raises the error
            continue
        files = [str(file) for file in inside if file.is_file() and not file.name.startswith(".")]
        if not files:
            raise InputError(f"{text}: {'the folder has' if path.is_dir() else 'the pattern stands for'} no files")
        paths += files
    if not paths:
        raise InputError("a capture must be at least one file, got none")
    twice = next((one for k, one in enumerate(paths) if one in paths[:k]), None) if len(set(paths)) < len(paths) else ""
    if twice:
        raise InputError(f"{twice}: is named twice; each file counts once")
    return paths


def capture_identity(path: str | Path) -> tuple[bytes, int, int]:
    """Return a key of a capture's content: (resolved path, size in bytes, time of the last change in ns).

    Raises OSError if there is no such file.
    """
    file = Path(path).resolve()
    about = file.stat()
    return os.fsencode(file), about.st_size, about.st_mtime_ns


class CaptureSeries:
    """Iterate over the packets of several captures, one PacketTable per chunk, as a CaptureScan does over one.

    Equal interfaces of several files count as one. A file that is not a capture, is missing or is cut short is reported
    in `troubles`, one line each, and the others are still read. Raises InputError if no file can be read.
    """

    def __init__(self, paths: Sequence[str | Path], *, workers: int = 1) -> None:
        more = [f"and {len(paths) - SHOWN_PATHS} more"] if len(paths) > SHOWN_PATHS else []
        self.path = ", ".join([*map(str, paths[:SHOWN_PATHS]), *more])
        self.format = ""
        self.troubles: list[str] = []
        self.interfaces: list[Interface] = []
        self.packets = [0] * len(paths)  # of each file, as far as it was read
        self.paths, self._workers = paths, workers
        self._sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
        self.other_blocks: dict[str, int] = {}  # of the pcapng files read so far, as in CaptureScan
        self._behind = 0  # bytes of the files that are read completely
        self._first_damage: Damage | None = None
        self._scan: CaptureScan | None = None

    @property
    def damage(self) -> Damage | None:
        """The first damage found, with the number of files that are damaged or cannot be read if there are several."""
        first, files = self._first_damage, len(self.troubles)
        if first is None or files == 1:
            return first
        summary = f"{files} of {len(self.paths)} files are damaged or no captures"
        return Damage(first.offset, f"{summary}, first {first.message}")

    @property
    def link_types(self) -> NDArray[np.uint16]:
        """Link type of each interface met so far."""
        return np.array([interface.link_type for interface in self.interfaces], dtype=np.uint16)

    @property
    def window(self) -> tuple[NDArray[np.uint8], int]:
        """Bytes of the packets of the table yielded last, and the offset of the first; valid until the next table."""
        assert self._scan is not None, "a window is there once a table is"
        return self._scan.window

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, over all files."""
        return self._behind + (self._scan.bytes_read if self._scan else 0)

    @property
    def bytes_total(self) -> int:
        """Bytes of all files."""
        return sum(self._sizes)

    @property
    def share_read(self) -> float:
        """Share of the input that has been read."""
        return self.bytes_read / self.bytes_total if self.bytes_total else 0.0

    def close(self) -> None:
        """Close the file that is being read; reading to the end does it too."""
        if self._scan is not None:
            self._scan.close()

    def __iter__(self) -> Iterator[PacketTable]:
        for table, _ in self.each(lambda table, data, base: None):
            yield table

    def each(self, work: Work[T]) -> Iterator[tuple[PacketTable, T]]:
        """Yield each table with the result of `work`, as a CaptureScan does (`work` gets the file's own interfaces)."""
        formats: dict[str, None] = {}
        for number, path in enumerate(self.paths):
            self._behind, self._scan = sum(self._sizes[:number]), None
            try:
                scan = self._scan = CaptureScan(path, workers=self._workers)
                formats[scan.format] = None
                for table, result in self._tables(scan, work):
                    self.packets[number] += table.rows
                    yield table, result
                for name, count in scan.other_blocks.items():
                    self.other_blocks[name] = self.other_blocks.get(name, 0) + count
            except InputError as error:
                self._trouble(str(error), Damage(0, str(error)))
            else:
                if damage := scan.damage:
                    self._trouble(f"{path}: {damage}", Damage(damage.offset, f"{path}: {damage.message}"))
        self._behind, self._scan = self.bytes_total, None
        self.format = ", ".join(formats)
        if not formats:
            raise InputError(self.troubles[0])

    def _tables(self, scan: CaptureScan, work: Work[T]) -> Iterator[tuple[PacketTable, T]]:
        numbers: list[int] = []
        for table, result in scan.each(work):
            for interface in scan.interfaces[len(numbers) :]:
                if interface not in self.interfaces:
                    if len(self.interfaces) == MAX_INTERFACES:
                        raise InputError(f"{scan.path}: captures may have at most {MAX_INTERFACES} interfaces together")
                    self.interfaces.append(interface)
                numbers.append(self.interfaces.index(interface))
            of_all = np.array(numbers, np.uint16)[table["interface"]]
            yield replace(table, stored={**table.stored, "interface": of_all}, link_types=self.link_types), result

    def _trouble(self, text: str, damage: Damage) -> None:
        self.troubles.append(text)
        self._first_damage = self._first_damage or damage


Scan = CaptureScan | CaptureSeries


def open_captures(files: Files | Scan | BinaryIO, *, workers: int = 1) -> Scan:
    """Return the scan of one file, or of all files that folders, patterns and lists name; raises InputError.

    An open scan is returned unchanged; a binary file object is accepted as a capture.
    """
    if isinstance(files, Scan):
        return files
    if not isinstance(files, str | Path | Sequence):
        return CaptureScan(files, workers=workers)
    paths = find_captures(files)
    return CaptureScan(paths[0], workers=workers) if len(paths) == 1 else CaptureSeries(paths, workers=workers)


def paths_of(scan: Scan) -> list[str]:
    """Return the files that a scan reads."""
    return [*map(str, scan.paths)] if isinstance(scan, CaptureSeries) else [scan.path]


def troubles(scan: Scan) -> list[str]:
    """Return what went wrong while a scan read its files, one line each."""
    if isinstance(scan, CaptureSeries):
        return scan.troubles
    return [f"{scan.path}: {scan.damage}"] if scan.damage else []
