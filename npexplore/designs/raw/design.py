"""MIT RAW routing IPv4 in software on a 4 x 4 mesh, Versions I to V (raw router paper): what the tiles do.

    line card -> broadcast to stages 1, 2, 3 -> look up | verify -> update, send -> queue of stage 4 -> line card
                   rest of the packet -> packet buffer (DRAM) -> line by line over the memory network -> line card

Each version is its predecessor with a few changes (VERSIONS); placement is data (models/raw/*.toml). The cycles of a
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
from npexplore.machine.holding import Holding
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import SENT_BYTES, Workload
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
FILE_BYTES = 10**7  # bytes of packets that wait at line cards while the chip is slower
LARGER: dict[str, Sequence[Literal["south", "north"]]] = {"8x4": ["south"], "8x8": ["south", "north"]}


def version_of(p: Parameters) -> tuple[Version, Layout]:
    """Return the version and its layout; raises ModelError for combinations without a layout."""
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
    """Return the machine; raises ModelError for combinations of knobs without a layout."""
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
    """Record a choice of bodies: bodies[value - first] runs."""
    if len(bodies) == 1:
        bodies[0]()
        return
    with m.branch(expression(value) == first):
        bodies[0]()
    with m.otherwise():
        among(m, value, bodies[1:], first + 1)


def null(chip: Chip, m: Recorder, packet: Packet) -> None:
    """Record the null router: a packet crosses the chip from one line card to the next."""
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
    """Record stages 1 to 3 of the pipeline that the packet's column names."""
    among(m, packet.pipeline, [partial(pipeline, chip, m, packet, k) for k in range(len(chip.pipelines))])


def pipeline(chip: Chip, m: Recorder, packet: Packet, k: int) -> None:
    """Record stages 1 to 3 of one pipeline: from its line card to the queue of an output."""
    chip.p.assume("words_within_stages")
    stages = _Stages(chip, m, packet, k)
    coupled, early = chip.coupled, stages.early
    m.wire.receive(bytes=stages.size, member=stages.port)
    m.receive.free(bytes=stages.size)
    feed = m.take("feed", member=stages.port)
    first_stages = [m.take("stage1", member=k), m.take("stage2", member=k)] if coupled else []
    if stages.static:
        with m.fork():
            getattr(m, stages.streams).send(path=stages.path, words=chip.header_words)
    if early:
        m.parallel(lambda: stages.read(0, early), lambda: stages.read(1, early))
    stage3_hold = m.take("stage3", member=k) if coupled else None
    first_stages = first_stages or [m.take("stage1", member=k), m.take("stage2", member=k)]
    with m.fork():  # stage 3 gets the header long before it uses it
        stages.hear(2, chip.header_words)
    m.parallel(stages.take_in, partial(stages.hear, 1, chip.header_words - early))
    stages.look_up_and_verify(feed)
    m.give(*first_stages)
    stage3_hold = stages.update(stage3_hold)
    outputs: list[Callable[[], object]] = [
        partial(hand_over, chip, m, stages.tile[2], output) for output in range(len(chip.ports))
    ]
    if NUMBER in packet:  # an additional output: discard
        outputs.append(m.discard.drop)
    with m.sending():
        among(m, packet.output, outputs)
    m.give(stage3_hold)


class _Stages:
    """Records the work of a pipeline's three stages on a packet, and the words that they send to each other."""

    def __init__(self, chip: Chip, m: Recorder, packet: Packet, k: int) -> None:
        p, v = chip.p, chip.version
        self.chip, self.m, self.packet, self.k = chip, m, packet, k
        self.port, self.size, self.tile = chip.port_of[k], packet.packet_bytes, chip.pipelines[k].stages
        self.lines = m.let(lines_of(chip, self.size), "lines")
        self.stored = v.payload == "memory"
        self.stored_first = self.stored and v.short_header and p.store == "before_lookup"
        self.static = chip.layout.file.feed == "static"
        # words that reach the FIFOs of tiles 1 and 2 while the next tile is busy
        self.early = min(p.fifo_depth, chip.header_words) if self.static else 0
        # those of them that a stage has yet to read when it becomes free; without coupling they wait for tile 1 itself
        self.unread = 0 if chip.coupled else self.early
        self.busy = chip.results == "static"  # streams wait until the results have passed
        self.streams, self.path = chip.header_path(k) if self.static else ("", 0)

    def read(self, stage: int, words: int) -> None:
        """Record that a stage reads words of the header."""
        if self.static:
            getattr(self.m, self.streams).receive(tile=self.tile[stage], words=words, of=self.path)
        else:
            card = self.chip.card_in + self.port
            self.m.gdn.deliver(source=card, target=self.tile[stage], words=self.chip.header_words)

    def hear(self, stage: int, words: int) -> None:
        """Record that a stage reads words, if the line card sends it the header."""
        if self.static or self.chip.p.replicates == "card":
            self.read(stage, words)

    def take_in(self) -> None:
        """Record that stage 1 reads the rest of the header; its tile may copy the header for the others."""
        self.read(0, self.chip.header_words - self.early)
        if not self.static and self.chip.p.replicates == "tile":
            replicate(self.chip, self.m, self.tile)

    def work(self, cycles: Operand, words: int) -> None:
        """Record the cycles of Table 2 without those of words that Version III reads or sends."""
        self.m.fixed_latency.wait(seconds=maximum(cycles - words, 0) * self.chip.cycle)

    def tell(self, stage: int, words: int) -> None:
        """Record that a stage sends a result to stage 3."""
        chip = self.chip
        if chip.results == "static":  # on the header's path; its switches first change route
            self.m.fixed_latency.wait(seconds=chip.cycle * (chip.p.switch_reset_cycles + words + 2 - stage))
        else:
            self.m.gdn.send(source=self.tile[stage], target=self.tile[2], words=words)

    def look_up(self) -> None:
        """Record stage 1: look up the output, and assign the payload its place in memory."""
        chip, m, p = self.chip, self.m, self.chip.p
        if self.stored_first:  # stage 1 sends the address after the memory's answer
            self.store()
        elif self.stored:  # the same tile assigns the payload its place
            with m.branch(self.lines > 0):
                m.fixed_latency.wait(seconds=managing(chip) * chip.cycle)
        reply_words = MESSAGE_WORDS["port and address"]
        self.work(lookup_cycles(p, p.prefix, "hit"), chip.long_words + reply_words + 1 - self.unread)
        with m.loop(self.packet.misses):
            m.fixed_latency.wait(seconds=miss_cycles(p, p.prefix) * chip.cycle)
        self.tell(0, reply_words)

    def store(self) -> None:
        """Record that the payload, if any, is written to memory."""
        with self.m.branch(self.lines > 0):
            configure(self.chip, self.m, self.k)
            write(self.chip, self.m, self.lines, self.k, self.packet.bank)

    def verify(self) -> None:
        """Record stage 2: check the header's checksum."""
        reply_words = MESSAGE_WORDS["verdict"]
        self.work(self.chip.p.checksum_cycles, self.chip.long_words + reply_words + 1 - self.unread)
        self.tell(1, reply_words)

    def look_up_and_verify(self, feed: Holding) -> None:
        """Record stages 1 and 2 in parallel while the payload is fed; release the feed afterwards."""
        m, chip = self.m, self.chip
        with m.fork(None if self.busy else feed) as hold:
            if self.stored and not self.stored_first:
                self.store()
            if hold is not None:
                m.give(hold)
        m.parallel(self.look_up, self.verify)
        if self.busy:
            with m.fork(feed) as hold:
                m.fixed_latency.wait(seconds=chip.cycle * chip.p.switch_reset_cycles)
                assert hold is not None
                m.give(hold)

    def update(self, third: Holding | None) -> Holding:
        """Record stage 3: decrement the time to live; return the hold of the stage, which is still occupied."""
        m, chip = self.m, self.chip
        if not self.busy:  # stage 1's last words are still travelling
            hops = chip.layout.grid.apart(self.tile[0], self.tile[2])
            m.fixed_latency.wait(seconds=chip.cycle * chip.p.hop_cycles * (1 + hops))
        third = third or m.take("stage3", member=self.k)
        self.work(chip.p.update_cycles, chip.long_words + MESSAGE_WORDS["address"] + 1)
        return third


def replicate(chip: Chip, m: Recorder, tile: list[int]) -> None:
    """Record that the first tile copies the header to each of the next two: it reads and sends words (Sec. 5.1)."""
    for target in tile[1:3]:
        m.fixed_latency.wait(seconds=chip.header_words * chip.cycle)
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
    k, card = packet.pipeline, chip.card_out + o
    size = packet.sent_bytes if SENT_BYTES in packet else packet.packet_bytes
    lines = lines_of(chip, size)
    words = header + MESSAGE_WORDS["address"]
    # without credits, the tile's input is blocked meanwhile
    closed_input = m.take(f"gdn.out{chip.exits[o]}") if p.queue_full == "unasked" else None
    tile_hold = m.take("stage4", member=o)
    m.fixed_latency.wait(seconds=chip.cycle * max(p.dequeue_cycles - words, 0))
    m.gdn.deliver(source=chip.exits[o], target=card, words=words)
    m.give(tile_hold)
    if chip.version.payload == "memory":
        fetch(chip, m, o, lines, numbered(chip.buffers)(k), packet.bank)
    else:
        with m.branch(lines > 0):
            source = chip.card_in + numbered(chip.port_of)(k)
            m.gdn.deliver(source=card, target=source, words=MESSAGE_WORDS["request"])
            m.gdn.deliver(source=source, target=card, words=maximum(ceildiv(size, p.word_bytes) - header, 0))
    if closed_input is not None:
        m.give(closed_input)
    if NUMBER in packet:
        m.trace.note(number=packet.number)
    m.card.send(bytes=size, member=o)


def dress(p: Parameters, load: Workload) -> Workload:
    """Return packets with columns for their pipeline, their output, their bank and their lookup's cache misses."""
    chip = Chip(p, *version_of(p))
    return dressed(p, load, len(chip.pipelines), len(chip.ports))


def raw() -> Design:
    """Return the RAW router; the default is Version III."""
    return Design.of("raw", build, dress=dress)
