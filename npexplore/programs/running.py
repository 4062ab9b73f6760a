"""Runs a program on many packets in batches and collects rows of counts, outputs and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.errors import InputError, one_of
from npexplore.packets.capture import Capture
from npexplore.packets.files import Scan, open_captures
from npexplore.packets.links import link_format
from npexplore.packets.scan import Damage
from npexplore.programs.forwarding import ForwardingTables, check_tables
from npexplore.programs.lowering import PROG_ARRAY, Tables, lower, state_of
from npexplore.programs.records import Program
from npexplore.programs.result import Paths, ProgramRun

BATCH = 8192
ETHERNET = 1
INSTRUCTION_LIMIT = 1_000_000
MEMORY_BYTES = 1 << 30
Source = Capture | str | Path | Scan
Contents = Mapping[bytes, bytes]


@dataclass(frozen=True)
class Batch:
    """Packets after the program: times, rows of counts (columns of the kernel), bytes.

    missing: bytes of each packet that were not captured (snap length).
    """

    t_ns: NDArray[np.int64]
    rows: NDArray[np.int64]
    out: NDArray[np.uint8]
    missing: NDArray[np.int64]


def run(
    program: Program, packets: Source | Sequence[bytes], *, maps: Mapping[str, Contents] | None = None,
    seed: int = 1, cpu: int = 0, interface: int = 1, queue: int = 0, instruction_limit: int = INSTRUCTION_LIMIT,
    memory_bytes: int = MEMORY_BYTES, keep: bool | None = None, plain: bool = False, contents: bool = True,
    fib: ForwardingTables | None = None, take: Callable[[Batch], None] | None = None,
    wrap: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> ProgramRun:  # fmt: skip
    """Run a program on every packet in order, on one processor; maps keep their contents between packets.

    The program sees the captured bytes of a packet; `ProgramRun.cut` counts the packets cut by the snap length.

    Args:
        program: as `npexplore.program` returns it.
        packets: a capture, its path or an open scan of it, or the bytes of each packet.
        maps: initial contents, name -> key -> value as bytes; for a prog_array: index -> a program's name as bytes.
        seed: seed of `get_prandom_u32`.
        cpu: the processor's number; per-CPU maps hold the values of this processor only.
        interface: `ingress_ifindex` of the context.
        queue: `rx_queue_index` of the context.
        instruction_limit: instructions of a packet after which it faults; checked at jumps and calls.
        memory_bytes: limit for maps and for the table of paths; all paths beyond it count as one path, the last.
        keep: keep the packets after the program (default: only if packets were passed as bytes).
        plain: registers 1 and 2 hold the packet's address and length instead of the context.
        contents: read the contents of maps before and after the run; slow for large arrays.
        fib: the tables that `fib_lookup` reads (`npexplore.testing.forwarding_tables`); interface n + 1 is port n.
        take: a function called with each batch, for example to write it.
        wrap: wraps the iteration over the capture, as in a progress bar.

    Raises:
        InputError: a map that is unknown, refuses its contents or is too large; an unreadable capture; a call of
            fib_lookup without tables.
    """
    runner = Runner(program, maps or {}, seed, cpu, instruction_limit, memory_bytes, plain, fib)
    runner.receive(interface, queue)
    tables = runner.tables
    before = {name: tables.contents(name) for name in tables.number} if contents else {}
    rows: list[NDArray[np.int64]] = []
    missing: list[NDArray[np.int64]] = []
    packets_after: list[bytes] = []
    damage: Damage | None = None
    if isinstance(packets, Source):
        with closing(open_captures(packets.path if isinstance(packets, Capture) else packets)) as scan:
            for _, batches in wrap(scan.each(lambda table, data, base: list(_of_table(runner, table, data, base)))):
                for batch in batches:
                    _collect(batch, rows, packets_after, bool(keep), take)
                    missing.append(batch.missing)
            damage = scan.damage
    else:
        for batch in of_bytes(runner, packets):
            _collect(batch, rows, packets_after, keep is not False, take)
    table = np.concatenate(rows) if rows else np.zeros((0, k.ROW_COLUMNS), np.int64)
    after = {name: tables.contents(name) for name in before}
    not_captured = np.concatenate(missing) if missing else np.zeros(len(table), np.int64)
    return ProgramRun(
        program, table, runner.paths(), before, after, packets_after, damage, instruction_limit, not_captured, fib
    )


def _collect(
    batch: Batch, rows: list[NDArray[np.int64]], sent: list[bytes], keep: bool, take: Callable[[Batch], None] | None
) -> None:
    rows.append(batch.rows)
    if take is not None:
        take(batch)
    if keep:
        begins = batch.rows[:, k.OUT_AT] + batch.rows[:, k.METADATA]
        ends = begins + batch.rows[:, k.LENGTH]
        sent += [batch.out[begin:end].tobytes() for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def _program_value(program: Program, slots: list[int], value: bytes) -> bytes:
    name = one_of(f"{program.path}: program", value.decode(errors="replace"), program.entries)
    return (slots.index(program.entries[name]) + 1).to_bytes(4, "little")


def of_bytes(runner: Runner, packets: Sequence[bytes]) -> Iterator[Batch]:
    """Run the program on the bytes of packets and yield the results in batches."""
    for first in range(0, len(packets), BATCH):
        part = packets[first : first + BATCH]
        lengths = np.array([len(packet) for packet in part], np.int64)
        data = np.frombuffer(b"".join(part) or b"\0", np.uint8)
        begins = np.cumsum(lengths) - lengths
        yield from runner.go(data, begins, lengths, np.zeros(len(part), np.int64))


def _of_table(runner: Runner, table: Any, data: NDArray[np.uint8], base: int) -> Iterator[Batch]:
    if (other_links := np.unique(table["link_type"][table["link_type"] != ETHERNET])).size:
        raise InputError(
            f"XDP programs see Ethernet frames, the capture has {link_format(int(other_links[0])).name} packets"
        )
    begins, lengths = table["position"] - base, table["captured"].astype(np.int64)
    missing = np.maximum(table["length"].astype(np.int64) - lengths, 0)
    for first in range(0, table.rows, BATCH):
        part = slice(first, first + BATCH)
        yield from runner.go(data, begins[part], lengths[part], table["t_ns"][part], missing[part])


class Runner:
    """The arrays of one run, which are kept from batch to batch."""

    def __init__(
        self, program: Program, maps: Mapping[str, Contents], seed: int = 1, cpu: int = 0,
        limit: int = INSTRUCTION_LIMIT, memory_bytes: int = MEMORY_BYTES, plain: bool = False,
        fib: ForwardingTables | None = None,
    ) -> None:  # fmt: skip
        check_tables(program, fib)
        tables = self.tables = Tables(program, memory_bytes, fib)
        self.code, self.slots = lower(program, tables)
        for name, contents in maps.items():
            is_programs = any(definition.name == name and definition.kind == PROG_ARRAY for definition in program.maps)
            for key, value in contents.items():
                tables.put(name, key, _program_value(program, self.slots, value) if is_programs else value)
        self.state, self.limit, self.plain = state_of(seed, cpu, fib.ports if fib else 0), limit, plain
        self.entry = self.slots.index(program.entry)
        slots = len(self.code)
        self.stamps = np.zeros((len(tables.memory) >> 6) + 1, np.int32)
        self.called = np.full(slots, -1, np.int32)
        self.now = np.zeros((2, slots), np.int32)
        self.ends = np.zeros(2, np.int64)
        self.registers, self.frames = np.zeros(12, np.int64), np.zeros((k.FRAMES, 5), np.int64)
        self.stored = np.zeros(k.FRAMES * k.FRAME, np.uint8)
        path_memory = memory_bytes - len(tables.memory) - self.stamps.nbytes
        self.most_paths = max(2, path_memory // (slots * 8 + 24))
        self.hashes = np.zeros(0, np.int64)
        self.visits = self.takens = np.zeros((0, slots), np.int32)
        self.table = np.zeros(0, np.int32)

    def receive(self, interface: int, queue: int) -> None:
        """Set the input of the following packets: `ingress_ifindex` and `rx_queue_index`."""
        self.tables.any32[k.CONTEXT + 12], self.tables.any32[k.CONTEXT + 16] = interface, queue

    def go(
        self, data: NDArray[np.uint8], begins: NDArray[np.int64], lengths: NDArray[np.int64],
        times: NDArray[np.int64], missing: NDArray[np.int64] | None = None,
    ) -> Iterator[Batch]:  # fmt: skip
        """Run the program on packets of `data`, in their order; missing: bytes of each packet that `data` lacks."""
        missing = np.zeros(len(lengths), np.int64) if missing is None else missing
        if len(lengths) and lengths.max() > k.MAX_PACKET:
            raise InputError(f"a packet may have {k.MAX_PACKET} bytes, got one of {lengths.max()}")
        begins, lengths, times = (np.ascontiguousarray(column, np.int64) for column in (begins, lengths, times))
        data = np.ascontiguousarray(data)
        first, tables = 0, self.tables
        while first < len(begins):
            self._make_room(int(self.ends[0]) + len(begins) - first + 1)
            rows = np.zeros((len(begins), k.ROW_COLUMNS), np.int64)
            out = np.empty(int(lengths[first:].sum()) + 8 * 1024 + 64 * len(begins), np.uint8)
            self.ends[1] = 0
            stop = k.run(
                self.code, self.entry, tables.memory, tables.any16, tables.any32, tables.any64, tables.rows,
                tables.links, self.stamps, self.state, data, begins, lengths, times, first, rows, out, self.now,
                self.hashes, self.table, self.ends, self.visits, self.takens, self.limit, self.plain, self.called,
                self.registers, self.frames, self.stored,
            )  # fmt: skip
            rows[first:stop, k.FAULT_SLOT] = np.asarray(self.slots)[rows[first:stop, k.FAULT_SLOT]]
            yield Batch(times[first:stop], rows[first:stop], out, missing[first:stop])
            first = stop

    def _make_room(self, paths: int) -> None:
        """Enlarge the table of paths to this number, or to as many as memory allows."""
        size = min(paths, self.most_paths)
        if size <= len(self.hashes):
            return
        size = min(max(size, 2 * len(self.hashes)), self.most_paths)
        count, slots = int(self.ends[0]), len(self.code)
        self.hashes = np.concatenate([self.hashes[:count], np.zeros(size - count, np.int64)])
        self.visits, self.takens = (
            np.concatenate([counts[:count], np.zeros((size - count, slots), np.int32)])
            for counts in (self.visits, self.takens)
        )
        self.table = np.full(1 << (2 * size).bit_length(), -1, np.int32)
        mask = len(self.table) - 1
        for number, value in enumerate(self.hashes[:count].tolist()):
            at = value & mask
            while self.table[at] >= 0:
                at = (at + 1) & mask
            self.table[at] = number

    def paths(self) -> Paths:
        """Return the counts of each path."""
        count = int(self.ends[0])
        return Paths(self.visits[:count].copy(), self.takens[:count].copy(), self.called, self.slots)
