"""Label stacks (RFC 3032 section 2.1): entries of 4 bytes, outermost first, the last one marked as the bottom.

An entry is a label of 20 bits, a traffic class of 3 (RFC 5462), the bottom bit, and a time to live of 8.
"""

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_mpls as kernels
from npexplore.errors import InputError
from npexplore.golden.columns import Packets
from npexplore.golden.reasons import Reason

T = TypeVar("T", int, NDArray[Any])
ENTRY = 4
LABELS = 1 << 20
EXPLICIT_NULL4, ROUTER_ALERT, EXPLICIT_NULL6, IMPLICIT_NULL = 0, 1, 2, 3  # RFC 3032 section 2.1
ENTROPY_INDICATOR = 7  # the next entry is an entropy label, which is never looked up (RFC 6790)
FIRST_FREE = 16  # labels below are special-purpose (RFC 7274 section 3)
MAX_TTL = 255  # of a time to live


class Label(NamedTuple):
    """One entry of a stack; `bottom` is 1 on the last one.

    Example:
        >>> from npexplore.golden import Label
        >>> Label(16, bottom=1).ttl
        64
    """

    label: int
    traffic_class: int = 0
    bottom: int = 0
    ttl: int = 64


class Stack(NamedTuple, Generic[T]):
    """Why the stack is wrong (0: it is not), how many entries it has, and the fields of the top one."""

    reason: T
    depth: T
    label: T
    traffic_class: T
    ttl: T


def label_at(packet: bytes, number: int) -> Label:
    """Return an entry of a stack, counted from the top; the bytes must be there."""
    at = ENTRY * number
    word = packet[at] << 24 | packet[at + 1] << 16 | packet[at + 2] << 8 | packet[at + 3]
    return Label(word >> 12, word >> 9 & 7, word >> 8 & 1, word & 0xFF)


def read_stack(packet: bytes) -> "Stack[int]":
    """Return the shape of a packet's stack; of a stack without a bottom the reason alone."""
    if len(packet) < ENTRY:
        return Stack(Reason.LABEL_CUT, 0, 0, 0, 0)
    top, depth = label_at(packet, 0), 1
    while not label_at(packet, depth - 1).bottom:
        if len(packet) < ENTRY * (depth + 1):
            return Stack(Reason.NO_BOTTOM, 0, 0, 0, 0)
        depth += 1
    return Stack(Reason.NONE, depth, top.label, top.traffic_class, top.ttl)


def depth_within(packet: bytes, most: int) -> tuple[Reason, int]:
    """Return why a packet's stack is wrong, and how many entries it has; 0 where none of the first `most` is the last.

    What hardware can look for: the bottom among so many entries, all of which it has in sight.
    """
    for number in range(most):
        if len(packet) < ENTRY * (number + 1):
            return (Reason.NO_BOTTOM if number else Reason.LABEL_CUT), 0
        if label_at(packet, number).bottom:
            return Reason.NONE, number + 1
    return Reason.NONE, 0


def read_stacks(packets: Packets) -> "Stack[NDArray[Any]]":
    """Return the shapes of many packets' stacks as columns."""
    columns = np.zeros((len(Stack._fields), len(packets)), np.int64)
    kernels.stacks(packets.buffer, packets.offset, packets.length, columns)
    return Stack(*columns)


def labels_of(packets: Packets, most: int) -> NDArray[np.int64]:
    """Return the labels of many stacks, (n, most), outermost first; -1 where there is none or the stack is wrong."""
    out = np.full((len(packets), most), -1, np.int64)
    kernels.labels(packets.buffer, packets.offset, packets.length, out)
    return out


def write_stack(labels: Iterable[Label]) -> bytes:
    """Return entries as bytes, the bottom bit set by position: on the last one. Raises InputError."""
    rows = list(labels)
    out = b""
    for number, row in enumerate(rows):
        if not (0 <= row.label < LABELS and 0 <= row.traffic_class < 8 and 0 <= row.ttl <= MAX_TTL):
            raise InputError(f"a label has 20 bits, its traffic class 3 and its time to live 8, got {row}")
        out += entry_bytes(row._replace(bottom=int(number == len(rows) - 1)))
    return out


def check_outgoing(label: int) -> None:
    """Raise InputError for a label that no router puts on a packet.

    Explicit nulls may be put on a packet, at any place of a stack (RFC 4182 section 3); implicit null never is, and
    the other special labels say what no route or label map decides.
    """
    if not FIRST_FREE <= label < LABELS and label not in (EXPLICIT_NULL4, EXPLICIT_NULL6):
        raise InputError(
            f"outgoing label must be {FIRST_FREE} to {LABELS - 1}, or explicit null "
            f"({EXPLICIT_NULL4} for IPv4, {EXPLICIT_NULL6} for IPv6), got {label}"
        )


def entry_bytes(row: Label) -> bytes:
    """Return one entry as it stands."""
    return (row.label << 12 | row.traffic_class << 9 | row.bottom << 8 | row.ttl).to_bytes(ENTRY, "big")
