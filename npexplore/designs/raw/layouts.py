"""Layouts of the RAW chip as data (models/raw/*.toml): placement on tiles and pins, and the streams between them.

    tile     belongs to one stage of one pipeline;     pins: one device, or the two directions of a line card
    stream   a tree of neighbouring tiles from its port's line card to stages, a memory, or the output line card
    network  streams of one port share links and switches, one message at a time; streams of different ports cross only
             if a layout allows it (raw paper, Sec. 4: they must not), and never so that they deadlock

Reading a layout that cannot be wired raises ModelError, which names the tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.machine.resources.grid import EAST, NORTH, SOUTH, WEST, Grid
from npexplore.machine.resources.routes import Tree, checked_turns, refuse_circles, tree_of
from npexplore.paths import content, named_file, stems
from npexplore.reads import Read, note
from npexplore.toml import decode

Side = Literal["north", "east", "south", "west"]
SIDES: dict[Side, int] = {"north": NORTH, "east": EAST, "south": SOUTH, "west": WEST}
OUT = "out"  # target of a stream that ends at its port's output line card


class CardPins(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One direction of a port's line card, on the pins of a border tile."""

    port: int
    direction: Literal["in", "out"]
    tile: int
    side: Side


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A DRAM on the pins of a border tile; `ports`: the ports whose packets it stores."""

    name: str
    use: Literal["packets", "table"]
    tile: int
    side: Side
    ports: list[int] = []


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tiles of stages 1, 2, ... through which packets of a port pass."""

    port: int
    stages: list[int]


class Stream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A preconfigured path of a port: `routes` from the card's tile to each target; `to`: a memory, or "out"."""

    port: int
    network: Literal["static1", "static2"]
    carries: Literal["header", "payload", "packet"]
    routes: list[list[int]]
    to: str = ""


class Switch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A switch program: the numbers of the streams of which a tile's switch passes one message each, in `turns`."""

    tile: int
    network: Literal["static1", "static2"]
    turns: list[int]


class LayoutFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of `models/raw/*.toml`. feed: headers reach the stages by static streams or by the dynamic network.

    crossings: whether streams of different ports may meet on a network; they pass in order of arrival, or in the turns
    of a `switch`.
    """

    name: str
    title: str
    source: str
    columns: int
    rows: int
    line_card: list[CardPins]
    memory: list[Memory] = []
    pipeline: list[Pipeline] = []
    stream: list[Stream] = []
    feed: Literal["static", "dynamic"] = "static"
    crossings: Literal["refused", "allowed"] = "refused"
    switch: list[Switch] = []
    assumption: str = ""


@dataclass(frozen=True)
class Layout:
    """A layout that can be built; `check_layout` refuses all others."""

    file: LayoutFile

    @cached_property
    def grid(self) -> Grid:
        """The grid of tiles; errors name it after the layout."""
        return Grid(f"layout {self.file.name}", self.file.columns, self.file.rows)

    @cached_property
    def ports(self) -> list[int]:
        """The ports in ascending order."""
        return sorted({card.port for card in self.file.line_card})

    def card(self, port: int, direction: str) -> CardPins:
        """Return a port's line card in one direction."""
        return next(c for c in self.file.line_card if (c.port, c.direction) == (port, direction))

    @cached_property
    def buffers(self) -> list[Memory]:
        """The memories that store packets, in the order of the file."""
        return [memory for memory in self.file.memory if memory.use == "packets"]

    @cached_property
    def table(self) -> Memory | None:
        """The memory of the forwarding table; None if the layout has none."""
        return next((memory for memory in self.file.memory if memory.use == "table"), None)

    @cached_property
    def trees(self) -> list[Tree]:
        """The tree of tiles of every stream."""
        return [tree_of(self.grid, k, stream.routes) for k, stream in enumerate(self.file.stream)]

    def on(self, network: str) -> list[int]:
        """Return the numbers of the streams of a network."""
        return [k for k, stream in enumerate(self.file.stream) if stream.network == network]

    def turns(self, network: str) -> list[list[int]]:
        """Return the switch programs of a network as rows: tile, then positions in `on(network)`."""
        numbers = self.on(network)
        return [
            [switch.tile, *(numbers.index(k) if k in numbers else len(numbers) for k in switch.turns)]
            for switch in self.file.switch if switch.network == network
        ]  # fmt: skip

    def stream_name(self, number: int) -> str:
        """Return the name of a stream in messages."""
        stream = self.file.stream[number]
        return f"stream {number} ({stream.carries} of port {stream.port})"

    def streams(self, carries: str) -> list[int]:
        """Return the numbers of the streams that carry headers, payloads or whole packets."""
        return [k for k, stream in enumerate(self.file.stream) if stream.carries == carries]

    def header_stream(self, pipeline: int) -> int | None:
        """Return the number of the stream whose targets are all stages of a pipeline but the last; None without one."""
        first_stages = self.file.pipeline[pipeline].stages[:-1]
        return next((k for k in self.streams("header") if sorted(self.trees[k].targets) == sorted(first_stages)), None)


def layout_names() -> list[str]:
    """Return the names of the layouts in models/raw."""
    return stems("models", "raw")


def load_layout(name: str | Path) -> Layout:
    """Return a layout by name or path; raises UnknownNameError, InputError (bad file), ModelError (cannot be wired)."""
    path = named_file("layout", name, "models", "raw")
    try:
        layout = _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    note(Read(f"layout {layout.file.name}", "assumption" if layout.file.assumption else "fact", str(name), path.name))
    return layout


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int) -> Layout:
    """Read a layout; the cache key includes the file's modification time."""
    return check_layout(decode(content(path), LayoutFile, path))


def layout_schema() -> dict[str, Any]:
    """Return the JSON Schema of `models/raw/*.toml`."""
    return msgspec.json.schema(LayoutFile)


# ---- checks


def check_layout(file: LayoutFile) -> Layout:
    """Return the layout of a file; raises ModelError, which names the tiles, if it cannot be wired."""
    if not file.source.strip():
        raise ModelError(f"layout {file.name} has no source")
    layout = Layout(file)
    _pins(layout)
    _tiles(layout)
    _ends(layout)
    if file.crossings == "refused":
        _crossings(layout)
    _waits(layout)
    _connected(layout)
    return layout


def _pins(layout: Layout) -> None:
    """Raise ModelError for pins inside the chip, and for two devices at the same pins."""
    file = layout.file
    taken: dict[tuple[int, Side, str], str] = {}
    devices: list[tuple[str, int, Side, tuple[str, ...]]] = [
        (f"line card {card.direction} of port {card.port}", card.tile, card.side, (card.direction,))
        for card in file.line_card
    ]
    devices += [(f"memory {memory.name!r}", memory.tile, memory.side, ("in", "out")) for memory in file.memory]
    for device, tile, side, directions in devices:
        layout.grid.check(tile, f"tile of {device}")
        if SIDES[side] in layout.grid.neighbours(tile):
            raise ModelError(f"layout {file.name}: {device} needs pins, tile {tile} has none on its {side} side")
        for direction in directions:
            other = taken.setdefault((tile, side, direction), device)
            if other != device:
                raise ModelError(f"layout {file.name}: {other} and {device} are both on the {side} pins of tile {tile}")
    names = [memory.name for memory in file.memory]
    cards = [(card.port, card.direction) for card in file.line_card]
    for duplicate in (*(n for n in names if names.count(n) > 1), *(c for c in cards if cards.count(c) > 1)):
        raise ModelError(f"layout {file.name}: {duplicate!r} is there twice")


def _tiles(layout: Layout) -> None:
    """Raise ModelError for a tile that belongs to two stages."""
    owner: dict[int, str] = {}
    for number, pipeline in enumerate(layout.file.pipeline):
        if len(pipeline.stages) < 2:
            raise ModelError(f"layout {layout.file.name}: pipeline {number} needs at least 2 stages")
        for stage, tile in enumerate(pipeline.stages, 1):
            layout.grid.check(tile, f"tile of stage {stage} of pipeline {number}")
            stage_name = f"stage {stage} of pipeline {number}"
            other = owner.setdefault(tile, stage_name)
            if other != stage_name:
                raise ModelError(f"layout {layout.file.name}: tile {tile} has two owners, {other} and {stage_name}")


def _ends(layout: Layout) -> None:
    """Raise ModelError for a stream that does not begin and end at devices of its port."""
    file = layout.file
    memories = {memory.name: memory for memory in file.memory}
    for number, (stream, tree) in enumerate(zip(file.stream, layout.trees, strict=True)):
        what = f"layout {file.name}: {stream.carries} stream {number} of port {stream.port}"
        cards: dict[tuple[int, str], CardPins] = {(card.port, card.direction): card for card in file.line_card}
        start = cards.get((stream.port, "in"))
        if start is None or start.tile != tree.source:
            where = "has no line card" if start is None else f"comes in at tile {start.tile}"
            raise ModelError(f"{what} starts at tile {tree.source}, but the port {where}")
        if stream.carries == "header":
            _feeds(layout, number, what)
            continue
        goal: int | None
        if stream.carries == "packet" and stream.to == OUT:
            output_card = cards.get((stream.port, "out"))
            goal = None if output_card is None else output_card.tile
        else:
            if stream.to not in memories:
                raise UnknownNameError(f"{what}: memory", stream.to, memories)
            memory = memories[stream.to]
            goal = memory.tile
            if stream.port not in memory.ports:
                raise ModelError(f"{what} ends at {stream.to!r}, which keeps packets of ports {memory.ports}")
        if tree.targets != [goal]:
            where = "nowhere" if goal is None else f"at tile {goal}"
            raise ModelError(f"{what} ends at tile {tree.targets[0]}, but {stream.to!r} is {where}")


def _feeds(layout: Layout, number: int, what: str) -> None:
    stream, targets = layout.file.stream[number], sorted(layout.trees[number].targets)
    first_stages = [sorted(p.stages[:-1]) for p in layout.file.pipeline if p.port == stream.port]
    if targets not in first_stages:
        raise ModelError(f"{what} ends at tiles {targets}; the first stages of the port's pipelines are {first_stages}")


def _claims(layout: Layout) -> Iterator[tuple[int, tuple[str, str, object], str]]:
    """Yield (stream, key, description) of the links and switches that every stream uses exclusively."""
    for number, (stream, tree) in enumerate(zip(layout.file.stream, layout.trees, strict=True)):
        for a, b in tree.hops:
            yield number, (stream.network, "link", (a, b)), f"the link from tile {a} to tile {b}"
        for tile in tree.before:
            yield number, (stream.network, "switch", tile), f"the switch of tile {tile}"


def _crossings(layout: Layout) -> None:
    """Raise ModelError for streams of different ports that share a link or switch, which would wait for both."""
    owner_of: dict[tuple[str, str, object], int] = {}
    streams = layout.file.stream
    for number, key, words in _claims(layout):
        owner = owner_of.setdefault(key, number)
        if streams[owner].port != streams[number].port:
            raise ModelError(
                f"layout {layout.file.name}: streams {owner} (port {streams[owner].port}) and {number} (port "
                f"{streams[number].port}) cross on {key[0]}: both use {words}"
            )


def _waits(layout: Layout) -> None:
    """Raise ModelError for a switch that waits for words that never arrive, and for streams that deadlock."""
    for network in ("static1", "static2"):
        stream_numbers = layout.on(network)
        trees, names = [layout.trees[k] for k in stream_numbers], [layout.stream_name(k) for k in stream_numbers]
        subject = f"layout {layout.file.name}, {network}"
        turns = checked_turns(subject, trees, layout.turns(network), names)
        refuse_circles(subject, trees, names, turns)


def _connected(layout: Layout) -> None:
    """Raise ModelError for a port whose packets cannot enter, pass through the chip, or leave."""
    file = layout.file
    cards: dict[tuple[int, str], CardPins] = {(card.port, card.direction): card for card in file.line_card}
    through = {stream.port for stream in file.stream if stream.carries == "packet"}
    for port in layout.ports:
        for direction, opposite in (("in", "out"), ("out", "in")):
            if (port, direction) not in cards:
                tile = cards[port, opposite].tile
                raise ModelError(
                    f"layout {file.name}: port {port} is not connected: a line card {opposite} at tile {tile}, none "
                    f"{direction}"
                )
        tile = cards[port, "in"].tile
        if port not in through and all(pipeline.port != port for pipeline in file.pipeline):
            raise ModelError(
                f"layout {file.name}: port {port} is not connected: no pipeline for its card at tile {tile}"
            )
        if layout.buffers and port not in through and all(port not in m.ports for m in layout.buffers):
            raise ModelError(
                f"layout {file.name}: port {port} is not connected: no memory for packets of its card at tile {tile}"
            )
    for number, pipeline in enumerate(file.pipeline):
        if pipeline.port not in layout.ports:
            raise ModelError(
                f"layout {file.name}: pipeline {number} serves port {pipeline.port}, which has no line card"
            )
        if file.feed == "static" and layout.header_stream(number) is None:
            raise ModelError(
                f"layout {file.name}: pipeline {number} on tiles {pipeline.stages} is not connected: no header stream "
                f"ends at tiles {pipeline.stages[:-1]}"
            )
