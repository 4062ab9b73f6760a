"""What the Linux kernel tells senders of many IPv4 packets at once: the columns behind its `stages.send_error`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.ipv4.icmp import ICMP, LONGEST
from npexplore.golden.linux.peer_limit import limited
from npexplore.golden.linux.stages import LAST_ICMP, QUIET_ICMP
from npexplore.golden.router.messages import HEADERS, Messages4, Numbers, numbers


class LinuxMessages4(Messages4):
    """The messages of the kernel: shortened to the link, to whomever the route leads, about fewer kinds of ICMP."""

    counted_down = True

    def by_reference(self) -> bool:
        """Say whether all messages are left to the reference: the kernel's own limits count by peer."""
        settings = self.side.router.linux
        return super().by_reference() or settings.icmp_errors_use_inbound_ifaddr or limited(settings)

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the bytes of messages, which are cut to what fits the link; where there is none, too many for it."""
        return np.asarray(HEADERS + np.minimum(total, np.maximum(np.minimum(self.room[back], LONGEST) - HEADERS, 1)))

    def reached(self, back: Numbers, head: Numbers) -> NDArray[np.bool_]:
        """Say that somebody is there: who is listed does not matter."""
        return np.ones(len(back), np.bool_)

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: Numbers) -> NDArray[np.bool_]:
        """Say which packets no error is sent about: later pieces, ICMP errors, unknown and cut ICMP."""
        icmp = buffer[at + 9] == ICMP
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(icmp & ~cut, at + 20, at)]
        quiet = cut | (kind > LAST_ICMP) | np.isin(kind, sorted(QUIET_ICMP))
        return np.asarray((numbers(buffer, at + 6, 2) & 0x1FFF > 0) | (icmp & quiet))

    def redirected(
        self, port: NDArray[Any], source: Numbers, back: Numbers, hop: Numbers, target: Numbers
    ) -> NDArray[np.bool_]:
        """Say which sources are neighbours on the link of a port, as `attached` does."""
        near: NDArray[np.bool_] = (back >= 0) & self.unicast[back] & (self.via[back] == 0)
        if not self.side.router.linux.send_redirects:
            return np.zeros(len(port), np.bool_)
        other = (back >= 0) & self.unicast[back] & (self.port[back] != port)
        for number in np.unique(port[other]).tolist():
            rows = np.flatnonzero(other & (port == number))
            by_port = self.side.table_by(number).lookup_many(source[rows].astype(np.uint32))
            near[rows] = (by_port >= 0) & self.unicast[by_port] & (self.via[by_port] == 0)
        return near
