"""The golden router for many frames at once; each frame gets the outcome that the reference gives it.

Kernels forward packets without options, or with options that a router does not change. They also write the ICMP errors
about packets without options. The reference `Forwarder` handles all others, one by one in order: packets with other
options, packets to fragment, IPv6 redirects. Frames are grouped by EtherType, and each group is decided at once.
Labelled frames go first, because an IP packet below a popped stack then joins the IP frames in the order of arrival.
tests/law/test_law_golden_batch.py compares both implementations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.columns import Packets
from npexplore.golden.ethernet import ETHERNET, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.ipv4.arrivals import Arrivals4
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv6.arrivals import Arrivals6
from npexplore.golden.mpls.batch import BatchLabels
from npexplore.golden.reasons import by_code
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.fast_path import FastPath
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.frames import Forwarded as Forwarded
from npexplore.golden.router.frames import Frames as Frames
from npexplore.golden.router.frames import joined, send_all
from npexplore.golden.router.rules import Profile

IPV6, MPLS, UPSTREAM = (int.from_bytes(kind, "big") for kind in (IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE))
DECIDED = -1


class BatchForwarder(ShownByArguments):
    """The golden router for many frames at once: the same outcomes and counters as `Forwarder`, its `reference`.

    Args:
        router: the configuration.
        profile: a profile or its name, such as "linux" (None: the configuration's).
        lookup: the name of a structure of npexplore.golden.lookup for IPv4; a larger one where routes do not fit.
        error_limit: a token bucket that limits ICMP errors, in errors a second (None: the configuration's).

    Example:
        >>> from npexplore.golden import BatchForwarder, Frames, load_router
        >>> batch = BatchForwarder(load_router("office"))
        >>> batch.forward(Frames.of([(0, bytes(64), 0)])).reason.tolist()
        [1]
        >>> batch.counters
        {'in.office': 1, 'drop.NOT_IPV4': 1}
    """

    def __init__(
        self, router: Router, *, profile: Profile | str | None = None, lookup: str = "dir24_8",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        self.reference = Forwarder(router, profile=profile, lookup=lookup, error_limit=error_limit)
        self.router = router
        ipv4, ipv6, rules = self.reference.ipv4, self.reference.ipv6, self.reference.profile
        self._four = FastPath(self.reference, ipv4, Arrivals4(ipv4, rules.ipv4.many_first), rules.ipv4)
        self._six = None
        if ipv6 is not None:
            arrivals6 = Arrivals6(ipv6, rules.ipv6.whole_chain)
            self._six = FastPath(self.reference, ipv6, arrivals6, rules.ipv6)
        self._labels = None if router.labels is None else BatchLabels(router, router.labels)

    @property
    def counters(self) -> dict[str, int]:
        """Counters by name: in.PORT, out.PORT, icmp.PORT, drop.REASON."""
        return dict(self.reference.counters)

    def forward(self, frames: Frames) -> Forwarded:
        """Decide frames in their order; raises InputError for a port that does not exist."""
        ports, count = len(self.router.ports), len(frames)
        if len(frames.port) != count or len(frames.time_ns) != count:
            raise InputError(f"{count} frames need {count} ports and times, got {len(frames.port)}")
        if count and (int(frames.port.min()) < 0 or int(frames.port.max()) >= ports):
            raise InputError(f"port must be 0 to {ports - 1}, got {int(frames.port.min())} to {int(frames.port.max())}")
        plain = self._six is None and self._labels is None
        if self.reference.resolution is not None:
            forwarded = self._one_by_one(frames)
        else:
            forwarded = self._four.forward(frames) if plain else self._mixed(frames)
        self._count(frames, forwarded)
        return forwarded

    def _one_by_one(self, frames: Frames) -> Forwarded:
        """Pass all frames to the reference: a packet that awaits address resolution leaves with a later frame."""
        count = len(frames)
        rows, zeros = np.arange(count), np.zeros(count, np.int64)

        def nothing(*_: object) -> None:
            """Write nothing: kernels decide no frame here."""

        verdict = np.zeros(count, np.uint8)
        return send_all(frames, verdict, rows, self.reference.decide, zeros.astype(np.int16), zeros, nothing)

    def _mixed(self, frames: Frames) -> Forwarded:
        """Decide frames of any EtherType; the IPv4 path takes all that are neither IPv6 nor labelled."""
        parts: list[tuple[NDArray[np.int64], Forwarded]] = []
        kind = _types(frames.packets)
        labelled = np.flatnonzero((kind == MPLS) | (kind == UPSTREAM))
        if self._labels is not None and len(labelled):
            switched = self._labels.forward(frames.rows(labelled))
            decided, exposed = labelled[switched.decided], labelled[switched.exposed]
            parts.append((decided, switched.forwarded))
            frames = _replaced(frames, exposed, switched.frames)
            kind[decided], kind[exposed] = DECIDED, _types(switched.frames)
        if self._six is not None and len(rows := np.flatnonzero(kind == IPV6)):
            parts.append((rows, self._six.forward(frames.rows(rows))))
            kind[rows] = DECIDED
        if len(rows := np.flatnonzero(kind != DECIDED)) or not parts:
            parts.append((rows, self._four.forward(frames.rows(rows))))
        return joined(len(frames), parts)

    def _count(self, frames: Frames, forwarded: Forwarded) -> None:
        """Update the reference's counters."""
        counters, ports = self.reference.counters, self.router.ports
        for counter, column in (
            ("in", frames.port),
            ("out", forwarded.port[~forwarded.icmp]),
            ("icmp", forwarded.port[forwarded.icmp]),
        ):
            for number, packets in enumerate(np.bincount(column, minlength=len(ports)).tolist()):
                if packets:
                    counters[f"{counter}.{ports[number].name}"] += packets
        for code, packets in enumerate(np.bincount(forwarded.reason).tolist()):
            if code and packets:
                counters[f"drop.{by_code(code).name}"] += packets


def _types(packets: Packets) -> NDArray[np.int64]:
    """Return the EtherType of each frame, 0 for a frame that is shorter than an Ethernet header."""
    has_header = packets.length >= ETHERNET
    type_at = np.where(has_header, packets.offset, 0) + 12
    if not has_header.any():
        return np.zeros(len(packets), np.int64)
    kind = packets.buffer[type_at].astype(np.int64) << 8 | packets.buffer[type_at + 1]
    return np.where(has_header, kind, 0)


def _replaced(frames: Frames, rows: NDArray[np.int64], by: Packets) -> Frames:
    """Return the frames with the packets `by` in place of some rows; their bytes are appended to the buffer."""
    if not len(rows):
        return frames
    offset, length = frames.packets.offset.copy(), frames.packets.length.copy()
    offset[rows], length[rows] = by.offset + len(frames.packets.buffer), by.length
    packets = Packets(np.concatenate([frames.packets.buffer, by.buffer]), offset, length)
    return Frames(packets, frames.port, frames.time_ns)
