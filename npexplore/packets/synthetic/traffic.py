"""Synthetic packets: times, lengths and addresses in columns, which can be written as a capture."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import InputError, positive
from npexplore.packets.capture import Capture
from npexplore.packets.synthetic.lengths import LengthMix
from npexplore.packets.writing import write_packets
from npexplore.records import by_content

LEAST_IP_BYTES = 28  # an IPv4 and a UDP header
ETHERNET_BYTES = 14
LEAST_FRAME_BYTES = 60  # without its frame check sequence
HEADER_BYTES = ETHERNET_BYTES + LEAST_IP_BYTES


@by_content
@dataclass(frozen=True)
class Traffic:
    """Packets in order: arrival time (ns), IP length (bytes), IPv4 source and destination."""

    t_ns: NDArray[np.int64]
    packet_bytes: NDArray[np.int64]
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]

    @classmethod
    def of_capture(cls, capture: Capture) -> "Traffic":
        """Return a capture's IPv4 packets, times relative to the first; raises InputError without IPv4 or times."""
        table = capture.columns
        rows = table["ipv4"] & table["header_complete"]
        if not rows.any():
            raise InputError(f"{capture.path}: has no IPv4 packet to make traffic of")
        times = table["t_ns"][rows]
        if (times == NO_TIME).any():
            raise InputError(f"{capture.path}: has packets without a time stamp")
        return cls(
            times - times.min(), table["l3_length"][rows].astype(np.int64), table["src"][rows], table["dst"][rows]
        )

    @classmethod
    def made(
        cls,
        t_ns: NDArray[np.int64],
        lengths: LengthMix | NDArray[np.int64],
        rng: np.random.Generator,
        *,
        dst: NDArray[np.uint32] | None = None,
    ) -> "Traffic":
        """Return packets at times t_ns, with a mix's lengths in random order (or an array of lengths), sent to dst.

        Sources, and destinations if dst is None, are uniform over 10.0.0.0/8. Raises InputError for lengths
        below 28 bytes, which cannot hold an IPv4 and a UDP header.
        """
        count = len(t_ns)
        sizes = lengths.shuffled(count, rng) if isinstance(lengths, LengthMix) else np.asarray(lengths, np.int64)
        private_addresses: Callable[[], NDArray[np.uint32]] = lambda: (  # noqa: E731
            rng.integers(0, 1 << 24, count, dtype=np.uint32) | np.uint32(10 << 24)
        )
        if count and not LEAST_IP_BYTES <= sizes.min() <= sizes.max() <= 65535:
            raise InputError(f"IP lengths must be {LEAST_IP_BYTES} to 65535 bytes, got {sizes.min()} to {sizes.max()}")
        return cls(np.asarray(t_ns, np.int64), sizes, private_addresses(), private_addresses() if dst is None else dst)

    def __len__(self) -> int:
        return len(self.t_ns)

    def scaled(self, factor: float) -> "Traffic":
        """Return the same packets with all times multiplied by a factor (0.5: twice the load)."""
        times = np.round(self.t_ns * positive("factor of time", factor)).astype(np.int64)
        return replace(self, t_ns=times)

    def write(self, path: str | Path, *, form: str = "pcap-ns", start_ns: int = 0) -> None:
        """Write the packets as UDP over IPv4 over Ethernet with right header checksums; the file holds headers only."""
        count = len(self)
        frames = np.zeros((count, LEAST_FRAME_BYTES), np.uint8)
        frames[:, 12] = 8
        ip = frames[:, ETHERNET_BYTES : ETHERNET_BYTES + 20]
        ip[:, 0], ip[:, 8], ip[:, 9] = 0x45, 64, 17
        ip[:, 2:4] = _big_endian(self.packet_bytes, ">u2")
        ip[:, 12:16], ip[:, 16:20] = _big_endian(self.src, ">u4"), _big_endian(self.dst, ">u4")
        words = ip.astype(np.int64)
        total = (words[:, ::2] << 8 | words[:, 1::2]).sum(axis=1)
        total = (total & 0xFFFF) + (total >> 16)
        ip[:, 10:12] = _big_endian(0xFFFF - ((total & 0xFFFF) + (total >> 16)), ">u2")
        udp = frames[:, ETHERNET_BYTES + 20 : HEADER_BYTES]
        udp[:, 1], udp[:, 3] = 9, 9  # the discard service
        udp[:, 4:6] = _big_endian(self.packet_bytes - 20, ">u2")
        length = np.maximum(self.packet_bytes + ETHERNET_BYTES, LEAST_FRAME_BYTES)
        write_packets(path, self.t_ns + start_ns, frames, np.full(count, HEADER_BYTES), length, form=form)


def _big_endian(values: NDArray[np.integer], dtype: str) -> NDArray[np.uint8]:
    return values.astype(dtype).view(np.uint8).reshape(len(values), -1)
