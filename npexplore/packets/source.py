"""Reads a capture through a sliding window: a file or standard input, plain, gzip (RFC 1952) or zstd (RFC 8878).

Memory is bounded by the bytes that have arrived, never by a length field.
"""

import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.paths import capture

BLOCK_BYTES = 1 << 21
PIECE_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UNPACK, _CONVERT = "decompress it first", "editcap -F pcapng converts it"
_OTHER_FORMATS = {
    _GZIP: f"gzip; {_UNPACK}", b"\xfd7zX": f"xz; {_UNPACK}", b"BZh": f"bzip2; {_UNPACK}", b"PK\3\4": f"zip; {_UNPACK}",
    b"\x04\x22\x4d\x18": f"lz4; {_UNPACK}", b"snoo": f"snoop; {_CONVERT}", b"GMBU": f"Network Monitor; {_CONVERT}",
    b"TRSN": f"Sniffer; {_CONVERT}", b"XCP\0": f"Sniffer; {_CONVERT}", b"\x7fELF": "ELF, a program",
    b"\xef\xbb\xbf": "the byte-order mark of a text",
}  # fmt: skip


def other_format(first: bytes) -> str:
    """Return the probable format of a file that starts with these four bytes, with advice; empty if unknown."""
    for magic, text in _OTHER_FORMATS.items():
        if first.startswith(magic):
            return text
    is_text = first and first.isascii() and first.decode().isprintable()
    return "text; text2pcap makes captures of hex dumps" if is_text else ""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes) -> bytes: ...
    def copy(self) -> Any: ...


class _Compressed:
    """Decompress a stream of one or more gzip members or zstd frames; a truncated or corrupt stream sets `damage`.

    The compressed bytes are fed in small pieces, so that even a piece that expands a thousandfold stays small. Bytes
    decompressed before damage are used: the bad gzip piece is decompressed again byte by byte; zstd is fed by blocks.
    """

    def __init__(self, read: Callable[[int], bytes], first: bytes, kind: str) -> None:
        self._read = read
        self._input = first
        self._output = memoryview(b"")
        self.taken = len(first)  # compressed bytes
        self.kind = kind
        self.damage: str | None = None
        self._piece = 8192 if kind == "gzip" else 1024
        self._engine: _Decompressor = self._new()
        self._blocks = ZstdBlocks()
        self._between = False

    def _new(self) -> Any:
        if self.kind == "gzip":
            return zlib.decompressobj(wbits=31)
        from npexplore.zstd import ZstdDecompressor  # imported on demand

        return ZstdDecompressor()

    def readinto(self, view: memoryview) -> int:
        """Fill `view` as far as there is input and return the number of bytes; 0 at the end or at damage."""
        filled = 0
        while filled < len(view) and (self._output or self._advance()):
            count = min(len(view) - filled, len(self._output))
            view[filled : filled + count] = self._output[:count]
            self._output = self._output[count:]
            filled += count
        return filled

    def _advance(self) -> bool:
        if self.damage:
            return False
        if not self._input:
            self._input = self._read(PIECE_BYTES)
            self.taken += len(self._input)
            if not self._input:
                if not self._between:
                    self.damage = f"the {self.kind} stream ends before its end mark"
                return False
        if self._between:
            self._input = self._input.lstrip(b"\0") if self.kind == "gzip" else self._input
            if not self._input:
                return True
            self._engine = self._new()
            self._blocks = ZstdBlocks()
            self._between = False
        size = self._piece if self.kind == "gzip" else min(self._piece, self._blocks.room())
        piece, self._input = self._input[:size], self._input[size:]
        engine_before = self._engine.copy() if self.kind == "gzip" else None
        try:
            self._output = memoryview(self._engine.decompress(piece))
        except Exception as error:  # zlib.error or ZstdError; both mean broken data
            self.damage = f"the {self.kind} stream is broken: {error}"
            self._output = memoryview(_until_damage(engine_before, piece))
            return len(self._output) > 0
        if self.kind == "zstd":
            self._blocks.take(piece)
        if self._engine.eof:
            self._input = self._engine.unused_data + self._input
            self._between = True
        return True


def _until_damage(engine: Any, piece: bytes) -> bytes:
    """Return the output of a decompressor for a piece up to the failure; empty if engine is None."""
    intact = bytearray()
    for index in range(len(piece) if engine is not None else 0):
        try:
            intact += engine.decompress(piece[index : index + 1])
        except zlib.error:
            break
    return bytes(intact)


class ZstdBlocks:
    """Tracks where the parts of a zstd frame end (RFC 8878 section 3.1.1), to feed a decompressor one block at a time.

    A frame: magic, descriptor and up to 13 bytes of header; blocks of a 3-byte header and their content; a checksum.
    """

    def __init__(self) -> None:
        self._head = b""
        self._step = self._magic
        self._left, self._wanted = 0, 5

    def room(self) -> int:
        """Return how many bytes may be fed before the next part begins."""
        return self._left or self._wanted - len(self._head)

    def take(self, piece: bytes) -> None:
        """Record that a piece, no longer than `room`, was fed."""
        if self._left:
            self._left -= len(piece)
            return
        self._head += piece
        if len(self._head) == self._wanted:
            head, self._head = self._head, b""
            self._step(head)

    def _magic(self, head: bytes) -> None:
        if head[:4] != _ZSTD:  # a skippable frame: its size follows the magic
            self._step, self._wanted = self._skipped, 3
            self._size_byte = head[4]
            return
        flags = head[4]
        single_segment, self._sum = flags >> 5 & 1, flags >> 2 & 1
        header = (0, 1, 2, 4)[flags & 3] + (1 - single_segment) + (single_segment, 2, 4, 8)[flags >> 6]
        self._step, self._wanted, self._left = self._block, 3, header

    def _skipped(self, head: bytes) -> None:
        self._step, self._wanted = self._rest, 1 << 30
        self._left = int.from_bytes(head, "little") << 8 | self._size_byte

    def _rest(self, head: bytes) -> None:
        """Handle the bytes after the last block."""

    def _block(self, head: bytes) -> None:
        value = int.from_bytes(head, "little")
        is_last, kind, size = value & 1, value >> 1 & 3, value >> 3
        self._left = 1 if kind == 1 else size
        if is_last:
            self._step, self._wanted = self._rest, 4 if self._sum else 1 << 30


class Source:
    """The window `data[start:end]` of a capture's bytes; `base` is the offset of data[0] in the (decompressed) file."""

    def __init__(self, path: "str | Path | BinaryIO", *, block_bytes: int = BLOCK_BYTES) -> None:
        path = capture(path) if isinstance(path, str) else path
        self.name = str(path) if isinstance(path, str | Path) else str(getattr(path, "name", "<stream>"))
        self.compression: str | None = None
        self.size = 0  # of a regular file as it is on disk, else 0
        self.start = self.end = self.base = 0
        self.keep = False  # True: move to a new array instead of overwriting the window
        self._block = block_bytes
        self.data: NDArray[np.uint8] = np.empty(block_bytes, dtype=np.uint8)
        self._owned = False
        self._file: Any = sys.stdin.buffer if path == "-" else path
        try:
            if isinstance(path, str | Path) and path != "-":
                self._file, self._owned = open(path, "rb", buffering=0), True  # noqa: SIM115
            first = b""
            while len(first) < 4 and (piece := self._file.read(4 - len(first))):
                first += piece
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {error.strerror or error}") from error
        self._compressed: _Compressed | None = None
        if first[:2] == _GZIP or first == _ZSTD or (first[1:] == b"\x2a\x4d\x18" and first[0] >> 4 == 5):
            self.compression = "gzip" if first[:2] == _GZIP else "zstd"
            self._compressed = _Compressed(self._file.read, first, self.compression)
            self._readinto: Callable[[Any], int | None] = self._compressed.readinto
        else:
            self.data[: len(first)] = np.frombuffer(first, np.uint8)
            self.end = len(first)
            self._readinto = self._file.readinto
        if self._owned:
            self.size = os.fstat(self._file.fileno()).st_size

    @property
    def damage(self) -> str | None:
        """The damage of the compressed stream, known once reading reached it."""
        return self._compressed.damage if self._compressed else None

    @property
    def taken(self) -> int:
        """Bytes of the file on disk that were consumed."""
        return self._compressed.taken if self._compressed else self.offset

    @property
    def offset(self) -> int:
        """Offset of the first byte not consumed."""
        return self.base + self.start

    def available(self) -> int:
        """Number of bytes in the window."""
        return self.end - self.start

    def need(self, count: int) -> bool:
        """Read until the window holds at least `count` bytes; False if the input ends before."""
        if self.available() >= count:
            return True
        self._move()
        while self.available() < count:
            if self.end == len(self.data):
                self._grow()
            try:
                count_read = self._readinto(self.data[self.end :].data)
            except OSError as error:
                raise InputError(f"{self.name}: cannot be read: {error.strerror or error}") from error
            if not count_read:
                return False
            self.end += count_read
        return True

    def skip(self, count: int) -> bool:
        """Pass over `count` bytes without keeping them; False if the input ends before."""
        while count > self.available():
            count -= self.available()
            self.start = self.end
            if not self.need(1):
                return False
        self.start += count
        return True

    def bytes(self, count: int) -> bytes:
        """Return the next `count` bytes, which `need` has read, without consuming them."""
        return self.data[self.start : self.start + count].tobytes()

    def close(self) -> None:
        """Close the file if this object opened it."""
        if self._owned:
            self._file.close()

    def _move(self) -> None:
        unread = self.data[self.start : self.end]
        if self.keep:
            self.data = np.empty(max(self._block, len(unread)), dtype=np.uint8)
        self.data[: len(unread)] = unread.copy()
        self.base += self.start
        self.start, self.end = 0, len(unread)

    def _grow(self) -> None:
        larger = np.empty(2 * len(self.data), dtype=np.uint8)
        larger[: self.end] = self.data[: self.end]
        self.data = larger
