"""The RAW chip under a layout: networks, tiles, DRAM ports and line cards as resources, and who is where on them.

Terminals of the meshes: the tiles, then line cards in, line cards out and packet buffers, in the order of the ports and
of the layout file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from npexplore.designs.raw.layouts import Layout, Pipeline
from npexplore.errors import ModelError
from npexplore.machine.parameters import Parameters
from npexplore.machine.resources import (
    BoundedQueue,
    BufferPool,
    Delay,
    FifoServer,
    LineCard,
    Mesh,
    StaticStreams,
)
from npexplore.machine.resources.base import Resource
from npexplore.rows.expressions import Operand

LARGEST = 1500  # bytes of the longest packet
BURST = 64  # words that a simulation moves at once where nothing else can be in the way
ENDLESS = 10**8  # bytes of a buffer that never fills: 250 ms of a line card
MESSAGE_WORDS = {"port and address": 2, "verdict": 1, "address": 1, "address and length": 2, "request": 1}
NETWORKS = ("static1", "static2")
Payload = Literal["memory", "card", "nowhere"]
Write = Literal["dma", "line", "stream", "message"]
WHEN_FULL: dict[str, Literal["stall", "drop", "credits"]] = {
    "stall": "stall", "discard": "drop", "credits": "credits", "unasked": "stall",
}  # fmt: skip


@dataclass(frozen=True)
class Version:
    """What distinguishes the versions.

    payload: where the rest of a packet waits. write: how it gets into memory: by DMA with a bit mask, cache line by
    cache line, as one stream, or as messages of a line on the memory network. pipelined: several reads outstanding.
    results: of stages 1 and 2 go to stage 3 on the static network of the header, or on the general dynamic network.
    """

    layout: str
    short_header: bool = True
    payload: Payload = "memory"
    write: Write = "dma"
    full_duplex: bool = False
    pipelined: bool = False
    process: bool = True
    results: Literal["static", "general"] = "general"


def numbered(values: Sequence[int]) -> Callable[[Operand], Operand]:
    """Return values[k] as an expression in k: first + a (k mod c) + b (k div c), for some c.

    Raises ModelError for places in no such pattern.
    """
    first = values[0]
    for c in range(len(values), 0, -1):
        a = values[1] - first if c > 1 else 0
        b = values[c] - first if c < len(values) else 0
        if all(value == first + a * (k % c) + b * (k // c) for k, value in enumerate(values)):
            if c == len(values):
                return lambda k: k if (first, a) == (0, 1) else first + a * k
            return lambda k: first + a * (k % c) + b * (k // c)
    raise ModelError(f"places {list(values)} of a layout are in no regular order")


class Chip:
    """A version on its layout with the numbers of a machine file."""

    def __init__(self, p: Parameters, version: Version, layout: Layout) -> None:
        self.p, self.version, self.layout = p, version, layout
        self.cycle = 1e-6 / p.clock_mhz
        self.ports = layout.ports
        file = layout.file
        self.pipelines = file.pipeline or [Pipeline(port=port, stages=[]) for port in self.ports]
        self.long_words: int = p.header_bytes // p.word_bytes  # of a header in the versions that Table 2 measures
        self.header_words: int = p.short_header_words if version.short_header else self.long_words
        tiles = layout.grid.tiles
        self.pins = [layout.card(port, way).tile for way in ("in", "out") for port in self.ports]
        self.card_in, self.card_out, self.memory = tiles, tiles + len(self.ports), tiles + 2 * len(self.ports)
        self.exits = [layout.card(port, "out").tile for port in self.ports]
        self._programs()
        self.networks = [name for name in NETWORKS if layout.on(name)]

    def _programs(self) -> None:
        """Refuse switch programs that wait for a stream on which this version sends nothing."""
        file, sent = self.layout.file, set(self.layout.streams("header") + self.layout.streams("packet"))
        if self.version.payload == "memory" and self.version.write != "message":
            sent |= set(self.layout.streams("payload"))
        for switch in file.switch:
            for k in switch.turns:
                if k not in sent:
                    route = " > ".join(str(tile) for tile in self.layout.trees[k].before)
                    raise ModelError(
                        f"layout {file.name}: the switch of tile {switch.tile} waits for {self.layout.stream_name(k)} "
                        f"on the route {route}, whose words never come: no payload is streamed to memory"
                    )

    def path(self, stream: int) -> tuple[str, int]:
        """Return the static network of a stream and its number there."""
        network = self.layout.file.stream[stream].network
        return network, self.layout.on(network).index(stream)

    def header_path(self, pipeline: int) -> tuple[str, int]:
        """Return where the header of a pipeline's packets is broadcast."""
        stream = self.layout.header_stream(pipeline)
        assert stream is not None
        return self.path(stream)

    def payload_path(self, pipeline: int) -> tuple[str, int]:
        """Return where the payload of a pipeline's packets is streamed to memory."""
        file, port = self.layout.file, self.pipelines[pipeline].port
        name = self.layout.buffers[self.buffers[pipeline]].name
        return self.path(next(
            k for k in self.layout.streams("payload") if (file.stream[k].port, file.stream[k].to) == (port, name)
        ))  # fmt: skip

    @cached_property
    def port_of(self) -> list[int]:
        """Number of each pipeline's port."""
        return [self.ports.index(pipeline.port) for pipeline in self.pipelines]

    @cached_property
    def buffers(self) -> list[int]:
        """Number of the packet buffer of each pipeline; those of one port have different ones if there are."""
        numbers = []
        for k, pipeline in enumerate(self.pipelines):
            mine = [n for n, memory in enumerate(self.layout.buffers) if pipeline.port in memory.ports]
            numbers.append(mine[[*self.port_of[:k]].count(self.port_of[k]) % len(mine)] if mine else 0)
        return numbers

    @property
    def results(self) -> str:
        """How stages 1 and 2 tell stage 3: as the version does, or as the knob says."""
        return self.version.results if self.p.results == "own" else str(self.p.results)

    @property
    def shared_feeds(self) -> int:
        """Pipelines that a line card feeds."""
        return -(-len(self.pipelines) // len(self.ports))

    @property
    def coupled(self) -> bool:
        """Whether stages 1 and 2 cannot read a header while stage 3 is busy: all switches of a broadcast wait."""
        return self.p.stages == "coupled" or (self.p.stages == "decoupled_when_fed_double" and self.shared_feeds == 1)

    @property
    def window(self) -> int:
        """Reads that a line card has outstanding."""
        return int(self.p.outstanding_reads if self.version.pipelined else self.p.line_reads)

    @property
    def half_duplex(self) -> bool:
        """Whether reads and writes of a memory share its pins."""
        return not self.version.full_duplex

    @property
    def banks(self) -> int:
        """Lines that the core of a DRAM has in hand: one a bank, or one at all (reads or writes, half duplex)."""
        return 1 if self.half_duplex and self.p.half_duplex == "exclusive" else int(self.p.dram_banks)

    @property
    def writer(self) -> str:
        """The server that a written line occupies: the core that reads too, or one of its own."""
        return "dram" if self.p.dram_core == "shared" else "dram_write"

    @property
    def line_words(self) -> int:
        """Words of a line."""
        return int(self.p.line_bytes // self.p.word_bytes)

    @property
    def bus_cycles(self) -> float:
        """Cycles of a line's words at the core: one word per cycle, in each direction where both go on at once."""
        return self.line_words / (2 if self.version.full_duplex else 1)

    @property
    def opening_cycles(self) -> float:
        """Cycles of a line at its bank beyond those of its words; a stream costs them once."""
        return float(max(self.p.line_cycles - self.bus_cycles, 0))

    def resources(self) -> list[Resource]:
        """Return everything on the chip and at its pins."""
        p, v, ports = self.p, self.version, len(self.ports)
        rate = p.card_gbps * 1e9 / 8 * (self.shared_feeds if p.card_limit == "pipeline" else 1)
        room = LARGEST * p.card_packets if v.payload == "memory" else ENDLESS
        listed: list[Resource] = [
            LineCard("wire", rate, ports=ports),
            LineCard("card", rate, ports=ports, buffer_bytes=room),
            FifoServer("feed", 0.0, members=ports),
            Delay("fixed_latency"),
            *(self._static(name) for name in self.networks),
        ]
        if not v.process:
            return listed
        listed += [FifoServer(f"stage{k}", 0.0, members=len(self.pipelines)) for k in (1, 2, 3)]
        listed += [FifoServer("stage4", 0.0, members=ports), self._mesh("gdn")]
        credit = p.credit_cycles * self.cycle if p.queue_full == "credits" else 0.0
        when_full = WHEN_FULL[p.queue_full]
        listed += [
            BoundedQueue(f"queue{o}", p.queue_packets, when_full=when_full, credit_s=credit) for o in range(ports)
        ]
        if v.payload == "memory":
            listed.append(self._mesh("mdn"))
            listed += self._memories()
            listed += [BufferPool(f"reads{o}", self.window) for o in range(ports)]
        return listed

    def _memories(self) -> list[Resource]:
        members = len(self.layout.buffers)
        memories: list[Resource] = [
            FifoServer(name, 0.0, members=members * self.banks) for name in dict.fromkeys(["dram", self.writer])
        ]
        if self.version.write == "stream":
            memories.append(FifoServer("dram_stream", 0.0, members=members))
        return [*memories, FifoServer("dram_bus", self.cycle * self.bus_cycles, members=members)]

    def _on_tiles(self) -> dict[str, Any]:
        p, file = self.p, self.layout.file
        return {"columns": file.columns, "rows": file.rows, "clock_hz": p.clock_mhz * 1e6, "hop_cycles": p.hop_cycles}

    def _mesh(self, name: str) -> Mesh:
        pins = [*self.pins, *(memory.tile for memory in self.layout.buffers)]
        return Mesh(name, fifo_depth=self.p.fifo_depth, ports=pins, **self._on_tiles())

    def _static(self, network: str) -> StaticStreams:
        """Return a network; FIFOs matter where targets stall, as tiles do and memories and cards do not."""
        streams = [self.layout.file.stream[k] for k in self.layout.on(network)]
        return StaticStreams(
            network, paths=[s.routes for s in streams], crossings=True, turns=self.layout.turns(network),
            fifo_depth=self.p.fifo_depth if any(s.carries == "header" for s in streams) else BURST,
            change_cycles=round(self.p.switch_reset_cycles), **self._on_tiles(),
        )  # fmt: skip
