"""Many frames through the router at once, with the reference's answer for each of them.

Packets without options that nothing is wrong with, or that leave silently, go through kernels; whatever may cause an
ICMP message, has options or must be cut goes to the reference `Forwarder`, one by one and in order. A law compares both
ways for all packets (tests/law/test_law_golden_batch.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore.errors import InputError
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.addresses import mask_of
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import ETHERNET, IPV4_TYPE, Forwarder

_BLOCK_BITS = 16  # addresses are sorted out by their upper bits before they are looked at


@dataclass(frozen=True)
class Frames:
    """Ethernet frames as columns: where their bytes are, the port each came in by (int16), when (int64, ns)."""

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


class BatchForwarder:
    """The golden router for columns; settings as of `Forwarder`, which it holds as `reference`, with its counters."""

    def __init__(
        self, router: Router, *, profile: str | None = None, lookup: str = "dir24_8",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        self.reference = Forwarder(router, profile=profile, lookup=lookup, error_limit=error_limit)
        self.router = router
        ports, rows, links = router.ports, self.reference.martians.prefixes, self.reference.links
        self._martians = (
            np.array([row.value for row in rows], np.uint32),
            np.array([mask_of(row.length) for row in rows], np.uint32),
            np.array([row.source for row in rows], np.bool_),
            np.array([row.destination for row in rows], np.bool_),
        )
        self._links = (
            np.array(links.address, np.uint32),
            np.array([mask_of(length) for length in links.length], np.uint32),
            np.array(links.length, np.int64) < 31,
        )
        macs = np.frombuffer(b"".join(port.mac for port in ports), np.uint8).reshape(-1, 6)
        self._mac = np.stack([np.ascontiguousarray(macs[:, k : k + 4]).view(np.uint32)[:, 0] for k in (0, 2)], axis=1)
        self._mtu = np.array([port.mtu for port in ports], np.int64)
        self._notable = self._blocks()
        hops = self.reference.hops
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array([hop.via == 0 for hop in hops], np.bool_),
        )
        self._neighbour = np.array(sorted(router.neighbours), np.uint32)
        self._heads = self._frame_heads()

    @property
    def counters(self) -> dict[str, int]:
        """Counters by name: in.PORT, out.PORT, icmp.PORT, drop.REASON."""
        return dict(self.reference.counters)

    def _blocks(self) -> NDArray[np.bool_]:
        """Return which blocks of 2^16 addresses hold one that is more than a host elsewhere."""
        notable = np.zeros(1 << _BLOCK_BITS, np.bool_)
        notable[0] = notable[-1] = True
        notable[0xE000:0xF000] = True  # multicast
        for row in self.reference.martians.prefixes:
            first = row.value >> (32 - _BLOCK_BITS)
            notable[first : first + max(1, 1 << _BLOCK_BITS >> row.length)] = True
        for port in self.router.ports:
            for address in (port.address, port.network, port.broadcast):
                if address is not None:
                    notable[address >> (32 - _BLOCK_BITS)] = True
        return notable

    def _frame_heads(self) -> NDArray[np.uint8]:
        """Return the first 14 bytes of frames: one for each hop, then for each port one for each neighbour."""
        router, rows = self.router, []
        for hop in self.reference.hops:
            if hop.port < 0:
                rows.append(bytes(ETHERNET))
            else:
                mac = router.mac_of(hop.port, hop.via) if hop.via else router.ports[hop.port].peer_mac
                rows.append(mac + router.ports[hop.port].mac + IPV4_TYPE)
        for port in router.ports:
            rows += [router.neighbours[address] + port.mac + IPV4_TYPE for address in self._neighbour.tolist()]
        return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, ETHERNET)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order; raises InputError for a port that is not there."""
        ports, count, buffer, offset = len(self.router.ports), len(frames), frames.packets.buffer, frames.packets.offset
        if len(frames.port) != count or len(frames.time_ns) != count:
            raise InputError(f"{count} frames need {count} ports and times, got {len(frames.port)}")
        if count and (int(frames.port.min()) < 0 or int(frames.port.max()) >= ports):
            raise InputError(f"port must be 0 to {ports - 1}, got {int(frames.port.min())} to {int(frames.port.max())}")
        verdict, destination = np.empty(count, np.uint8), np.empty(count, np.uint32)
        many_first = self.reference.profile.many_first
        kernels.arrive(
            buffer, frames.packets.words, offset, frames.packets.length, frames.port, self._mac, self._notable,
            many_first, *self._martians, *self._links, verdict, destination,
        )  # fmt: skip
        if self.router.policy.reverse_path:
            self._check_sources(frames, verdict)
        hop = self.reference.lpm.lookup_many(destination)
        out_port, head, out_size = np.empty(count, np.int16), np.empty(count, np.int32), np.empty(count, np.int64)
        kernels.settle(
            buffer, offset, frames.port, destination, hop, *self._hops, self._mtu, *self._links[:2], self._neighbour,
            many_first, verdict, out_port, head, out_size,
        )  # fmt: skip
        if any(port.listed_only for port in self.router.ports):
            self._check_neighbours(verdict, hop, out_port, destination)
        return self._sent(frames, verdict, out_port, head, out_size)

    def _check_sources(self, frames: Frames, verdict: NDArray[np.uint8]) -> None:
        """Drop what came by another port than its source is routed to; what martians say goes before."""
        later = (kernels.GO, Reason.MULTICAST, Reason.LIMITED_BROADCAST, Reason.LOCAL_DELIVERY)
        rows = np.flatnonzero(np.isin(verdict, later))
        at = frames.packets.offset[rows][:, None] + ETHERNET + np.arange(12, 16)
        source = frames.packets.buffer[at].copy().view(">u4")[:, 0].astype(np.uint32)
        hop, kind, port = self.reference.lpm.lookup_many(source), self._hops[0], self._hops[1]
        believed = (hop >= 0) & (kind[hop] == kernels.UNICAST_ROUTE) & (port[hop] == frames.port[rows])
        verdict[rows[~believed]] = Reason.REVERSE_PATH

    def _check_neighbours(
        self, verdict: NDArray[np.uint8], hop: NDArray[np.integer], out_port: NDArray[np.int16],
        destination: NDArray[np.uint32],
    ) -> None:  # fmt: skip
        """Leave to the reference what goes to a link whose neighbours are listed, but not to one of them."""
        rows = np.flatnonzero(verdict == Reason.NONE)
        listed = np.array([port.listed_only for port in self.router.ports])
        rows = rows[listed[out_port[rows]]]
        via = np.array([hop.via for hop in self.reference.hops], np.uint32)[hop[rows]]
        known = np.isin(np.where(via == 0, destination[rows], via), self._neighbour)
        verdict[rows[~known]] = kernels.SLOW

    def _sent(
        self, frames: Frames, verdict: NDArray[np.uint8], out_port: NDArray[np.int16], head: NDArray[np.int32],
        out_size: NDArray[np.int64],
    ) -> Forwarded:  # fmt: skip
        """Ask the reference for the rest, and write all frames one behind the other."""
        slow = np.flatnonzero(verdict == kernels.SLOW)
        self._count(frames, verdict, out_port)
        copies = (verdict == Reason.NONE).astype(np.int64)
        outcomes = []
        for row in slow.tolist():
            outcome = self.reference.forward(int(frames.port[row]), frames.packets[row], int(frames.time_ns[row]))
            verdict[row] = outcome.reason
            copies[row] = len(outcome.sent)
            outcomes.append(outcome.sent)
        packet = np.repeat(np.arange(len(frames)), copies)
        plain = np.ones(len(frames), np.bool_)
        plain[slow] = False
        plain = plain[packet]
        port, size, icmp = out_port[packet], out_size[packet], np.zeros(len(packet), np.bool_)
        sent = [one for part in outcomes for one in part]
        others = np.flatnonzero(~plain)
        port[others] = [one.port for one in sent]
        icmp[others] = [one.icmp for one in sent]
        size[others] = [len(one.frame) for one in sent]
        at = np.cumsum(size) - size
        out = np.empty(int(size.sum()), np.uint8)
        kernels.send(
            frames.packets.buffer, frames.packets.offset, packet, plain, self._heads, head, at, size, out
        )  # fmt: skip
        for row, one in zip(others.tolist(), sent, strict=True):
            out[at[row] : at[row] + size[row]] = np.frombuffer(one.frame, np.uint8)
        return Forwarded(verdict, packet, port, icmp, Packets(out, at, size))

    def _count(self, frames: Frames, verdict: NDArray[np.uint8], out_port: NDArray[np.int16]) -> None:
        """Count what the kernels decided; the reference counts its own."""
        counters, ports = self.reference.counters, self.router.ports
        sent = verdict == Reason.NONE
        for what, column in (("in", frames.port[verdict != kernels.SLOW]), ("out", out_port[sent])):
            for number, packets in enumerate(np.bincount(column, minlength=len(ports)).tolist()):
                if packets:
                    counters[f"{what}.{ports[number].name}"] += packets
        decided = np.bincount(verdict, minlength=kernels.SLOW)
        for reason in Reason:
            if reason and decided[reason]:
                counters[f"drop.{reason.name}"] += int(decided[reason])
