"""Labelled frames through a router: link, stack and label map, size; IP that comes out below goes on by its own rules.

RFC 3032 section 4.1: frames of type 0x8847. Those of type 0x8848 begin with a label that the sender chose (RFC 5332
section 4), for which this router has no map. No ICMP message is sent about labelled frames: what is wrong with a stack
is not the doing of whoever sent the packet below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npexplore.golden.mpls.impose import MPLS_TYPE as MPLS_TYPE
from npexplore.golden.mpls.switch import LabelMap, switch
from npexplore.golden.reasons import Reason, by_code

if TYPE_CHECKING:
    from npexplore.golden.router.configuration import Router

UPSTREAM_TYPE = b"\x88\x48"
LABEL_TYPES = (MPLS_TYPE, UPSTREAM_TYPE)
IPV4_TYPE, IPV6_TYPE = b"\x08\x00", b"\x86\xdd"
ETHERNET = 14
STAGES = (
    ("link", "RFC 3032 section 4", (Reason.OTHER_STATION, Reason.LABEL_UPSTREAM, Reason.LINK_BROADCAST)),
    (
        "labels", "RFC 3032 section 2, RFC 3443",
        (
            Reason.LABEL_CUT, Reason.NO_BOTTOM, Reason.LABEL_TTL_EXPIRED, Reason.LABEL_ALERT, Reason.LABEL_RESERVED,
            Reason.LABEL_UNKNOWN, Reason.NOT_IP_BELOW,
        ),
    ),
    ("size", "RFC 3032 section 3", (Reason.LABELLED_TOO_BIG,)),
)  # fmt: skip


class Labelled(NamedTuple):
    """The reason to drop; else the frame as it goes on, and by which port: -1 for IP that is to be routed here."""

    reason: Reason
    frame: bytes = b""
    port: int = -1


def link_fault(mac: bytes, frame: bytes) -> Reason:
    """Return why a labelled frame that came in by a port with this address is not looked into."""
    many = frame[0] & 1
    if not many and frame[:6] != mac:
        return Reason.OTHER_STATION
    if frame[12:ETHERNET] == UPSTREAM_TYPE:
        return Reason.LABEL_UPSTREAM
    return Reason.LINK_BROADCAST if many else Reason.NONE


def forward_labelled(router: Router, known: LabelMap, port: int, frame: bytes) -> Labelled:
    """Decide one labelled frame that came in by a port."""
    reason = link_fault(router.ports[port].mac, frame)
    if reason:
        return Labelled(reason)
    made = switch(frame[ETHERNET:], known)
    if made.reason:
        return Labelled(by_code(made.reason))
    kind = MPLS_TYPE if made.labels else IPV6_TYPE if made.packet[0] >> 4 == 6 else IPV4_TYPE
    if made.entry < 0:
        return Labelled(Reason.NONE, frame[:12] + kind + made.packet)
    entry = known.entries[made.entry]
    out = router.ports[entry.port]
    if len(made.packet) > out.mtu:
        return Labelled(Reason.LABELLED_TOO_BIG)
    return Labelled(Reason.NONE, entry.mac + out.mac + kind + made.packet, entry.port)
