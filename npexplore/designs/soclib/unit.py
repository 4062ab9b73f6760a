"""One SoCLIB processing unit: cycles of its parts, its resources, and what a task does there (Secs. 3.2, 3.4, 4).

    alone = compute + accesses (bank + way) + sections + words put out      (cycles of a packet without rivals)
    way   = latency x (2 levels - 1)    through a fat tree of switches; one switch for a crossbar, or to a near segment

A task holds a lock while it is at an engine: it takes a packet from an input engine, or gives one to an output engine.
There is one lock for all of them, one for each side, or one for each engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Recorder, visit
from npexplore.machine.resources import FifoServer, Lock, WordMemory
from npexplore.machine.resources.base import Resource

WORD_BYTES = 4
ELEMENTS = (
    "acquisition", "classifier", "paint", "strip", "checkipheader", "getipaddress", "lookupiprouter", "dropbroadcast",
    "painttee", "ipgwoptions", "fixipsrc", "decipttl", "ipfragmenter", "etherencap", "extraction",
)  # fmt: skip
SHORT = ("acquisition", "strip", "extraction")  # what a packet needs that another unit has routed (Sec. 3.1)
SIDES = ("in", "out")


def element_cycles(p: Parameters) -> dict[str, int]:
    """Return the cycles of each timed element (Fig. 7), in the order of a packet's way."""
    return {name: int(p[f"{name}_cycles"]) for name in ELEMENTS}


def packet_words(p: Parameters) -> int:
    """Return the 32-bit words that a packet has at an output engine."""
    return -(-int(p.packet_bytes) // WORD_BYTES)


def cycle_s(p: Parameters) -> float:
    """Return the length of a cycle of the one clock; the paper leaves it open."""
    return 1e-6 / float(p.clock_mhz)


def ports(p: Parameters) -> int:
    """Return the ports of the interconnect: processors, packet memories, the two shared segments, engines."""
    memories = p.banks if p.memory == "shared" else p.processors
    return int(p.processors + memories + 2 + 2 * p.egress_engines)


def levels(p: Parameters) -> int:
    """Return the levels of switches of the interconnect (a crossbar: one)."""
    found = 1
    while p.interconnect == "fat_tree" and p.interconnect_arity**found < ports(p):
        found += 1
    return found


def way_cycles(p: Parameters, near: bool = False) -> int:
    """Return the cycles to a target and back: through all levels, or to a segment at the task's own switch."""
    return int(p.latency_cycles) * (1 if near else 2 * levels(p) - 1)


def memory_cycles(p: Parameters) -> int:
    """Return the cycles of an access to the packet memory."""
    return int(p.bank_cycles) + way_cycles(p, near=p.memory == "distributed")


def section_cycles(p: Parameters) -> int:
    """Return how long a lock is held without rivals: work, and accesses to the global variables."""
    memory = p.section_accesses * memory_cycles(p)
    return int(p.section_cycles + p.global_accesses * (p.global_cycles + way_cycles(p)) + memory)


def alone_cycles(p: Parameters) -> float:
    """Return the cycles of a packet on a processor that has everything for itself."""
    memory = round(p.memory_accesses / p.bursts) * p.bursts * memory_cycles(p)
    sections = 0 if p.lock == "none" else 2 * section_cycles(p) / p.packets_per_lock
    return float(p.compute_cycles + memory + sections + packet_words(p) * p.egress_word_cycles)


@dataclass(frozen=True)
class Unit:
    """A processing unit; `number` tells its resources from those of other units ("" for one that is alone)."""

    p: Parameters
    number: str = ""

    def name(self, resource: str) -> str:
        """Return the name of a resource of this unit."""
        return f"{resource}{self.number}"

    def lock_names(self, side: str) -> list[str]:
        """Return the locks of the engines of a side, "in" or "out": one, or one for each engine."""
        if self.p.locks == "engine":
            return [self.name(f"lock_{side}{k}_" if self.number else f"lock_{side}{k}") for k in range(self.engines)]
        return [self.name("lock" if self.p.locks == "one" else f"lock_{side}")]

    @property
    def engines(self) -> int:
        """The engines of each side."""
        return int(self.p.egress_engines)

    def resources(self) -> list[Resource]:
        """Return the RAM of global variables, the locks, and the packet memory where it is shared."""
        p, cycle = self.p, cycle_s(self.p)
        ram = FifoServer(self.name("globals"), p.global_cycles * cycle)
        found: list[Resource] = [ram, *self._locks(ram)]
        if p.memory == "shared":
            packets = self.name("packets")
            found.append(WordMemory(packets, WORD_BYTES, p.bank_cycles * cycle, channels=p.banks, select="random"))
        return found

    def _locks(self, ram: FifoServer) -> list[Lock]:
        p, clock = self.p, self.p.clock_mhz * 1e6
        names = dict.fromkeys(name for side in SIDES for name in self.lock_names(side))
        if p.lock == "mutex":
            p.assume("scan_of_sleepers")
            costs = {"wake_cycles": p.wake_cycles, "waiter_cycles": p.waiter_cycles}
            return [Lock(name, "suspend", clock_hz=clock, **costs) for name in names]
        if p.lock == "spin":
            p.assume("polling_in_the_way")
            gap = p.gap_cycles + way_cycles(p) - p.latency_cycles
            return [Lock(name, "spin", clock_hz=clock, gap_cycles=gap, memory=visit(ram, "serve")) for name in names]
        return []

    # ---- what a task does

    def accesses(self, m: Recorder, count: int) -> None:
        """Record accesses to the packet memory in a row; in the task's own segment nobody is in its way."""
        p, cycle = self.p, cycle_s(self.p)
        m.task.wait(seconds=count * way_cycles(p, near=p.memory == "distributed") * cycle)
        if p.memory == "shared":
            getattr(m, self.name("packets")).read(bytes=count * WORD_BYTES)
        else:
            m.task.wait(seconds=count * p.bank_cycles * cycle)

    def work(self, m: Recorder, bursts: int) -> None:
        """Record elements at work: so many bursts of cycles and accesses, caches hit more or less."""
        p, cycle = self.p, cycle_s(self.p)
        least, more = p.compute_cycles / p.bursts * (1 - p.jitter), 2 * p.jitter * p.compute_cycles / p.bursts
        with m.loop(bursts):
            m.task.wait(seconds=least * cycle)
            with m.branch(0.5, "caches"):
                m.task.wait(seconds=more * cycle)
            self.accesses(m, round(p.memory_accesses / p.bursts))

    def at_engine(self, m: Recorder, side: str, engine: int | None = None) -> None:
        """Record a visit to an engine of a side: the others are kept out. engine: which one, if each has a lock."""
        names = self.lock_names(side)
        if self.p.lock == "none":
            return
        self.p.assume("two_sections")
        name = names[0 if engine is None or len(names) == 1 else engine]
        if self.p.packets_per_lock == 1:
            self._section(m, name)
        else:
            with m.branch(1.0 / self.p.packets_per_lock, "batch"):
                self._section(m, name)

    def at_any_engine(self, m: Recorder, side: str, then: Callable[[int], None] | None = None, first: int = 0) -> None:
        """Record a visit to an engine chosen at random, each with a lock of its own; `then` goes on at that engine."""
        if first < self.engines - 1:
            with m.branch(1.0 / (self.engines - first), f"engine {side}"):
                self._at(m, side, first, then)
            with m.otherwise():
                self.at_any_engine(m, side, then, first + 1)
        else:
            self._at(m, side, first, then)

    def _at(self, m: Recorder, side: str, engine: int, then: Callable[[int], None] | None) -> None:
        self.at_engine(m, side, engine)
        if then is not None:
            then(engine)

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
