"""A lock that one packet holds at a time: who waits sleeps until it is handed over, or polls until it is free.

    suspend   acquire: costs cycles; then the packet sleeps in a queue. release: costs cycles while the lock is held,
              then the first sleeper gets the lock. cost of a release = base + (wake + per waiter x n if n > 0 sleep)
    suspend, with `idle`: a sleeper's processor runs nothing else and polls in the scheduler: a visit, a gap, a visit
              ... until its task gets the lock, in order of arrival. Then it makes `wake_visits` visits, each followed
              by wake_cycles. All these visits delay other visits of that memory
    spin      acquire: visits a memory (test and set) until it finds the lock free; waits a gap after each miss.
              release: one more visit. The first poll after a release gets the lock; polls delay other visits of that
              memory

Polling in the scheduler's memory is the behaviour of Mutek, "A Modular On-Chip Multiprocessor for Routing
Applications", Sec. 4: throughput collapses if the holder's accesses wait behind polls.

Alone, without polls: M/G/1 of the time held, in which the hand-over depends on the number of sleepers, a Markov chain
at the ends of holds; closed, all others sleep at each release.
"""

from contextlib import nullcontext
from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Example, Resource, Server, count_of, rate_of
from npexplore.machine.resources.processor import Processor
from npexplore.machine.tree import Visit
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import Operand, minimum
from npexplore.rows.server import Polls

Kind = Literal["suspend", "spin"]


class Lock(Resource, kind="lock"):
    """A lock whose operations cost cycles, of a `processor` that the thread needs for them, or of time that passes.

    memory: the visit of each poll (spin), or of a release for each sleeper that it scans (suspend; none by default).
    idle: the visit that a sleeper's processor repeats every gap_cycles, and wake_visits times more when its task gets
    the lock, to load a context (suspend; none by default).

    Example:
        >>> from npexplore.machine import Lock
        >>> Lock("mutex", clock_hz=1e9, acquire_cycles=20)                     # m.mutex.acquire(), m.mutex.release()
        Lock('mutex', clock_hz=1000000000.0, acquire_cycles=20)
    """

    EXAMPLE = Example({"clock_hz": 1e9}, "acquire")
    VISITS = {"acquire": (), "release": ()}
    SECTIONS = {"acquire": "release"}

    def __init__(
        self, name: str, kind: Kind = "suspend", *, clock_hz: float | None = None, processor: Processor | None = None,
        acquire_cycles: int = 0, release_cycles: int = 0, wake_cycles: int = 0, waiter_cycles: int = 0,
        gap_cycles: int = 0, memory: Visit | None = None, idle: Visit | None = None,
        wake_visits: int = 0,
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
        self.memory, self.idle = memory, idle
        self.wake_visits = count_of(f"{name}: wake_visits", wake_visits, least=0)
        if wake_visits and idle is None:
            raise ModelError(f"{name}: wake_visits are visits of idle=visit(...), which is not given")
        if kind == "spin" and memory is None:
            raise ModelError(f"{name}: a spin lock needs memory=visit(...): what each poll visits")
        if kind == "spin" and (wake_cycles or waiter_cycles):
            raise ModelError(f"{name}: a spin lock wakes nobody; wake_cycles and waiter_cycles belong to suspend")
        if idle is not None and (kind == "spin" or memory is not None or waiter_cycles):
            raise ModelError(f"{name}: idle belongs to suspend, without memory and waiter_cycles")
        if kind == "suspend" and idle is None and gap_cycles:
            raise ModelError(f"{name}: gap_cycles belongs to spin; a lock that suspends has none, got {gap_cycles!r}")

    def visited(self) -> list[Resource]:
        """Return the memory that polls or releases visit, and the processor."""
        resources = [visited.resource for visited in (self.memory, self.idle) if visited is not None]
        return resources if self.processor is None else [*resources, self.processor]

    def sleepers_cycles(self) -> tuple[int, int, int, int] | None:
        """Return cycles to acquire, release, wake the next, and per sleeper; None if these visit other resources."""
        own_clock = self.processor is None and self.memory is None and self.idle is None and self.kind == "suspend"
        return (self.acquire, self.release, self.wake, self.waiter) if own_clock else None

    def servers(self) -> list[Server]:
        """Return the lock, with its costs that depend on the number of waiters."""
        poll = self.idle or self.memory
        if poll is not None and self.idle is None and self.kind == "suspend":
            return [Server(self.name, unsolvable=f"scans those who wait, in {poll.resource.name}")]
        if poll is not None:
            in_turn, wake = self.idle is not None, self.wake * self.cycle
            return [Server(self.name, polled=Polls(
                poll.resource.name, self.gap * self.cycle, in_turn, self.wake_visits, wake))]  # fmt: skip
        return [Server(self.name, wake_s=self.wake * self.cycle, per_waiter_s=self.waiter * self.cycle)]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record acquire (costs, then the lock, or polls until it is free) or release (costs while it is held)."""

        def spend(cycles: Operand) -> None:
            if self.processor is not None:
                m.visit(self.processor, "compute", cycles=cycles)
            else:
                m.wait(cycles * self.cycle)

        def look() -> None:
            looked = self.memory or self.idle
            if looked is not None:
                m.go(looked)

        def load() -> None:
            if self.wake_visits:
                with m.loop(self.wake_visits):
                    look()
                    if self.wake:
                        spend(self.wake)

        if visit == "acquire":
            if self.acquire:
                spend(self.acquire)
            if self.kind == "suspend" and self.idle is None:
                m.open(self.name)
            else:
                m.poll(
                    self.name, look, lambda: spend(self.gap) if self.gap else None,
                    in_turn=self.idle is not None, woken=load,
                )  # fmt: skip
            return
        if self.kind == "spin":
            if self.release:
                spend(self.release)
            look()
        elif self.idle is not None or not (self.wake or self.waiter or self.memory):
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
