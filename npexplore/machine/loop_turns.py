"""Limits on the iterations (turns) of a program's loops; the iterations of nested loops multiply.

work of a walk ~ passes, each over an array of at most `demands.AT_ONCE` turns
"""

from npexplore.errors import ModelError

MAX_LOOP_PASSES = 100_000
MAX_LOOP_TURNS = 10_000_000


class TooManyTurnsError(ModelError):
    """The loops of a program have more iterations than a walk can go through."""


class LoopTurns:
    """Counts the iterations of a program's loops, and the passes that walk them.

    Example:
        >>> from npexplore.machine.loop_turns import LoopTurns
        >>> turns = LoopTurns()
        >>> turns.add(64)
        >>> turns.turns, turns.passes
        (64, 1)
    """

    def __init__(self) -> None:
        self.turns = self.passes = 0

    def check(self, turns: int) -> None:
        """Raise TooManyTurnsError if a single loop has more than MAX_LOOP_PASSES turns."""
        if turns > MAX_LOOP_PASSES:
            raise TooManyTurnsError(f"a loop runs {turns} times; at most {MAX_LOOP_PASSES} are supported")

    def add(self, turns: int) -> None:
        """Count one pass over an array of turns; raises TooManyTurnsError beyond a limit."""
        self.turns += turns
        self.passes += 1
        limit = MAX_LOOP_TURNS if self.turns > MAX_LOOP_TURNS else MAX_LOOP_PASSES
        if self.turns > MAX_LOOP_TURNS or self.passes > MAX_LOOP_PASSES:
            raise TooManyTurnsError(
                f"the loops of a program, inside each other, run more than {limit} times; at most {limit} are supported"
            )
