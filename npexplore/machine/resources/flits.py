"""Words that move from FIFO to FIFO, one a cycle, as bursts: as many at once as are sure to move without a pause.

A FIFO is two semaphores, `items` and `space`. Who moves words waits for one word and one place in every FIFO ahead,
then takes n = min(words there, places there, words left) and needs n cycles. The n words are announced ahead, and the n
places behind, when the first of them moves: whoever uses them uses at most one a cycle too, so that none is used before
its time. All times are those of moving word by word; where FIFOs are as deep as a message, it is one burst per link.
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
    """Return the cycles in which a link moves `words` (array, at least 1 each) where nothing is in the way.

    A place is free again one cycle after its word has left, and a word needs `hop` cycles to the next FIFO: one that is
    shorter than this round trip carries `depth` words in hop + 1 cycles.
    """
    if depth > hop:
        return words
    return (words - 1) // depth * (hop + 1) + (words - 1) % depth + 1


@dataclass
class Burst:
    """Moves words of one message over one link. The variables live in registers of the token that moves them."""

    asm: Assembler
    left: Variable
    more: Variable  # words of a burst, without its first
    cycle: int  # ticks
    hop: int = 1  # cycles

    def move(
        self, needs: Sequence[Place], behind: Place | None = None, ahead: Sequence[Place] = (),
        through: Callable[[], list[HoldSlot]] = list, begun: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """Move all words, burst by burst, each as long as one of every need and one more of all of them last.

        behind: places that the words leave. ahead: words that come there. through: takes the links that a burst keeps.
        begun: emits what follows when the first word of a burst has moved.
        """
        asm, again, size = self.asm, Label(), self.more + 1
        asm.place(again)
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
        asm.jump(again, self.left > 0)

    def _arrive(self, items: Sequence[Place], words: Expression) -> None:
        """Announce the words ahead, when the first of them is there."""
        size = self.asm.operand(words)
        with self.asm.fork() if self.hop > 1 else nullcontext():
            if self.hop > 1:
                self.asm.wait(self.cycle * (self.hop - 1))
            for place in items:
                self.asm.emit(engine.PUT, place, size)


class Tiles(OwnFaces):
    """A network of links between tiles, with a FIFO behind all but the exits; `cycle`: seconds in which words move."""

    cycle: float
    _links: list[Link]
    _servers: list[Server]

    def links(self) -> list[Link]:
        """All directed links by the names of their servers."""
        return self._links

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Its cycle, in which words move."""
        return {} if needed else {"cycle": self.cycle}

    def servers(self) -> list[Server]:
        """One server per link; per FIFO the order of those that read it, the words and the free places."""
        return self._servers


def fifos(name: str, first: str, labels: tuple[str, ...], depth: int) -> list[Server]:
    """Return, of FIFOs with these labels, the place of the `first` that reads, the words and the free places."""
    n = len(labels)
    return [
        Server(f"{name}.{first}", members=n, role="hidden", labels=labels),
        Server(f"{name}.items", members=n, units=0, role="hidden", labels=labels),
        Server(f"{name}.space", members=n, units=depth, role="hidden", labels=labels, refilled_by=f"{name}.{first}"),
    ]


def ticks_of(asm: Assembler, seconds: float) -> int:
    """Return a cycle as a whole number of ticks, at least 1: bursts add cycles up exactly."""
    return max(1, round(seconds / asm.tick))


def fresh(asm: Assembler, name: str, value: Operand) -> Variable:
    """Keep a value in a new register."""
    variable = Variable(name)
    asm.let(variable, value)
    return variable
