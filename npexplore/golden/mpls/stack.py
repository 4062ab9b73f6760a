"""Reads and writes label stacks (RFC 3032 section 2.1): 4-byte entries, outermost first, the last is the bottom.

An entry has a label of 20 bits, a traffic class of 3 bits (RFC 5462), the bottom bit, and a time to live of 8 bits.
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
MAX_TTL = 255  # largest time to live


class Label(NamedTuple):
    """One entry of a stack; `bottom` is 1 in the last entry.

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
    """The fault of a stack (0: none), its depth in entries, and the fields of its top entry."""

    reason: T
    depth: T
    label: T
    traffic_class: T
    ttl: T


def label_at(packet: bytes, number: int) -> Label:
    """Return an entry of a stack, counted from the top; the packet must be long enough."""
    at = ENTRY * number
    word = packet[at] << 24 | packet[at + 1] << 16 | packet[at + 2] << 8 | packet[at + 3]
    return Label(word >> 12, word >> 9 & 7, word >> 8 & 1, word & 0xFF)


def read_stack(packet: bytes) -> "Stack[int]":
    """Return the shape of a packet's stack; for a faulty stack only the reason."""
    if len(packet) < ENTRY:
        return Stack(Reason.LABEL_CUT, 0, 0, 0, 0)
    top, depth = label_at(packet, 0), 1
    while not label_at(packet, depth - 1).bottom:
        if len(packet) < ENTRY * (depth + 1):
            return Stack(Reason.NO_BOTTOM, 0, 0, 0, 0)
        depth += 1
    return Stack(Reason.NONE, depth, top.label, top.traffic_class, top.ttl)


def depth_within(packet: bytes, most: int) -> tuple[Reason, int]:
    """Return the fault of a packet's stack, and its depth; depth 0 if the bottom is not in the first `most` entries.

    Models hardware that sees a fixed number of entries.
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
    """Return the labels of many stacks, (n, most), outermost first; -1: no label, or a faulty stack."""
    out = np.full((len(packets), most), -1, np.int64)
    kernels.labels(packets.buffer, packets.offset, packets.length, out)
    return out


def write_stack(labels: Iterable[Label]) -> bytes:
    """Return entries as bytes, with the bottom bit set only in the last entry. Raises InputError."""
    rows = list(labels)
    out = b""
    for number, row in enumerate(rows):
        if not (0 <= row.label < LABELS and 0 <= row.traffic_class < 8 and 0 <= row.ttl <= MAX_TTL):
            raise InputError(f"a label has 20 bits, its traffic class 3 and its time to live 8, got {row}")
        out += entry_bytes(row._replace(bottom=int(number == len(rows) - 1)))
    return out


def check_outgoing(label: int) -> None:
    """Raise InputError for a label that no router pushes.

    Explicit nulls may be at any place of a stack (RFC 4182 section 3); implicit null never appears in a stack, and
    routes and label maps do not determine the other special-purpose labels.
    """
    if not FIRST_FREE <= label < LABELS and label not in (EXPLICIT_NULL4, EXPLICIT_NULL6):
        raise InputError(
            f"outgoing label must be {FIRST_FREE} to {LABELS - 1}, or explicit null "
            f"({EXPLICIT_NULL4} for IPv4, {EXPLICIT_NULL6} for IPv6), got {label}"
        )


def entry_bytes(row: Label) -> bytes:
    """Return the bytes of one entry, with its bottom bit unchanged."""
    return (row.label << 12 | row.traffic_class << 9 | row.bottom << 8 | row.ttl).to_bytes(ENTRY, "big")
