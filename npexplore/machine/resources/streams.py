"""Static streams: paths over tiles that are set up beforehand, one word per cycle, to one or several targets.

    path:    a tree of neighbouring tiles; a word enters at its source and leaves at each of its targets
    switch:  moves a word when it is there and every output of the switch has a place for it (all operands needed)
    demand:  words / clock at every link of the path

A switch that several paths pass (a crossing) moves the words of one message at a time: the message occupies it from its
first word to its last, through all stalls, and a message of another route waits `change_cycles` more (the tiles of RAW,
Secs. 3.2, 4 and 7 of the raw router paper). A word arrives in the next FIFO `hop_cycles` after it moved; its old place
is free one cycle later.

Alone, paths over one switch: M/D/1 of the words; with `change_cycles`, limited polling: M/D/1 of words and change for
paths in turn, a Markov chain of the waiting messages for two paths at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.amounts import any_of
from npexplore.machine.resources.base import Example, Hold, Server, Uses, count_of, known, rate_of
from npexplore.machine.resources.flits import Burst, Tiles, fifos, fresh, ticks_of
from npexplore.machine.resources.grid import Link, grid_of
from npexplore.machine.resources.routes import Tree, checked_turns, refuse_circles, refuse_crossings, shared, tree_of
from npexplore.rows.assembler import Assembler, HoldSlot, Label
from npexplore.rows.expressions import Constant, Expression, Operand, Values

NO_WAIT = "no waiting for words"
CROSSED = "messages at a crossing first come first served, without changes of route, stalls and turns"


class StaticStreams(Tiles, kind="streams"):
    """One static network. paths: for each its routes, each a list of tiles from the path's source to a target.

    crossings: whether paths may share links and switches. A switch serves messages in the order in which their first
    words arrive, or, with a row (tile, path, path, ...) in `turns`, one message of each path in this fixed order. Paths
    that share a link have separate FIFOs behind it.
    send(path, words): the caller continues when its last word has left. receive(tile, words): when it has read them
    (`of`: the path whose words it reads, if several end there). stream(path, words): a send that all targets read at
    once; the caller continues when the last target has read all words.

    Example:
        >>> from npexplore.machine import StaticStreams
        >>> net = StaticStreams("static", 4, 4, 425e6, paths=[[[0, 1, 2]], [[3]]])
        >>> net.name
        'static'
    """

    WHY = "a switch moves a word only when all its outputs have room"
    EXAMPLE = Example(
        {"columns": 3, "rows": 3, "clock_hz": 1e9, "crossings": True, "paths": [[[3, 4, 5]], [[1, 4, 7]]]},
        "stream",
        {"path": "random", "words": 16},
        more={"columns": 2, "rows": 1, "paths": [[[0, 1]]]},
    )
    VISITS = {"send": ("path", "words"), "receive": ("tile", "words", "of"), "stream": ("path", "words")}
    OPTIONAL = {"of": -1}

    def __init__(
        self, name: str, columns: int, rows: int, clock_hz: float, paths: Sequence[Sequence[Sequence[int]]],
        fifo_depth: int = 4, hop_cycles: int = 1, crossings: bool = False, change_cycles: int = 0,
        turns: Sequence[Sequence[int]] = (),
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.grid = grid_of(name, columns, rows)
        self.cycle = 1.0 / rate_of(f"{name}: clock", clock_hz)
        self.hop = count_of(f"{name}: hop_cycles", hop_cycles)
        self.depth = count_of(f"{name}: fifo_depth", fifo_depth, least=self.hop + 1)  # less cannot carry a word a cycle
        if not paths:
            raise ModelError(f"{name}: needs at least one path")
        self.trees = [tree_of(self.grid, k, routes) for k, routes in enumerate(paths)]
        if not crossings:
            refuse_crossings(name, self.trees)
        names = [f"path {k}" for k in range(len(self.trees))]
        self.crossings = shared(self.trees)
        self.change = count_of(f"{name}: change_cycles", change_cycles, least=0)
        self.turns = checked_turns(name, self.trees, turns, names)
        refuse_circles(name, self.trees, names, self.turns)
        switches = [(k, tile) for k, tree in enumerate(self.trees) for tile in tree.before]
        self.switch = {key: fifo for fifo, key in enumerate(switches)}  # FIFO that a path's switch reads
        ends = [(k, tile) for k, tree in enumerate(self.trees) for tile in tree.targets]
        self.port = {
            key: len(self.switch) + n for n, key in enumerate(ends)
        }  # FIFO that the processor at the end reads
        end_tiles = [tile for _, tile in ends]
        self.out = {
            (k, tile): f"{name}.out{tile}" + ("" if end_tiles.count(tile) == 1 else f".path{k}") for k, tile in ends
        }
        self.sole = {
            tile: k for k, tile in ends if end_tiles.count(tile) == 1
        }  # by tile, the only path that ends there
        links = [
            *(Link(f"{name}.in{tree.source}", None, tree.source) for tree in self.trees),
            *(Link(f"{name}.{a}>{b}", a, b) for tree in self.trees for a, b in tree.hops),
            *(Link(self.out[key], key[1], None) for key in ends),
        ]
        self._links = list({link.name: link for link in links}.values())
        self._servers = self._all_servers()

    def _all_servers(self) -> list[Server]:
        """Return the links, crossings, gates and FIFOs as servers."""
        name = self.name
        outs = [self.out[key].removeprefix(f"{name}.") for key in self.port]
        labels = (*(f"{tile} of path {k}" for k, tile in self.switch), *outs)
        return [
            *(
                Server(link.name, approximation=None if link.target is not None else NO_WAIT, kept_waiting=True)
                for link in self._links
            ),
            *(
                Server(
                    f"{name}.cross{tile}", approximation=CROSSED, kept_waiting=True,
                    stall_reason=f"the switch of tile {tile} is kept by a message of another route",
                )
                for tile in self.crossings
            ),
            *(
                Server(
                    self._gate(tile, path), start=int(path == order[0]), role="hidden",
                    stall_reason=f"the switch of tile {tile} waits for words of another route, whose turn it is; "
                    f"this one's is {self._route(path)}",
                )
                for tile, order in self.turns.items() for path in order
            ),
            *fifos(name, "turn", labels, self.depth),
        ]  # fmt: skip

    # ---- what a visit occupies

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return the time of the words at every link of the path; a random path is any path, with equal shares."""
        words = known(self, method, "words", values)
        seconds = words * self.cycle
        if method == "receive":
            tile, of = known(self, method, "tile", values), values.get("of")
            if of is None or np.all(of == -1):
                self._refuse(method, tile, list(self.sole), "tile where one path ends")
            by_exit = {
                self.out[k, t]: (tile == t) & (True if of is None else (of == -1) | (of == k)) for k, t in self.port
            }
            return Uses(seconds, [Hold(out, seconds * reads, visits=1.0 * reads)
                                  for out, reads in by_exit.items() if any_of(reads)])  # fmt: skip
        path = values["path"]
        if path is not None:
            self._refuse(method, path, list(range(len(self.trees))), "path")
        holds: list[Hold] = []
        path_latency: Values = np.zeros_like(seconds)
        for k, tree in enumerate(self.trees):
            share: Values = np.asarray(1.0 / len(self.trees) if path is None else 1.0 * (path == k))
            if not any_of(share):
                continue
            path_s = (max(tree.depth(tile) for tile in tree.targets) + 2) * self.hop * self.cycle
            path_latency = path_latency + share * path_s * (words > 0)
            labels = [f"in{tree.source}", *(f"{a}>{b}" for a, b in tree.hops)]
            if method == "stream":
                labels += [out.removeprefix(f"{self.name}.") for (of_path, _), out in self.out.items() if of_path == k]
            labels += [f"cross{tile}" for tile in self.crossings if tile in tree.before]
            waits = self._waiting_place(tree)
            holds += [
                Hold(f"{self.name}.{label}", seconds * share, None if label == waits else 0 * seconds, share)
                for label in labels
            ]
        if method == "stream":
            return Uses(seconds + path_latency, holds, delay=path_latency)
        return Uses(seconds, holds)

    def _waiting_place(self, tree: Tree) -> str:
        """Return the server at which a path's words wait: the switch that most paths cross, or the entry.

        All links have equal rates, so words that waited at the busiest of them wait at no other (Friedman 1965).
        """
        passing = {tile: sum(tile in any_tree.before for any_tree in self.trees) for tile in self.crossings}
        on_path = [tile for tile in self.crossings if tile in tree.before]
        busiest = max(on_path, key=lambda tile: passing[tile], default=None)
        return f"in{tree.source}" if busiest is None else f"cross{busiest}"

    def _refuse(self, method: str, value: Values, allowed: list[int], what: str) -> None:
        invalid = (np.asarray(value)[..., None] != np.array(allowed)).all(axis=-1)
        if np.any(invalid):
            got = np.atleast_1d(value)[np.atleast_1d(invalid)][0]
            raise ModelError(
                f"{self.name}.{method}: no {what} is {got:g}; there are {', '.join(str(a) for a in sorted(allowed))}"
            )

    # ---- engine operations

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Let the caller move words over the entry, and a token of each switch of the path move them on."""
        words, after = asm.value_of(operands["words"], "words"), Label()
        asm.jump(after, words <= 0)
        if method == "receive":
            self._read(asm, self._port(operands["tile"], operands.get("of"), asm), words)
        else:
            path = asm.value_of(operands["path"], "path")
            asm.check_below(path, len(self.trees), f"{self.name} has paths")
            for k in range(len(self.trees)):
                if isinstance(path, Constant) and path.value != k:
                    continue
                next_path = Label()
                if not isinstance(path, Constant):
                    asm.jump(next_path, path != k)
                with asm.scope():
                    self._send(asm, k, words, method == "stream")
                asm.jump(after)
                asm.place(next_path)
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
                    self._read(asm, (self.port[path, tile], 0), words)
        first = self.switch[path, tree.source]
        self._burst(asm, words).move([self._place(asm, "space", first)], ahead=[self._place(asm, "items", first)])
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
            ahead.append(self.port[path, tile])
        turn = asm.take(f"{self.name}.turn", here)
        crossing = self._enter(asm, path, tile) if tile in self.crossings else None
        self._burst(asm, words).move(
            [self._place(asm, "items", here), *(self._place(asm, "space", here) for here in ahead)],
            self._place(asm, "space", here),
            [self._place(asm, "items", here) for here in ahead],
            through=lambda: [asm.take(link) for link in links],
        )
        if crossing is not None:
            asm.give(crossing)
        if tile in self.turns:
            order = self.turns[tile]
            asm.put(self._gate(tile, order[(order.index(path) + 1) % len(order)]))
        asm.give(turn)

    def _route(self, path: int) -> str:
        tree = self.trees[path]
        return f"{tree.source} to {' and '.join(map(str, tree.targets))}"

    def _gate(self, tile: int, path: int) -> str:
        return f"{self.name}.turn{tile}.path{path}"

    def _enter(self, asm: Assembler, path: int, tile: int) -> HoldSlot:
        """Take a crossing when the first word has arrived, or at the path's turn; switch it to the path's route."""
        items = self._place(asm, "items", self.switch[path, tile])
        if tile in self.turns:
            asm.consume(self._gate(tile, path))
            crossing = asm.take(f"{self.name}.cross{tile}")
        else:
            asm.emit(engine.TAKE, items, (1, 0))
            crossing = asm.take(f"{self.name}.cross{tile}")
            asm.emit(engine.PUT, items, (1, 0))
        if self.change:
            last, set_already = asm.shared_global(f"{self.name}.route{tile}"), Label()
            with asm.scope():
                before = asm.read(last)
                asm.jump(set_already, before == 0)
                asm.jump(set_already, before == path + 1)
            asm.wait(self.change * ticks_of(asm, self.cycle))
            asm.place(set_already)
            asm.write(last, path + 1)
        return crossing

    def _port(self, tile: Operand, of: Operand | None, asm: Assembler) -> tuple[int, int]:
        """Return the FIFO of a path's words at a tile, as a constant and a register."""
        if isinstance(tile, Constant):
            key = int(tile.value)
            path = int(of.value) if isinstance(of, Constant) else -1
            if (path, key) in self.port:
                return self.port[path, key], 0
            self._refuse("receive", np.asarray(tile.value), list(self.sole), "tile where one path ends")
            return self.port[self.sole[key], key], 0
        fifo_of = {tile: self.port[path, tile] for tile, path in self.sole.items()}
        rows = np.array([[fifo_of.get(t, -1)] for t in range(self.grid.tiles)], dtype=np.int64)
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
        outs = asm.number(next(iter(self.out.values()))) - len(self.switch)
        items, space, turns = (asm.number(f"{self.name}.{word}") for word in ("items", "space", "turn"))
        turn = asm.take_at((turns + constant, register))
        self._burst(asm, words).move(
            [(items + constant, register)],
            (space + constant, register),
            through=lambda: [asm.take_at((outs + constant, register))],
        )
        asm.give(turn)
