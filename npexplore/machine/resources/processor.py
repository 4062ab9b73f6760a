"""Processors shared by hardware threads that keep their engine until they stall, or share it cycle by cycle.

    demand of a visit = cycles / clock + switch          (every cycle: `pipeline` x cycles / clock at `pipeline` places)

ready_on_stall       ready threads are served first come first served
ready_round_robin    the ready thread next in the order of thread numbers is served
strict_round_robin   the turn goes to the next thread with a packet, ready or not: the engine idles while that thread
                     waits for a memory; a thread that waits for a packet is skipped (Gorilla, Sec. 4.5.2)
ready_every_cycle    ready threads take turns cycle by cycle (processor sharing); a single one issues every `pipeline`
                     cycles

Thread k has number k among all threads; each belongs to one engine. The first three disciplines do not preempt.

Alone, one engine: M/D/1.
"""

from __future__ import annotations

from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.program import THREAD
from npexplore.machine.resources.base import Example, Resource, Server, count_of, rate_of, time_of
from npexplore.machine.resources.turns import Turns
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.assembler import Assembler

Discipline = Literal["ready_on_stall", "ready_round_robin", "strict_round_robin", "ready_every_cycle"]


class Processor(Resource, kind="processor"):
    """`engines` alike processors; `switch_cycles` are lost at each visit; only strict turns ask for all `threads`.

    Example:
        >>> from npexplore.machine import Processor
        >>> Processor("core", engines=4, clock_hz=1e9)                         # m.core.compute(cycles=100)
        Processor('core', engines=4, clock_hz=1000000000.0)
    """

    EXAMPLE = Example({"engines": 1, "clock_hz": 1e9}, "compute", {"cycles": 100}, more={"engines": 4})
    VISITS = {"compute": ("cycles",)}

    def __init__(
        self, name: str, engines: int, clock_hz: float, switch_cycles: float = 0.0,
        discipline: Discipline = "ready_on_stall", threads: int | None = None, pipeline: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.engines = count_of(f"{name}: engines", engines)
        self.cycle = time_of(f"{name}: cycle", 1.0 / rate_of(f"{name}: clock", clock_hz))
        self.switch = time_of(f"{name}: switch time", switch_cycles * self.cycle)
        self.discipline = one_of(f"{name}: discipline", discipline, get_args(Discipline))
        self.pipeline = count_of(f"{name}: pipeline", pipeline)
        self.numbered = "round_robin" in discipline
        if discipline == "ready_every_cycle" and self.switch:
            raise ModelError(f"{name}: ready_every_cycle has no switch time, got {switch_cycles!r} cycles")
        if discipline != "ready_every_cycle" and pipeline != 1:
            raise ModelError(f"{name}: only ready_every_cycle has a pipeline, got {pipeline!r} with {discipline}")
        if (discipline == "strict_round_robin") != (threads is not None):
            raise ModelError(f"{name}: threads are given for strict_round_robin and for no other, got {threads!r}")
        self.turns = None if threads is None else Turns(name, self.engines, count_of(f"{name}: threads", threads))

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Return its cycle, unless `needed`: a visit of many cycles is rounded once."""
        return {} if needed else {"cycle": self.cycle}

    def homes(self) -> list[str]:
        """Return its server: each thread always computes on the same engine."""
        return [self.name]

    def servers(self) -> list[Server]:
        """Return a server with a member per engine; with strict turns also a gate for each thread."""
        if self.discipline == "ready_every_cycle":
            return [Server(self.name, self.engines, self.pipeline, "shared")]
        if self.discipline == "ready_round_robin":
            return [Server(self.name, self.engines, discipline="cyclic")]
        if self.turns is None:
            return [Server(self.name, self.engines)]
        approximation = "threads in the order in which they are ready"
        return [Server(self.name, self.engines, approximation=approximation), self.turns.server()]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record that a visit occupies the thread's engine for its cycles, in the order of the discipline."""
        time, home = v.cycles * (self.cycle * self.pipeline) + self.switch, m.home_of(self.name)
        if self.discipline == "ready_round_robin":
            held = m.take(self.name, member=home, key=THREAD + 1)
            m.wait(time)
            m.give(held)
            return
        if self.turns is not None:
            m.contended(self.turns.emit_await)
        m.serve(self.name, time, home)
        if self.turns is not None:
            m.contended(self.turns.emit_pass)

    def check_threads(self, threads: int) -> None:
        """Raise ModelError if strict turns have fewer threads than the machine."""
        if self.turns is not None and self.turns.threads < threads:
            raise ModelError(
                f"{self.name}: strict_round_robin needs threads = {threads}, all threads of the machine, got "
                f"{self.turns.threads}"
            )

    def emit_idle(self, asm: Assembler) -> None:
        """Append rows of a thread that waits for a packet: it passes its turn, and is skipped until it computes."""
        if self.turns is not None:
            self.turns.emit_idle(asm)
