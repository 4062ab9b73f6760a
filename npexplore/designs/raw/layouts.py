"""Layouts of the RAW chip as data (models/raw/*.toml): who sits on which tile and which pins, and which streams exist.

    tile     belongs to one stage of one pipeline;     pins: one device, or the two directions of a line card
    stream   a tree of neighbouring tiles from its port's line card to stages, a memory, or the line card out
    network  streams of one port share links and switches, one message at a time; those of different ports cross only
             where a layout says so (raw paper, Sec. 4: they must not), and never so that they stop each other for good

What cannot be wired is refused when a layout is read, and the error names the tiles.
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
OUT = "out"  # where a stream ends that leaves by its port's line card


class CardPins(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One direction of a port's line card, on the pins of a border tile."""

    port: int
    direction: Literal["in", "out"]
    tile: int
    side: Side


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A DRAM on the pins of a border tile; `ports`: whose packets wait there."""

    name: str
    use: Literal["packets", "table"]
    tile: int
    side: Side
    ports: list[int] = []


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tiles of stages 1, 2, ... that packets of a port pass."""

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
    """A switch program: the streams that a tile's switch passes in `turns`, a message of each, by their numbers."""

    tile: int
    network: Literal["static1", "static2"]
    turns: list[int]


class LayoutFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of `models/raw/*.toml`. feed: headers reach the stages by static streams or by the dynamic network.

    crossings: whether streams of different ports may meet on a network; in the order in which they come, or as a
    `switch` has them in turns.
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
    """A layout that can be built: `checked` refuses the others."""

    file: LayoutFile

    @cached_property
    def grid(self) -> Grid:
        """The tiles; errors call it by the layout's name."""
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
        """The memories in which packets wait, in the order of the file."""
        return [memory for memory in self.file.memory if memory.use == "packets"]

    @cached_property
    def table(self) -> Memory | None:
        """The memory of the forwarding table; None where the layout places none."""
        return next((memory for memory in self.file.memory if memory.use == "table"), None)

    @cached_property
    def trees(self) -> list[Tree]:
        """The path of every stream."""
        return [tree_of(self.grid, k, stream.routes) for k, stream in enumerate(self.file.stream)]

    def on(self, network: str) -> list[int]:
        """Return the numbers of the streams of a network."""
        return [k for k, stream in enumerate(self.file.stream) if stream.network == network]

    def turns(self, network: str) -> list[list[int]]:
        """Return the switch programs of a network as rows: tile, then positions in `on(network)`."""
        mine = self.on(network)
        return [
            [one.tile, *(mine.index(k) if k in mine else len(mine) for k in one.turns)]
            for one in self.file.switch if one.network == network
        ]  # fmt: skip

    def stream_name(self, number: int) -> str:
        """Return what messages call a stream."""
        stream = self.file.stream[number]
        return f"stream {number} ({stream.carries} of port {stream.port})"

    def streams(self, carries: str) -> list[int]:
        """Return the numbers of the streams that carry something."""
        return [k for k, stream in enumerate(self.file.stream) if stream.carries == carries]

    def header_stream(self, pipeline: int) -> int | None:
        """Return the number of the stream that feeds a pipeline: the one whose targets are its first stages."""
        wanted = self.file.pipeline[pipeline].stages[:-1]
        return next((k for k in self.streams("header") if sorted(self.trees[k].targets) == sorted(wanted)), None)


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
    """Read a layout once for each time its file was changed."""
    return check_layout(decode(content(path), LayoutFile, path))


def layout_schema() -> dict[str, Any]:
    """Return the JSON Schema of `models/raw/*.toml`."""
    return msgspec.json.schema(LayoutFile)


# ---- what is refused


def check_layout(file: LayoutFile) -> Layout:
    """Return the layout of a file; raises ModelError, naming the tiles, for one that cannot be wired."""
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
    """Refuse pins inside the chip, and two devices at the same pins."""
    file = layout.file
    taken: dict[tuple[int, Side, str], str] = {}
    devices: list[tuple[str, int, Side, tuple[str, ...]]] = [
        (f"line card {c.direction} of port {c.port}", c.tile, c.side, (c.direction,)) for c in file.line_card
    ]
    devices += [(f"memory {m.name!r}", m.tile, m.side, ("in", "out")) for m in file.memory]
    for what, tile, side, ways in devices:
        layout.grid.check(tile, f"tile of {what}")
        if SIDES[side] in layout.grid.neighbours(tile):
            raise ModelError(f"layout {file.name}: {what} needs pins, tile {tile} has none on its {side} side")
        for way in ways:
            other = taken.setdefault((tile, side, way), what)
            if other != what:
                raise ModelError(f"layout {file.name}: {other} and {what} are both on the {side} pins of tile {tile}")
    names = [memory.name for memory in file.memory]
    cards = [(card.port, card.direction) for card in file.line_card]
    for double in (*(n for n in names if names.count(n) > 1), *(c for c in cards if cards.count(c) > 1)):
        raise ModelError(f"layout {file.name}: {double!r} is there twice")


def _tiles(layout: Layout) -> None:
    """Refuse tiles with two owners."""
    owner: dict[int, str] = {}
    for number, pipeline in enumerate(layout.file.pipeline):
        if len(pipeline.stages) < 2:
            raise ModelError(f"layout {layout.file.name}: pipeline {number} needs at least 2 stages")
        for stage, tile in enumerate(pipeline.stages, 1):
            layout.grid.check(tile, f"tile of stage {stage} of pipeline {number}")
            mine = f"stage {stage} of pipeline {number}"
            other = owner.setdefault(tile, mine)
            if other != mine:
                raise ModelError(f"layout {layout.file.name}: tile {tile} has two owners, {other} and {mine}")


def _ends(layout: Layout) -> None:
    """Refuse streams that begin or end where their port has nothing."""
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
            leaves = cards.get((stream.port, "out"))
            goal = None if leaves is None else leaves.tile
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
    fed = [sorted(p.stages[:-1]) for p in layout.file.pipeline if p.port == stream.port]
    if targets not in fed:
        raise ModelError(f"{what} ends at tiles {targets}; the first stages of the port's pipelines are {fed}")


def _claims(layout: Layout) -> Iterator[tuple[int, tuple[str, str, object], str]]:
    """Yield what every stream keeps for itself on its network: links, switches, ends."""
    for number, (stream, tree) in enumerate(zip(layout.file.stream, layout.trees, strict=True)):
        for a, b in tree.hops:
            yield number, (stream.network, "link", (a, b)), f"the link from tile {a} to tile {b}"
        for tile in tree.before:
            yield number, (stream.network, "switch", tile), f"the switch of tile {tile}"


def _crossings(layout: Layout) -> None:
    """Refuse streams of different ports that meet on one network: a switch waits for the words of both."""
    owner: dict[tuple[str, str, object], int] = {}
    streams = layout.file.stream
    for number, key, words in _claims(layout):
        other = owner.setdefault(key, number)
        if streams[other].port != streams[number].port:
            raise ModelError(
                f"layout {layout.file.name}: streams {other} (port {streams[other].port}) and {number} (port "
                f"{streams[number].port}) cross on {key[0]}: both use {words}"
            )


def _waits(layout: Layout) -> None:
    """Refuse switches that wait for words that never come, and streams that stop each other for good."""
    for network in ("static1", "static2"):
        mine = layout.on(network)
        trees, names = [layout.trees[k] for k in mine], [layout.stream_name(k) for k in mine]
        subject = f"layout {layout.file.name}, {network}"
        turns = checked_turns(subject, trees, layout.turns(network), names)
        refuse_circles(subject, trees, names, turns)


def _connected(layout: Layout) -> None:
    """Refuse ports that packets cannot come in by, pass, or leave by."""
    file = layout.file
    cards: dict[tuple[int, str], CardPins] = {(card.port, card.direction): card for card in file.line_card}
    through = {stream.port for stream in file.stream if stream.carries == "packet"}
    for port in layout.ports:
        for direction, wanted in (("in", "out"), ("out", "in")):
            if (port, direction) not in cards:
                tile = cards[port, wanted].tile
                raise ModelError(
                    f"layout {file.name}: port {port} is not connected: a line card {wanted} at tile {tile}, none "
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
