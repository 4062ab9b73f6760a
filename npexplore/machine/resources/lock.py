"""A lock that one packet holds at a time: who waits sleeps until it is handed over, or polls until it is free.

    suspend   acquire: costs; sleeps in the line. release: costs, holding it still, then the head of the line has it
              cost of a release = base + (wake + per waiter x n if n > 0 sleep)
    spin      acquire: visits a memory (test and set) until it finds the lock free; waits a gap after each miss.
              release: one visit more. Whoever polls first has it; polls are in the way of all others at that memory

A scheduler that scans the sleepers at each hand-over (`per waiter`) is Mutek's, "A Modular On-Chip Multiprocessor for
Routing Applications", Sec. 4: throughput collapses when hand-over takes longer than the rest of the section.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from npexplore.errors import ModelError, one_of
from npexplore.machine.assembler import Assembler, Label
from npexplore.machine.assembler import Hold as Held
from npexplore.machine.expressions import Expression, Operand, Values, Variable, evaluate, expression, minimum
from npexplore.machine.program import Visit
from npexplore.machine.resources.base import Resource, Section, Server, Uses, count_of, rate_of
from npexplore.machine.resources.processor import Processor

Kind = Literal["suspend", "spin"]


class Lock(Resource):
    """A lock whose operations cost cycles, of a `processor` that the thread needs for them, or of time that passes.

    memory: the visit that each poll makes (spin), or each sleeper that a release scans (suspend; none by default).
    """

    VISITS = {"acquire": (), "release": ()}
    SECTIONS = {"acquire": "release"}

    def __init__(
        self, name: str, kind: Kind = "suspend", *, clock_hz: float | None = None, processor: Processor | None = None,
        acquire_cycles: int = 0, release_cycles: int = 0, wake_cycles: int = 0, waiter_cycles: int = 0,
        gap_cycles: int = 0, memory: Visit | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.kind = one_of(f"{name}: kind", kind, get_args(Kind))
        if (clock_hz is None) == (processor is None):
            raise ModelError(f"{name}: a lock needs clock_hz or a processor, and not both, got {clock_hz!r}")
        self.processor = processor
        clock = rate_of(f"{name}: clock", clock_hz) if clock_hz is not None else 0.0
        self.cycle = processor.cycle if processor is not None else 1.0 / clock
        self.acquire = count_of(f"{name}: acquire_cycles", acquire_cycles, least=0)
        self.release = count_of(f"{name}: release_cycles", release_cycles, least=0)
        self.wake = count_of(f"{name}: wake_cycles", wake_cycles, least=0)
        self.waiter = count_of(f"{name}: waiter_cycles", waiter_cycles, least=0)
        self.gap = count_of(f"{name}: gap_cycles", gap_cycles, least=0)
        self.memory = memory
        if kind == "spin" and memory is None:
            raise ModelError(f"{name}: a spin lock needs memory=visit(...): what each poll visits")
        if kind == "spin" and (wake_cycles or waiter_cycles):
            raise ModelError(f"{name}: nobody is woken by a spin lock; wake_cycles and waiter_cycles are of suspend")
        if kind == "suspend" and gap_cycles:
            raise ModelError(f"{name}: nobody polls a lock that suspends; gap_cycles is of spin, got {gap_cycles!r}")
        if kind == "spin" and self.gap == 0 and not np.any(self._seen().latency > 0):
            raise ModelError(f"{name}: polls must take time, at the memory or as gap_cycles")

    def visited(self) -> list[Resource]:
        """The memory of polls or of sleepers, and the processor."""
        found = [] if self.memory is None else [self.memory.resource]
        return found if self.processor is None else [*found, self.processor]

    def servers(self) -> list[Server]:
        """The lock; what depends on the number of waiters is named."""
        if self.memory is not None:
            why = "is polled by" if self.kind == "spin" else "scans"
            return [Server(self.name, unsolvable=f"{why} those who wait, in {self.memory.resource.name}")]
        return [Server(self.name, wake_s=self.wake * self.cycle, per_waiter_s=self.waiter * self.cycle)]

    # ---- what operations cost: cycles and visits to the memory

    def _spent(self, cycles: int) -> Uses:
        if self.processor is not None and cycles:
            return self.processor.uses("compute", {"cycles": np.asarray(float(cycles))})
        seconds: Values = np.asarray(cycles * self.cycle)
        return Uses(seconds, delay=seconds)

    def _seen(self) -> Uses:
        if self.kind != "spin" or self.memory is None:
            return Uses(np.asarray(0.0))
        return self.memory.resource.uses(
            self.memory.method, {name: evaluate(value, {}) for name, value in self.memory.operands.items()}
        )

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The costs without waiters; the lock is held from the end of acquire to the end of release."""
        begins = method == "acquire"
        spent, seen, section = self._spent(self.acquire if begins else self.release), self._seen(), [Section(self.name)]
        return Uses(
            spent.latency + seen.latency, [*spent.holds, *seen.holds], spent.delay + seen.delay, seen.counts,
            opens=section if begins else [], closes=[] if begins else section,
        )  # fmt: skip

    def _spend(self, cycles: Operand, asm: Assembler) -> None:
        with asm.scope():
            if self.processor is not None:
                self.processor.emit("compute", {"cycles": expression(cycles)}, asm)
            else:
                asm.wait(asm.ticks(cycles, self.cycle))

    def _see(self, asm: Assembler) -> None:
        if self.memory is not None:
            with asm.scope():
                self.memory.resource.emit(self.memory.method, self.memory.operands, asm)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """TAKE, or poll with TRY; before GIVE the costs of the release."""
        if method == "acquire":
            if self.acquire:
                self._spend(self.acquire, asm)
            asm.keep(self.name, self._poll(asm) if self.kind == "spin" else asm.take(self.name))
            return
        if self.kind == "spin":
            if self.release:
                self._spend(self.release, asm)
            self._see(asm)
        else:
            self._hand_over(asm)
        asm.give(asm.kept(self.name))

    def _poll(self, asm: Assembler) -> Held:
        """Look at the lock until it is free."""
        again, taken, done = Label(), Label(), Label()
        asm.place(again)
        self._see(asm)
        held = asm.try_take(self.name, otherwise=taken)
        asm.jump(done)
        asm.place(taken)
        if self.gap:
            self._spend(self.gap, asm)
        asm.jump(again)
        asm.place(done)
        return held

    def _hand_over(self, asm: Assembler) -> None:
        """The cycles of a release, and of finding and waking one of those who wait now."""
        if not (self.wake or self.waiter or self.memory):
            if self.release:
                self._spend(self.release, asm)
            return
        nobody = Label()
        with asm.scope():
            waiting = asm.line(self.name)
            if not self.release:
                asm.jump(nobody, waiting == 0)
            if self.memory is not None:
                again, seen = Label(), Label()
                left = Variable("sleepers")
                asm.let(left, waiting)
                asm.place(again)
                asm.jump(seen, left == 0)
                self._see(asm)
                asm.assign(left, left - 1)
                asm.jump(again)
                asm.place(seen)
            self._spend(waiting * self.waiter + minimum(waiting, 1) * self.wake + self.release, asm)
            asm.place(nobody)
