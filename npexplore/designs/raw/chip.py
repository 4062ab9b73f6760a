"""The RAW chip with a layout: networks, tiles, DRAM ports and line cards as resources, and their positions.

The terminals of the meshes are numbered: tiles, input line cards, output line cards (both in port order), and packet
buffers in the order of the layout file.
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
BURST = 64  # words that a simulation moves at once where no other traffic can interfere
ENDLESS = 10**8  # bytes of a buffer that never fills: 250 ms of a line card's traffic
MESSAGE_WORDS = {"port and address": 2, "verdict": 1, "address": 1, "address and length": 2, "request": 1}
NETWORKS = ("static1", "static2")
Payload = Literal["memory", "card", "nowhere"]
Write = Literal["dma", "line", "stream", "message"]
WHEN_FULL: dict[str, Literal["stall", "drop", "credits"]] = {
    "stall": "stall", "discard": "drop", "credits": "credits", "unasked": "stall",
}  # fmt: skip


@dataclass(frozen=True)
class Version:
    """The properties in which the versions differ.

    payload: where a packet's payload waits. write: how the payload gets into memory: by DMA with a bit mask, cache line
    by cache line, as one stream, or as messages of one line on the memory network. pipelined: whether several reads are
    outstanding. results: the network by which stages 1 and 2 send results to stage 3: the header's static network, or
    the general dynamic network.
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

    Raises ModelError if the values have no such pattern.
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
    """A version with its layout and a machine file's parameters."""

    def __init__(self, p: Parameters, version: Version, layout: Layout) -> None:
        self.p, self.version, self.layout = p, version, layout
        self.cycle = 1e-6 / p.clock_mhz
        self.ports = layout.ports
        file = layout.file
        self.pipelines = file.pipeline or [Pipeline(port=port, stages=[]) for port in self.ports]
        self.long_words: int = p.header_bytes // p.word_bytes  # a header's words in the versions of Table 2
        self.header_words: int = p.short_header_words if version.short_header else self.long_words
        tiles = layout.grid.tiles
        self.pins = [layout.card(port, direction).tile for direction in ("in", "out") for port in self.ports]
        self.card_in, self.card_out, self.memory = tiles, tiles + len(self.ports), tiles + 2 * len(self.ports)
        self.exits = [layout.card(port, "out").tile for port in self.ports]
        self._programs()
        self.networks = [name for name in NETWORKS if layout.on(name)]

    def _programs(self) -> None:
        """Raise ModelError for a switch program that waits for a stream that this version does not use."""
        file, carried_streams = self.layout.file, set(self.layout.streams("header") + self.layout.streams("packet"))
        if self.version.payload == "memory" and self.version.write != "message":
            carried_streams |= set(self.layout.streams("payload"))
        for switch in file.switch:
            for k in switch.turns:
                if k not in carried_streams:
                    route = " > ".join(str(tile) for tile in self.layout.trees[k].before)
                    raise ModelError(
                        f"layout {file.name}: the switch of tile {switch.tile} waits for {self.layout.stream_name(k)} "
                        f"on the route {route}, whose words never come: no payload is streamed to memory"
                    )

    def path(self, stream: int) -> tuple[str, int]:
        """Return (static network of a stream, its number on that network)."""
        network = self.layout.file.stream[stream].network
        return network, self.layout.on(network).index(stream)

    def header_path(self, pipeline: int) -> tuple[str, int]:
        """Return the (network, number) of the stream that broadcasts the headers of a pipeline's packets."""
        stream = self.layout.header_stream(pipeline)
        assert stream is not None
        return self.path(stream)

    def payload_path(self, pipeline: int) -> tuple[str, int]:
        """Return the (network, number) of the stream that carries a pipeline's payloads to memory."""
        file, port = self.layout.file, self.pipelines[pipeline].port
        name = self.layout.buffers[self.buffers[pipeline]].name
        return self.path(next(
            k for k in self.layout.streams("payload") if (file.stream[k].port, file.stream[k].to) == (port, name)
        ))  # fmt: skip

    @cached_property
    def port_of(self) -> list[int]:
        """The index of each pipeline's port."""
        return [self.ports.index(pipeline.port) for pipeline in self.pipelines]

    @cached_property
    def buffers(self) -> list[int]:
        """The index of each pipeline's packet buffer; pipelines of one port use different buffers where possible."""
        numbers = []
        for k, pipeline in enumerate(self.pipelines):
            port_buffers = [
                number for number, memory in enumerate(self.layout.buffers) if pipeline.port in memory.ports
            ]
            numbers.append(
                port_buffers[[*self.port_of[:k]].count(self.port_of[k]) % len(port_buffers)] if port_buffers else 0
            )
        return numbers

    @property
    def results(self) -> str:
        """The network by which stages 1 and 2 send results to stage 3: the knob's, or the version's own."""
        return self.version.results if self.p.results == "own" else str(self.p.results)

    @property
    def shared_feeds(self) -> int:
        """The number of pipelines that a line card feeds."""
        return -(-len(self.pipelines) // len(self.ports))

    @property
    def coupled(self) -> bool:
        """Whether stages 1 and 2 cannot read a header while stage 3 is busy, since all switches of a broadcast wait."""
        return self.p.stages == "coupled" or (self.p.stages == "decoupled_when_fed_double" and self.shared_feeds == 1)

    @property
    def window(self) -> int:
        """The number of reads that a line card has outstanding."""
        return int(self.p.outstanding_reads if self.version.pipelined else self.p.line_reads)

    @property
    def half_duplex(self) -> bool:
        """Whether a memory's reads and writes share its pins."""
        return not self.version.full_duplex

    @property
    def banks(self) -> int:
        """The lines that a DRAM core processes at once: one per bank, or a single one (exclusive half duplex)."""
        return 1 if self.half_duplex and self.p.half_duplex == "exclusive" else int(self.p.dram_banks)

    @property
    def writer(self) -> str:
        """The name of the server that a written line occupies: the core that also reads, or a separate one."""
        return "dram" if self.p.dram_core == "shared" else "dram_write"

    @property
    def line_words(self) -> int:
        """The words of a cache line."""
        return int(self.p.line_bytes // self.p.word_bytes)

    @property
    def bus_cycles(self) -> float:
        """The cycles of a line's words at the core, one word per cycle; full duplex moves both directions at once."""
        return self.line_words / (2 if self.version.full_duplex else 1)

    @property
    def opening_cycles(self) -> float:
        """The cycles of a line at its bank in addition to its words; a stream pays them only once."""
        return float(max(self.p.line_cycles - self.bus_cycles, 0))

    def resources(self) -> list[Resource]:
        """Return the resources on the chip and at its pins."""
        p, v, ports = self.p, self.version, len(self.ports)
        bytes_per_s = p.card_gbps * 1e9 / 8 * (self.shared_feeds if p.card_limit == "pipeline" else 1)
        buffer_bytes = LARGEST * p.card_packets if v.payload == "memory" else ENDLESS
        resources: list[Resource] = [
            LineCard("wire", bytes_per_s, ports=ports),
            LineCard("card", bytes_per_s, ports=ports, buffer_bytes=buffer_bytes),
            FifoServer("feed", 0.0, members=ports),
            Delay("fixed_latency"),
            *(self._static(name) for name in self.networks),
        ]
        if not v.process:
            return resources
        resources += [FifoServer(f"stage{k}", 0.0, members=len(self.pipelines)) for k in (1, 2, 3)]
        resources += [FifoServer("stage4", 0.0, members=ports), self._mesh("gdn")]
        credit_s = p.credit_cycles * self.cycle if p.queue_full == "credits" else 0.0
        when_full = WHEN_FULL[p.queue_full]
        resources += [
            BoundedQueue(f"queue{o}", p.queue_packets, when_full=when_full, credit_s=credit_s) for o in range(ports)
        ]
        if v.payload == "memory":
            resources.append(self._mesh("mdn"))
            resources += self._memories()
            resources += [BufferPool(f"reads{o}", self.window) for o in range(ports)]
        return resources

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
        """Return a static network; FIFO depth matters only for headers: tiles stall, memories and cards do not."""
        streams = [self.layout.file.stream[k] for k in self.layout.on(network)]
        return StaticStreams(
            network, paths=[stream.routes for stream in streams], crossings=True, turns=self.layout.turns(network),
            fifo_depth=self.p.fifo_depth if any(s.carries == "header" for s in streams) else BURST,
            change_cycles=round(self.p.switch_reset_cycles), **self._on_tiles(),
        )  # fmt: skip
