"""The stages of labelled frames: link, label map, size. An IP packet below a popped stack goes through the IP stages.

RFC 3032 section 4.1: frames of type 0x8847. The top label of frames of type 0x8848 is upstream-assigned (RFC 5332
section 4); this router has no map for it. No ICMP message is sent about labelled frames, because the sender of the
packet below a faulty stack did not cause the fault.
"""

from __future__ import annotations

from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.mpls.switch import switch_labels
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.rules import Rules, Rules4, Stage
from npexplore.golden.router.sides import Side4
from npexplore.golden.router.walk import Sent, Walk4


def link_fault(mac: bytes, frame: bytes) -> Reason:
    """Return why a port with this MAC address drops a labelled frame before its stack is read, NONE if it does not."""
    is_group = frame[0] & 1
    if not is_group and frame[:6] != mac:
        return Reason.OTHER_STATION
    if frame[12:ETHERNET] == UPSTREAM_TYPE:
        return Reason.LABEL_UPSTREAM
    return Reason.LINK_BROADCAST if is_group else Reason.NONE


def link(side: Side4, walk: Walk4) -> Reason:
    """Take the labelled packet out of its frame."""
    walk.packet = walk.frame[ETHERNET:]
    return link_fault(side.router.ports[walk.port].mac, walk.frame)


def labels(side: Side4, walk: Walk4) -> Reason:
    """Apply the label map: the frame leaves by the entry's port, or the IP packet below the stack is routed here."""
    label_map = side.router.labels
    assert label_map is not None
    switched = switch_labels(walk.packet, label_map)
    if switched.reason:
        return by_code(switched.reason)
    kind = MPLS_TYPE if switched.labels else IPV6_TYPE if switched.packet[0] >> 4 == 6 else IPV4_TYPE
    if switched.entry < 0:
        walk.exposed = walk.frame[:12] + kind + switched.packet
    else:
        entry = label_map.entries[switched.entry]
        walk.sent.append(Sent(entry.port, entry.mac + side.router.ports[entry.port].mac + kind + switched.packet))
    return Reason.NONE


def fit(side: Side4, walk: Walk4) -> Reason:
    """Drop frames longer than the link's MTU, without fragmentation (RFC 3032 section 3.4 allows this)."""
    if all(len(sent.frame) - ETHERNET <= side.router.ports[sent.port].mtu for sent in walk.sent):
        return Reason.NONE
    walk.sent.clear()
    return Reason.LABELLED_TOO_BIG


R = Reason
LABELLED: Rules4 = Rules(
    (
        Stage(
            "link", "RFC 3032 section 4", ("frame", "port"), (R.OTHER_STATION, R.LABEL_UPSTREAM, R.LINK_BROADCAST), link
        ),
        Stage(
            "labels", "RFC 3032 section 2, RFC 3443", ("packet",),
            (
                R.LABEL_CUT, R.NO_BOTTOM, R.LABEL_TTL_EXPIRED, R.LABEL_ALERT, R.LABEL_RESERVED, R.LABEL_UNKNOWN,
                R.NOT_IP_BELOW,
            ),
            labels,
        ),
        Stage("size", "RFC 3032 section 3", ("packet",), (R.LABELLED_TOO_BIG,), fit),
    ),
    lambda side, walk, reason: None,
)  # fmt: skip
