"""Tiles in rows and columns: their neighbours, and dimension-order routes (x first, then y) over directed links.

Tile n is in column n mod columns of row n div columns. Messages enter and leave at terminals: first one for each tile
(its processor, with the tile's number), then the extra ports (pins of a tile), with the following numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.resources.base import count_of

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NORTH, EAST, SOUTH, WEST, LOCAL = range(5)  # inputs of a router in the order in which simultaneous heads are served
MOST_PORTS = 10  # extra ports of one tile


@dataclass(frozen=True)
class Link:
    """A directed link by its server's name; a terminal's own link has None on the terminal's side."""

    name: str
    source: int | None
    target: int | None


@lru_cache(maxsize=64)
def grid_of(name: str, columns: int, rows: int, ports: tuple[int, ...] = ()) -> Grid:
    """Return the grid of this shape, shared by all machines: its links and routes depend on the shape only."""
    return Grid(name, columns, rows, ports)


class Grid:
    """`columns` x `rows` tiles; `ports` lists the tile of each extra terminal."""

    def __init__(self, name: str, columns: int, rows: int, ports: Sequence[int] = ()) -> None:
        self.name = name
        self.columns = count_of(f"{name}: columns", columns)
        self.rows = count_of(f"{name}: rows", rows)
        self.tiles = self.columns * self.rows
        for tile in ports:
            self.check(tile, "tile of a port")
        self.home = [*range(self.tiles), *ports]  # tile of each terminal
        self.terminals = len(self.home)
        self._crossings: dict[tuple[int | None, int | None], Floats] = {}
        self.entry = [LOCAL] * self.tiles  # input of its router that a terminal uses
        for k, tile in enumerate(ports):
            self.entry.append(LOCAL + 1 + list(ports[:k]).count(tile))
            if self.entry[-1] > LOCAL + MOST_PORTS:
                raise ModelError(f"{name}: tile {tile} has more than {MOST_PORTS} extra ports")

    def check(self, tile: int, subject: str = "tile") -> int:
        """Return a tile's number; raises ModelError if there is no such tile."""
        if tile != int(tile) or not 0 <= tile < self.tiles:
            raise ModelError(f"{self.name}: {subject} must be one of 0..{self.tiles - 1}, got {tile!r}")
        return int(tile)

    def neighbours(self, tile: int) -> dict[int, int]:
        """Return the neighbouring tile in each direction."""
        x, y = tile % self.columns, tile // self.columns
        tiles = {}
        if y > 0:
            tiles[NORTH] = tile - self.columns
        if x < self.columns - 1:
            tiles[EAST] = tile + 1
        if y < self.rows - 1:
            tiles[SOUTH] = tile + self.columns
        if x > 0:
            tiles[WEST] = tile - 1
        return tiles

    @cached_property
    def between(self) -> dict[tuple[int, int], int]:
        """Number of the directed link from a tile to its neighbour; entries of the terminals have lower numbers."""
        pairs = [(tile, neighbour) for tile in range(self.tiles) for neighbour in self.neighbours(tile).values()]
        return {pair: self.terminals + k for k, pair in enumerate(pairs)}

    @property
    def buffers(self) -> int:
        """Number of links that end in a router, and so in a FIFO: all but the exits, which have the highest numbers."""
        return self.terminals + len(self.between)

    @cached_property
    def links(self) -> list[Link]:
        """All links in order of their numbers: entries of the terminals, between tiles, exits of the terminals."""
        entries = [Link(f"{self.name}.in{k}", None, tile) for k, tile in enumerate(self.home)]
        inner = [Link(f"{self.name}.{a}>{b}", a, b) for a, b in self.between]
        exits = [Link(f"{self.name}.out{k}", tile, None) for k, tile in enumerate(self.home)]
        return [*entries, *inner, *exits]

    def apart(self, a: int, b: int) -> int:
        """Return the number of links between two tiles."""
        return abs(a % self.columns - b % self.columns) + abs(a // self.columns - b // self.columns)

    def _onward(self, tile: int, terminal: int) -> tuple[int, int, int]:
        """Return (link, next tile or -1, input there) of the next hop: x first, then y, then the exit."""
        goal = self.home[terminal]
        if tile % self.columns != goal % self.columns:
            direction = EAST if tile % self.columns < goal % self.columns else WEST
        elif tile != goal:
            direction = SOUTH if tile < goal else NORTH
        else:
            return self.buffers + terminal, -1, 0
        neighbour = self.neighbours(tile)[direction]
        return self.between[tile, neighbour], neighbour, (direction + 2) % 4

    @cached_property
    def hops(self) -> Integers:
        """Next hop (link, tile or -1, input) of every tile to every terminal, row tile * terminals + terminal."""
        return np.array([self._onward(a, b) for a in range(self.tiles) for b in range(self.terminals)], dtype=np.int64)

    @cached_property
    def entries(self) -> Integers:
        """Tile and router input of every terminal."""
        return np.array([self.home, self.entry], dtype=np.int64).T

    def route(self, source: int, target: int) -> list[int]:
        """Return the numbers of the links from one terminal to another, entry and exit included."""
        tile, links = self.home[source], [source]
        while tile >= 0:
            link, tile, _ = (int(x) for x in self.hops[tile * self.terminals + target])
            links.append(link)
        return links

    def crossings(self, source: int | None, target: int | None) -> Floats:
        """Return the mean number of times that a message crosses each link; None: any tile, with equal shares."""
        key = (source, target)
        if key not in self._crossings:
            count = np.zeros(len(self.links))
            sources = range(self.tiles) if source is None else [source]
            targets = range(self.tiles) if target is None else [target]
            for a in sources:
                for b in targets:
                    count[self.route(a, b)] += 1.0
            self._crossings[key] = count / (len(sources) * len(targets))
        return self._crossings[key]
