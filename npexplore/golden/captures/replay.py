"""Replays captures through the router: one capture for each port, all packets in order of time, chunk by chunk.

    steps = Replay(load_router("router.toml"), {"p0": "in.pcap"})
    for step in steps: ...              # step.made is the router's output for the frames of step.part

Frames are Ethernet; a packet captured without a link header gets one, from the port's neighbour to the port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore.display import ShownByArguments
from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.columns import Packets
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, IPV6_TYPE
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.router.batch import BatchForwarder, Forwarded, Frames
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.rules import Profile
from npexplore.packets.links import link_format
from npexplore.packets.merging import Part, merged
from npexplore.packets.scan import CaptureScan

NO_TIME = np.iinfo(np.int64).min
ETHERNET_LINK = 1
RAW_LINKS = (12, 14, 101, 228)  # packets without a link header
Capture = str | Path | BinaryIO


@dataclass(frozen=True)
class Step:
    """A chunk of packets and the router's output for it. part.source: numbers of inputs; frames.port: of ports."""

    part: Part
    frames: Frames
    made: Forwarded

    @property
    def sent_ns(self) -> NDArray[np.int64]:
        """The time of each frame sent: that of the packet that caused it, 0 without a timestamp."""
        return self.frames.time_ns[self.made.packet]

    @property
    def dropped(self) -> NDArray[np.int64]:
        """Rows of the packets that were not sent."""
        return np.flatnonzero(self.made.reason)


class Replay(ShownByArguments):
    """Iterates once over the steps of captures through the router; afterwards `scans` has formats and damage.

    Args:
        router: the configuration.
        inputs: a capture (path, `-` for standard input, or binary file) for each port's name.
        profile: a profile or its name, such as "linux" (None: the configuration's).
        lookup: the name of a structure of npexplore.golden.lookup for IPv4.
        error_limit: a token bucket that limits ICMP errors, in errors a second (None: the configuration's).
        any_station: readdress frames for other stations to the port's MAC address, for captures from other links.
        speed: factor by which packets arrive faster than in the captures, from the first packet on.

    Raises:
        UnknownNameError: the router has no port of that name.
        InputError: a file that is not a capture; while iterating, a link type that is not supported.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.golden import Replay, load_router
        >>> path = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
        >>> replay = Replay(load_router("office"), {"office": path}, any_station=True)
        >>> len(list(replay)) > 0
        True
    """

    def __init__(
        self, router: Router, inputs: Mapping[str, Capture], *, profile: Profile | str | None = None,
        lookup: str = "dir24_8", error_limit: TokenBucket | None = None, any_station: bool = False,
        speed: float = 1.0,
    ) -> None:  # fmt: skip
        numbers = {port.name: port.number for port in router.ports}
        for name in inputs:
            if name not in numbers:
                raise UnknownNameError("port", name, numbers)
        self.router = router
        self.ports = tuple(inputs)
        self._any_station = any_station
        self._speed = speed
        self._first_ns: int | None = None
        self._macs = np.frombuffer(b"".join(port.mac for port in router.ports), np.uint8).reshape(-1, 6)
        self._port = np.array([numbers[name] for name in inputs], np.int16)
        self.forwarder = BatchForwarder(router, profile=profile, lookup=lookup, error_limit=error_limit)
        with ExitStack() as opened:
            self.scans = tuple(opened.enter_context(closing(CaptureScan(path))) for path in inputs.values())
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the captures; iterating to the end closes them, too."""
        self._opened.close()

    @property
    def damaged(self) -> bool:
        """Whether damage was found in an input so far."""
        return any(scan.damage for scan in self.scans)

    def __iter__(self) -> Iterator[Step]:
        for part in merged(self.scans):
            frames = self._frames(part)
            yield Step(part, frames, self.forwarder.forward(frames))

    def _frames(self, part: Part) -> Frames:
        raw = part.link_type != ETHERNET_LINK
        port = self._port[part.source]
        time_ns = self._times(np.where(part.t_ns == NO_TIME, 0, part.t_ns))
        packets = Packets(part.buffer, part.offset, part.captured)
        if raw.any():
            self._refuse(part, raw)
            packets = self._framed(packets, np.flatnonzero(raw), port)
        if self._any_station:
            kernels.readdress(packets.buffer, packets.offset, packets.length, port, self._macs)
        return Frames(packets, port, time_ns)

    def _times(self, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._speed == 1.0 or not len(t_ns):
            return t_ns
        if self._first_ns is None:
            self._first_ns = int(t_ns[0])
        return self._first_ns + np.round((t_ns - self._first_ns) / self._speed).astype(np.int64)

    def _refuse(self, part: Part, raw: NDArray[np.bool_]) -> None:
        unsupported = np.flatnonzero(raw & ~np.isin(part.link_type, RAW_LINKS))
        if len(unsupported):
            row = int(unsupported[0])
            name, path = link_format(int(part.link_type[row])).name, self.scans[part.source[row]].path
            supported = ", ".join(link_format(link).name for link in (ETHERNET_LINK, RAW_LINKS[0], RAW_LINKS[-1]))
            raise InputError(f"{path}: link type of packet {part.number[row]} must be one of {supported}, got {name}")

    def _framed(self, packets: Packets, rows: NDArray[np.int64], port: NDArray[np.int16]) -> Packets:
        """Return the packets with Ethernet headers for `rows`; their frames are appended to the buffer."""
        offset, length = packets.offset.copy(), packets.length.copy()
        links = [link.mac + link.peer_mac for link in self.router.ports]
        octets = np.frombuffer(b"".join(link + kind for link in links for kind in (IPV4_TYPE, IPV6_TYPE)), np.uint8)
        ipv6 = length[rows] > 0
        ipv6[ipv6] = packets.buffer[offset[rows][ipv6]] >> 4 == 6
        headers = octets.reshape(-1, ETHERNET)[2 * port[rows].astype(np.int64) + ipv6]
        size = length[rows] + ETHERNET
        buffer = np.empty(int(size.sum()), np.uint8)
        kernels.frame_raw(packets.buffer, offset[rows], length[rows], headers, buffer)
        offset[rows] = len(packets.buffer) + np.cumsum(size) - size
        length[rows] = size
        return Packets(np.concatenate([packets.buffer, buffer]), offset, length)
