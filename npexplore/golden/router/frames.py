"""Frames as columns on their way in and out of a batch of the router, and how the batch puts its answers together."""

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

# packet (cause), whether kernels write it, where, how long, into what
Write = Callable[
    [NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]], None
]  # fmt: skip


@by_content
@dataclass(frozen=True)
class Frames:
    """Ethernet frames as columns.

    Args:
        packets: where the bytes of the n frames are.
        port: (n,) number of the port that each came in by.
        time_ns: (n,) when each came, in nanoseconds.

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
        """Return some of the frames; their bytes are not copied."""
        packets = Packets(self.packets.buffer, self.packets.offset[chosen], self.packets.length[chosen])
        return Frames(packets, self.port[chosen], self.time_ns[chosen])


@dataclass(frozen=True)
class Forwarded:
    """What became of frames: a reason code each (0: sent), and all that was sent, in the order of sending.

    packet: the row of the frame that caused it; port; icmp: a message of the router's own; frames: their bytes.
    """

    reason: NDArray[np.uint8]
    packet: NDArray[np.int64]
    port: NDArray[np.int16]
    icmp: NDArray[np.bool_]
    frames: Packets

    def __len__(self) -> int:
        return len(self.packet)


def words_of_macs(ports: Sequence[Port]) -> NDArray[np.uint32]:
    """Return (ports, 2): the first and the last four bytes of each port's MAC address, as words of the machine."""
    macs = np.frombuffer(b"".join(port.mac for port in ports), np.uint8).reshape(-1, 6)
    return np.stack([np.ascontiguousarray(macs[:, k : k + 4]).view(np.uint32)[:, 0] for k in (0, 2)], axis=1)


def padded_heads(rows: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return frame heads of different lengths as rows of an array, and how long each is."""
    size = np.array([len(row) for row in rows], np.int64)
    widest = int(size.max())
    return np.frombuffer(b"".join(row.ljust(widest, b"\0") for row in rows), np.uint8).reshape(-1, widest), size


class Layout(NamedTuple):
    """Where the source, the length and the time to live stand in a header; how many bytes the length does not count.

    uncut: the bit of byte 6 that forbids to cut the packet, 0 where none may be cut.
    """

    source: int
    length: int
    ttl: int
    uncounted: int
    uncut: int


LAYOUTS = {IPV4: Layout(12, 2, 8, 0, 0x40), IPV6: Layout(8, 4, 7, 40, 0)}


class Decided(NamedTuple):
    """What the kernels decided of frames: verdicts, why those are SLOW whose senders are to be told, their routes."""

    verdict: NDArray[np.uint8]
    ask: NDArray[np.uint8]
    hop: NDArray[np.int32]


class Heads(Protocol):
    """The heads of frames as rows, and whose is where; by hop the longest packet that may go by it (0: none).

    open: whether anybody else than a neighbour with a head of its own may be there.
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
    """Messages of the router itself: the row of the frame that caused each, their ports and sizes, how to write them.

    write(at, out): into out, at their places.
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
    """Ask the reference (`decide`) for the slow rows, and write all frames one behind the other, each row's by port."""
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
    others = np.flatnonzero(~plain)
    port[others] = [one.port for one in sent]
    icmp[others] = [one.icmp for one in sent]
    size[others] = [len(one.frame) for one in sent]
    position = np.zeros(0, np.int64)
    if messages is not None:
        both = verdict[messages.row] == 0
        position = (np.cumsum(copies) - copies)[messages.row] + (both & (messages.port > out_port[messages.row]))
        port[position], icmp[position], size[position], plain[position] = messages.port, True, messages.size, False
    at = np.cumsum(size) - size
    out = np.empty(int(size.sum()), np.uint8)
    write(packet, plain, at, size, out)
    if messages is not None:
        messages.write(at[position], out)
    for row, one in zip(others.tolist(), sent, strict=True):
        out[at[row] : at[row] + size[row]] = np.frombuffer(one.frame, np.uint8)
    return Forwarded(verdict, packet, port, icmp, Packets(out, at, size))


def joined(count: int, parts: Sequence[tuple[NDArray[np.int64], Forwarded]]) -> Forwarded:
    """Return what became of `count` frames from the answers for some rows each, in the order of the rows."""
    if len(parts) == 1:
        return parts[0][1]
    reason = np.zeros(count, np.uint8)
    for rows, forwarded in parts:
        reason[rows] = forwarded.reason
    packet = np.concatenate([rows[forwarded.packet] for rows, forwarded in parts])
    order = np.argsort(packet, kind="stable")
    starts = np.cumsum([0, *(len(forwarded.frames.buffer) for _, forwarded in parts[:-1])])
    offset = np.concatenate(
        [forwarded.frames.offset + s for (_, forwarded), s in zip(parts, starts.tolist(), strict=True)]
    )
    length = np.concatenate([forwarded.frames.length for _, forwarded in parts])
    port = np.concatenate([forwarded.port for _, forwarded in parts])
    icmp = np.concatenate([forwarded.icmp for _, forwarded in parts])
    buffer = np.concatenate([forwarded.frames.buffer for _, forwarded in parts])
    return Forwarded(reason, packet[order], port[order], icmp[order], Packets(buffer, offset[order], length[order]))
