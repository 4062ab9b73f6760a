"""One SoCLIB processing unit: cycles of its parts, its resources, and the steps of a task there (Secs. 3.2, 3.4, 4).

    alone = share of the longest path x (compute + accesses (bank + way) + misses (line + way)) + sections + words
    way   = latency x (2 levels - 1)    through a fat tree of switches; one switch for a crossbar, or to a near segment

A task holds a lock while it takes a packet from an input engine or passes one to an output engine. There is one lock
for all engines, one per side, or one per engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Recorder, visit
from npexplore.machine.resources import FifoServer, Lock, WordMemory
from npexplore.machine.resources.base import Resource, Server
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import Operand

WORD_BYTES = 4
ELEMENTS = (
    "acquisition", "classifier", "paint", "strip", "checkipheader", "getipaddress", "lookupiprouter", "dropbroadcast",
    "painttee", "ipgwoptions", "fixipsrc", "decipttl", "ipfragmenter", "etherencap", "extraction",
)  # fmt: skip
SHORT = ("acquisition", "strip", "extraction")  # elements of a packet that another unit has routed (Sec. 3.1)
SIDES = ("in", "out")


def element_cycles(p: Parameters) -> dict[str, int]:
    """Return the cycles of each timed element (Fig. 7), in the order of a packet's path."""
    return {name: int(p[f"{name}_cycles"]) for name in ELEMENTS}


def packet_words(p: Parameters) -> int:
    """Return the 32-bit words of a packet at an output engine."""
    return -(-int(p.packet_bytes) // WORD_BYTES)


def cycle_s(p: Parameters) -> float:
    """Return the length of a clock cycle, in seconds; the paper does not state the clock."""
    return 1e-6 / float(p.clock_mhz)


def ports(p: Parameters) -> int:
    """Return the number of interconnect ports: processors, packet memories, the two shared segments, engines."""
    memories = p.banks if p.memory == "shared" else p.processors
    return int(p.processors + memories + 2 + 2 * p.egress_engines)


def levels(p: Parameters) -> int:
    """Return the number of switch levels in the interconnect (a crossbar: one)."""
    levels = 1
    while p.interconnect == "fat_tree" and p.interconnect_arity**levels < ports(p):
        levels += 1
    return levels


def way_cycles(p: Parameters, near: bool = False) -> int:
    """Return the cycles to a target and back: through all levels, or (near) to a segment at the task's own switch."""
    return int(p.latency_cycles) * (1 if near else 2 * levels(p) - 1)


def memory_cycles(p: Parameters) -> int:
    """Return the cycles of an access to the packet memory."""
    return int(p.bank_cycles) + way_cycles(p, near=p.memory == "distributed")


def section_cycles(p: Parameters) -> int:
    """Return the cycles for which a lock is held without contention: work, and accesses to the global variables."""
    memory = p.section_accesses * memory_cycles(p)
    return int(p.section_cycles + p.global_accesses * (p.global_cycles + way_cycles(p)) + memory)


def code_cycles(p: Parameters) -> int:
    """Return the cycles of an instruction cache miss, interconnect included."""
    return int(p.line_cycles) + way_cycles(p)


def in_bursts(p: Parameters, count: int) -> int:
    """Return the accesses per burst, of `count` accesses per packet."""
    return round(count / int(p.bursts))


def alone_cycles(p: Parameters, share: float = 1.0) -> float:
    """Return a packet's cycles without contention; share: its work as a share of the longest path's."""
    burst_cycles = in_bursts(p, p.memory_accesses) * memory_cycles(p) + in_bursts(p, p.code_misses) * code_cycles(p)
    sections = 0 if p.lock == "none" else 2 * section_cycles(p) / p.packets_per_lock
    words = packet_words(p) * (p.egress_word_cycles + memory_cycles(p))
    return float(share * (p.compute_cycles + p.bursts * burst_cycles) + sections + words)


class CountedRam(Resource):
    """A memory port with a server for the next request, whose busy time is the time in which a request is blocked."""

    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {"serve": ()}

    def __init__(self, name: str, service_s: float) -> None:
        super().__init__(name)
        self.service = service_s

    def servers(self) -> list[Server]:
        """Return the port, and the place in front of it."""
        return [Server(self.name), Server(f"{self.name}.next")]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record an access: take the place, take the port when it is free, leave the place, be served."""
        place_hold = m.take("next")
        port_hold = m.take(self.name)
        m.give(place_hold)
        m.wait(self.service)
        m.give(port_hold)


@dataclass(frozen=True)
class Unit:
    """A processing unit; `number` is the suffix of its resources' names ("" for a single unit)."""

    p: Parameters
    number: str = ""

    def name(self, resource: str) -> str:
        """Return the name of a resource of this unit."""
        return f"{resource}{self.number}"

    def lock_names(self, side: str) -> list[str]:
        """Return the names of the locks of a side's engines ("in" or "out"): one, or one per engine."""
        if self.p.locks == "engine":
            return [self.name(f"lock_{side}{k}_" if self.number else f"lock_{side}{k}") for k in range(self.engines)]
        return [self.name("lock" if self.p.locks == "one" else f"lock_{side}")]

    @property
    def engines(self) -> int:
        """The number of engines of each side."""
        return int(self.p.egress_engines)

    def resources(self) -> list[Resource]:
        """Return the RAMs of global variables and of code, the locks, and the packet memory if it is shared."""
        p, cycle = self.p, cycle_s(self.p)
        kind = FifoServer if p.conflicts == "initiators" else CountedRam
        ram = kind(self.name("globals"), p.global_cycles * cycle)
        resources: list[Resource] = [ram, *self._locks(ram)]
        if p.code_misses:
            resources.append(FifoServer(self.name("code"), in_bursts(p, p.code_misses) * p.line_cycles * cycle))
        if p.memory == "shared":
            packets = self.name("packets")
            resources.append(WordMemory(packets, WORD_BYTES, p.bank_cycles * cycle, channels=p.banks, select="random"))
        return resources

    def _locks(self, ram: Resource) -> list[Lock]:
        p, clock = self.p, self.p.clock_mhz * 1e6
        names = dict.fromkeys(name for side in SIDES for name in self.lock_names(side))
        access, path_cycles = visit(ram, "serve"), way_cycles(p)
        if p.lock == "mutex":
            p.assume("scheduler_reads")
            gap = p.scheduler_cycles + path_cycles
            return [
                Lock(
                    name, "suspend", clock_hz=clock, gap_cycles=gap, idle=access,
                    wake_visits=int(p.switch_accesses), wake_cycles=path_cycles,
                )
                for name in names
            ]  # fmt: skip
        if p.lock == "spin":
            p.assume("polling_in_the_way")
            gap = p.gap_cycles + path_cycles
            return [Lock(name, "spin", clock_hz=clock, gap_cycles=gap, memory=access) for name in names]
        return []

    # ---- steps of a task

    def accesses(self, m: Recorder, count: Operand) -> None:
        """Record consecutive accesses to the packet memory; the task's own segment has no contention."""
        p, cycle = self.p, cycle_s(self.p)
        if p.memory == "shared":
            m.task.wait(seconds=count * (way_cycles(p) * cycle))
            getattr(m, self.name("packets")).read(bytes=count * WORD_BYTES)
        else:
            m.task.wait(seconds=count * (memory_cycles(p) * cycle))

    def work(self, m: Recorder, bursts: Operand) -> None:
        """Record the elements' work: bursts of compute cycles, instruction misses and packet memory accesses."""
        p, cycle = self.p, cycle_s(self.p)
        misses, accesses = in_bursts(p, p.code_misses), in_bursts(p, p.memory_accesses)
        own_cycles = p.compute_cycles / p.bursts + misses * way_cycles(p)
        shared = p.memory == "shared"
        with m.loop(bursts):
            m.task.wait(seconds=(own_cycles + (0 if shared else accesses * memory_cycles(p))) * cycle)
            if misses:
                getattr(m, self.name("code")).serve()
            if shared:
                self.accesses(m, accesses)

    def at_engine(self, m: Recorder, side: str, engine: Operand) -> None:
        """Record a visit to an engine of a side under its lock, which excludes other tasks."""
        if self.p.lock == "none":
            return
        self.p.assume("two_sections")
        if self.p.packets_per_lock == 1:
            self._at(m, self.lock_names(side), engine)
        else:
            with m.branch(1.0 / self.p.packets_per_lock, "batch"):
                self._at(m, self.lock_names(side), engine)

    def _at(self, m: Recorder, names: list[str], engine: Operand, first: int = 0) -> None:
        """Record the critical section of an engine's lock; a packet's column may give the engine's number."""
        if len(names) - first == 1 or isinstance(engine, int):
            self._section(m, names[engine if isinstance(engine, int) and len(names) > 1 else first])
            return
        with m.branch(engine == first, "engine"):
            self._section(m, names[first])
        with m.otherwise():
            self._at(m, names, engine, first + 1)

    def _section(self, m: Recorder, name: str) -> None:
        p, cycle = self.p, cycle_s(self.p)
        lock = getattr(m, name)
        lock.acquire()
        m.task.wait(seconds=p.section_cycles * cycle)
        with m.loop(p.global_accesses):
            getattr(m, self.name("globals")).serve()
            m.task.wait(seconds=way_cycles(p) * cycle)
        if p.section_accesses:
            self.accesses(m, p.section_accesses)
        lock.release()
