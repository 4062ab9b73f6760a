"""SoCLIB multiprocessor NPU routing IPv4 under the Mutek micro-kernel: what a task does with one packet (Secs. 3, 4).

One task on each processor carries a packet from end to end: lock, take it from an input engine, unlock; the elements
of Fig. 7, whose cache misses go through the interconnect to the packet memory; lock, give it to an output engine,
unlock. A task that finds the lock taken sleeps, and the scheduler's scan grows with the sleepers (mutex), or it polls a
word in the RAM of the global variables, where all others' accesses pass too (spin).
"""

from __future__ import annotations

from collections.abc import Callable

from npexplore.designs.base import Design
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder, visit
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer, Lock, WordMemory
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload, workload
from npexplore.solve.prediction import Prediction

WORD_BYTES = 4
TICKS_A_CYCLE = 16
ELEMENTS = (
    "acquisition", "classifier", "paint", "strip", "checkipheader", "getipaddress", "lookupiprouter", "dropbroadcast",
    "painttee", "ipgwoptions", "fixipsrc", "decipttl", "ipfragmenter", "etherencap", "extraction",
)  # fmt: skip


def element_cycles(p: Parameters) -> dict[str, int]:
    """Return the cycles of each timed element (Fig. 7), in the order of a packet's way."""
    return {name: int(p[f"{name}_cycles"]) for name in ELEMENTS}


def packet_words(p: Parameters) -> int:
    """Return the 32-bit words that a packet has at an output engine."""
    return -(-int(p.packet_bytes) // WORD_BYTES)


def cycle_s(p: Parameters) -> float:
    """Return the length of a cycle of the one clock; the paper leaves it open."""
    return 1e-6 / float(p.clock_mhz)


def alone_cycles(p: Parameters) -> float:
    """Return the cycles of a packet on a processor that has everything for itself."""
    memory = round(p.memory_accesses / p.bursts) * p.bursts * (p.bank_cycles + p.latency_cycles)
    sections = 0 if p.lock == "none" else 2 * section_cycles(p) / p.packets_per_lock
    return float(p.compute_cycles + memory + sections + packet_words(p) * p.egress_word_cycles)


def section_cycles(p: Parameters) -> int:
    """Return how long a lock is held without rivals: work, and accesses to the global variables."""
    memory = p.section_accesses * (p.bank_cycles + p.latency_cycles)
    return int(p.section_cycles + p.global_accesses * (p.global_cycles + p.latency_cycles) + memory)


def locks(p: Parameters, memory: FifoServer) -> list[Resource]:
    """Return the lock of the engines (none: queues that need no lock)."""
    clock = p.clock_mhz * 1e6
    if p.lock == "mutex":
        return [Lock("lock", "suspend", clock_hz=clock, wake_cycles=p.wake_cycles, waiter_cycles=p.waiter_cycles)]
    if p.lock == "spin":
        return [Lock("lock", "spin", clock_hz=clock, gap_cycles=p.gap_cycles, memory=visit(memory, "serve"))]
    return []


def start(p: Parameters) -> Start:
    """Return how the processors leave the boot: together, one after the other, or at random within one packet."""
    seconds = {"simultaneous": 0.0, "staggered": float(p.stagger_cycles), "random": alone_cycles(p)}[p.start]
    return Start(p.start, seconds * cycle_s(p))


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError where boot leaves nothing of the window."""
    if p.boot_cycles >= p.window_cycles:
        raise ModelError(f"boot of {p.boot_cycles} cycles must end within the window of {p.window_cycles} cycles")
    cycle = cycle_s(p)
    global_ram = FifoServer("globals", p.global_cycles * cycle)
    resources: list[Resource] = [
        Delay("task"),
        global_ram,
        FifoServer("egress", p.egress_word_cycles * cycle, members=p.egress_engines),
        *locks(p, global_ram),
    ]
    if p.memory == "shared":
        resources.append(WordMemory("packets", WORD_BYTES, p.bank_cycles * cycle, channels=p.banks, select="random"))
    counts = processors_of_stages(p)
    resources += [BoundedQueue(f"fifo{k}", p.fifo_packets) for k in range(1, len(counts))]
    return Machine(
        p.file.name,
        [
            Pool(f"processor{k or ''}", n, route(p, k), gets=f"fifo{k}" if k else None, start=start(p))
            for k, n in enumerate(counts)
        ],
        Ingress("receive", 65536, WORD_BYTES),
        {resource.name: resource for resource in resources},
        tick=cycle / TICKS_A_CYCLE,
        facts=p,
        window_s=(p.window_cycles - p.boot_cycles) * cycle,
    )


def stages(p: Parameters) -> list[int]:
    """Return the bursts of each stage: one of all (clones), or three, cut behind acquisition and before extraction."""
    if p.software == "clones":
        return [int(p.bursts)]
    cycles = element_cycles(p)
    ends = [max(1, round(p.bursts * cycles[name] / sum(cycles.values()))) for name in ("acquisition", "extraction")]
    return [ends[0], max(1, int(p.bursts) - sum(ends)), ends[1]]


def processors_of_stages(p: Parameters) -> list[int]:
    """Return the processors of each stage, at least one, by its work; raises ModelError if there are too few."""
    work, n = stages(p), int(p.processors)
    if n < len(work):
        raise ModelError(f"a pipeline of {len(work)} threads needs as many processors, got {n}")
    counts = [1] * len(work)
    for _ in range(n - len(work)):
        counts[max(range(len(work)), key=lambda k: work[k] / counts[k])] += 1
    return counts


def route(p: Parameters, stage: int = 0) -> Callable[[Recorder, Packet], None]:
    """Return the program of a task: from an input engine to an output engine, or of one stage between two FIFOs."""
    cycle, bursts = cycle_s(p), int(p.bursts)
    work = stages(p)
    accesses = round(p.memory_accesses / bursts)
    least, more = p.compute_cycles / bursts * (1 - p.jitter), 2 * p.jitter * p.compute_cycles / bursts

    def packet_memory(m: Recorder, count: int) -> None:
        """Accesses in a row; in the task's own segment nobody is in its way."""
        m.task.wait(seconds=count * p.latency_cycles * cycle)
        if p.memory == "shared":
            m.packets.read(bytes=count * WORD_BYTES)
        else:
            m.task.wait(seconds=count * p.bank_cycles * cycle)

    def global_variables(m: Recorder) -> None:
        with m.loop(p.global_accesses):
            m.globals.serve()
            m.task.wait(seconds=p.latency_cycles * cycle)

    def at_an_engine(m: Recorder) -> None:
        """Take a packet from an engine or give it to one: the others are kept out."""
        if p.lock == "none":
            return
        m.lock.acquire()
        m.task.wait(seconds=p.section_cycles * cycle)
        global_variables(m)
        if p.section_accesses:
            packet_memory(m, p.section_accesses)
        m.lock.release()

    def now_and_then(m: Recorder) -> None:
        if p.packets_per_lock == 1:
            at_an_engine(m)
        else:
            with m.branch(1.0 / p.packets_per_lock, "batch"):
                at_an_engine(m)

    def program(m: Recorder, packet: Packet) -> None:
        now_and_then(m)
        with m.loop(work[stage]):
            m.task.wait(seconds=least * cycle)
            with m.branch(0.5, "caches"):
                m.task.wait(seconds=more * cycle)
            packet_memory(m, accesses)
        now_and_then(m)
        if stage < len(work) - 1:
            getattr(m, f"fifo{stage + 1}").put()
            return
        engine = m.let(m.draw(p.egress_engines, "output"))
        with m.loop(packet_words(p)):
            m.egress.serve(member=engine)

    return program


def words_read(p: Parameters, prediction: Prediction) -> float:
    """Return the words that output engines read in the window, by the utilization law; parts of packets count too."""
    cycles = p.window_cycles - p.boot_cycles
    return float(prediction.utilization["egress"].busy * p.egress_engines * cycles / p.egress_word_cycles)


def bits_per_cycle(p: Parameters, prediction: Prediction) -> float:
    """Return the bits of those words over the whole window, boot included, as the paper counts."""
    return 8 * float(p.packet_bytes) / packet_words(p) * words_read(p, prediction) / float(p.window_cycles)


def conflict_cycles(p: Parameters, prediction: Prediction) -> float | None:
    """Return the cycles that processors spend in the scheduler, or waiting for the RAM of global variables.

    A sleeping task's processor stays in the scheduler, which reads that RAM all the time: it counts as in conflict (the
    paper: "most of the conflicts" are there). None where a solver knows no waiting.
    """
    waiting = [prediction.queue[name].mean for name in ("lock", "globals") if name in prediction.queue]
    return sum(waiting) * float(p.window_cycles - p.boot_cycles) if waiting else None


def traffic(p: Parameters) -> Workload:
    """Return the workload: packets of one length, as many as there is time for."""
    return workload(packet_bytes=p.packet_bytes)


def soclib() -> Design:
    """Return the SoCLIB NPU with its published parameters."""
    return Design.of("soclib", build, traffic)
