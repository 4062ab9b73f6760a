"""Packet buffers of the RAW router: how payloads are written, and the loops in which output line cards read them.

write   by DMA with a bit mask, cache line by cache line, as one stream, or as messages (Secs. 3.1 to 3.3, 4)
read    a line card asks for a line, the DRAM serves it, the line travels back; `window` requests are outstanding
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npexplore.designs.raw.chip import Chip
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Operand, Variable, ceildiv, maximum

LINE_OVERHEAD = {"dma": 2, "line": 1, "message": 1}  # words of a line's write: address, and the bit mask of DMA
REQUEST_WORDS = 1
CARD, BUFFER = "card", "buffer"  # columns of a line's read


def lines_of(chip: Chip, size: Operand) -> Operand:
    """Return the lines of a packet that do not enter the pipeline."""
    rest = maximum(size - chip.header_words * chip.p.word_bytes, 0)
    return ceildiv(rest, chip.p.line_bytes)


def write(chip: Chip, m: Recorder, lines: Variable, pipeline: int) -> None:
    """Record how a pipeline's payload gets into its packet buffer."""
    p, v, buffer = chip.p, chip.version, chip.buffers[pipeline]
    words = p.line_bytes // p.word_bytes
    if v.write == "stream":
        name, path = chip.payload_path(pipeline)
        port = m.take(chip.writer, member=buffer)
        getattr(m, name).stream(path=path, words=lines * words)
        m.give(port)
        return
    with m.loop(lines):
        if v.write == "message":
            source = chip.card_in + chip.port_of[pipeline]
            m.mdn.deliver(source=source, target=chip.memory + buffer, words=words + LINE_OVERHEAD["message"])
        else:
            name, path = chip.payload_path(pipeline)
            pins = m.take("dram_pins", member=buffer) if chip.shared_pins else None
            getattr(m, name).stream(path=path, words=words + LINE_OVERHEAD[v.write])
            if pins is not None:
                m.give(pins)
        getattr(m, chip.writer).serve(member=buffer)
    m.time.wait(seconds=chip.cycle * max(p.dram_latency_cycles - p.line_cycles, 0))


def fetch(chip: Chip, m: Recorder, o: int, lines: Variable, buffer: Operand) -> None:
    """Record that line card `o` reads a payload line by line, with a window of requests outstanding."""
    reads = getattr(m, f"reads{o}")
    memory = m.let(chip.memory + buffer, "memory")
    with m.loop(lines):
        reads.take(count=1)
        with m.fork():
            read_line(chip, m, chip.card_out + o, memory)
            reads.give(count=1)
    reads.take(count=chip.window)  # all lines are there
    reads.give(count=chip.window)


def read_line(chip: Chip, m: Recorder, card: Operand, memory: Operand) -> None:
    """Record one line's read: from the terminal of a line card to that of a memory and back."""
    p = chip.p
    m.mdn.deliver(source=card, target=memory, words=REQUEST_WORDS)
    m.dram_read.serve(member=memory - chip.memory)
    rest = p.dram_latency_cycles - p.line_cycles
    if chip.shared_pins:
        m.dram_pins.serve(member=memory - chip.memory)
        rest -= p.line_bytes / p.word_bytes
    m.time.wait(seconds=chip.cycle * max(rest, 0))
    m.mdn.deliver(source=memory, target=card, words=p.line_bytes // p.word_bytes)


# ---- the reading alone, as a closed network: as many customers a card as requests may be outstanding


def reading(chip: Chip) -> Machine:
    """Return the machine in which line cards do nothing but read lines; a line is a packet with a card and a buffer."""

    def line(m: Recorder, packet: Packet) -> None:
        m.lines.free(bytes=chip.p.line_bytes)
        read_line(chip, m, packet.card + chip.card_out, m.let(packet.buffer + chip.memory, "memory"))

    wanted = [r for r in chip.resources() if r.name in ("mdn", "time", "dram_read", "dram_pins")]
    pool = Pool("read", len(chip.ports) * chip.window, line)
    return Machine("reading", pool, Ingress("lines", 2**20, chip.p.line_bytes), {r.name: r for r in wanted})


def lines_to_read(chip: Chip, buffers: Sequence[int] | None = None) -> Workload:
    """Return lines for `reading`: every card from every buffer (or some) alike."""
    wanted = range(len(chip.layout.buffers)) if buffers is None else buffers
    card, buffer = np.array([(c, b) for c in range(len(chip.ports)) for b in wanted], dtype=np.int64).T
    size = np.full(len(card), chip.p.line_bytes, dtype=np.int64)
    return Workload("lines", {"packet_bytes": size, CARD: card, BUFFER: buffer})
