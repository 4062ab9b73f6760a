"""Leaky buckets, one per flow: a packet that finds tokens is admitted and takes one, another is to be dropped.

    token = min(depth, token + rate x time since the packet before)        admitted: token >= 1

The algorithm is that of `golden/police/leaky_bucket.py`, in whole numbers, with a timer that ticks every `timer_s`. A
visit takes no time; the program accounts for the time of policing.

Alone, behind Poisson arrivals: the loss of M/D/1/depth (solve/queueing/token_bucket.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.resources.base import Ends, Example, OwnFaces, Server, Uses, count_of, rate_of, time_of
from npexplore.rows.assembler import HANDED_ON, Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Expression, Operand, Values, Variable, minimum

FINEST = 10**6  # largest denominator of a rate; rates with larger denominators are rounded


class Policer(OwnFaces, kind="policer"):
    """rates_pps: of each flow's bucket; depth: packets that it lets pass at once. `police` gives 1, or 0: `drop` it.

    Example:
        >>> from npexplore.machine import Policer
        >>> Policer("police", rates_pps=[1e6, 2e6], depth=32)
        Policer('police', rates_pps=[1000000.0, 2000000.0], depth=32)
    """

    WHY = "what came before decides who passes"
    EXAMPLE = Example({"rates_pps": [1e6], "depth": 1}, "police", {"flow": 0})
    VISITS = {"police": ("flow",), "drop": ()}
    CHANCE = frozenset({"flow"})
    RESULTS = frozenset({"police"})

    def __init__(self, name: str, rates_pps: Sequence[float], depth: int = 1, timer_s: float = 0.0) -> None:
        super().__init__(name)
        if not rates_pps:
            raise ModelError(f"{name}: a policer needs the rate of at least one flow, got none")
        self.rates = tuple(rate_of(f"{name}: rate of flow {flow}", rate) for flow, rate in enumerate(rates_pps))
        self.depth = count_of(f"{name}: depth", depth)
        self.timer = time_of(f"{name}: tick of the timer", timer_s)
        self.drops = False

    def servers(self) -> list[Server]:
        """Return none: a token bucket delays no packet."""
        return []

    def ends(self, method: str) -> Ends:
        """Return "always" for drop: a dropped packet leaves its thread."""
        return "always" if method == "drop" else "never"

    def on_visit(self, method: str) -> None:
        """Note whether the program drops packets that are not admitted."""
        self.drops = self.drops or method == "drop"

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time; the result is 1 if the program drops the other packets, else it is unknown."""
        nothing: Values = np.float64(0.0)  # type: ignore[assignment]
        if method == "drop":
            return Uses(nothing, hands_on=True)
        return Uses(nothing, result=nothing + 1 if self.drops else None)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand | None:
        """Fill the bucket up to now, and take a token if there is one."""
        if method == "drop":
            asm.count(f"drop.{self.name}")
            asm.end_packet(HANDED_ON)
            return None
        fractions = [Fraction(rate).limit_denominator(FINEST) * Fraction(asm.tick).limit_denominator(10**15)
                     for rate in self.rates]  # fmt: skip
        full = [self.depth * fraction.denominator for fraction in fractions]
        rate, cost, depth = (
            self._words(asm, name, values)
            for name, values in (("rates", [fraction.numerator for fraction in fractions]),
                                 ("costs", [fraction.denominator for fraction in fractions]), ("depths", full))
        )  # fmt: skip
        tokens, times = self._words(asm, "tokens", full), self._words(asm, "times", [0] * len(full))
        admitted, ticks = Variable("admitted"), max(round(self.timer / asm.tick), 1)
        asm.let(admitted, 0)
        with asm.scope():
            asm.check_below(operands["flow"], len(full), f"{self.name} has flows")
            flow = asm.value_of(operands["flow"])
            token = asm.read(flow + times)
            with asm.scope():
                now = asm.value_of(asm.now() // ticks * ticks)
                asm.write(flow + times, now)
                asm.assign(token, now - token)
            with asm.scope():
                asm.assign(token, token * asm.read(flow + rate))
                asm.assign(token, token + asm.read(flow + tokens))
            with asm.scope():
                asm.assign(token, minimum(token, asm.read(flow + depth)))
            poor, needed = Label(), asm.read(flow + cost)
            asm.jump(poor, token < needed)
            asm.assign(token, token - needed)
            asm.assign(admitted, 1)
            asm.place(poor)
            asm.write(flow + tokens, token)
        return admitted

    def _words(self, asm: Assembler, name: str, values: Sequence[int]) -> int:
        """Return the first of the globals that store a number for each flow, with these initial values."""
        first = asm.shared_global(f"{self.name}.{name}", len(values))
        asm.globals[first : first + len(values)] = values
        return first
