"""A wormhole message as engine operations: one token per link, started by the previous token when the head arrives.

    caller:   entry -> bursts into the FIFO of its router; with the first burst the head's token starts -> free entry
    token:    first in its FIFO -> next link of the route -> bursts over it; with the first burst the next token starts
              -> free both when the tail has passed; an exit needs no place and starts no token

Priorities set the order within a cycle: 0 for moving flits and freeing links, 1 + input for heads that request a link.
"""

from dataclasses import dataclass

from npexplore._kernels import engine
from npexplore.machine.resources.flits import Burst, fresh
from npexplore.machine.resources.grid import Grid
from npexplore.rows.assembler import Assembler, HoldSlot, Label
from npexplore.rows.expressions import Operand, Variable


@dataclass
class Worm:
    """Emits a visit of the mesh `name`; `cycle` in ticks; `wait`: the caller continues when the tail has left."""

    asm: Assembler
    name: str
    grid: Grid
    cycle: int
    hop: int
    wait: bool

    def send(self, source: Operand, target: Operand, flits: Operand) -> None:
        """Emit a message between two terminals."""
        asm, grid = self.asm, self.grid
        asm.check_below(source, grid.terminals, f"{self.name} has terminals")
        asm.check_below(target, grid.terminals, f"{self.name} has terminals")
        self.link = fresh(asm, "link", source)  # the link crossed last, and the FIFO behind it
        self.target = fresh(asm, "target", target)
        self.flits = fresh(asm, "flits", flits)
        self.burst = Burst(asm, fresh(asm, "left", self.flits), fresh(asm, "more", 0), self.cycle, self.hop)
        self.onward, self.tile, self.input = asm.block(["onward", "tile", "input"])
        self.token, after = Label(), Label()
        register = asm.operand(self.link)[1]
        entry = asm.take_at((asm.number(grid.links[0].name), register))
        table = asm.shared_table(f"{self.name}.entries", grid.entries)
        asm.emit(engine.LOAD, (table, 0), (0, register), slot=asm.operand(self.tile)[1])
        previous_priority = asm.priority(0)
        self._move([("space", self.link)], None, self.link)
        asm.give(entry)
        asm.priority(previous_priority)
        if self.wait:
            asm.join()
        asm.jump(after)
        self._hop()
        asm.place(after)

    def _place(self, word: str, link: Variable) -> tuple[int, int]:
        return self.asm.number(f"{self.name}.{word}"), self.asm.operand(link)[1]

    def _move(self, needs: list[tuple[str, Variable]], behind: Variable | None, ahead: Variable | None) -> None:
        """Move all flits from the FIFO of one link to that of another, burst by burst; start the next token."""
        asm, burst = self.asm, self.burst

        def start_next() -> None:
            started = Label()
            asm.jump(started, burst.left < self.flits)
            with asm.scope():
                old = asm.priority(self.input + 1)
                asm.emit(engine.FORK, target=self.token, x=engine.JOINED if self.wait else engine.DETACHED)
                asm.priority(old)
            asm.place(started)

        needed, freed = [self._place(*need) for need in needs], None if behind is None else self._place("space", behind)
        if ahead is None:
            burst.move(needed, freed)
        else:
            burst.move(needed, freed, [self._place("items", ahead)], begun=start_next)

    def _hop(self) -> None:
        """Emit the token of a link; it starts one cycle after the head has begun to cross the previous link."""
        asm, grid, burst = self.asm, self.grid, self.burst
        out, end, forward = Label(), Label(), Label()
        with asm.token():
            asm.place(forward)
            asm.assign(self.link, self.onward)
            asm.place(self.token)
            asm.wait((self.hop - 1) * self.cycle)
            first = asm.take_at(self._place("first", self.link))
            asm.assign(burst.left, self.tile * grid.terminals + self.target)  # row of the table of hops
            table, row = (asm.shared_table(f"{self.name}.hops", grid.hops), 0), asm.operand(burst.left)
            onward = asm.operand(self.onward)[1]
            asm.emit(engine.SET, table, (0, 0), row, slot=onward, x=engine.TABLE)
            link = asm.take_at((asm.number(grid.links[0].name), onward), key=self.input + 1)
            asm.emit(engine.LOAD, table, row, slot=onward)
            asm.priority(0)
            asm.assign(burst.left, self.flits)
            asm.jump(out, self.onward >= grid.buffers)
            self.token, first_token = forward, self.token
            self._move([("items", self.link), ("space", self.onward)], self.link, self.onward)
            self.token = first_token
            self._pass(link, first)
            if self.wait:
                asm.join()
            asm.jump(end)
            asm.place(out)
            self._move([("items", self.link)], self.link, None)
            self._pass(link, first)
            asm.wait((self.hop - 1) * self.cycle)
            asm.place(end)

    def _pass(self, link: HoldSlot, first: HoldSlot) -> None:
        self.asm.give(link)
        self.asm.give(first)
