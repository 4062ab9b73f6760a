"""Moves words from FIFO to FIFO, one a cycle, in bursts: as many at once as can move without a pause.

A FIFO is two semaphores, `items` and `space`. A mover waits for one word and one place in every FIFO ahead, then takes
n = min(words available, places available, words left) and needs n cycles. It announces all n words ahead, and all n
places behind, when the first word moves. Their users also use at most one a cycle, so none is used too early. All times
equal those of moving word by word; with FIFOs as deep as a message there is one burst per link.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from npexplore._kernels import engine
from npexplore.machine.resources.base import OwnFaces, Server
from npexplore.machine.resources.grid import Link
from npexplore.rows.assembler import Assembler, HoldSlot
from npexplore.rows.base import Label
from npexplore.rows.expressions import Expression, Operand, Values, Variable

Place = tuple[int, int]  # an engine resource: constant and register


def cycles_for(words: Values, depth: int, hop: int) -> Values:
    """Return the cycles in which a link moves `words` (array, at least 1 each) without contention.

    A place is free again one cycle after its word has left, and a word needs `hop` cycles to the next FIFO. A FIFO that
    is shallower than this round trip carries `depth` words in hop + 1 cycles.
    """
    if depth > hop:
        return words
    return (words - 1) // depth * (hop + 1) + (words - 1) % depth + 1


@dataclass
class Burst:
    """Moves the words of one message over one link; the variables are registers of the moving token."""

    asm: Assembler
    left: Variable
    more: Variable  # words of a burst after its first
    cycle: int  # ticks
    hop: int = 1  # cycles

    def move(
        self, needs: Sequence[Place], behind: Place | None = None, ahead: Sequence[Place] = (),
        through: Callable[[], list[HoldSlot]] = list, begun: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """Move all words, burst by burst.

        needs: semaphores of which each word needs one unit; a burst has as many words as all of them have units.
        behind: the free places of the FIFO that the words leave. ahead: the words of the FIFOs that they enter.
        through: takes the links that a burst holds. begun: emits rows that follow the first word of a burst.
        """
        asm, next_burst, size = self.asm, Label(), self.more + 1
        asm.place(next_burst)
        for place in needs:
            asm.emit(engine.TAKE, place, (1, 0))
        asm.grab(self.more, needs, self.left - 1)
        held = through()
        asm.wait(self.cycle)
        if behind is not None:
            asm.emit(engine.PUT, behind, asm.operand(size))
        if ahead:
            self._arrive(ahead, size)
        begun()
        asm.wait(self.more * self.cycle)
        asm.assign(self.left, self.left - size)
        for hold in held:
            asm.give(hold)
        asm.jump(next_burst, self.left > 0)

    def _arrive(self, items: Sequence[Place], words: Expression) -> None:
        """Announce the words ahead when the first of them arrives."""
        size = self.asm.operand(words)
        with self.asm.fork() if self.hop > 1 else nullcontext():
            if self.hop > 1:
                self.asm.wait(self.cycle * (self.hop - 1))
            for place in items:
                self.asm.emit(engine.PUT, place, size)


class Tiles(OwnFaces):
    """A network of links between tiles, with a FIFO behind all but the exits; `cycle`: seconds per word of a link."""

    cycle: float
    _links: list[Link]
    _servers: list[Server]

    def links(self) -> list[Link]:
        """Return all directed links, each with the name of its server."""
        return self._links

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Return its cycle."""
        return {} if needed else {"cycle": self.cycle}

    def servers(self) -> list[Server]:
        """Return a server per link, and per FIFO servers for its readers, its words and its free places."""
        return self._servers


def fifos(name: str, first: str, labels: tuple[str, ...], depth: int) -> list[Server]:
    """Return the servers of FIFOs with these labels: the turn to read (named `first`), words and free places."""
    n = len(labels)
    return [
        Server(f"{name}.{first}", members=n, role="hidden", labels=labels),
        Server(f"{name}.items", members=n, units=0, role="hidden", labels=labels),
        Server(f"{name}.space", members=n, units=depth, role="hidden", labels=labels, refilled_by=f"{name}.{first}"),
    ]


def ticks_of(asm: Assembler, seconds: float) -> int:
    """Return a cycle as a whole number of ticks, at least 1, so that n cycles are exactly n times as long."""
    return max(1, round(seconds / asm.tick))


def fresh(asm: Assembler, name: str, value: Operand) -> Variable:
    """Store a value in a new register."""
    variable = Variable(name)
    asm.let(variable, value)
    return variable
