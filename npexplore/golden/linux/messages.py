"""What the Linux kernel tells senders of many packets at once: the columns behind its `stages.send_error`s."""

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
    """The messages of the kernel: shortened to the link, to whomever the route leads, about fewer kinds of ICMP."""

    counted_down = True

    def by_reference(self) -> bool:
        """Say whether all messages are left to the reference: the kernel's own limits count by peer."""
        settings = self.side.router.linux
        return super().by_reference() or settings.icmp_errors_use_inbound_ifaddr or limited(settings)

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the bytes of messages, which are cut to what fits the link; where there is none, too many for it."""
        return np.asarray(
            self.fixed + np.minimum(total, np.maximum(np.minimum(self.room[back], LONGEST) - self.fixed, 1))
        )

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Say which packets no error is sent about: later pieces, ICMP errors, unknown and cut ICMP."""
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(cut, at, at + 20)]
        quiet = cut | (kind > LAST_ICMP) | np.isin(kind, sorted(QUIET_ICMP))
        return np.asarray((numbers(buffer, at + 6, 2) & 0x1FFF > 0) | ((buffer[at + 9] == ICMP) & quiet))

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Say which sources are neighbours on the link of a port, as `attached` does."""
        port, routed = frames.port[rows], (back >= 0) & self.unicast[back]
        near: Which = routed & self.attached[back]
        if not self.side.router.linux.send_redirects:
            return np.zeros(len(port), np.bool_)
        other = routed & (self.port[back] != port)
        for number in np.unique(port[other]).tolist():
            chosen = np.flatnonzero(other & (port == number))
            by_port = self.side.table_by(number).lookup_many(source[chosen, 0])
            near[chosen] = (by_port >= 0) & self.unicast[by_port] & self.attached[by_port]
        return near


class LinuxMessages6(Messages6):
    """The messages of the kernel: from an address of the port that a packet came in by, to whomever the route leads."""

    def __init__(self, side: Side6, path: Heads) -> None:
        super().__init__(side, path)
        self._own: dict[int, int] = {}

    def error_for(self, reason: Reason) -> IcmpError | None:
        """Return the error that a reason calls for."""
        return super().error_for(told_reason(reason))

    def by_reference(self) -> bool:
        """Say whether all messages are left to the reference: the kernel's own limit counts by peer."""
        return super().by_reference() or self.side.router.linux.ipv6_icmp_ratelimit > 0

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Say which packets carry an ICMPv6 error, or are from the router itself or all the routers of a link."""
        about = about_errors(Packets(buffer, at, SHORTEST + numbers(buffer, at + 4, 2)))
        ends = zip(IPV6.numbers(source), self.attached[back].tolist(), strict=True)
        quiet = [one in self.side.own or (near and self.side.begins_network(one)) for one, near in ends]
        return about | np.array(quiet, np.bool_)

    def sources(self, port: NDArray[np.int16], source: NDArray[Any], back: Numbers) -> NDArray[np.uint8]:
        """Return an address of each port's for each sender, as `source_for` does: once for all that it treats alike."""
        place = port * np.int64(len(self._alike)) + self._alike.lookup_many(source)
        distinct, first, inverse = np.unique(place, return_index=True, return_inverse=True)
        for key, came, target in zip(distinct.tolist(), port[first].tolist(), IPV6.numbers(source[first]), strict=True):
            if key not in self._own:
                self._own[key] = source_for(self.side, came, target)
        return IPV6.octets(self._own[key] for key in distinct.tolist())[inverse]

    @cached_property
    def _alike(self) -> SixLevelTrie:
        """The prefixes that addresses are chosen by: of labels (sites among them) and of each own address.

        Addresses beyond their link with the same longest one of them share all, so that each is answered alike.
        """
        nets = [(own, length) for link in self.side.ports if link for own, length in link.subnets]
        ends = {(own & IPV6.mask(k), k) for own, length in nets for k in range(length + 1)}
        value, length = zip(*sorted(ends | {row[:2] for row in LABELS}), strict=True)
        return SixLevelTrie.from_columns(IPV6.rows(value), np.array(length), np.arange(len(length)), word_bits=32)
