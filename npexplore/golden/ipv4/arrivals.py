"""Decides many IPv4 frames at once by frame, header and addresses, before the route lookup."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.addresses import prefix_mask
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Frames, words_of_macs
from npexplore.golden.router.sides import Side4

_BLOCK_BITS = 16  # upper address bits by which ordinary addresses are recognized


class Arrivals4:
    """Returns a verdict (uint8: a reason, GO or SLOW) and a destination for each frame; many_first: see `Rules`."""

    def __init__(self, side: Side4, many_first: bool) -> None:
        rows, links = side.martians.prefixes, side.links
        self._side, self._many_first = side, many_first
        self._filtered = many_first and side.router.linux.rp_filter > 0
        self._mac, self._notable = words_of_macs(side.router.ports), _notable_blocks(side)
        self._martians = (
            np.array([row.value for row in rows], np.uint32),
            np.array([prefix_mask(row.length) for row in rows], np.uint32),
            np.array([row.source for row in rows], np.bool_),
            np.array([row.destination for row in rows], np.bool_),
        )
        self._links = (
            np.array(links.address, np.uint32),
            np.array([prefix_mask(length) for length in links.length], np.uint32),
            np.array(links.length, np.int64) < 31,
        )

    def __call__(self, frames: Frames) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Decide frames in their order."""
        packets = frames.packets
        verdict, destination = np.empty(len(frames), np.uint8), np.empty(len(frames), np.uint32)
        kernels.arrive(
            packets.buffer, packets.words, packets.offset, packets.length, frames.port, self._mac, self._notable,
            self._many_first, *self._martians, *self._links, verdict, destination,
        )  # fmt: skip
        if self._side.router.policy.reverse_path:
            later = (kernels.GO, Reason.MULTICAST, Reason.LIMITED_BROADCAST, Reason.LOCAL_DELIVERY)
            self._check_sources(frames, verdict, later, Reason.REVERSE_PATH)
        if self._filtered:
            self._check_sources(frames, verdict, (kernels.GO, Reason.LOCAL_DELIVERY), kernels.SLOW)
        if self._side.router.policy.answers:
            verdict[verdict == Reason.LOCAL_DELIVERY] = kernels.SLOW
        return verdict, destination

    def _check_sources(self, frames: Frames, verdict: NDArray[np.uint8], later: tuple[int, ...], answer: int) -> None:
        """Set verdict `answer` for frames whose source is routed by another port. later: the verdicts to check."""
        rows = np.flatnonzero(np.isin(verdict, later))
        at = frames.packets.offset[rows][:, None] + ETHERNET + np.arange(12, 16)
        source = frames.packets.buffer[at].copy().view(">u4")[:, 0].astype(np.uint32)
        port_of_hop = [hop.port if hop.kind == kernels.UNICAST_ROUTE else -1 for hop in self._side.hops]
        hop = self._side.lpm.lookup_many(source)
        port = np.array([*port_of_hop, -1])[hop]  # the last entry: no route
        single_hop = ~np.isin(hop, list(self._side.groups))
        verdict[rows[single_hop & (port != frames.port[rows])]] = answer
        verdict[rows[~single_hop]] = kernels.SLOW


def _notable_blocks(side: Side4) -> NDArray[np.bool_]:
    """Return which blocks of 2^16 addresses contain an address that is not a host elsewhere."""
    notable = np.zeros(1 << _BLOCK_BITS, np.bool_)
    notable[0] = notable[-1] = True
    notable[0xE000:0xF000] = True  # multicast
    for row in side.martians.prefixes:
        first_block = row.value >> (32 - _BLOCK_BITS)
        notable[first_block : first_block + max(1, 1 << _BLOCK_BITS >> row.length)] = True
    for port in side.router.ports:
        for address, length in port.subnets:
            for special in (address, address & prefix_mask(length), *port.broadcasts):
                notable[special >> (32 - _BLOCK_BITS)] = True
    return notable
