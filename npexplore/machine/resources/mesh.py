"""A mesh of tiles with dimension-ordered wormhole routing (Dally and Seitz 1986): x first, then y, one flit per cycle.

    path:     entry of the source terminal -> links between neighbours -> exit of the target terminal
    head:     waits to be first in its input FIFO, then for its output link; it keeps both until the tail has passed
    flit:     moves if a place is free in the next FIFO; it arrives `hop_cycles` later, its old place is free a cycle
              after that
    cycle:    links whose tail has passed go to waiting heads, by `arbitration`; then new heads are served in the order
              of their inputs (north, east, south, west, local)

A blocked worm extends over the FIFOs behind its head and keeps the links that it still needs. Exits take a flit a
cycle. The engine moves bursts (machine/resources/flits.py), with the same times as moving flit by flit.

Alone, one route: M/D/1 at the first link, as later links of equal rate add no wait (Friedman 1965).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from npexplore.errors import ModelError, one_of
from npexplore.machine.amounts import any_of
from npexplore.machine.resources.base import Example, Hold, Server, Uses, count_of, known, rate_of
from npexplore.machine.resources.flits import Tiles, cycles_for, fifos, ticks_of
from npexplore.machine.resources.grid import Grid, grid_of
from npexplore.machine.resources.worm import Worm
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Expression, Values

Arbitration = Literal["oldest", "rotating", "fixed"]
LINES: dict[str, Literal["fifo", "keyed", "cyclic"]] = {"oldest": "fifo", "rotating": "cyclic", "fixed": "keyed"}
STORED = "messages stored and forwarded link by link, without back pressure"
MOST_HEADS = 64  # heads in one FIFO, and callers waiting for an arrival, for which tokens are reserved


@lru_cache(maxsize=64)
def servers_of(grid: Grid, line: Literal["fifo", "keyed", "cyclic"], depth: int) -> list[Server]:
    """Return a server per link, and per FIFO servers for its first message, its flits and its free places."""
    names = tuple(link.name.removeprefix(f"{grid.name}.") for link in grid.links[: grid.buffers])
    links = [Server(link.name, discipline=line, approximation=STORED, kept_waiting=True) for link in grid.links]
    return [*links, *fifos(grid.name, "first", names, depth)]


class Mesh(Tiles, kind="mesh"):
    """One network; several independent ones are several meshes.

    ports: the tile of each extra terminal; their numbers follow those of the tiles. arbitration: of waiting heads the
    oldest request goes first, the inputs take turns, or the order of inputs is fixed.

    send(source, target, words): the caller continues when the tail has entered the network.
    deliver(source, target, words): the caller continues when the tail has left the network at the target.
    A program that stops reading blocks the exit: held = m.take("NAME.out3"), until m.give(held).

    Example:
        >>> from npexplore.machine import Mesh
        >>> Mesh("net", columns=4, rows=4, clock_hz=425e6, fifo_depth=4)
        Mesh('net', columns=4, rows=4, clock_hz=425000000.0, fifo_depth=4)
    """

    WHY = "worms hold and wait for each other link by link"
    EXAMPLE = Example(
        {"columns": 4, "rows": 4, "clock_hz": 1e9, "fifo_depth": 4},
        "deliver",
        {"source": 0, "target": 3, "words": 16},
        more={"columns": 2, "rows": 1},
    )
    VISITS = {"send": ("source", "target", "words"), "deliver": ("source", "target", "words")}

    def __init__(
        self, name: str, columns: int, rows: int, clock_hz: float, fifo_depth: int, header_words: int = 1,
        hop_cycles: int = 1, ports: Sequence[int] = (), arbitration: Arbitration = "oldest",
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.grid = grid_of(name, columns, rows, tuple(ports))
        self.cycle = 1.0 / rate_of(f"{name}: clock", clock_hz)
        self.depth = count_of(f"{name}: fifo_depth", fifo_depth)
        self.header = count_of(f"{name}: header_words", header_words)
        self.hop = count_of(f"{name}: hop_cycles", hop_cycles)
        self.line = LINES[one_of(f"{name}: arbitration", arbitration, get_args(Arbitration))]
        self._links, self._servers = self.grid.links, [*servers_of(self.grid, self.line, self.depth)]

    # ---- what a visit occupies

    def _terminal(self, method: str, operand: str, value: Values | None) -> Values | None:
        if value is None:
            return None
        invalid = (value < 0) | (value >= self.grid.terminals) | (value != np.floor(value))
        if any_of(invalid):
            raise ModelError(
                f"{self.name}.{method}: {operand} must be a terminal of 0..{self.grid.terminals - 1}, "
                f"got {np.atleast_1d(value)[np.atleast_1d(invalid)][0]:g}"
            )
        return value

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return the time of the flits at every link of the route; a random source or target is any tile, equally."""
        flits = self.header + known(self, method, "words", values)
        seconds = self.cycle * cycles_for(flits, self.depth, self.hop)
        source, target = (self._terminal(method, word, values[word]) for word in ("source", "target"))
        crossings, hops = self._crossings(source, target)
        # each flit occupies a place in the FIFO behind its link for hop + 1 cycles; an exit has no FIFO
        paced = np.maximum(seconds, self.cycle * flits * (self.hop + 1) / self.depth)
        holds = [
            Hold(name, (seconds if name.startswith(f"{self.name}.out") else paced) * crossed, visits=crossed)
            for name, crossed in crossings.items()
        ]
        latency = seconds
        if method == "deliver":
            latency = seconds + self.cycle * (self.hop * hops - 1)
        return Uses(latency, holds)

    def _crossings(self, source: Values | None, target: Values | None) -> tuple[dict[str, Values], Values]:
        """Return the crossings of each link per packet, by link (only links that are crossed), and their sum."""
        kinds = self.grid.terminals + 1  # kinds of ends: any tile, or one of the terminals
        first, last = (np.int64(0) if end is None else end.astype(np.int64) + 1 for end in (source, target))
        pair = first * kinds + last
        if not pair.ndim:
            row = self.grid.crossings(*(end - 1 if end else None for end in divmod(int(pair), kinds)))
            return {self.grid.links[link].name: row[link] for link in np.flatnonzero(row).tolist()}, row.sum()
        pairs = np.unique(pair)
        which = np.searchsorted(pairs, pair)
        ends = [divmod(int(number), kinds) for number in pairs]
        rows = [self.grid.crossings(*(end - 1 if end else None for end in ends_of_pair)) for ends_of_pair in ends]
        table = np.array(rows).reshape(len(rows), len(self.grid.links))  # may have no row, if no packet comes
        crossed = np.flatnonzero(table.any(axis=0)).tolist()
        by_link = {self.grid.links[link].name: table[:, link][which, ...] for link in crossed}
        return by_link, table.sum(axis=-1)[which]

    # ---- engine operations

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Let the caller move the flits over its entry; each further link has a token that starts with the head."""
        if f"{self.name}.hops" not in asm.named_tables:
            asm.spare_tokens += self.grid.buffers * (min(self.depth, MOST_HEADS) + self.hop)
        worm = Worm(asm, self.name, self.grid, ticks_of(asm, self.cycle), self.hop, method == "deliver")
        if method == "deliver":
            asm.spare_tokens += MOST_HEADS * (self.grid.columns + self.grid.rows)
        worm.send(operands["source"], operands["target"], operands["words"] + self.header)
