"""VLAN tags (IEEE 802.1Q clause 9): finds the interface of a tagged frame, and tags outgoing frames.

A tag is 4 bytes behind the MAC addresses: its type, then priority and VLAN number. Number 0 means a priority without a
VLAN (clause 9.6): the frame is for the port itself. Any other number must be that of an interface `on` the port.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.reasons import Reason
from npexplore.golden.router.ports import Port
from npexplore.golden.router.rules import Rules, Stage
from npexplore.golden.router.sides import Side
from npexplore.golden.router.walk import Sent, Walk

CUSTOMER, SERVICE = b"\x81\x00", b"\x88\xa8"
TAGS = frozenset({CUSTOMER, SERVICE})
TAG, MACS, NUMBER_BITS = 4, 12, 0xFFF


def take_tags(side: Side, walk: Walk[Any]) -> Reason:
    """Find the interface of a tagged frame and remove its tags; a frame may have several tags of VLAN 0."""
    frame, port = walk.frame, walk.port
    while frame[MACS:ETHERNET] in TAGS:
        if len(frame) < ETHERNET + TAG:
            return Reason.UNKNOWN_VLAN
        number = int.from_bytes(frame[ETHERNET : ETHERNET + 2], "big") & NUMBER_BITS
        if number:
            port_number = side.vlans.get((port, number)) if frame[MACS:ETHERNET] == CUSTOMER else None
            if port_number is None:
                return Reason.UNKNOWN_VLAN
            port = port_number
        frame = frame[:MACS] + frame[MACS + TAG :]
    walk.port, walk.exposed = port, frame
    return Reason.NONE


def tagged(ports: Sequence[Port], sent: Sent) -> Sent:
    """Return an outgoing frame with the tag of its VLAN, on the port that carries the VLAN."""
    port = ports[sent.port]
    if not port.vlan:
        return sent
    frame = sent.frame[:MACS] + CUSTOMER + port.vlan.to_bytes(2, "big") + sent.frame[MACS:]
    return Sent(port.on, frame, sent.icmp)


def silent(side: Side, walk: Walk[Any], reason: Reason) -> None:
    """Send nothing: no interface is in the frame's VLAN."""


TAGGED: Rules[Any, Any] = Rules(
    (Stage("tag", "IEEE 802.1Q clause 9.6", ("frame", "port"), (Reason.UNKNOWN_VLAN,), take_tags),), silent
)
