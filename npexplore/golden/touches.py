"""The memory addresses that packets access, one access after the other, for a layout of tables and rings.

Golden lookups, classifiers and flow tables report the words they read (`Lpm.reads_many`, `Classifier.work`,
`FlowTable.reads_many`); a `Layout` gives each word its address.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of
from npexplore.golden.lookup.base import NO_READ, MemoryReads
from npexplore.golden.work import UNTOLD, Work

DEVICE = -1  # in place of a core
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Where tables lie: address of the first word, and bytes from one word to the next, by table."""

    start: Mapping[str, int]
    word_bytes: Mapping[str, int]
    end: int

    @classmethod
    def of(cls, words: Mapping[str, tuple[int, int]], first: int = 0, page_bytes: int = 4096) -> "Layout":
        """Lay tables behind one another, each from a page of its own. words: number and bytes of words, by table."""
        start, at = {}, first
        for table, (number, size) in words.items():
            if number < 1 or size < 1:
                raise InputError(f"table {table!r} must have words of at least 1 byte, got {number} of {size}")
            start[table] = at
            at += -(-number * size // page_bytes) * page_bytes
        return cls(start, {table: size for table, (_, size) in words.items()}, at)

    def address(self, table: str, word: Integers) -> Integers:
        """Return the addresses of words of a table; raises UnknownNameError."""
        return self.start[one_of("table", table, self.start)] + word * self.word_bytes[table]


@dataclass(frozen=True)
class Touches:
    """Accesses to memory: for which packet, by which core (DEVICE: none), from which address, whether it writes.

    All arrays have one row per access, in the order in which accesses happen. when: the packet in whose turn each
    happens; a device writes a packet's buffer a ring before a core reads it.
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
        """Return accesses alike: each reads, or each writes."""
        n = len(packet)
        core = np.broadcast_to(np.asarray(core, np.int64), n)
        turn = packet if when is None else when
        return cls(np.asarray(packet, np.int64), core, np.asarray(address, np.int64), np.full(n, write), turn)

    @classmethod
    def of_reads(cls, reads: MemoryReads, layout: Layout) -> "Touches":
        """Return the reads of lookups, lookup i for packet i."""
        packet, place = np.nonzero(reads.word != NO_READ)
        word, address = reads.word[packet, place], np.zeros(len(packet), np.int64)
        for k, table in enumerate(reads.tables):
            mine = place == k
            if mine.any():
                address[mine] = layout.address(table, word[mine])
        return cls.of(packet, address)

    @classmethod
    def of_work(cls, works: Sequence[Work], layout: Layout) -> "Touches":
        """Return the accesses of golden functions that told where (`Work.places`), works[i] for packet i, word by word.

        Raises InputError for an access that did not tell.
        """
        rows = []
        for packet, work in enumerate(works):
            for (table, words, write), at in zip(work.accesses, work.places, strict=True):
                if at == UNTOLD:
                    raise InputError(f"an access to table {table!r} does not tell which words it moves")
                where = layout.address(table, np.arange(at, at + words))
                rows += [(packet, address, write) for address in where.tolist()]
        column = np.array(rows, np.int64).reshape(-1, 3).T
        nobody = np.zeros(len(rows), np.int64)
        return cls(column[0], nobody, column[1], column[2].astype(np.bool_), column[0])

    def for_packets(self, flow: Integers, core: Integers) -> "Touches":
        """Return these accesses, of which "packets" are flows, for each packet of a flow by its core."""
        counts = np.bincount(self.packet, minlength=int(flow.max()) + 1)
        first = np.concatenate([[0], np.cumsum(counts)])[flow]
        each = counts[flow]
        packet = np.repeat(np.arange(len(flow)), each)
        row = np.repeat(first - np.cumsum(each) + each, each) + np.arange(len(packet))
        return Touches(packet, core[packet], self.address[row], self.write[row], packet)

    @classmethod
    def in_turn(cls, *several: "Touches") -> "Touches":
        """Return accesses turn by turn, in each turn in the order of `several`."""
        order = np.argsort(np.concatenate([one.when for one in several]), kind="stable")
        names = ("packet", "core", "address", "write", "when")
        return cls(*(np.concatenate([getattr(one, name) for one in several])[order] for name in names))

    def lines(self, line_bytes: int) -> Integers:
        """Return the number of the line (or page) that each access is in."""
        return self.address // line_bytes


def turns_of(queue: Integers) -> Integers:
    """Return how many packets each packet's queue has had before it."""
    order = np.argsort(queue, kind="stable")
    first = np.searchsorted(queue[order], queue[order])
    turn = np.empty(len(queue), np.int64)
    turn[order] = np.arange(len(queue)) - first
    return turn


def ring(
    queue: Integers, slots: int, slot_bytes: int, moved_bytes: int, start: int = 0, line_bytes: int = 64
) -> tuple[Touches, Touches]:
    """Return what a device writes into full rings, one per queue, and what core `queue` reads there of its packets.

    A slot is written anew in the turn in which it was read (behind all else of that turn: put what is written last),
    `slots` packets of its queue before it is read again; each time the lines that `moved_bytes` take. Raises InputError
    for a ring without slots or packets longer than a slot.
    """
    if slots < 1 or not 1 <= moved_bytes <= slot_bytes:
        raise InputError(
            f"a ring must have at least one slot that holds what is written, got {slots} slots of {slot_bytes} bytes "
            f"for {moved_bytes} bytes"
        )
    packets, turn, span = np.arange(len(queue)), turns_of(queue), -(-moved_bytes // line_bytes)
    first = start + (queue * slots + turn % slots) * slot_bytes
    order = np.lexsort((turn, queue))
    before = np.full(len(queue), -1, np.int64)  # the packet that was read out of the slot
    same = queue[order][slots:] == queue[order][:-slots]
    before[order[slots:][same]] = order[:-slots][same]
    packet = np.repeat(packets, span)
    address = (first[:, None] + line_bytes * np.arange(span)).reshape(-1)
    written = Touches.of(packet, address, DEVICE, write=True, when=np.repeat(before, span))
    return written, Touches.of(packet, address, queue[packet])
