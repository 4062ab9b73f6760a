"""Intel IXP2400 forwarding IPv4 with packets buffered in DRAM: what a thread does with one packet (Sec. 2, 3.3, 4).

A thread receives each 64-byte cell into the packet buffer, reads the header, decrements TTL, updates the checksum,
hashes the destination, looks it up in SRAM, writes the header back, enqueues the packet and transmits each cell. The
schemes keep the header (HB), the first cell (FCB) or first and last cell (FCB+TB) in the scratchpad.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from npexplore.designs.base import Design
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import BufferPool, Dram, DramOptions, DramTiming, FifoServer, Processor, WordMemory
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.machine.resources.ingress import Ingress
from npexplore.rows.expressions import Operand, Variable, ceildiv, minimum

SEGMENTS = {"base": 0, "hb": 1, "fcb": 1, "fcb_tb": 2}  # scratchpad segments per packet
WORD = 4


def dram(p: Parameters) -> Dram:
    """Return the packet buffer, a DRAM with the DRAM part, bus, banks and slots of the parameters."""
    p.assume("thread_leaves_after_the_data")
    timing = DramTiming.of(dram_parts()[p.dram_part])
    if p.refresh == "off":
        timing = replace(timing, t_rfc=0.0)
    options = DramOptions(p.admission, p.gating, p.writes, p.precharge_command)
    return Dram(
        "dram", timing, banks=p.banks, bus_bytes_per_s=p.bus_bits / 8 * p.bus_clock_mhz * 1e6,
        overhead_bytes=p.bus_overhead_bytes, slots=p.dram_slots, quantum_bytes=p.quantum_bytes, wide_bytes=p.cell_bytes,
        options=options, bus_bits=p.bus_bits, **back_pressure(p),
    )  # fmt: skip


def back_pressure(p: Parameters) -> dict[str, int]:
    """Return the queue lengths at which the controller's almost-full signal rises and falls; empty if it is off."""
    if p.back_pressure == "off":
        return {}
    limit = p.back_pressure_threshold
    return {"queue_limit": limit, "queue_resume": min(p.back_pressure_resume, limit - 1)}


def scratch_bytes_needed(p: Parameters) -> int:
    """Return the scratchpad bytes that the scheme needs with one packet in each thread (Sec. 4.1, 4.2)."""
    return int(SEGMENTS[p.scheme] * p.segment_bytes * p.threads)


def scratchpad(p: Parameters) -> dict[str, float]:
    """Return the scratchpad bytes that packets use: segments for each thread, or all of it as a shared pool."""
    return {"scratch": p.scratch_bytes if SEGMENTS[p.scheme] and p.segments == "dynamic" else scratch_bytes_needed(p)}


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError if static scratchpad segments do not fit."""
    if scratch_bytes_needed(p) > p.scratch_bytes and p.segments == "static":
        raise ModelError(
            f"scheme {p.scheme} needs {scratch_bytes_needed(p)} bytes of scratchpad for {p.threads} threads, "
            f"got {p.scratch_bytes} bytes"
        )
    p.assume("padded_cells")
    clock = p.me_clock_mhz * 1e6
    ns = 1e-9
    resources = [
        Processor("me", engines=p.engines, clock_hz=clock),
        FifoServer("hash", p.hash_ns * ns),
        dram(p),
        WordMemory(
            "sram",
            WORD,
            p.sram_word_ns * ns,
            latency_s=p.sram_latency_ns * ns,
            channels=p.sram_channels,
            split_ports=True,
        ),
        WordMemory("scratch", WORD, p.scratch_word_ns * ns, latency_s=p.scratch_latency_ns * ns),
        WordMemory("msf", WORD, p.msf_word_ns * ns),
    ]
    if SEGMENTS[p.scheme] and p.segments == "dynamic":
        resources.append(BufferPool("segments", p.scratch_bytes // p.segment_bytes))
    return Machine(
        p.file.name,
        Pool("thread", p.threads, forward(p), home="me"),
        Ingress("receive", p.receive_buffer_bytes, p.cell_bytes),
        {resource.name: resource for resource in resources},
        counted="padded cells",
        cell_bytes=p.cell_bytes,
        facts=p,
    )


def banks(m: Recorder, p: Parameters) -> Callable[[Operand], Operand]:
    """Return the function from a packet's cell number to the cell's bank, under the placement policy."""
    if p.placement == "access":
        return lambda cell: m.draw(p.banks, "bank")
    first = m.draw(p.banks, "bank")
    if p.placement == "first_cell":

        def bank(cell: Operand) -> Operand:
            if isinstance(cell, int):
                return first
            other_bank = m.draw(p.banks, "bank")
            return m.let(first + (other_bank - first) * m.let(minimum(cell, 1)))

        return bank
    if p.placement == "packet":
        return lambda cell: first
    return lambda cell: (first + cell) % p.banks


def forward(p: Parameters) -> Callable[[Recorder, Packet], None]:
    """Return a thread's program, which takes one packet from receive to transmit."""
    per_cell = p.me_ns_per_cell * p.me_clock_mhz * 1e-3 / 2  # cycles, half for receive and half for transmit
    per_packet = p.me_ns_per_packet * p.me_clock_mhz * 1e-3
    cell_bytes, header = p.cell_bytes, p.header_bytes

    def program(m: Recorder, packet: Packet) -> None:
        size = packet.packet_bytes
        cells = m.let(ceildiv(size, cell_bytes), "cells")
        bank = banks(m, p)

        def move(i: Operand, direction: str, size: Operand = size, cells: Variable = cells) -> None:
            """Record that cell i moves into (write) or out of (read) its buffer, in the memory that the scheme uses."""
            if direction == "write":
                m.msf.read(bytes=WORD)  # receive status word: SOP, EOP, length, errors
            m.me.compute(cycles=per_cell)
            stored = m.let(minimum(cell_bytes, size - i * cell_bytes), "cell_size")
            store(m, p, i, cells, stored, direction, bank)
            if direction == "write":
                m.receive.free(bytes=cell_bytes)
            else:
                m.msf.write(bytes=WORD)  # transmit control word

        if p.segments == "dynamic" and p.scheme != "base":
            m.segments.take(count=SEGMENTS[p.scheme])
        m.sram.read(bytes=WORD)  # on SOP: take a buffer from the free list
        with m.loop(cells) as i:
            move(i, "write")
        (m.scratch if p.scheme != "base" else m.dram).read(**at_header(p, header, bank))
        if p.long_header_reads > 1:
            with m.branch(cells > 1), m.loop(p.long_header_reads - 1):
                (m.scratch if p.scheme != "base" else m.dram).read(**at_header(p, header, bank))
        m.me.compute(cycles=per_packet)  # TTL, checksum, descriptor, enqueue
        m.hash.serve()
        m.sram.read(bytes=WORD * p.sram_lookup_words)

        def transmit(size: Operand, cells: Variable) -> None:
            (m.scratch if p.scheme != "base" else m.dram).write(**at_header(p, header, bank))
            m.sram.write(bytes=p.descriptor_bytes + (2 * WORD if p.scheme != "base" else 0))
            m.scratch.write(bytes=WORD)  # enqueue on the transmit ring
            with m.loop(cells) as i:
                move(i, "read", size, cells)

        with m.sending() as sent:  # an ICMP message uses the buffer of the packet that caused it
            transmit(sent, cells if sent is size else m.let(ceildiv(sent, cell_bytes), "sent_cells"))
        with m.unsent():
            m.sram.write(bytes=WORD)  # return the buffer to the free list
        if p.segments == "dynamic" and p.scheme != "base":
            m.segments.give(count=SEGMENTS[p.scheme])

    return program


def at_header(p: Parameters, header: int, bank: Callable[[Operand], Operand]) -> dict[str, Operand]:
    """Return the operands of a header access: DRAM needs its bank, scratchpad does not."""
    return {"bytes": header, "bank": bank(0)} if p.scheme == "base" else {"bytes": header}


def store(
    m: Recorder, p: Parameters, i: Operand, cells: Variable, stored: Variable, direction: str,
    bank: Callable[[Operand], Operand],
) -> None:  # fmt: skip
    """Record the accesses that move one cell of `stored` bytes under the scheme."""

    def to_dram(size: Operand) -> None:
        getattr(m.dram, direction)(bytes=size, bank=bank(i))

    def to_scratch(size: Operand) -> None:
        getattr(m.scratch, direction)(bytes=size)

    index = m.let(i)
    if p.scheme == "base":
        to_dram(stored)
        return
    with m.branch(index == 0):
        if p.scheme == "hb":
            head = m.let(minimum(p.header_bytes, stored))
            to_scratch(head)
            with m.branch(stored > p.header_bytes):
                to_dram(stored - p.header_bytes)
        else:
            to_scratch(stored)
    with m.otherwise():
        if p.scheme != "fcb_tb":
            to_dram(stored)
            return
        with m.branch(index + 1 < cells):
            to_dram(stored)
        with m.otherwise():
            if p.full_tail == "scratch":
                to_scratch(stored)
            else:
                with m.branch(stored < p.cell_bytes):
                    to_scratch(stored)
                with m.otherwise():
                    to_dram(stored)


def ixp2400() -> Design:
    """Return the IXP2400 with its published parameters."""
    return Design.of("ixp2400", build, memory=scratchpad)
