"""A token-rate channel between clock domains: a caller passes for a token, and tokens come at a rate.

    demand = tokens / rate;   tokens in any time t <= depth + rate x t           (a token bucket)

`depth` tokens are saved while nobody calls. On aligned edges a caller asks at an edge of its clock and goes on at one:
QDR memory with 300 M transactions/s behind logic at 100 MHz passes 3 callers a cycle.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Resource, Server, check_member, count_of, rate_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Operand, Variable, ceildiv, maximum

STEPS = 1000  # times are exact fractions of a tick with denominators up to this: 10/3 ns is no whole number of ticks


class TokenChannel(Resource):
    """`members` alike channels of `rate_hz` tokens a second; `clock_hz` is the caller's clock, for aligned edges."""

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
        """What makes one token after the other, and the tokens that are there."""
        note = "tokens not saved" if self.clock is None else "tokens not saved, no waiting for clock edges"
        tokens = Server(f"{self.name}.tokens", self.members, self.depth, role="hidden")
        return [Server(self.name, self.members, approximation=note), tokens]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Tokens that were saved cost no time; each takes its time to make, and who needs more waits for them."""
        check_member(self, visit, v, self.members)

        def alone() -> None:
            m.wait(maximum(v.tokens - self.depth, 0) * (1 / self.rate))
            held = m.take(self.name, member=v.member)
            with m.fork(held) as made:
                m.wait(v.tokens * (1 / self.rate))
                m.give(made)

        m.contended(lambda asm, of: self._emit(asm, of(v.tokens), of(v.member)), alone)

    def _emit(self, asm: Assembler, tokens: Operand, number: Operand) -> None:
        """For each token: consume it, and let a forked token make the next one; at edges, if aligned."""
        again, after = Label(), Label()
        member = asm.value_of(number)
        asm.spare_tokens += self.depth * self.members
        left = Variable("tokens left")
        asm.let(left, tokens)
        self._align(asm)
        asm.jump(after, left <= 0)
        asm.place(again)
        asm.consume(f"{self.name}.tokens", member=member)
        with asm.fork():
            self._make(asm, member)
        asm.assign(left, left - 1)
        asm.jump(again, left > 0)
        asm.place(after)
        self._align(asm)

    def _align(self, asm: Assembler) -> None:
        """Wait until now is an edge of the caller's clock."""
        if self.clock is not None:
            period = Fraction(1 / self.clock / asm.tick).limit_denominator(STEPS)
            with asm.scope():
                edge = ceildiv(asm.now() * period.denominator, period.numerator)
                asm.wait_until(edge * period.numerator // period.denominator)

    def _make(self, asm: Assembler, member: Operand) -> None:
        """Make a token behind those that are being made; the exact time of the last one is kept, so nothing is lost."""
        pace = Fraction(1 / self.rate / asm.tick).limit_denominator(STEPS)
        hold = asm.take(self.name, member)
        last = asm.shared_global(f"{self.name}.made", self.members) + member
        due = asm.value_of(maximum(asm.now() * pace.denominator, asm.read(last)) + pace.numerator)
        asm.write(last, due)
        asm.wait_until(due // pace.denominator)
        asm.give(hold)
        asm.put(f"{self.name}.tokens", member=member)
