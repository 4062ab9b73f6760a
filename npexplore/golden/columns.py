"""Many packets as columns: one buffer of bytes, with the offset and the length of each packet.

Batch functions take `Packets`. A capture file serves as the buffer itself, without a copy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.records import by_content

_SHORTEST = 4  # bytes of a word


@by_content
@dataclass(frozen=True)
class Packets:
    """n packets in a buffer. buffer: uint8; offset of each packet's first byte, length in bytes: int64, shape (n,).

    Example:
        >>> from npexplore.golden import Packets
        >>> packets = Packets.of([bytes(20), bytes(40)])
        >>> packets.length.tolist()
        [20, 40]
    """

    buffer: NDArray[np.uint8]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, array, kind in (("buffer", self.buffer, np.uint8), ("offset", self.offset, np.int64)):
            if array.dtype != kind or array.ndim != 1 or not array.flags.c_contiguous:
                raise InputError(f"{name} of packets must be one column of {np.dtype(kind)}, got {array.dtype}")
        if self.length.dtype != np.int64 or self.length.shape != self.offset.shape:
            raise InputError(f"length of packets must be int64, one for each of {len(self.offset)} offsets")
        ends = self.offset + self.length
        if len(ends) and (
            int(self.offset.min()) < 0 or int(self.length.min()) < 0 or int(ends.max()) > len(self.buffer)
        ):
            row = int(np.flatnonzero((self.offset < 0) | (self.length < 0) | (ends > len(self.buffer)))[0])
            raise InputError(f"packet {row} must lie in the buffer of {len(self.buffer)} bytes, it ends at {ends[row]}")

    @classmethod
    def of(cls, packets: Iterable[bytes]) -> "Packets":
        """Return packets from separate byte strings, stored one after the other."""
        parts = list(packets)
        length = np.fromiter(map(len, parts), np.int64, len(parts))
        offset = np.cumsum(length) - length
        joined = b"".join(parts)
        return cls(np.frombuffer(bytearray(joined), np.uint8), offset, length)

    def __len__(self) -> int:
        return len(self.offset)

    def __iter__(self) -> Iterator[bytes]:
        for offset, length in zip(self.offset.tolist(), self.length.tolist(), strict=True):
            yield self.buffer[offset : offset + length].tobytes()

    def __getitem__(self, row: int) -> bytes:
        start = int(self.offset[row])
        return self.buffer[start : start + int(self.length[row])].tobytes()

    def copy(self) -> "Packets":
        """Return a copy, whose bytes can be changed independently."""
        return Packets(self.buffer.copy(), self.offset, self.length)

    @property
    def words(self) -> NDArray[np.uint32]:
        """The buffer as overlapping 4-byte words in the host's byte order: word i begins at byte i."""
        buffer = self.buffer if len(self.buffer) >= _SHORTEST else np.zeros(_SHORTEST, np.uint8)
        return np.ndarray((len(buffer) - _SHORTEST + 1,), np.uint32, buffer, strides=(1,))
