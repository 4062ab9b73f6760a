"""A family's fast path: plain packets of many frames through kernels, all others one by one by the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore._kernels.golden_multipath import choose
from npexplore.golden.ethernet import ETHERNET, MPLS_TYPE
from npexplore.golden.lookup.family import IPV4, IPV6
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.frames import Decided, Forwarded, Frames, Messages, padded_heads, send_all
from npexplore.golden.router.sides import Side

# where the source, the length and the time to live stand in a header, and the bytes that the length does not count
HEADERS = {IPV4: (12, 2, 8, 0), IPV6: (8, 4, 7, 40)}


class FastPath:
    """Decides columns of frames that are all of one family; `arrive` gives verdicts and destinations.

    messages: settles what is asked for and gives the messages, if anything but the reference does.
    """

    messages: Callable[[Frames, Decided], Messages | None] | None = None

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
            octets(port.address if port and not port.further else 0 for port in side.ports),
            octets(0 if port is None or port.further else side.family.mask(port.length) for port in side.ports),
        )
        self._several = self._choices(side) if side.groups else None
        known = sorted(side.neighbours, key=lambda place: place[1])  # no address is on two links
        listed = side.family.rows([address for _, address in known]).reshape(len(known), side.family.words)
        self._neighbour = listed, np.array([port for port, _ in known], np.int64)
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array([hop.via == 0 for hop in hops], np.bool_),
            np.array([hop.port >= 0 and side.reaches(hop.port, hop.via) for hop in hops], np.bool_),
            np.array([side.room(hop) if hop.port >= 0 and not ports[hop.port].vlan else 0 for hop in hops], np.int64),
        )
        heads = [bytes(ETHERNET)] * len(hops)
        for row, hop in enumerate(hops):
            if hop.port >= 0:
                kind = MPLS_TYPE + hop.stack if hop.stack else side.frame_type
                heads[row] = side.mac_of(hop.port, hop.via) + ports[hop.port].mac + kind
        heads += [side.neighbours[place] + ports[place[0]].mac + side.frame_type for place in known]
        self._heads = padded_heads(heads)

    def _choices(self, side: Side) -> tuple[bool, int, int, int, NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return what the kernel must know that chooses among several next hops."""
        first, several, bound = (np.full(len(side.hops), -1, np.int64) for _ in range(3))
        for number, group in side.groups.items():
            first[number], several[number] = group.hops.start, len(group.hops)
            bound[group.hops.start : group.hops.stop] = group.bounds
        linux = side.router.linux
        policy, fields = linux.fib_multipath_hash_policy, linux.hash_fields(side.family.bits)
        return side.family is IPV6, policy, fields, linux.fib_multipath_hash_seed, first, several, bound

    @property
    def room(self) -> NDArray[np.int64]:
        """The longest packet that may go by each hop, 0 where the kernels send none."""
        return self._hops[4]

    @property
    def heads(self) -> NDArray[np.uint8]:
        """The heads of frames, as rows."""
        return self._heads[0]

    def heads_of(
        self, hop: NDArray[np.int64], address: NDArray[np.int64], attached: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return the rows of `heads` for IPv4 addresses by hops; attached: where the address itself is the next hop."""
        known, at_port = self._neighbour[0][:, 0].astype(np.int64), self._neighbour[1]
        place = np.minimum(np.searchsorted(known, address), max(len(known) - 1, 0))
        if not len(known):
            return hop
        listed = attached & (known[place] == address) & (at_port[place] == self._hops[1][hop])
        return np.where(listed, len(self._hops[0]) + place, hop)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order, without counting them."""
        count, buffer, offset = len(frames), frames.packets.buffer, frames.packets.offset
        verdict, destination = self._arrive(frames)
        hop = self._lpm.lookup_many(destination)
        if self._several is not None:
            choose(buffer, offset, *self._several, verdict, hop)
        port, head, size = np.empty(count, np.int16), np.empty(count, np.int32), np.empty(count, np.int64)
        ask = np.empty(count, np.uint8)
        kernels.settle(
            buffer, offset, frames.port, destination.reshape(count, self._family.words), hop, *self._hops,
            self._heads[1], *self._links, *self._neighbour, self._any_sender, self._header, verdict, port, head, size,
            ask,
        )  # fmt: skip

        def write(packet: NDArray[np.int64], plain: NDArray[np.bool_], at: NDArray[np.int64],
                  sizes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:  # fmt: skip
            summed = self._family is IPV4
            kernels.send(buffer, offset, packet, plain, *self._heads, head, at, sizes, self._header[2], summed, out)

        messages = None if self.messages is None else self.messages(frames, Decided(verdict, ask, hop))
        slow = np.flatnonzero(verdict == kernels.SLOW)
        return send_all(frames, verdict, slow, self._reference.decide, port, size, write, messages)
