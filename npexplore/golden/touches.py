"""The sequence of memory addresses that packets access, for a layout of tables and rings.

Golden lookups, classifiers and flow tables report the words that they read (`Lpm.reads_many`, `Classifier.work`,
`FlowTable.reads_many`); a `Layout` maps each word to its address.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of
from npexplore.golden.lookup.base import NO_READ, MemoryReads
from npexplore.golden.work import UNTOLD, Work

DEVICE = -1  # as the number of a core
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """The placement of tables in memory, by table. start: address of the first word; word_bytes: bytes per word."""

    start: Mapping[str, int]
    word_bytes: Mapping[str, int]
    end: int

    @classmethod
    def of(cls, words: Mapping[str, tuple[int, int]], first: int = 0, page_bytes: int = 4096) -> "Layout":
        """Place tables one after the other, each at a page boundary. words: by table (words, bytes per word)."""
        start, address = {}, first
        for table, (number, size) in words.items():
            if number < 1 or size < 1:
                raise InputError(f"table {table!r} must have words of at least 1 byte, got {number} of {size}")
            start[table] = address
            address += -(-number * size // page_bytes) * page_bytes
        return cls(start, {table: size for table, (_, size) in words.items()}, address)

    def address(self, table: str, word: Integers) -> Integers:
        """Return the addresses of words of a table; raises UnknownNameError."""
        return self.start[one_of("table", table, self.start)] + word * self.word_bytes[table]


@dataclass(frozen=True)
class Touches:
    """Memory accesses: packet, core (DEVICE: by a device), address, and whether it writes.

    All arrays have one row per access, in the order of accesses. when: the packet in whose turn an access happens; a
    device writes a packet's buffer one ring of packets before a core reads it.
    """

    packet: Integers
    core: Integers
    address: Integers
    write: NDArray[np.bool_]
    when: Integers

    def __len__(self) -> int:
        return len(self.packet)

    @classmethod
    def of(
        cls, packet: Integers, address: Integers, core: "Integers | int" = 0, write: bool = False,
        when: "Integers | None" = None,
    ) -> "Touches":  # fmt: skip
        """Return accesses that all read, or all write. when: None: each in its packet's turn."""
        n = len(packet)
        core = np.broadcast_to(np.asarray(core, np.int64), n)
        turn = packet if when is None else when
        return cls(np.asarray(packet, np.int64), core, np.asarray(address, np.int64), np.full(n, write), turn)

    @classmethod
    def of_reads(cls, reads: MemoryReads, layout: Layout) -> "Touches":
        """Return the reads of lookups; lookup i is for packet i."""
        packet, column = np.nonzero(reads.word != NO_READ)
        word, address = reads.word[packet, column], np.zeros(len(packet), np.int64)
        for k, table in enumerate(reads.tables):
            in_table = column == k
            if in_table.any():
                address[in_table] = layout.address(table, word[in_table])
        return cls.of(packet, address)

    @classmethod
    def of_work(cls, works: Sequence[Work], layout: Layout) -> "Touches":
        """Return the accesses of works with known places (`Work.places`), word by word; works[i] is for packet i.

        Raises InputError for an access without a known place.
        """
        rows = []
        for packet, work in enumerate(works):
            for (table, words, write), at in zip(work.accesses, work.places, strict=True):
                if at == UNTOLD:
                    raise InputError(f"an access to table {table!r} does not tell which words it moves")
                addresses = layout.address(table, np.arange(at, at + words))
                rows += [(packet, address, write) for address in addresses.tolist()]
        column = np.array(rows, np.int64).reshape(-1, 3).T
        core_zero = np.zeros(len(rows), np.int64)
        return cls(column[0], core_zero, column[1], column[2].astype(np.bool_), column[0])

    def for_packets(self, flow: Integers, core: Integers) -> "Touches":
        """Return accesses per packet, from accesses whose `packet` is a flow number. flow, core: of each packet."""
        counts = np.bincount(self.packet, minlength=int(flow.max()) + 1)
        first_row = np.concatenate([[0], np.cumsum(counts)])[flow]
        access_counts = counts[flow]
        packet = np.repeat(np.arange(len(flow)), access_counts)
        row = np.repeat(first_row - np.cumsum(access_counts) + access_counts, access_counts) + np.arange(len(packet))
        return Touches(packet, core[packet], self.address[row], self.write[row], packet)

    @classmethod
    def in_turn(cls, *several: "Touches") -> "Touches":
        """Merge accesses by turn; within a turn in the order of the arguments."""
        order = np.argsort(np.concatenate([touches.when for touches in several]), kind="stable")
        names = ("packet", "core", "address", "write", "when")
        return cls(*(np.concatenate([getattr(touches, name) for touches in several])[order] for name in names))

    def lines(self, line_bytes: int) -> Integers:
        """Return the number of each access's cache line (or page, if `line_bytes` is a page)."""
        return self.address // line_bytes


def turns_of(queue: Integers) -> Integers:
    """Return for each packet the number of earlier packets in its queue."""
    order = np.argsort(queue, kind="stable")
    first_rank = np.searchsorted(queue[order], queue[order])
    turn = np.empty(len(queue), np.int64)
    turn[order] = np.arange(len(queue)) - first_rank
    return turn


def ring(
    queue: Integers, slots: int, slot_bytes: int, moved_bytes: int, start: int = 0, line_bytes: int = 64
) -> tuple[Touches, Touches]:
    """Return a device's writes into full receive rings, one per queue, and the reads of core `queue` from them.

    The device refills a slot in the turn in which it was read, so `slots` packets of the queue before the next read.
    The writes come after all other accesses of the turn: pass them last to `in_turn`. An access covers the lines of
    `moved_bytes`. Raises InputError for a ring without slots or packets longer than a slot.
    """
    if slots < 1 or not 1 <= moved_bytes <= slot_bytes:
        raise InputError(
            f"a ring must have at least one slot that holds what is written, got {slots} slots of {slot_bytes} bytes "
            f"for {moved_bytes} bytes"
        )
    packets, turn, span = np.arange(len(queue)), turns_of(queue), -(-moved_bytes // line_bytes)
    slot_address = start + (queue * slots + turn % slots) * slot_bytes
    order = np.lexsort((turn, queue))
    previous_reader = np.full(len(queue), -1, np.int64)  # the packet that was read from the slot before
    reuses_slot = queue[order][slots:] == queue[order][:-slots]
    previous_reader[order[slots:][reuses_slot]] = order[:-slots][reuses_slot]
    packet = np.repeat(packets, span)
    address = (slot_address[:, None] + line_bytes * np.arange(span)).reshape(-1)
    written = Touches.of(packet, address, DEVICE, write=True, when=np.repeat(previous_reader, span))
    return written, Touches.of(packet, address, queue[packet])
