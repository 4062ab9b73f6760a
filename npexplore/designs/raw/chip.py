"""The RAW chip under a layout: networks, tiles, DRAM ports and line cards as resources, and who is where on them.

Terminals of the meshes: the tiles, then line cards in, line cards out, and packet buffers, in the order of the ports
and of the layout file.
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
MESSAGE_WORDS = {"port and address": 2, "verdict": 1, "address": 1}
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
        long = p.header_bytes // p.word_bytes
        self.header_words: int = p.short_header_words if version.short_header else long
        tiles = layout.grid.tiles
        self.pins = [layout.card(port, way).tile for way in ("in", "out") for port in self.ports]
        self.card_in, self.card_out, self.memory = tiles, tiles + len(self.ports), tiles + 2 * len(self.ports)
        self.exits = [layout.card(port, "out").tile for port in self.ports]
        self.streams: dict[str, list[int]] = {}  # numbers of the layout's streams in each resource
        self._group()

    def _group(self) -> None:
        """Give each stream to a resource of its network in which it meets no other; one port's may meet."""
        for k, stream in enumerate(self.layout.file.stream):
            tiles = set(self.layout.trees[k].before)
            names = (f"{stream.network}{letter}" for letter in "abcdefgh")
            name = next(
                n for n in names
                if all(tiles.isdisjoint(self.layout.trees[other].before) for other in self.streams.get(n, []))
            )  # fmt: skip
            self.streams.setdefault(name, []).append(k)

    def path(self, stream: int) -> tuple[str, int]:
        """Return the resource of a stream and its number there."""
        name = next(name for name, members in self.streams.items() if stream in members)
        return name, self.streams[name].index(stream)

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
        found = []
        for k, pipeline in enumerate(self.pipelines):
            mine = [n for n, memory in enumerate(self.layout.buffers) if pipeline.port in memory.ports]
            found.append(mine[[*self.port_of[:k]].count(self.port_of[k]) % len(mine)] if mine else 0)
        return found

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
    def shared_pins(self) -> bool:
        """Whether reads and writes of a memory overlap but share its pins."""
        return not self.version.full_duplex and self.p.half_duplex == "overlap"

    @property
    def writer(self) -> str:
        """The server that a written line occupies."""
        return "dram_write" if self.version.full_duplex or self.shared_pins else "dram_read"

    def resources(self) -> list[Resource]:
        """Return everything on the chip and at its pins."""
        p, v, ports = self.p, self.version, len(self.ports)
        rate = p.card_gbps * 1e9 / 8 * (self.shared_feeds if p.card_limit == "pipeline" else 1)
        room = LARGEST * p.card_packets if v.payload == "memory" else ENDLESS
        found: list[Resource] = [
            LineCard("wire", rate, ports=ports),
            LineCard("card", rate, ports=ports, buffer_bytes=room),
            FifoServer("feed", 0.0, members=ports),
            Delay("time"),
            *(self._static(name, members) for name, members in self.streams.items()),
        ]
        if not v.process:
            return found
        found += [FifoServer(f"stage{k}", 0.0, members=len(self.pipelines)) for k in (1, 2, 3)]
        found += [FifoServer("stage4", 0.0, members=ports), self._mesh("gdn")]
        credit = p.credit_cycles * self.cycle if p.queue_full == "credits" else 0.0
        when_full = WHEN_FULL[p.queue_full]
        found += [
            BoundedQueue(f"queue{o}", p.queue_packets, when_full=when_full, credit_s=credit) for o in range(ports)
        ]
        if v.payload == "memory":
            found += [self._mesh("mdn"), *self._memories()]
            found += [BufferPool(f"reads{o}", self.window) for o in range(ports)]
        return found

    def _memories(self) -> list[Resource]:
        p, members = self.p, len(self.layout.buffers)
        line = p.line_cycles * self.cycle
        found: list[Resource] = [
            FifoServer(name, line, members=members) for name in dict.fromkeys(["dram_read", self.writer])
        ]
        if self.shared_pins:
            found.append(FifoServer("dram_pins", self.cycle * p.line_bytes / p.word_bytes, members=members))
        return found

    def _on_tiles(self) -> dict[str, Any]:
        p, file = self.p, self.layout.file
        return {"columns": file.columns, "rows": file.rows, "clock_hz": p.clock_mhz * 1e6, "hop_cycles": p.hop_cycles}

    def _mesh(self, name: str) -> Mesh:
        pins = [*self.pins, *(memory.tile for memory in self.layout.buffers)]
        return Mesh(name, fifo_depth=self.p.fifo_depth, ports=pins, **self._on_tiles())

    def _static(self, name: str, members: Sequence[int]) -> StaticStreams:
        """Return streams; the depth of FIFOs matters where targets stall, as tiles do and memories and cards do not."""
        streams = [self.layout.file.stream[k] for k in members]
        depth = self.p.fifo_depth if any(stream.carries == "header" for stream in streams) else BURST
        return StaticStreams(name, paths=[s.routes for s in streams], fifo_depth=depth, **self._on_tiles())
