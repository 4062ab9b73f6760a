"""Words that move from FIFO to FIFO, one a cycle, as bursts: as many at once as are sure to move without a pause.

A FIFO is two semaphores, `items` and `space`. Who moves words waits for one word and one place in every FIFO ahead,
then takes n = min(words there, places there, words left) and needs n cycles. The n words are announced ahead, and the n
places behind, when the first of them moves: whoever uses them uses at most one a cycle too, so that none is used before
its time. All times are those of moving word by word; where FIFOs are as deep as a message, it is one burst per link.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from npexplore._kernels import engine
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Operand, Values, Variable

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

    def take(self, semaphores: Sequence[Place]) -> None:
        """Wait for one of each, then use up as many of each as all of them have, at most what is left."""
        asm = self.asm
        for place in semaphores:
            asm.emit(engine.TAKE, place, (1, 0))
        asm.grab(self.more, semaphores, self.left - 1)

    def start(self) -> None:
        """Let the first word move."""
        self.asm.wait(self.cycle)

    def freed(self, space: Place) -> None:
        """Announce the places that the words leave behind."""
        self.asm.emit(engine.PUT, space, self.asm.operand(self.more + 1))

    def arrive(self, items: Sequence[Place]) -> None:
        """Announce the words ahead, when the first of them is there."""
        size = self.asm.operand(self.more + 1)
        if self.hop == 1:
            for place in items:
                self.asm.emit(engine.PUT, place, size)
            return
        with self.asm.fork():
            self.asm.wait(self.cycle * (self.hop - 1))
            for place in items:
                self.asm.emit(engine.PUT, place, size)

    def finish(self) -> None:
        """Let the other words move."""
        asm = self.asm
        asm.wait(self.more * self.cycle)
        asm.assign(self.left, self.left - (self.more + 1))


def ticks_of(asm: Assembler, seconds: float) -> int:
    """Return a cycle as a whole number of ticks, at least 1: bursts add cycles up exactly."""
    return max(1, round(seconds / asm.tick))


def fresh(asm: Assembler, name: str, value: Operand) -> Variable:
    """Keep a value in a new register."""
    variable = Variable(name)
    asm.let(variable, value)
    return variable
