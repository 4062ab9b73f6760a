"""MIT RAW routing IPv4 in software on a 4 x 4 mesh, Versions I to V (raw router paper): what the tiles do.

    line card -> broadcast to stages 1, 2, 3 -> look up | verify -> update, send -> queue of stage 4 -> line card
                   rest of the packet -> packet buffer (DRAM) -> line by line over the memory network -> line card

Each version is its predecessor and a difference (VERSIONS); who sits where is data (models/raw/*.toml). The cycles of a
stage include the words that it reads and sends (Sec. 5.1: they were counted from one stage's beginning to the next).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from npexplore.designs.base import Design
from npexplore.designs.raw.chip import MESSAGE_WORDS, Chip, Version, numbered
from npexplore.designs.raw.files import NUMBER
from npexplore.designs.raw.larger_layouts import crossing_layout, scaled_layout
from npexplore.designs.raw.layouts import Layout, load_layout
from npexplore.designs.raw.memory import configure, fetch, lines_of, managing, write
from npexplore.designs.raw.traffic import dressed, lookup_cycles, miss_cycles
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Operand, ceildiv, expression, maximum

V1 = Version("v1", results="static")
V2 = replace(V1, layout="v2", write="line", full_duplex=True, results="general")
V3 = replace(V2, short_header=False, write="stream", pipelined=True)
VERSIONS: dict[str, Version] = {
    "v1": V1,
    "v2": V2,
    "v3": V3,
    "v3d": replace(V3, layout="v3d", write="message"),
    "v4": replace(V3, layout="v4", payload="card"),
    "v5": replace(V3, layout="v5"),
    "null": Version("null", payload="nowhere", process=False),
}
FILE_BYTES = 10**7  # packets that line cards have in hand while the chip is slower than they
LARGER: dict[str, Sequence[Literal["south", "north"]]] = {"8x4": ["south"], "8x8": ["south", "north"]}


def version_of(p: Parameters) -> tuple[Version, Layout]:
    """Return the version and its layout; raises ModelError for combinations that the layouts do not have."""
    name = p.version
    if p.linecards == 2 and name == "v3":
        name = "v5"
    if (p.linecards == 2) != (name == "v5") and name != "v5":
        raise ModelError(f"two line cards are laid out for Version III (v3) alone, got {name}")
    version = VERSIONS[name]
    if p.write != "own":
        if version.write not in ("dma", "line", "stream"):
            raise ModelError(f"{name} does not write over static streams, so it cannot write by {p.write}")
        version = replace(version, write=p.write)
    if p.tiles != "4x4":
        if name not in ("v3", "v3d"):
            raise ModelError(f"beyond 4 x 4 tiles only v3 and v3d are laid out, got {name} on {p.tiles}")
        return version, scaled_layout(8, LARGER[p.tiles], "dynamic" if name == "v3d" else "static")
    if p.layout.startswith("crossed"):
        return version, crossing_layout(p.layout == "crossed_in_turns")
    return version, load_layout(version.layout if p.layout == "own" else p.layout)


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError for versions that cannot be laid out as asked."""
    chip = Chip(p, *version_of(p))
    if p.queue_full == "unasked" and chip.version.payload != "card":
        raise ModelError(f"queue_full 'unasked' is Version IV without credits (v4), got {p.version}")
    process = chip.version.process
    pools = [Pool("packet", p.card_threads, partial(forward if process else null, chip))]
    if process:
        pools += [Pool(f"out{o}", 1, partial(leave, chip, o), gets=f"queue{o}") for o in range(len(chip.ports))]
    resources = {resource.name: resource for resource in chip.resources()}
    return Machine(p.file.name, pools, Ingress("receive", FILE_BYTES, 1), resources, facts=p)


def among(m: Recorder, value: Operand, bodies: Sequence[Callable[[], object]], first: int = 0) -> None:
    """Record the body that a column's value numbers."""
    if len(bodies) == 1:
        bodies[0]()
        return
    with m.branch(expression(value) == first):
        bodies[0]()
    with m.otherwise():
        among(m, value, bodies[1:], first + 1)


def null(chip: Chip, m: Recorder, packet: Packet) -> None:
    """Record the null router: from a line card across the chip to the next one."""
    port, size = packet.pipeline, packet.packet_bytes
    m.wire.receive(bytes=size, member=port)
    m.receive.free(bytes=size)
    feed = m.take("feed", member=port)
    words = m.let(ceildiv(size, chip.p.word_bytes), "words")
    (name,) = chip.networks
    getattr(m, name).stream(path=port, words=words)
    m.give(feed)
    m.card.send(bytes=size, member=port)


def forward(chip: Chip, m: Recorder, packet: Packet) -> None:
    """Record stages 1 to 3 of all pipelines."""
    among(m, packet.pipeline, [partial(pipeline, chip, m, packet, k) for k in range(len(chip.pipelines))])


def pipeline(chip: Chip, m: Recorder, packet: Packet, k: int) -> None:
    """Record stages 1 to 3 of one pipeline: from its line card to the queue of an output."""
    chip.p.assume("words_within_stages")
    p, v, header = chip.p, chip.version, chip.header_words
    port, size, tile = chip.port_of[k], packet.packet_bytes, chip.pipelines[k].stages
    lines = m.let(lines_of(chip, size), "lines")
    stored = v.payload == "memory"
    stored_first = stored and v.short_header and p.store == "before_lookup"
    static = chip.layout.file.feed == "static"
    coupled = chip.coupled
    early = min(p.fifo_depth, header) if static else 0  # words that come to tiles 1 and 2 while the next is busy
    unread = 0 if coupled else early  # of them, at the next packet's turn: the busy tile is then tile 1 itself

    streams, path = chip.header_path(k) if static else ("", 0)

    def read(stage: int, words: int) -> None:
        if static:
            getattr(m, streams).receive(tile=tile[stage], words=words, of=path)
        else:
            m.gdn.deliver(source=chip.card_in + port, target=tile[stage], words=header)

    def work(cycles: Operand, words: int) -> None:  # Table 2 without the words that Version III reads or sends
        m.time.wait(seconds=maximum(cycles - words, 0) * chip.cycle)

    def tell(stage: int, words: int) -> None:
        if chip.results == "static":  # the way of the header, whose switches are set to another route first
            m.time.wait(seconds=chip.cycle * (p.switch_reset_cycles + words + 2 - stage))
        else:
            m.gdn.send(source=tile[stage], target=tile[2], words=words)

    def take_in() -> None:
        read(0, header - early)
        if not static and p.replicates == "tile":
            replicate(chip, m, tile)

    def look_up() -> None:
        if stored_first:  # stage 1 waits for the memory's answer before it tells the address
            with m.branch(lines > 0):
                configure(chip, m, k)
                write(chip, m, lines, k, packet.bank)
        elif stored:  # the same tile gives the payload its place
            with m.branch(lines > 0):
                m.time.wait(seconds=managing(chip) * chip.cycle)
        reply_words = MESSAGE_WORDS["port and address"]
        work(lookup_cycles(p, p.prefix, "hit"), chip.long_words + reply_words + 1 - unread)
        with m.loop(packet.misses):
            m.time.wait(seconds=miss_cycles(p, p.prefix) * chip.cycle)
        tell(0, reply_words)

    def verify() -> None:
        reply_words = MESSAGE_WORDS["verdict"]
        work(p.checksum_cycles, chip.long_words + reply_words + 1 - unread)
        tell(1, reply_words)

    def hear(stage: int, words: int) -> None:
        if static or p.replicates == "card":
            read(stage, words)

    m.wire.receive(bytes=size, member=port)
    m.receive.free(bytes=size)
    feed = m.take("feed", member=port)
    two = [m.take("stage1", member=k), m.take("stage2", member=k)] if coupled else []
    busy = chip.results == "static"  # streams stand still until the results have passed
    if static:
        with m.fork():
            getattr(m, streams).send(path=path, words=header)
    if early:
        m.parallel(lambda: read(0, early), lambda: read(1, early))
    third = m.take("stage3", member=k) if coupled else None
    two = two or [m.take("stage1", member=k), m.take("stage2", member=k)]
    with m.fork():  # stage 3 has the header long before it needs it
        hear(2, header)
    m.parallel(take_in, partial(hear, 1, header - early))
    with m.fork(None if busy else feed) as hold:
        if stored and not stored_first:
            with m.branch(lines > 0):
                configure(chip, m, k)
                write(chip, m, lines, k, packet.bank)
        if hold is not None:
            m.give(hold)
    m.parallel(look_up, verify)
    if busy:
        with m.fork(feed) as hold:
            m.time.wait(seconds=chip.cycle * p.switch_reset_cycles)
            assert hold is not None
            m.give(hold)
    m.give(*two)
    if not busy:  # what stage 1 sent last is on its way
        m.time.wait(seconds=chip.cycle * p.hop_cycles * (1 + chip.layout.grid.apart(tile[0], tile[2])))
    third = third or m.take("stage3", member=k)
    work(p.update_cycles, chip.long_words + MESSAGE_WORDS["address"] + 1)
    outputs: list[Callable[[], object]] = [partial(hand_over, chip, m, tile[2], o) for o in range(len(chip.ports))]
    if NUMBER in packet:  # one output more: none
        outputs.append(m.discard.drop)
    among(m, packet.output, outputs)
    m.give(third)


def replicate(chip: Chip, m: Recorder, tile: list[int]) -> None:
    """Record that the first tile copies the header to each of the next two: words read and words sent (Sec. 5.1)."""
    for target in tile[1:3]:
        m.time.wait(seconds=chip.header_words * chip.cycle)
        m.gdn.send(source=tile[0], target=target, words=chip.header_words)


def hand_over(chip: Chip, m: Recorder, tile: int, o: int) -> None:
    """Record that stage 3 sends header and payload address to stage 4, whose queue must have room."""
    words = chip.header_words + MESSAGE_WORDS["address"]
    send = m.gdn.deliver if chip.p.queue_full == "unasked" else m.gdn.send
    send(source=tile, target=chip.exits[o], words=words)
    getattr(m, f"queue{o}").put()


def leave(chip: Chip, o: int, m: Recorder, packet: Packet) -> None:
    """Record stage 4 and the line card of output `o`: dequeue, fetch the payload, send."""
    p, header = chip.p, chip.header_words
    k, size, card = packet.pipeline, packet.packet_bytes, chip.card_out + o
    lines = lines_of(chip, size)
    words = header + MESSAGE_WORDS["address"]
    deaf = m.take(f"gdn.out{chip.exits[o]}") if p.queue_full == "unasked" else None  # reads nothing meanwhile
    tile = m.take("stage4", member=o)
    m.time.wait(seconds=chip.cycle * max(p.dequeue_cycles - words, 0))
    m.gdn.deliver(source=chip.exits[o], target=card, words=words)
    m.give(tile)
    if chip.version.payload == "memory":
        fetch(chip, m, o, lines, numbered(chip.buffers)(k), packet.bank)
    else:
        with m.branch(lines > 0):
            source = chip.card_in + numbered(chip.port_of)(k)
            m.gdn.deliver(source=card, target=source, words=MESSAGE_WORDS["request"])
            m.gdn.deliver(source=source, target=card, words=maximum(ceildiv(size, p.word_bytes) - header, 0))
    if deaf is not None:
        m.give(deaf)
    if NUMBER in packet:
        m.trace.note(number=packet.number)
    m.card.send(bytes=size, member=o)


def dress(p: Parameters, load: Workload) -> Workload:
    """Return packets with the pipeline they come to, the output they leave by, and what their lookup costs."""
    chip = Chip(p, *version_of(p))
    return dressed(p, load, len(chip.pipelines), len(chip.ports))


def raw() -> Design:
    """Return the RAW router, Version III unless told."""
    return Design.of("raw", build, dress=dress)
