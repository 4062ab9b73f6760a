"""What a label switching router does with a packet (RFC 3031 section 3, RFC 3032 section 2.4, RFC 3443).

The top label names an entry of the incoming label map. Its labels take the top's place (swap, and push for more than
one); without labels the top is popped, and the packet goes to the entry's next hop or, without one, is looked at again
here: by the next label, or by what lies below the stack. Explicit nulls (0 and 2) are popped and looked below, at any
place of the stack (RFC 4182 section 3). An entropy label goes with the indicator in front of it, unseen (RFC 6790); a
router alert label above others is for the router itself, and all else below 16 is not taken.

Time to live (RFC 3443 sections 3.4 to 3.6). Incoming: that of the top label; after a pop here, that of the popped label
in the uniform model, that of what was exposed in the pipe model. Outgoing: one less, written into swapped labels and,
in the uniform model, into pushed labels and what a pop exposes; pushed labels of the pipe model begin with 255, and
what a pop exposes keeps its own, which is not looked at (section 3.5). Nothing goes on with none left in the top label
(RFC 3032 section 2.4.2).
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
    """An entry of the incoming label map: outgoing labels, outermost first; port, HERE to look again; its TTL model.

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
    """The reason to drop; else the packet as it goes on, and the entry (its number) it goes by: -1 for IP, here.

    labels: whether it still has a stack. levels: how many labels were looked up.
    """

    reason: int
    packet: bytes
    entry: int = -1
    labels: bool = False
    levels: int = 0


@dataclass(frozen=True)
class LabelMap:
    """The incoming label map: entries, and the number of each label's entry. Columns of it are for kernels.

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
        """Return the map of entries by label; raises InputError for labels out of range or special ones.

        Explicit nulls have no entry: what they mean is fixed.
        """
        for label, entry in entries.items():
            if not FIRST_FREE <= label < LABELS:
                raise InputError(f"label must be {FIRST_FREE} to {LABELS - 1}, got {label}")
            for one in entry.labels:
                check_outgoing(one)
            if entry.labels and entry.port == HERE:
                raise InputError(f"what gets labels must go out by a port: label {label} has neither via nor port")
        return cls(tuple(entries.values()), {label: k for k, label in enumerate(entries)})

    def columns(self) -> "LabelColumns":
        """Return the map as columns."""
        table = np.full(LABELS, -1, np.int32)
        for label, number in self.number.items():
            table[label] = number
        most = max([1, *(len(entry.labels) for entry in self.entries)])
        labels = np.zeros((len(self.entries) + 1, most), np.int64)
        for row, entry in enumerate(self.entries):
            labels[row, : len(entry.labels)] = entry.labels
        rows = (*self.entries, NULL)  # one row more, so that no column is empty
        return LabelColumns(
            table,
            labels,
            np.array([len(entry.labels) for entry in rows], np.int64),
            np.array([entry.port for entry in rows], np.int64),
            np.array([entry.uniform for entry in rows], np.bool_),
        )


class LabelColumns(NamedTuple):
    """table (2^20 int32): number of each label's entry, -1 for none; then columns by number of entry."""

    table: NDArray[np.int32]
    labels: NDArray[np.int64]
    many: NDArray[np.int64]
    port: NDArray[np.int64]
    uniform: NDArray[np.bool_]


def switch_labels(packet: bytes, known: LabelMap) -> Switched:
    """Return the treatment of a packet that begins with a label stack."""
    shape = read_stack(packet)
    if shape.reason:
        return Switched(shape.reason, b"")
    number, handed = 0, None
    while True:
        top = label_at(packet, number)
        paired = top.label == ENTROPY_INDICATOR and not top.bottom
        after = number + 1 + paired
        bottom, below = label_at(packet, after - 1).bottom, packet[ENTRY * after :]
        ttl = top.ttl if handed is None else handed
        unseen = paired and number > 0 and handed is None  # below a label of the pipe model
        if ttl <= 1 and not unseen:
            return Switched(Reason.LABEL_TTL_EXPIRED, b"", levels=number)
        label_number, entry = -1, PIPE_NULL if unseen else NULL
        if top.label == ROUTER_ALERT and not bottom:
            return Switched(Reason.LABEL_ALERT, b"", levels=number)
        if top.label >= FIRST_FREE:
            label_number = known.number.get(top.label, -1)
            if label_number < 0:
                return Switched(Reason.LABEL_UNKNOWN, b"", levels=after)
            entry = known.entries[label_number]
        elif not paired and top.label not in (EXPLICIT_NULL4, EXPLICIT_NULL6):
            return Switched(Reason.LABEL_RESERVED, b"", levels=number)
        if entry.labels:
            return Switched(Reason.NONE, swapped(top, entry, ttl) + below, label_number, True, after)
        if bottom and not is_ip(below, top.label):
            return Switched(Reason.NOT_IP_BELOW, b"", levels=after)
        if entry.port != HERE:
            exposed = with_ttl(below, ttl - 1, not bottom) if entry.uniform else below
            return Switched(Reason.NONE, exposed, label_number, not bottom, after)
        if bottom:
            exposed = with_ttl(below, ttl, False) if entry.uniform else below
            return Switched(Reason.NONE, exposed, -1, False, after)
        number, handed = after, ttl if entry.uniform else None


def swapped(top: Label, entry: LabelEntry, ttl: int) -> bytes:
    """Return the labels that take the place of the top one."""
    return _in_place_of(top, entry.labels, ttl - 1 if entry.uniform else MAX_TTL, ttl - 1)


def _in_place_of(top: Label, labels: tuple[int, ...], first: int, ttl: int) -> bytes:
    """Return labels with a time to live of their own (`first`), the last one with that and the bottom bit of `top`."""
    *pushed, last = labels
    stack = b""
    for one in pushed:
        stack += entry_bytes(top._replace(label=one, bottom=0, ttl=first))
    return stack + entry_bytes(top._replace(label=last, ttl=ttl))


def is_ip(packet: bytes, label: int) -> bool:
    """Say whether a header of IP stands below a stack: the version that an explicit null names, else any."""
    version = packet[0] >> 4 if packet else 0
    if (label == EXPLICIT_NULL4 and version != 4) or (label == EXPLICIT_NULL6 and version != 6):
        return False
    return (version == 4 and len(packet) >= 20) or (version == 6 and len(packet) >= 40)


def with_ttl(packet: bytes, ttl: int, labelled: bool) -> bytes:
    """Return a packet with another time to live: of its top label, or of its IPv4 or IPv6 header, which are there."""
    if labelled:
        return packet if len(packet) < ENTRY else packet[:3] + bytes([ttl]) + packet[4:]
    if len(packet) < SHORTEST:
        return packet
    if packet[0] >> 4 == 6:
        return packet[:7] + bytes([ttl]) + packet[8:]
    old, new = packet[8] << 8 | packet[9], ttl << 8 | packet[9]
    checksum = update_checksum(packet[10] << 8 | packet[11], old, new)
    return packet[:8] + bytes([ttl, packet[9]]) + checksum.to_bytes(2, "big") + packet[12:]


def switch_many(packets: Packets, known: LabelMap) -> tuple[NDArray[Any], Packets, *tuple[NDArray[Any], ...]]:
    """Return what becomes of many packets, in columns: reason, packets, entry, labels, levels."""
    columns = known.columns()
    plan = plan_many(packets, columns)
    size = np.where(plan.reason == 0, plan.size, 0)
    at = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)
    rewrite_rows(packets, np.arange(len(packets)), plan, columns, at, out)
    return plan.reason, Packets(out, at, size), plan.entry, plan.labelled, plan.levels


class Plan(NamedTuple):
    """What is to be done with each packet: reason, entry, labels looked up, TTL to write (-1: none), stack, bytes."""

    reason: NDArray[np.uint8]
    entry: NDArray[np.int64]
    levels: NDArray[np.int64]
    ttl: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    size: NDArray[np.int64]


def plan_many(packets: Packets, columns: LabelColumns) -> Plan:
    """Return what is to be done with packets that begin with a stack, without doing it."""
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
    """Do what is planned with some of the packets: write them into out, each at its place."""
    kernels.rewrite(
        packets.buffer, packets.offset, packets.length, rows, *plan, columns.labels, columns.many, columns.uniform, at,
        out,
    )  # fmt: skip
