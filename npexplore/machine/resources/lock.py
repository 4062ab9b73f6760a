"""A lock that one packet holds at a time: who waits sleeps until it is handed over, or polls until it is free.

    suspend   acquire: costs; sleeps in the line. release: costs, holding it still, then the head of the line has it
              cost of a release = base + (wake + per waiter x n if n > 0 sleep)
    spin      acquire: visits a memory (test and set) until it finds the lock free; waits a gap after each miss.
              release: one visit more. Whoever polls first has it; polls are in the way of all others at that memory

A scheduler that scans the sleepers at each hand-over (`per waiter`) is Mutek's, "A Modular On-Chip Multiprocessor for
Routing Applications", Sec. 4: throughput collapses when hand-over takes longer than the rest of the section.
"""

from contextlib import nullcontext
from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Resource, Server, count_of, rate_of
from npexplore.machine.resources.processor import Processor
from npexplore.machine.tree import Visit
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import Operand, minimum

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

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Acquire: costs, then the lock, or polls until it is free; release: costs while it is still held."""

        def spend(cycles: Operand) -> None:
            if self.processor is not None:
                m.visit(self.processor, "compute", cycles=cycles)
            else:
                m.wait(cycles * self.cycle)

        def look() -> None:
            if self.memory is not None:
                m.go(self.memory)

        if visit == "acquire":
            if self.acquire:
                spend(self.acquire)
            if self.kind == "suspend":
                m.open(self.name)
            else:
                m.poll(self.name, look, lambda: spend(self.gap) if self.gap else None)
            return
        if self.kind == "spin":
            if self.release:
                spend(self.release)
            look()
        elif not (self.wake or self.waiter or self.memory):
            if self.release:
                spend(self.release)
        else:
            waiting = m.line(self.name)
            with nullcontext() if self.release else m.branch(waiting > 0):
                if self.memory is not None:
                    with m.loop(waiting):
                        look()
                spend(waiting * self.waiter + minimum(waiting, 1) * self.wake + self.release)
        m.close(self.name)
