"""Static streams: paths over tiles that are set up beforehand, one word a cycle, several targets a path (multicast).

    path:    a tree of neighbouring tiles; a word enters at its source and leaves at each of its targets
    switch:  moves a word when it is there and every output of the switch has a place for it (all operands needed)
    demand:  words / clock at every link of the path

Paths must not cross: a switch that waits for the words of one path would hold up the other (the tiles of RAW, Sec. 7 of
the raw router paper). A word is in the next FIFO `hop_cycles` after it moved; its place is free a cycle after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.resources.base import Hold, OwnFaces, Server, Uses, count_of, known, rate_of
from npexplore.machine.resources.flits import Burst, fresh, ticks_of
from npexplore.machine.resources.grid import Grid, Link
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Constant, Expression, Operand, Values

NO_WAIT = "no waiting for words"


@dataclass
class Tree:
    """One path: its switches in order from the source, the tile before each, its targets."""

    source: int
    before: dict[int, int | None] = field(default_factory=dict)
    targets: list[int] = field(default_factory=list)

    @property
    def hops(self) -> list[tuple[int, int]]:
        """The directed links between tiles."""
        return [(a, b) for b, a in self.before.items() if a is not None]

    def depth(self, tile: int) -> int:
        """Return the number of links between tiles from the source."""
        before = self.before[tile]
        return 0 if before is None else 1 + self.depth(before)


def tree_of(grid: Grid, number: int, routes: Sequence[Sequence[int]]) -> Tree:
    """Return a path from its routes, each a list of tiles from the source to a target; raises ModelError."""
    what = f"{grid.name}: path {number}"
    if not routes or not all(len(route) for route in routes):
        raise ModelError(f"{what} needs at least one route of at least one tile, got {routes!r}")
    tree = Tree(grid.check(routes[0][0], f"tile of path {number}"))
    tree.before[tree.source] = None
    for route in routes:
        tiles = [grid.check(tile, f"tile of path {number}") for tile in route]
        if tiles[0] != tree.source:
            raise ModelError(f"{what} has routes from tiles {tree.source} and {tiles[0]}; all start at one tile")
        for a, b in pairwise(tiles):
            if (a, b) not in grid.between:
                raise ModelError(f"{what} goes from tile {a} to tile {b}, which are no neighbours")
            if tree.before.setdefault(b, a) != a:
                other = tree.before[b]
                raise ModelError(
                    f"{what} comes to tile {b} from tile {a} and "
                    + ("starts there" if other is None else f"from tile {other}")
                    + "; a path is a tree"
                )
        if tiles[-1] in tree.targets:
            raise ModelError(f"{what} has two routes to tile {tiles[-1]}")
        tree.targets.append(tiles[-1])
    return tree


def refuse_crossings(grid: Grid, trees: Sequence[Tree], shared_tiles: bool) -> None:
    """Raise ModelError for two paths that share a link, a processor's port or (unless allowed) a switch."""
    owner: dict[tuple[str, object], int] = {}
    for number, tree in enumerate(trees):
        claims: list[tuple[str, object, str]] = [("link", f"{a}>{b}", "use the link") for a, b in tree.hops]
        claims += [("source", tree.source, "start at tile"), *(("target", t, "end at tile") for t in tree.targets)]
        if not shared_tiles:
            claims += [("tile", tile, "pass the switch of tile") for tile in tree.before]
        for kind, what, words in claims:
            other = owner.setdefault((kind, what), number)
            if other != number:
                raise ModelError(f"{grid.name}: paths {other} and {number} both {words} {what}; streams must not cross")


class StaticStreams(OwnFaces):
    """One static network. paths: for each its routes, each a list of tiles from the path's source to a target.

    shared_tiles: switches may serve several paths, each as if it were alone (links and ports still belong to one).
    send(path, words): the caller goes on when the last word has left it. receive(tile, words): when it has read them.
    stream(path, words): the same with all targets reading at once; the caller goes on when the last has read all.
    """

    WHY = "a switch moves a word only when all its outputs have room"
    VISITS = {"send": ("path", "words"), "receive": ("tile", "words"), "stream": ("path", "words")}

    def __init__(
        self, name: str, columns: int, rows: int, clock_hz: float, paths: Sequence[Sequence[Sequence[int]]],
        fifo_depth: int = 4, hop_cycles: int = 1, shared_tiles: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.grid = Grid(name, columns, rows)
        self.cycle = 1.0 / rate_of(f"{name}: clock", clock_hz)
        self.hop = count_of(f"{name}: hop_cycles", hop_cycles)
        self.depth = count_of(f"{name}: fifo_depth", fifo_depth, least=self.hop + 1)  # or a word a cycle cannot be
        if not paths:
            raise ModelError(f"{name}: needs at least one path")
        self.trees = [tree_of(self.grid, k, routes) for k, routes in enumerate(paths)]
        refuse_crossings(self.grid, self.trees, shared_tiles)
        switches = [(k, tile) for k, tree in enumerate(self.trees) for tile in tree.before]
        self.switch = {key: fifo for fifo, key in enumerate(switches)}  # FIFO that a path's switch reads
        targets = [tile for tree in self.trees for tile in tree.targets]
        self.port = {tile: len(self.switch) + k for k, tile in enumerate(targets)}  # FIFO that the processor reads
        self._links = [
            *(Link(f"{name}.in{tree.source}", None, tree.source) for tree in self.trees),
            *(Link(f"{name}.{a}>{b}", a, b) for tree in self.trees for a, b in tree.hops),
            *(Link(f"{name}.out{tile}", tile, None) for tile in targets),
        ]
        fifos = len(self.switch) + len(self.port)
        names = (*(f"{tile} of path {k}" for k, tile in self.switch), *(f"out{tile}" for tile in targets))
        self._servers = [
            *(
                Server(link.name, approximation=None if link.target is not None else NO_WAIT, kept_waiting=True)
                for link in self._links
            ),
            Server(f"{name}.turn", members=fifos, role="hidden", labels=names),
            Server(f"{name}.items", members=fifos, units=0, role="hidden", labels=names),
            Server(f"{name}.space", members=fifos, units=self.depth, role="hidden", labels=names,
                   refilled_by=f"{name}.turn"),
        ]  # fmt: skip

    def links(self) -> list[Link]:
        """All directed links by the names of their servers."""
        return self._links

    def servers(self) -> list[Server]:
        """A server a link; per FIFO the order of those that read it, the words and the free places."""
        return self._servers

    # ---- what a visit occupies

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The words at every link of the path; a random path counts as any, all alike."""
        words = known(self, method, "words", values)
        seconds = words * self.cycle
        if method == "receive":
            tile = known(self, method, "tile", values)
            self._refuse(method, tile, list(self.port), "tile where a path ends")
            return Uses(seconds, [Hold(f"{self.name}.out{t}", seconds * (tile == t), visits=1.0 * (tile == t))
                                  for t in self.port if np.any(tile == t)])  # fmt: skip
        path = values["path"]
        if path is not None:
            self._refuse(method, path, list(range(len(self.trees))), "path")
        holds: list[Hold] = []
        way: Values = np.zeros_like(seconds)
        for k, tree in enumerate(self.trees):
            share: Values = np.asarray(1.0 / len(self.trees) if path is None else 1.0 * (path == k))
            if not np.any(share):
                continue
            far = (max(tree.depth(tile) for tile in tree.targets) + 2) * self.hop * self.cycle
            way = way + share * far * (words > 0)
            holds.append(Hold(f"{self.name}.in{tree.source}", seconds * share, visits=share))
            others = [f"{a}>{b}" for a, b in tree.hops]
            if method == "stream":
                others += [f"out{tile}" for tile in tree.targets]
            holds += [Hold(f"{self.name}.{other}", seconds * share, 0 * seconds, share) for other in others]
        if method == "stream":
            return Uses(seconds + way, holds, delay=way)
        return Uses(seconds, holds)

    def _refuse(self, method: str, value: Values, allowed: list[int], what: str) -> None:
        wrong = (np.asarray(value)[..., None] != np.array(allowed)).all(axis=-1)
        if np.any(wrong):
            got = np.atleast_1d(value)[np.atleast_1d(wrong)][0]
            raise ModelError(
                f"{self.name}.{method}: no {what} is {got:g}; there are {', '.join(str(a) for a in sorted(allowed))}"
            )

    # ---- engine operations

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """The caller moves words over the entry; each switch of the path has a token that moves them on."""
        words, after = asm.value_of(operands["words"], "words"), Label()
        asm.jump(after, words <= 0)
        if method == "receive":
            self._read(asm, self._port(operands["tile"], asm), words)
        else:
            path = asm.value_of(operands["path"], "path")
            asm.check_below(path, len(self.trees), f"{self.name} has paths")
            for k in range(len(self.trees)):
                if isinstance(path, Constant) and path.value != k:
                    continue
                other = Label()
                if not isinstance(path, Constant):
                    asm.jump(other, path != k)
                with asm.scope():
                    self._send(asm, k, words, method == "stream")
                asm.jump(after)
                asm.place(other)
        asm.place(after)

    def _place(self, asm: Assembler, word: str, fifo: int) -> tuple[int, int]:
        return asm.number(f"{self.name}.{word}") + fifo, 0

    def _send(self, asm: Assembler, path: int, words: Operand, read: bool) -> None:
        tree = self.trees[path]
        asm.spare_tokens += (self.depth + self.hop + 1) * (len(tree.before) + len(tree.targets))
        entry = asm.take(f"{self.name}.in{tree.source}")
        for tile in tree.before:
            with asm.fork():
                self._switch(asm, path, tile, words)
        if read:
            for tile in tree.targets:
                with asm.fork(mode=engine.JOINED):
                    self._read(asm, (self.port[tile], 0), words)
        first = self.switch[path, tree.source]
        burst, more = self._burst(asm, words), Label()
        asm.place(more)
        burst.take([self._place(asm, "space", first)])
        burst.start()
        burst.arrive([self._place(asm, "items", first)])
        burst.finish()
        asm.jump(more, burst.left > 0)
        asm.give(entry)
        if read:
            asm.join()

    def _burst(self, asm: Assembler, words: Operand) -> Burst:
        return Burst(asm, fresh(asm, "left", words), fresh(asm, "more", 0), ticks_of(asm, self.cycle), self.hop)

    def _switch(self, asm: Assembler, path: int, tile: int, words: Operand) -> None:
        """Move the words of one send through a switch, to all its outputs at once."""
        tree, here = self.trees[path], self.switch[path, tile]
        ahead = [self.switch[path, b] for a, b in tree.hops if a == tile]
        links = [f"{self.name}.{a}>{b}" for a, b in tree.hops if a == tile]
        if tile in tree.targets:
            ahead.append(self.port[tile])
        turn = asm.take(f"{self.name}.turn", here)
        burst, more = self._burst(asm, words), Label()
        asm.place(more)
        burst.take([self._place(asm, "items", here), *(self._place(asm, "space", fifo) for fifo in ahead)])
        held = [asm.take(link) for link in links]
        burst.start()
        burst.freed(self._place(asm, "space", here))
        burst.arrive([self._place(asm, "items", fifo) for fifo in ahead])
        burst.finish()
        for hold in held:
            asm.give(hold)
        asm.jump(more, burst.left > 0)
        asm.give(turn)

    def _port(self, tile: Operand, asm: Assembler) -> tuple[int, int]:
        """Return the FIFO that a tile's processor reads, as a constant and a register."""
        if isinstance(tile, Constant):
            self._refuse("receive", np.asarray(tile.value), list(self.port), "tile where a path ends")
            return self.port[int(tile.value)], 0
        rows = np.array([[self.port.get(t, -1)] for t in range(self.grid.tiles)], dtype=np.int64)
        asm.check_below(tile, self.grid.tiles, f"{self.name} has tiles")
        [fifo] = asm.load(asm.shared_table(f"{self.name}.ports", rows), tile, ["port"])
        ends = Label()
        asm.jump(ends, fifo >= 0)
        asm.emit(engine.LOAD, (-1, 0))
        asm.rows[-1].place += f": no path of {self.name} ends at that tile"
        asm.place(ends)
        return asm.operand(fifo)

    def _read(self, asm: Assembler, port: tuple[int, int], words: Operand) -> None:
        constant, register = port
        outs = asm.number(f"{self.name}.out{next(iter(self.port))}") - len(self.switch)
        items, space, turns = (asm.number(f"{self.name}.{word}") for word in ("items", "space", "turn"))
        turn = asm.take_at((turns + constant, register))
        burst, more = self._burst(asm, words), Label()
        asm.place(more)
        burst.take([(items + constant, register)])
        out = asm.take_at((outs + constant, register))
        burst.start()
        burst.freed((space + constant, register))
        burst.finish()
        asm.give(out)
        asm.jump(more, burst.left > 0)
        asm.give(turn)
