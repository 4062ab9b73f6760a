"""Frames as columns: the input and the output of a batch, and the assembly of its output from parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.columns import Packets
from npexplore.golden.lookup.family import IPV4, IPV6
from npexplore.golden.router.ports import Port
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.records import by_content

# (row of the causing frame, whether kernels write the frame, its offset, its bytes, output buffer)
Write = Callable[
    [NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]], None
]  # fmt: skip


@by_content
@dataclass(frozen=True)
class Frames:
    """Ethernet frames as columns.

    Args:
        packets: the bytes of the n frames.
        port: (n,) number of the incoming port of each.
        time_ns: (n,) arrival time of each, in nanoseconds.

    Example:
        >>> from npexplore.golden import Frames
        >>> frames = Frames.of([(0, bytes(64), 0), (1, bytes(1500), 10)])
        >>> len(frames), frames.port.tolist()
        (2, [0, 1])
    """

    packets: Packets
    port: NDArray[np.int16]
    time_ns: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes, int]]) -> Frames:
        """Return frames from (port, frame, time in ns)."""
        port, frames, times = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(Packets.of(frames), np.array(port, np.int16), np.array(times, np.int64))

    def __len__(self) -> int:
        return len(self.packets)

    def rows(self, chosen: NDArray[np.int64]) -> Frames:
        """Return the frames of the rows `chosen`, without copying their bytes."""
        packets = Packets(self.packets.buffer, self.packets.offset[chosen], self.packets.length[chosen])
        return Frames(packets, self.port[chosen], self.time_ns[chosen])


@dataclass(frozen=True)
class Forwarded:
    """The outcomes of frames: a reason code each (0: sent), and all frames sent, in the order of sending.

    packet: the row of the frame that caused it; icmp: whether the router itself generated it; frames: their bytes.
    """

    reason: NDArray[np.uint8]
    packet: NDArray[np.int64]
    port: NDArray[np.int16]
    icmp: NDArray[np.bool_]
    frames: Packets

    def __len__(self) -> int:
        return len(self.packet)


def words_of_macs(ports: Sequence[Port]) -> NDArray[np.uint32]:
    """Return (ports, 2): the first and the last four bytes of each port's MAC address, in the host's byte order."""
    macs = np.frombuffer(b"".join(port.mac for port in ports), np.uint8).reshape(-1, 6)
    return np.stack([np.ascontiguousarray(macs[:, k : k + 4]).view(np.uint32)[:, 0] for k in (0, 2)], axis=1)


def padded_heads(rows: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return frame headers of different lengths as rows of an array, and the length of each in bytes."""
    size = np.array([len(row) for row in rows], np.int64)
    widest = int(size.max())
    return np.frombuffer(b"".join(row.ljust(widest, b"\0") for row in rows), np.uint8).reshape(-1, widest), size


class Layout(NamedTuple):
    """Offsets of source, length and time to live in a header; uncounted: header bytes that the length excludes.

    uncut: the bit of byte 6 that forbids fragmentation (DF), 0 where routers never fragment.
    """

    source: int
    length: int
    ttl: int
    uncounted: int
    uncut: int


LAYOUTS = {IPV4: Layout(12, 2, 8, 0, 0x40), IPV6: Layout(8, 4, 7, 40, 0)}


class Decided(NamedTuple):
    """The kernels' decisions: verdicts; ask: the reason of a message to the sender of a SLOW frame; hop: routes."""

    verdict: NDArray[np.uint8]
    ask: NDArray[np.uint8]
    hop: NDArray[np.int32]


class Heads(Protocol):
    """Frame headers as rows, and the row of each address; room: by hop the longest packet in bytes (0: none).

    open: by hop, whether the next hop (attached: a station without `neighbour` entry) may be on the link.
    """

    @property
    def heads(self) -> NDArray[np.uint8]: ...
    @property
    def room(self) -> NDArray[np.int64]: ...
    @property
    def open(self) -> NDArray[np.bool_]: ...
    def heads_of(
        self, hop: NDArray[np.int64], address: NDArray[Any], attached: NDArray[np.bool_]
    ) -> NDArray[np.int64]: ...


class Messages(NamedTuple):
    """Messages that the router generates: the row of the causing frame, port and size of each.

    write(at, out): writes their frames into `out` at the offsets `at`.
    """

    row: NDArray[np.int64]
    port: NDArray[np.int16]
    size: NDArray[np.int64]
    write: Callable[[NDArray[np.int64], NDArray[np.uint8]], None]


def send_all(
    frames: Frames, verdict: NDArray[np.uint8], slow: NDArray[np.int64],
    decide: Callable[[int, bytes, int], Outcome], out_port: NDArray[np.int16], out_size: NDArray[np.int64],
    write: Write, messages: Messages | None = None,
) -> Forwarded:  # fmt: skip
    """Decide slow rows by the reference (`decide`); write all frames contiguously, those of one row sorted by port."""
    copies = (verdict == 0).astype(np.int64)
    sent: list[Sent] = []
    for row in slow.tolist():
        outcome = decide(int(frames.port[row]), frames.packets[row], int(frames.time_ns[row]))
        verdict[row] = outcome.reason
        copies[row] = len(outcome.sent)
        sent += outcome.sent
    if messages is not None:
        copies[messages.row] += 1
    packet = np.repeat(np.arange(len(frames)), copies)
    plain = np.ones(len(frames), np.bool_)
    plain[slow] = False
    plain = plain[packet]
    port, size, icmp = out_port[packet], out_size[packet], np.zeros(len(packet), np.bool_)
    reference_rows = np.flatnonzero(~plain)
    port[reference_rows] = [reference_frame.port for reference_frame in sent]
    icmp[reference_rows] = [reference_frame.icmp for reference_frame in sent]
    size[reference_rows] = [len(reference_frame.frame) for reference_frame in sent]
    position = np.zeros(0, np.int64)
    if messages is not None:
        forwarded = verdict[messages.row] == 0
        position = (np.cumsum(copies) - copies)[messages.row] + (forwarded & (messages.port > out_port[messages.row]))
        port[position], icmp[position], size[position], plain[position] = messages.port, True, messages.size, False
    at = np.cumsum(size) - size
    out = np.empty(int(size.sum()), np.uint8)
    write(packet, plain, at, size, out)
    if messages is not None:
        messages.write(at[position], out)
    for row, reference_frame in zip(reference_rows.tolist(), sent, strict=True):
        out[at[row] : at[row] + size[row]] = np.frombuffer(reference_frame.frame, np.uint8)
    return Forwarded(verdict, packet, port, icmp, Packets(out, at, size))


def joined(count: int, parts: Sequence[tuple[NDArray[np.int64], Forwarded]]) -> Forwarded:
    """Return the outcomes of `count` frames in the order of rows, from parts that each decided some of the rows."""
    if len(parts) == 1:
        return parts[0][1]
    reason = np.zeros(count, np.uint8)
    for rows, forwarded in parts:
        reason[rows] = forwarded.reason
    packet = np.concatenate([rows[forwarded.packet] for rows, forwarded in parts])
    order = np.argsort(packet, kind="stable")
    starts = np.cumsum([0, *(len(forwarded.frames.buffer) for _, forwarded in parts[:-1])])
    offset = np.concatenate(
        [forwarded.frames.offset + start for (_, forwarded), start in zip(parts, starts.tolist(), strict=True)]
    )
    length = np.concatenate([forwarded.frames.length for _, forwarded in parts])
    port = np.concatenate([forwarded.port for _, forwarded in parts])
    icmp = np.concatenate([forwarded.icmp for _, forwarded in parts])
    buffer = np.concatenate([forwarded.frames.buffer for _, forwarded in parts])
    return Forwarded(reason, packet[order], port[order], icmp[order], Packets(buffer, offset[order], length[order]))
