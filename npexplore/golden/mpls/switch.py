"""Label switching of a packet (RFC 3031 section 3, RFC 3032 section 2.4, RFC 3443).

The top label selects an entry of the incoming label map. The entry's labels replace it (swap; several labels: swap and
push). Without labels the top is popped; the packet is sent to the entry's next hop, or without a next hop the router
looks up the next label or the IP packet below the stack. Explicit nulls (0 and 2) are popped at any place of the stack
(RFC 4182 section 3). An entropy label is popped together with its indicator, without a lookup (RFC 6790). A router
alert label above others is for the router itself; other labels below 16 are not supported.

Time to live (RFC 3443 sections 3.4 to 3.6). The incoming TTL is that of the top label; after a pop here, it is that of
the popped label in the uniform model, and that of the exposed header in the pipe model. The outgoing TTL is one less.
It is written into swapped labels and, in the uniform model, into pushed labels and the header exposed by a pop. In the
pipe model pushed labels begin with 255, and an exposed header keeps its TTL, which is not checked (section 3.5). A
packet is dropped if no TTL is left in its top label (RFC 3032 section 2.4.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_mpls as kernels
from npexplore.errors import InputError
from npexplore.golden.checksum import update_checksum
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import SHORTEST
from npexplore.golden.mpls.stack import (
    ENTROPY_INDICATOR,
    ENTRY,
    EXPLICIT_NULL4,
    EXPLICIT_NULL6,
    FIRST_FREE,
    LABELS,
    MAX_TTL,
    ROUTER_ALERT,
    Label,
    check_outgoing,
    entry_bytes,
    label_at,
    read_stack,
)
from npexplore.golden.reasons import Reason
from npexplore.records import content_hash

HERE = -1


class LabelEntry(NamedTuple):
    """An entry of the incoming label map: outgoing labels, outermost first; port (HERE: another lookup); TTL model.

    mac: of the next hop on the port's link.

    Example:
        >>> from npexplore.golden import LabelEntry
        >>> LabelEntry(labels=(17,), port=1).labels
        (17,)
    """

    labels: tuple[int, ...] = ()
    port: int = HERE
    mac: bytes = bytes(6)
    uniform: bool = True


NULL, PIPE_NULL = LabelEntry(), LabelEntry(uniform=False)


class Switched(NamedTuple):
    """The outcome of switching: reason for a drop, else the packet and the number of its entry (-1: IP, routed here).

    labels: whether the packet still has a stack. levels: number of labels looked up.
    """

    reason: int
    packet: bytes
    entry: int = -1
    labels: bool = False
    levels: int = 0


@dataclass(frozen=True)
class LabelMap:
    """The incoming label map: entries, and the number of each label's entry.

    Example:
        >>> from npexplore.golden import LabelEntry, LabelMap
        >>> len(LabelMap.of({16: LabelEntry()}).entries)
        1
    """

    __hash__ = content_hash

    entries: tuple[LabelEntry, ...]
    number: Mapping[int, int]

    @classmethod
    def of(cls, entries: Mapping[int, LabelEntry]) -> "LabelMap":
        """Return the map of entries by label; raises InputError for special-purpose labels and labels out of range.

        Explicit nulls have no entry, because their meaning is fixed.
        """
        for label, entry in entries.items():
            if not FIRST_FREE <= label < LABELS:
                raise InputError(f"label must be {FIRST_FREE} to {LABELS - 1}, got {label}")
            for outgoing_label in entry.labels:
                check_outgoing(outgoing_label)
            if entry.labels and entry.port == HERE:
                raise InputError(f"what gets labels must go out by a port: label {label} has neither via nor port")
        return cls(tuple(entries.values()), {label: k for k, label in enumerate(entries)})

    def columns(self) -> "LabelColumns":
        """Return the map as columns for kernels."""
        table = np.full(LABELS, -1, np.int32)
        for label, number in self.number.items():
            table[label] = number
        largest_stack = max([1, *(len(entry.labels) for entry in self.entries)])
        labels = np.zeros((len(self.entries) + 1, largest_stack), np.int64)
        for row, entry in enumerate(self.entries):
            labels[row, : len(entry.labels)] = entry.labels
        rows = (*self.entries, NULL)  # an extra row, so that no column is empty
        return LabelColumns(
            table,
            labels,
            np.array([len(entry.labels) for entry in rows], np.int64),
            np.array([entry.port for entry in rows], np.int64),
            np.array([entry.uniform for entry in rows], np.bool_),
        )


class LabelColumns(NamedTuple):
    """table (2^20 int32): number of each label's entry, -1: none; then columns by entry; many: number of labels."""

    table: NDArray[np.int32]
    labels: NDArray[np.int64]
    many: NDArray[np.int64]
    port: NDArray[np.int64]
    uniform: NDArray[np.bool_]


def switch_labels(packet: bytes, known: LabelMap) -> Switched:
    """Return the outcome of a packet that begins with a label stack."""
    shape = read_stack(packet)
    if shape.reason:
        return Switched(shape.reason, b"")
    number, uniform_ttl = 0, None
    while True:
        top = label_at(packet, number)
        paired = top.label == ENTROPY_INDICATOR and not top.bottom
        next_number = number + 1 + paired
        bottom, rest = label_at(packet, next_number - 1).bottom, packet[ENTRY * next_number :]
        ttl = top.ttl if uniform_ttl is None else uniform_ttl
        ttl_unchecked = paired and number > 0 and uniform_ttl is None  # exposed by a pop of the pipe model
        if ttl <= 1 and not ttl_unchecked:
            return Switched(Reason.LABEL_TTL_EXPIRED, b"", levels=number)
        label_number, entry = -1, PIPE_NULL if ttl_unchecked else NULL
        if top.label == ROUTER_ALERT and not bottom:
            return Switched(Reason.LABEL_ALERT, b"", levels=number)
        if top.label >= FIRST_FREE:
            label_number = known.number.get(top.label, -1)
            if label_number < 0:
                return Switched(Reason.LABEL_UNKNOWN, b"", levels=next_number)
            entry = known.entries[label_number]
        elif not paired and top.label not in (EXPLICIT_NULL4, EXPLICIT_NULL6):
            return Switched(Reason.LABEL_RESERVED, b"", levels=number)
        if entry.labels:
            return Switched(Reason.NONE, swapped(top, entry, ttl) + rest, label_number, True, next_number)
        if bottom and not is_ip(rest, top.label):
            return Switched(Reason.NOT_IP_BELOW, b"", levels=next_number)
        if entry.port != HERE:
            exposed = with_ttl(rest, ttl - 1, not bottom) if entry.uniform else rest
            return Switched(Reason.NONE, exposed, label_number, not bottom, next_number)
        if bottom:
            exposed = with_ttl(rest, ttl, False) if entry.uniform else rest
            return Switched(Reason.NONE, exposed, -1, False, next_number)
        number, uniform_ttl = next_number, ttl if entry.uniform else None


def swapped(top: Label, entry: LabelEntry, ttl: int) -> bytes:
    """Return the entries that replace the top one."""
    return _in_place_of(top, entry.labels, ttl - 1 if entry.uniform else MAX_TTL, ttl - 1)


def _in_place_of(top: Label, labels: tuple[int, ...], first: int, ttl: int) -> bytes:
    """Return entries of labels: pushed ones with TTL `first`, the last one with TTL `ttl` and `top`'s bottom bit."""
    *pushed, swapped_label = labels
    stack = b""
    for pushed_label in pushed:
        stack += entry_bytes(top._replace(label=pushed_label, bottom=0, ttl=first))
    return stack + entry_bytes(top._replace(label=swapped_label, ttl=ttl))


def is_ip(packet: bytes, label: int) -> bool:
    """Say whether an IP header is below a stack; below an explicit null it must be of the null's version."""
    version = packet[0] >> 4 if packet else 0
    if (label == EXPLICIT_NULL4 and version != 4) or (label == EXPLICIT_NULL6 and version != 6):
        return False
    return (version == 4 and len(packet) >= 20) or (version == 6 and len(packet) >= 40)


def with_ttl(packet: bytes, ttl: int, labelled: bool) -> bytes:
    """Return a packet with another TTL in its top label, or in its IP header; unchanged if it is too short."""
    if labelled:
        return packet if len(packet) < ENTRY else packet[:3] + bytes([ttl]) + packet[4:]
    if len(packet) < SHORTEST:
        return packet
    if packet[0] >> 4 == 6:
        return packet[:7] + bytes([ttl]) + packet[8:]
    old_word, new_word = packet[8] << 8 | packet[9], ttl << 8 | packet[9]
    checksum = update_checksum(packet[10] << 8 | packet[11], old_word, new_word)
    return packet[:8] + bytes([ttl, packet[9]]) + checksum.to_bytes(2, "big") + packet[12:]


def switch_many(packets: Packets, known: LabelMap) -> tuple[NDArray[Any], Packets, *tuple[NDArray[Any], ...]]:
    """Return the outcome of many packets as columns: reason, packets, entry, labels, levels."""
    columns = known.columns()
    plan = plan_many(packets, columns)
    size = np.where(plan.reason == 0, plan.size, 0)
    at = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)
    rewrite_rows(packets, np.arange(len(packets)), plan, columns, at, out)
    return plan.reason, Packets(out, at, size), plan.entry, plan.labelled, plan.levels


class Plan(NamedTuple):
    """The decision for each packet: reason, entry, labels looked up, TTL to write (-1: none), labelled, bytes."""

    reason: NDArray[np.uint8]
    entry: NDArray[np.int64]
    levels: NDArray[np.int64]
    ttl: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    size: NDArray[np.int64]


def plan_many(packets: Packets, columns: LabelColumns) -> Plan:
    """Return the decision for packets that begin with a stack, without applying it."""
    count = len(packets)
    plan = Plan(
        np.empty(count, np.uint8), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty(count, np.bool_), np.empty(count, np.int64),
    )  # fmt: skip
    kernels.plan(packets.buffer, packets.offset, packets.length, *columns, *plan)
    return plan


def rewrite_rows(
    packets: Packets, rows: NDArray[np.int64], plan: Plan, columns: LabelColumns, at: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Apply the plan to some packets: write each of `rows` into `out` at its offset `at`."""
    kernels.rewrite(
        packets.buffer, packets.offset, packets.length, rows, *plan, columns.labels, columns.many, columns.uniform, at,
        out,
    )  # fmt: skip
