"""Pushes a label stack onto an IP packet, as the ingress router of a label switched path (RFC 3031 section 3.14).

A route has the stack's bytes prepared. A TTL of 0 in them means that the packet's TTL is copied: the uniform model (RFC
3443 section 3.6). In the pipe and short pipe models the TTL of labels begins with 255, the default of that section; the
two models differ only at the egress (sections 3.2 and 3.3). The packet's TTL is already decremented. The traffic class
is 0.
"""

from collections.abc import Sequence
from typing import Literal

from npexplore.golden.ethernet import MPLS_TYPE
from npexplore.golden.mpls.stack import ENTRY, MAX_TTL, Label, label_at, write_stack

TtlModel = Literal["uniform", "pipe", "short-pipe"]
COPY = 0  # placeholder for the packet's TTL
HOP_LIMIT, TTL = 7, 8  # offsets of hop limit and TTL in IPv6 and IPv4 headers


def prepared_stack(labels: Sequence[int], model: TtlModel = "uniform") -> bytes:
    """Return the prepared stack of a route, outermost label first; raises InputError for an invalid label."""
    return write_stack(Label(label, ttl=COPY if model == "uniform" else MAX_TTL) for label in labels)


def impose(packet: bytes, stack: bytes) -> bytes:
    """Return an IPv4 or IPv6 packet below the stack of its route."""
    packet_ttl = packet[HOP_LIMIT if packet[0] >> 4 == 6 else TTL]
    entries = bytearray(stack)
    for at in range(ENTRY - 1, len(entries), ENTRY):
        if entries[at] == COPY:
            entries[at] = packet_ttl
    return bytes(entries) + packet


def told_stack(stack: bytes) -> str:
    """Return the labels that a route pushes as text for messages, empty without labels."""
    labels = [str(label_at(stack, number).label) for number in range(len(stack) // ENTRY)]
    return f", below labels {' '.join(labels)}" if labels else ""


def typed(packet: bytes, stack: bytes, kind: bytes) -> bytes:
    """Return a packet with its EtherType: `kind`, or 0x8847 and the stack (RFC 3032 section 4.1)."""
    return MPLS_TYPE + impose(packet, stack) if stack else kind + packet
