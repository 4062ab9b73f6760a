"""A family's fast path: kernels forward common packets many at once, the reference forwards the others one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels
from npexplore._kernels.golden_multipath import choose
from npexplore.golden.ethernet import ETHERNET, MPLS_TYPE
from npexplore.golden.lookup.family import IPV4, IPV6
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.frames import LAYOUTS, Decided, Forwarded, Frames, padded_heads, send_all
from npexplore.golden.router.rules import Rules
from npexplore.golden.router.sides import Side


class FastPath:
    """Decides columns of frames of one family; `arrive` returns their verdicts and destination addresses."""

    def __init__(
        self, reference: Forwarder, side: Side, arrive: Callable[[Frames], tuple[NDArray[np.uint8], NDArray[Any]]],
        rules: Rules[Any, Any],
    ) -> None:  # fmt: skip
        self._reference, self._lpm, self._family, self._arrive = reference, side.lpm, side.family, arrive
        self._header, self._any_sender = tuple(LAYOUTS[side.family]), rules.any_sender
        self._reasons = tuple(map(int, (side.no_route, *side.refusals[2:], *side.failures)))
        hops, ports, octets = side.hops, side.router.ports, side.family.octets
        checks = any(side.failures[-1] in stage.exits for stage in rules.stages)  # a stage checks the neighbour
        self._links = (
            octets(port.address if port and not port.further else 0 for port in side.ports),
            octets(0 if port is None or port.further else side.family.mask(port.length) for port in side.ports),
        )
        self._several = self._choices(side) if side.groups else None
        places = sorted(side.neighbours, key=lambda place: place[1])  # an address is on one link only
        listed = side.family.rows([address for _, address in places]).reshape(len(places), side.family.words)
        self._neighbour = listed, np.array([port for port, _ in places], np.int64)
        self._hops = (
            np.array([hop.kind for hop in hops], np.uint8),
            np.array([hop.port for hop in hops], np.int64),
            np.array([hop.via == 0 for hop in hops], np.bool_),
            np.array([hop.port >= 0 and (not checks or side.reaches(hop.port, hop.via)) for hop in hops], np.bool_),
            np.array([side.room(hop) if hop.port >= 0 and not ports[hop.port].vlan else 0 for hop in hops], np.int64),
        )
        heads = [bytes(ETHERNET)] * len(hops)
        for row, hop in enumerate(hops):
            if hop.port >= 0:
                kind = MPLS_TYPE + hop.stack if hop.stack else side.frame_type
                heads[row] = side.mac_of(hop.port, hop.via) + ports[hop.port].mac + kind
        heads += [side.neighbours[place] + ports[place[0]].mac + side.frame_type for place in places]
        self._heads = padded_heads(heads)
        self._messages = rules.many_told(side, self)

    def _choices(self, side: Side) -> tuple[bool, int, int, int, NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the arguments of the kernel that chooses among several next hops."""
        first_hop, hop_count, bound = (np.full(len(side.hops), -1, np.int64) for _ in range(3))
        for number, group in side.groups.items():
            first_hop[number], hop_count[number] = group.hops.start, len(group.hops)
            bound[group.hops.start : group.hops.stop] = group.bounds
        linux = side.router.linux
        policy, fields = linux.fib_multipath_hash_policy, linux.hash_fields(side.family.bits)
        return side.family is IPV6, policy, fields, linux.fib_multipath_hash_seed, first_hop, hop_count, bound

    @property
    def room(self) -> NDArray[np.int64]:
        """The longest packet in bytes that fits each hop, 0 for a hop that kernels do not serve."""
        return self._hops[4]

    @property
    def open(self) -> NDArray[np.bool_]:
        """By hop: whether the next hop (attached: a station without `neighbour` entry) may be on the link."""
        return self._hops[3]

    @property
    def heads(self) -> NDArray[np.uint8]:
        """Frame headers (MAC addresses, EtherType, labels) as rows: one per hop, then one per listed neighbour."""
        return self._heads[0]

    def heads_of(self, hop: NDArray[np.int64], address: NDArray[Any], attached: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows of `heads` for addresses (n, words) by hops. attached: the address itself is the next hop."""
        listed_addresses, listed_ports = self._neighbour
        place = np.empty(len(address), np.int64)
        kernels.places(listed_addresses, address, place)
        no_port = -2  # the port of addresses that are not listed; they have the last row
        listed = attached & (np.append(listed_ports, no_port)[place] == self._hops[1][hop])
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
            self._heads[1], *self._links, *self._neighbour, self._any_sender, self._header, self._reasons, verdict,
            port, head, size, ask,
        )  # fmt: skip

        def write(packet: NDArray[np.int64], plain: NDArray[np.bool_], at: NDArray[np.int64],
                  sizes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:  # fmt: skip
            summed = self._family is IPV4
            kernels.send(buffer, offset, packet, plain, *self._heads, head, at, sizes, self._header[2], summed, out)

        messages = self._messages(frames, Decided(verdict, ask, hop))
        slow = np.flatnonzero(verdict == kernels.SLOW)
        return send_all(frames, verdict, slow, self._reference.decide, port, size, write, messages)
