"""Many IPv6 frames at once: plain packets through kernels, all others one by one through `Forwarder6`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.ipv6.addresses import column_of, mask_of
from npexplore.golden.ipv6.forward import IPV6_TYPE, Forwarder6
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.mpls.impose import MPLS_TYPE
from npexplore.golden.router.frames import Forwarded, Frames, padded_heads, send_all, words_of_macs
from npexplore.golden.router.six import Route6


class BatchForwarder6:
    """Decides columns of frames that are all of IPv6, as `reference` does."""

    def __init__(self, reference: Forwarder6) -> None:
        self.reference = reference
        router, hops = reference.router, reference.hops
        self._mac = words_of_macs(router.ports)
        own = sorted(address for address in reference.own if address_kind(address) is Kind.ROUTABLE)
        self._own = column_of(own)
        open_links = [not port.listed_only for port in router.ports]
        alike = [  # whatever goes there has the same frame head
            hop.kind == 0 and (open_links[hop.port] and not reference.six.neighbours if not hop.via else
                               reference.has_neighbour(hop.port, hop.via))
            for hop in hops
        ]  # fmt: skip
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array(alike, np.bool_),
            np.array([reference.room(hop) if hop.port >= 0 else 0 for hop in hops], np.int64),
        )
        links = [(port.address, mask_of(port.length)) if port else (0, 0) for port in reference.six.ports]
        self._links = column_of(address for address, _ in links), column_of(mask for _, mask in links)
        self._heads = padded_heads([self._head(hop) for hop in hops])

    def _head(self, hop: Route6) -> bytes:
        """Return what stands in front of packets that go by a route."""
        if hop.port < 0:
            return bytes(kernels.ETHERNET)
        macs = self.reference.mac_of(hop.port, hop.via) + self.reference.router.ports[hop.port].mac
        return macs + (MPLS_TYPE + hop.stack if hop.stack else IPV6_TYPE)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order, without counting them."""
        count, buffer, offset = len(frames), frames.packets.buffer, frames.packets.offset
        verdict, destination = np.empty(count, np.uint8), np.empty((count, 2), np.uint64)
        kernels.arrive(
            buffer, frames.packets.words, offset, frames.packets.length, frames.port, self._mac, self._own,
            not self.reference.linux, verdict, destination,
        )  # fmt: skip
        hop = self.reference.lpm.lookup_many(destination)
        port, head, size = np.empty(count, np.int16), np.empty(count, np.int32), np.empty(count, np.int64)
        kernels.settle(
            buffer, offset, frames.port, destination, hop, *self._hops, self._heads[1], *self._links, verdict, port,
            head, size,
        )  # fmt: skip

        def write(packet: NDArray[np.int64], plain: NDArray[np.bool_], at: NDArray[np.int64],
                  sizes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:  # fmt: skip
            kernels.send(buffer, offset, packet, plain, *self._heads, head, at, sizes, out)

        slow = np.flatnonzero(verdict == kernels.SLOW)
        return send_all(frames, verdict, slow, self.reference.decide, port, size, write)
