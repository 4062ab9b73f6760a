"""Packet buffers of the RAW router: how payloads are written, and how output line cards read them.

write   by DMA with a bit mask, cache line by cache line, as one stream, or as messages (Secs. 3.1 to 3.3, 4)
read    a line card requests a line, the DRAM serves it, the line travels back; `window` requests are outstanding
"""

from __future__ import annotations

from npexplore.designs.raw.chip import MESSAGE_WORDS, Chip
from npexplore.machine.program import Recorder
from npexplore.rows.expressions import Operand, Variable, ceildiv, maximum

LINE_OVERHEAD = {"dma": 2, "line": 1, "message": 1}  # extra words of a line's write: address, DMA's bit mask


def lines_of(chip: Chip, size: Operand) -> Operand:
    """Return the number of cache lines of a packet's payload, which does not enter the pipeline."""
    payload_bytes = maximum(size - chip.header_words * chip.p.word_bytes, 0)
    return ceildiv(payload_bytes, chip.p.line_bytes)


def managing(chip: Chip) -> Operand:
    """Return the cycles in which a pipeline's first tile prepares the packet memory, a circular buffer, for a payload.

    For a stream, the tile sends address and length to the memory controller and waits for the reply as long as for a
    cache miss of one word (Table 2). Other writes carry addresses; the tile sends the first one to the line card.
    """
    p = chip.p
    if p.memory_manager == "free":
        return 0
    if chip.version.write != "stream":
        return MESSAGE_WORDS["address"] + 1
    if p.memory_manager == "posted":
        return MESSAGE_WORDS["address and length"] + 1
    cycles: Operand = p.lookup24_miss_cycles - p.lookup24_hit_cycles
    return cycles


def configure(chip: Chip, m: Recorder, pipeline: int) -> None:
    """Record what a payload waits for: the first tile's message and the controller's reply."""
    tile = chip.pipelines[pipeline].stages[0]
    if chip.p.memory_manager != "free" and chip.version.write != "stream":
        m.mdn.send(source=tile, target=chip.card_in + chip.port_of[pipeline], words=MESSAGE_WORDS["address"])
    else:
        m.fixed_latency.wait(seconds=managing(chip) * chip.cycle)


def write(chip: Chip, m: Recorder, lines: Variable, pipeline: int, bank: Operand) -> None:
    """Record that a pipeline's payload is written to a bank of its packet buffer."""
    p, v, buffer = chip.p, chip.version, chip.buffers[pipeline]
    member = chip.banks * buffer + bank % chip.banks
    if v.write == "stream":
        stream(chip, m, lines, pipeline, member)
        return
    with m.loop(lines):
        if v.write == "message":
            source, words = chip.card_in + chip.port_of[pipeline], chip.line_words + LINE_OVERHEAD["message"]
            m.mdn.deliver(source=source, target=chip.memory + buffer, words=words)
        else:
            name, path = chip.payload_path(pipeline)
            pins_hold = m.take("dram_bus", member=buffer) if chip.half_duplex else None
            getattr(m, name).stream(path=path, words=chip.line_words + LINE_OVERHEAD[v.write])
            if pins_hold is not None:
                m.give(pins_hold)
        held = m.take(chip.writer, member=member)
        if p.line_writes == "posted":
            with m.fork(held) as bank_hold:
                put(chip, m, buffer)
                m.give(bank_hold)
        else:
            put(chip, m, buffer)
            m.give(held)
    unfinished_cycles = p.line_cycles if p.line_writes == "posted" else 0  # of the last line's write
    m.fixed_latency.wait(seconds=chip.cycle * (max(p.dram_latency_cycles - p.line_cycles, 0) + unfinished_cycles))
    if chip.version.short_header and p.store == "before_lookup":  # the first tile waits for this answer
        m.mdn.deliver(source=chip.memory + buffer, target=chip.pipelines[pipeline].stages[0], words=1)


def put(chip: Chip, m: Recorder, buffer: int) -> None:
    """Record that a line is written to its bank; with half duplex, its words have already crossed the bus."""
    m.fixed_latency.wait(seconds=chip.cycle * (chip.opening_cycles + (chip.bus_cycles if chip.half_duplex else 0)))
    if not chip.half_duplex:
        m.dram_bus.serve(member=buffer)


def stream(chip: Chip, m: Recorder, lines: Variable, pipeline: int, member: Operand) -> None:
    """Record that a payload is written in one transaction: the row is opened once, then one word per cycle follows."""
    name, path = chip.payload_path(pipeline)
    buffer, words = chip.buffers[pipeline], chip.line_words

    def pass_words() -> None:
        getattr(m, name).stream(path=path, words=lines * words)

    def store() -> None:
        with m.loop(lines):
            m.dram_bus.serve(member=buffer)
            m.fixed_latency.wait(seconds=chip.cycle * (words - chip.bus_cycles))

    stream_hold = m.take("dram_stream", member=buffer)
    bank_hold = m.take(chip.writer, member=member)
    m.fixed_latency.wait(seconds=chip.cycle * chip.opening_cycles)
    m.parallel(pass_words, store)
    m.give(bank_hold, stream_hold)


def fetch(chip: Chip, m: Recorder, o: int, lines: Operand, buffer: Operand, bank: Operand) -> None:
    """Record that line card `o` reads a payload line by line, with a window of requests outstanding."""
    reads = getattr(m, f"reads{o}")
    memory = m.let(chip.memory + buffer, "memory")
    with m.loop(lines):
        reads.take(count=1)
        with m.fork():
            read_line(chip, m, chip.card_out + o, memory, bank)
            reads.give(count=1)
    reads.take(count=chip.window)  # wait until all lines have arrived
    reads.give(count=chip.window)


def read_line(chip: Chip, m: Recorder, card: Operand, memory: Operand, bank: Operand) -> None:
    """Record a line's read: a request from a line card's terminal to a memory's terminal, and the line back."""
    p, buffer = chip.p, memory - chip.memory
    m.mdn.deliver(source=card, target=memory, words=MESSAGE_WORDS["request"])
    bank_hold = m.take("dram", member=buffer * chip.banks + bank % chip.banks)
    m.fixed_latency.wait(seconds=chip.cycle * chip.opening_cycles)
    m.dram_bus.serve(member=buffer)
    m.give(bank_hold)
    m.fixed_latency.wait(seconds=chip.cycle * max(p.dram_latency_cycles - p.line_cycles, 0))
    m.mdn.deliver(source=memory, target=card, words=chip.line_words)
