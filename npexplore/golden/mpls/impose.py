"""Putting a label stack on a packet of IP: what the first router of a labelled path does (RFC 3031 section 3.14).

A route that pushes has the stack's bytes ready, with a time to live of 0 where the packet's own is to be copied: the
uniform model (RFC 3443 section 3.6). In the pipe and short pipe models labels begin with 255, the default that section
names; the two differ where the path ends (sections 3.2 and 3.3), not here. The packet itself has one less to live
already. The traffic class is 0.
"""

from collections.abc import Sequence
from typing import Literal

from npexplore.golden.ethernet import MPLS_TYPE
from npexplore.golden.mpls.stack import ENTRY, MAX_TTL, Label, label_at, write_stack

TtlModel = Literal["uniform", "pipe", "short-pipe"]
COPY = 0  # a time to live that stands for the packet's
HOP_LIMIT, TTL = 7, 8  # where IPv6 and IPv4 have theirs


def prepared_stack(labels: Sequence[int], model: TtlModel = "uniform") -> bytes:
    """Return the stack of a route, outermost label first; raises InputError for an invalid label."""
    return write_stack(Label(one, ttl=COPY if model == "uniform" else MAX_TTL) for one in labels)


def impose(packet: bytes, stack: bytes) -> bytes:
    """Return a packet of IPv4 or IPv6 below the stack of its route."""
    own = packet[HOP_LIMIT if packet[0] >> 4 == 6 else TTL]
    entries = bytearray(stack)
    for at in range(ENTRY - 1, len(entries), ENTRY):
        if entries[at] == COPY:
            entries[at] = own
    return bytes(entries) + packet


def told_stack(stack: bytes) -> str:
    """Return the labels that a route pushes, in words."""
    labels = [str(label_at(stack, number).label) for number in range(len(stack) // ENTRY)]
    return f", below labels {' '.join(labels)}" if labels else ""


def typed(packet: bytes, stack: bytes, kind: bytes) -> bytes:
    """Return a packet behind the type of its frame: `kind` as it is, 0x8847 below a stack (RFC 3032 section 4.1)."""
    return MPLS_TYPE + impose(packet, stack) if stack else kind + packet
