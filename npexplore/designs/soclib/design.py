"""SoCLIB multiprocessor NPU routing IPv4 under the Mutek micro-kernel: what a task does with one packet (Secs. 3, 4).

One task on each processor carries a packet from end to end: lock, take it from an input engine, unlock; the elements
of Fig. 7, whose cache misses go through the interconnect to the packet memory; lock, give it to an output engine,
unlock. A task that finds the lock taken sleeps, and the scheduler's scan grows with the sleepers (mutex), or it polls a
word in the RAM of the global variables, where all others' accesses pass too (spin). Several units make a router.
"""

from __future__ import annotations

from collections.abc import Callable

from npexplore.designs.base import Design
from npexplore.designs.soclib.router import build_router
from npexplore.designs.soclib.unit import WORD_BYTES, Unit, alone_cycles, cycle_s, element_cycles, packet_words
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload, workload
from npexplore.rows.expressions import Operand
from npexplore.solve.prediction import Prediction

TICKS_A_CYCLE = 16


def start(p: Parameters) -> Start:
    """Return how the processors leave the boot: together, one after the other, or at random within one packet."""
    seconds = {"simultaneous": 0.0, "staggered": float(p.stagger_cycles), "random": alone_cycles(p)}[p.start]
    return Start(p.start, seconds * cycle_s(p))


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError where boot leaves nothing of the window."""
    if p.boot_cycles >= p.window_cycles:
        raise ModelError(f"boot of {p.boot_cycles} cycles must end within the window of {p.window_cycles} cycles")
    cycle = cycle_s(p)
    pools, resources = one_unit(p) if p.units == 1 else build_router(p, start(p))
    return Machine(
        p.file.name,
        pools,
        Ingress("receive", 65536, WORD_BYTES),
        {resource.name: resource for resource in resources},
        tick=cycle / TICKS_A_CYCLE,
        facts=p,
        window_s=(p.window_cycles - p.boot_cycles) * cycle,
    )


def one_unit(p: Parameters) -> tuple[list[Pool], list[Resource]]:
    """Return the threads of one unit, clones or a pipeline, and its resources."""
    resources: list[Resource] = [
        Delay("task"),
        FifoServer("egress", p.egress_word_cycles * cycle_s(p), members=p.egress_engines),
        *Unit(p).resources(),
    ]
    counts = processors_of_stages(p)
    resources += [BoundedQueue(f"fifo{k}", p.fifo_packets) for k in range(1, len(counts))]
    pools = [
        Pool(f"processor{k or ''}", n, route(p, k), gets=f"fifo{k}" if k else None, start=start(p))
        for k, n in enumerate(counts)
    ]
    return pools, resources


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
    unit, work = Unit(p), stages(p)
    last = len(work) - 1

    def put_out(m: Recorder, engine: Operand) -> None:
        with m.loop(packet_words(p)):
            m.egress.serve(member=engine)

    def program(m: Recorder, packet: Packet) -> None:
        apart = p.locks == "engine"
        unit.at_any_engine(m, "in") if apart else unit.at_engine(m, "in")
        unit.work(m, work[stage])
        if apart:
            unit.at_any_engine(m, "out", (lambda engine: put_out(m, engine)) if stage == last else None)
        else:
            unit.at_engine(m, "out")
            if stage == last:
                put_out(m, m.let(m.draw(p.egress_engines, "output")))
        if stage < last:
            getattr(m, f"fifo{stage + 1}").put()

    return program


def words_read(p: Parameters, prediction: Prediction) -> float:
    """Return the words that output engines read in the window, by the utilization law; parts of packets count too.

    Of a router those of the engines at the Ethernet links: what goes to the matrix has not left yet.
    """
    cycles = p.window_cycles - p.boot_cycles
    engines = {"egress": p.egress_engines} if p.units == 1 else {f"egress{k + 1}": 1 for k in range(p.units)}
    busy = sum(prediction.utilization[name].busy * n for name, n in engines.items())
    return float(busy * cycles / p.egress_word_cycles)


def bits_per_cycle(p: Parameters, prediction: Prediction) -> float:
    """Return the bits of those words over the whole window, boot included, as the paper counts."""
    return 8 * float(p.packet_bytes) / packet_words(p) * words_read(p, prediction) / float(p.window_cycles)


def conflict_cycles(p: Parameters, prediction: Prediction) -> float | None:
    """Return the cycles that processors spend in the scheduler, or waiting for the RAM of global variables.

    A sleeping task's processor stays in the scheduler, which reads that RAM all the time: it counts as in conflict (the
    paper: "most of the conflicts" are there). None where a solver knows no waiting.
    """
    waiting = [queue.mean for name, queue in prediction.queue.items() if name.startswith(("lock", "globals"))]
    return sum(waiting) * float(p.window_cycles - p.boot_cycles) if waiting else None


def traffic(p: Parameters) -> Workload:
    """Return the workload: packets of one length, as many as there is time for."""
    return workload(packet_bytes=p.packet_bytes)


def soclib() -> Design:
    """Return the SoCLIB NPU with its published parameters."""
    return Design.of("soclib", build, traffic)
