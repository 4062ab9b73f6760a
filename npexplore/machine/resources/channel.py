"""A token-rate channel between clock domains: a caller passes for a token, and tokens come at a rate.

    demand = tokens / rate;   tokens in any time t <= depth + rate x t           (a token bucket)

Up to `depth` tokens are saved while nobody calls. Callers are served first come, first served, each with all its
tokens, so a caller continues after the tokens of all earlier callers have been made. With aligned edges, a caller
requests and continues at edges of its clock: QDR memory with 300 M transactions/s behind logic at 100 MHz passes 3
callers a cycle.

Alone: M/D/1 with saved tokens: a packet continues once those before it need no more tokens than are saved.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Example, Resource, Server, check_member, count_of, rate_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Expression, Operand, ceildiv, maximum

STEPS = 1000  # largest denominator of times as fractions of a tick: 10/3 ns is no whole number of ticks


class TokenChannel(Resource, kind="channel"):
    """`members` alike channels of `rate_hz` tokens a second; `clock_hz` is the caller's clock, for aligned edges.

    Example:
        >>> from npexplore.machine import TokenChannel
        >>> TokenChannel("port", rate_hz=100e6)
        TokenChannel('port', rate_hz=100000000.0)
    """

    EXAMPLE = Example({"rate_hz": 1e8}, "take", more={"depth": 2})
    VISITS = {"take": ("tokens", "member")}
    OPTIONAL = {"tokens": 1, "member": 0}

    def __init__(
        self, name: str, rate_hz: float, depth: int = 1, edge: Literal["free", "aligned"] = "free",
        clock_hz: float | None = None, members: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.rate = rate_of(f"{name}: rate", rate_hz)
        self.depth = count_of(f"{name}: depth", depth)
        if (one_of(f"{name}: edge", edge, ("free", "aligned")) == "aligned") != (clock_hz is not None):
            raise ModelError(f"{name}: aligned edges need clock_hz, free ones have none, got {edge!r} and {clock_hz!r}")
        self.clock = None if clock_hz is None else rate_of(f"{name}: clock", clock_hz)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """Return the server that makes one token after the other."""
        note = "tokens not saved" if self.clock is None else "tokens not saved, no waiting for clock edges"
        return [
            Server(self.name, self.members, approximation=note, unseen_s=0.0 if self.clock is None else 1 / self.clock)
        ]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record a call: saved tokens cost no time; a caller that needs more waits until they are made."""
        check_member(self, visit, v, self.members)

        def alone() -> None:
            m.wait(maximum(v.tokens - self.depth, 0) * (1 / self.rate))
            held = m.take(self.name, member=v.member)
            with m.fork(held) as forked:
                m.wait(v.tokens * (1 / self.rate))
                m.give(forked)

        m.contended(lambda asm, of: self._emit(asm, of(v.tokens), of(v.member)), alone)

    def _emit(self, asm: Assembler, tokens: Operand, number: Operand) -> None:
        """Append the tokens to those being made, and continue when all but the saved ones are made.

        A global stores the exact time at which a member's last token is made, so that rounding errors do not add up.
        """
        pace = Fraction(1 / self.rate / asm.tick).limit_denominator(STEPS)
        after = Label()
        member, wanted = asm.value_of(number), asm.value_of(tokens)
        asm.jump(after, wanted <= 0)
        begin = asm.value_of(self._edge(asm, asm.now()))
        last = asm.shared_global(f"{self.name}.made", self.members) + member
        start = asm.value_of(maximum(begin * pace.denominator, asm.read(last)))
        due = asm.value_of(start + wanted * pace.numerator)
        asm.write(last, due)
        with asm.fork():
            asm.wait_until(begin)
            asm.serve(self.name, due // pace.denominator - start // pace.denominator, member)
        available = maximum(begin, (due - self.depth * pace.numerator) // pace.denominator)
        asm.wait_until(self._edge(asm, asm.value_of(available)))
        asm.place(after)

    def _edge(self, asm: Assembler, time: Expression) -> Expression:
        """Return the first edge of the caller's clock at or after a time; the time itself for free edges."""
        if self.clock is None:
            return time
        period = Fraction(1 / self.clock / asm.tick).limit_denominator(STEPS)
        return ceildiv(time * period.denominator, period.numerator) * period.numerator // period.denominator
