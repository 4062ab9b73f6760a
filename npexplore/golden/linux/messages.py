"""The Linux kernel's ICMP messages about many packets at once: the batch form of its `send_error` functions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.icmp import ICMP, LONGEST, IcmpError
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.linux.messages6 import LABELS, about_errors, source_for, told_reason
from npexplore.golden.linux.peer_limit import limited
from npexplore.golden.linux.stages import LAST_ICMP, QUIET_ICMP
from npexplore.golden.lookup import SixLevelTrie
from npexplore.golden.lookup.family import IPV6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Frames, Heads
from npexplore.golden.router.messages import Messages4, Messages6, Numbers, Which, numbers
from npexplore.golden.router.sides import Side6


class LinuxMessages4(Messages4):
    """The kernel's IPv4 messages: cut to the link's MTU, sent to any routed source, not about some ICMP types."""

    counted_down = True

    def by_reference(self) -> bool:
        """Say whether the reference writes all messages: for settings with a limit per peer, or the inbound address."""
        settings = self.side.router.linux
        return super().by_reference() or settings.icmp_errors_use_inbound_ifaddr or limited(settings)

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the sizes of messages cut to the link's MTU; above the MTU if it is too small for any message."""
        return np.asarray(
            self.fixed + np.minimum(total, np.maximum(np.minimum(self.room[back], LONGEST) - self.fixed, 1))
        )

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Return about which packets no error is sent: non-first fragments, ICMP errors, unknown and cut ICMP."""
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(cut, at, at + 20)]
        no_error_type = cut | (kind > LAST_ICMP) | np.isin(kind, sorted(QUIET_ICMP))
        return np.asarray((numbers(buffer, at + 6, 2) & 0x1FFF > 0) | ((buffer[at + 9] == ICMP) & no_error_type))

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Return which sources are neighbours on the link of the incoming port, as `attached` does."""
        port, routed = frames.port[rows], (back >= 0) & self.unicast[back]
        is_neighbour: Which = routed & self.attached[back]
        if not self.side.router.linux.send_redirects:
            return np.zeros(len(port), np.bool_)
        other_port = routed & (self.port[back] != port)
        for number in np.unique(port[other_port]).tolist():
            selected = np.flatnonzero(other_port & (port == number))
            by_port = self.side.table_by(number).lookup_many(source[selected, 0])
            is_neighbour[selected] = (by_port >= 0) & self.unicast[by_port] & self.attached[by_port]
        return is_neighbour


class LinuxMessages6(Messages6):
    """The kernel's IPv6 messages: from an address of the packet's incoming port, sent to any routed source."""

    def __init__(self, side: Side6, path: Heads) -> None:
        super().__init__(side, path)
        self._own: dict[int, int] = {}

    def error_for(self, reason: Reason) -> IcmpError | None:
        """Return the error that a reason calls for."""
        return super().error_for(told_reason(reason))

    def by_reference(self) -> bool:
        """Say whether the reference writes all messages: for the kernel's limit per peer."""
        return super().by_reference() or self.side.router.linux.ipv6_icmp_ratelimit > 0

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Return which packets carry an ICMPv6 error, or have a source that is the router's or anycast."""
        carry_errors = about_errors(Packets(buffer, at, SHORTEST + numbers(buffer, at + 4, 2)))
        senders = zip(IPV6.numbers(source), self.attached[back].tolist(), strict=True)
        excluded = [node in self.side.own or (near and self.side.begins_network(node)) for node, near in senders]
        return carry_errors | np.array(excluded, np.bool_)

    def sources(self, port: NDArray[np.int16], source: NDArray[Any], back: Numbers) -> NDArray[np.uint8]:
        """Return source addresses as `source_for` does, computed once per port and class of targets (`_alike`)."""
        keys = port * np.int64(len(self._alike)) + self._alike.lookup_many(source)
        distinct, rows, inverse = np.unique(keys, return_index=True, return_inverse=True)
        for key, in_port, node in zip(distinct.tolist(), port[rows].tolist(), IPV6.numbers(source[rows]), strict=True):
            if key not in self._own:
                self._own[key] = source_for(self.side, in_port, node)
        return IPV6.octets(self._own[key] for key in distinct.tolist())[inverse]

    @cached_property
    def _alike(self) -> SixLevelTrie:
        """Classes of targets with equal source selection: prefixes of the label table and of the router's addresses.

        Off-link targets with the same longest match among these prefixes get the same source address.
        """
        subnets = [(address, length) for link in self.side.ports if link for address, length in link.subnets]
        prefixes = {(address & IPV6.mask(bits), bits) for address, length in subnets for bits in range(length + 1)}
        value, length = zip(*sorted(prefixes | {row[:2] for row in LABELS}), strict=True)
        return SixLevelTrie.from_columns(IPV6.rows(value), np.array(length), np.arange(len(length)), word_bits=32)
