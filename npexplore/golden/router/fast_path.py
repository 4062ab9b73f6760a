"""A family's fast path: plain packets of many frames through kernels, all others one by one by the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore.golden.ethernet import ETHERNET, MPLS_TYPE
from npexplore.golden.lookup.family import IPV4, IPV6
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.frames import Forwarded, Frames, padded_heads, send_all
from npexplore.golden.router.sides import Side

# where the source, the length and the time to live stand in a header, and the bytes that the length does not count
HEADERS = {IPV4: (12, 2, 8, 0), IPV6: (8, 4, 7, 40)}


class FastPath:
    """Decides columns of frames that are all of one family; `arrive` gives verdicts and destinations."""

    def __init__(
        self, reference: Forwarder, side: Side, arrive: Callable[[Frames], tuple[NDArray[np.uint8], NDArray[Any]]],
        any_sender: bool,
    ) -> None:  # fmt: skip
        self._reference, self._lpm, self._family, self._arrive = reference, side.lpm, side.family, arrive
        self._header, self._any_sender = HEADERS[side.family], any_sender
        hops, ports, size = side.hops, side.router.ports, side.family.bits // 8

        def octets(numbers: Iterable[int]) -> NDArray[np.uint8]:
            return np.frombuffer(b"".join(number.to_bytes(size, "big") for number in numbers), np.uint8).reshape(
                -1, size
            )

        self._links = (
            octets(port.address if port else 0 for port in side.ports),
            octets(side.family.mask(port.length) if port else 0 for port in side.ports),
        )
        known = sorted(side.neighbours)
        self._neighbour = side.family.rows(known).reshape(len(known), side.family.words)
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array([hop.via == 0 for hop in hops], np.bool_),
            np.array([hop.port >= 0 and side.reaches(hop.port, hop.via) for hop in hops], np.bool_),
            np.array([side.room(hop) if hop.port >= 0 else 0 for hop in hops], np.int64),
        )
        heads = [bytes(ETHERNET)] * len(hops)
        for row, hop in enumerate(hops):
            if hop.port >= 0:
                kind = MPLS_TYPE + hop.stack if hop.stack else side.frame_type
                heads[row] = side.mac_of(hop.port, hop.via) + ports[hop.port].mac + kind
        heads += [side.neighbours[address] + port.mac + side.frame_type for port in ports for address in known]
        self._heads = padded_heads(heads)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order, without counting them."""
        count, buffer, offset = len(frames), frames.packets.buffer, frames.packets.offset
        verdict, destination = self._arrive(frames)
        hop = self._lpm.lookup_many(destination)
        port, head, size = np.empty(count, np.int16), np.empty(count, np.int32), np.empty(count, np.int64)
        kernels.settle(
            buffer, offset, frames.port, destination.reshape(count, self._family.words), hop, *self._hops,
            self._heads[1], *self._links, self._neighbour, self._any_sender, self._header, verdict, port, head, size,
        )  # fmt: skip

        def write(packet: NDArray[np.int64], plain: NDArray[np.bool_], at: NDArray[np.int64],
                  sizes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:  # fmt: skip
            summed = self._family is IPV4
            kernels.send(buffer, offset, packet, plain, *self._heads, head, at, sizes, self._header[2], summed, out)

        slow = np.flatnonzero(verdict == kernels.SLOW)
        return send_all(frames, verdict, slow, self._reference.decide, port, size, write)
