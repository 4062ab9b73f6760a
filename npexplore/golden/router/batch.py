"""Many frames through the router at once, with the reference's answer for each of them.

Packets without options that nothing is wrong with, or that leave silently, go through kernels; whatever may cause an
ICMP message, has options or must be cut goes to the reference `Forwarder`, one by one and in order. A law compares both
ways for all packets (tests/law/test_law_golden_batch.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore.errors import InputError
from npexplore.golden.ipv4.addresses import mask_of
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.mpls.impose import MPLS_TYPE
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import ETHERNET, IPV4_TYPE, Forwarder
from npexplore.golden.router.frames import Forwarded as Forwarded
from npexplore.golden.router.frames import Frames as Frames
from npexplore.golden.router.frames import padded_heads, send_all, words_of_macs
from npexplore.golden.router.mixed import Mixed

_BLOCK_BITS = 16  # addresses are sorted out by their upper bits before they are looked at


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
        self._mac = words_of_macs(ports)
        self._notable = self._blocks()
        hops = self.reference.hops
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array([hop.via == 0 for hop in hops], np.bool_),
            np.array([self.reference.room(hop) if hop.port >= 0 else 0 for hop in hops], np.int64),
        )
        self._neighbour = np.array(sorted(router.neighbours), np.uint32)
        self._heads = self._frame_heads()
        more = router.labels is not None or router.six is not None
        self._mixed = Mixed(self.reference, self._ipv4) if more else None

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

    def _frame_heads(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return what stands in front of packets: one for each hop, then for each port one for each neighbour."""
        router, rows = self.router, []
        for hop in self.reference.hops:
            if hop.port < 0:
                rows.append(bytes(ETHERNET))
            else:
                mac = router.mac_of(hop.port, hop.via) if hop.via else router.ports[hop.port].peer_mac
                rows.append(mac + router.ports[hop.port].mac + (MPLS_TYPE + hop.stack if hop.stack else IPV4_TYPE))
        for port in router.ports:
            rows += [router.neighbours[address] + port.mac + IPV4_TYPE for address in self._neighbour.tolist()]
        return padded_heads(rows)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order; raises InputError for a port that is not there."""
        ports, count = len(self.router.ports), len(frames)
        if len(frames.port) != count or len(frames.time_ns) != count:
            raise InputError(f"{count} frames need {count} ports and times, got {len(frames.port)}")
        if count and (int(frames.port.min()) < 0 or int(frames.port.max()) >= ports):
            raise InputError(f"port must be 0 to {ports - 1}, got {int(frames.port.min())} to {int(frames.port.max())}")
        made = self._ipv4(frames) if self._mixed is None else self._mixed.forward(frames)
        self._count(frames, made)
        return made

    def _ipv4(self, frames: Frames) -> Forwarded:
        count, buffer, offset = len(frames), frames.packets.buffer, frames.packets.offset
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
            buffer, offset, frames.port, destination, hop, *self._hops, self._heads[1], *self._links[:2],
            self._neighbour, many_first, verdict, out_port, head, out_size,
        )  # fmt: skip
        if any(port.listed_only for port in self.router.ports):
            self._check_neighbours(verdict, hop, out_port, destination)

        def write(packet: NDArray[np.int64], plain: NDArray[np.bool_], at: NDArray[np.int64],
                  sizes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:  # fmt: skip
            kernels.send(buffer, offset, packet, plain, *self._heads, head, at, sizes, out)

        slow = np.flatnonzero(verdict == kernels.SLOW)
        return send_all(frames, verdict, slow, self.reference.decide, out_port, out_size, write)

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

    def _count(self, frames: Frames, made: Forwarded) -> None:
        """Count as the reference does."""
        counters, ports = self.reference.counters, self.router.ports
        for what, column in (("in", frames.port), ("out", made.port[~made.icmp]), ("icmp", made.port[made.icmp])):
            for number, packets in enumerate(np.bincount(column, minlength=len(ports)).tolist()):
                if packets:
                    counters[f"{what}.{ports[number].name}"] += packets
        for code, packets in enumerate(np.bincount(made.reason).tolist()):
            if code and packets:
                counters[f"drop.{by_code(code).name}"] += packets
