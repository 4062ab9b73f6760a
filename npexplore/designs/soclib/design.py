"""SoCLIB multiprocessor NPU routing IPv4 under the Mutek micro-kernel: what a task does with one packet (Secs. 3, 4).

One task on each processor carries a packet from end to end: lock, take it from an input engine, unlock; the elements
of its way, whose cache misses go through the interconnect to code and packet memory; lock, give it to an output engine,
unlock. A task that finds the lock taken sleeps, and its processor stays in the scheduler and reads the RAM of the
global variables (mutex), or it polls a word of that RAM (spin): the accesses of who holds the lock pass there too.
Several units make a router.
"""

from __future__ import annotations

from collections.abc import Callable

from npexplore.designs.base import Design
from npexplore.designs.soclib.router import build_router
from npexplore.designs.soclib.unit import (
    WORD_BYTES,
    Unit,
    alone_cycles,
    cycle_s,
    element_cycles,
    memory_cycles,
    packet_words,
)
from npexplore.designs.soclib.ways import mean_share, on_ways, traffic
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import SENT_BYTES
from npexplore.rows.expressions import Operand, ceildiv, expression, maximum
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
        Ingress("receive", int(p.input_packets) * packet_words(p) * WORD_BYTES, WORD_BYTES),
        {resource.name: resource for resource in resources},
        tick=cycle / TICKS_A_CYCLE,
        facts=p,
        window_s=(p.window_cycles - p.boot_cycles) * cycle,
    )


def one_unit(p: Parameters) -> tuple[list[Pool], list[Resource]]:
    """Return the threads of one unit, clones or a pipeline, and its resources."""
    cycle = cycle_s(p)
    resources: list[Resource] = [
        Delay("task"),
        FifoServer("ingress", memory_cycles(p) * cycle, members=p.egress_engines),
        FifoServer("egress", p.egress_word_cycles * cycle, members=p.egress_engines),
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
    """Return the bursts of each stage of the longest way: all (clones), or cut by acquisition and extraction."""
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
    last, engines = len(work) - 1, int(p.egress_engines)

    def engine(interface: Operand) -> Operand:
        return interface if engines > 1 else 0

    def take_in(m: Recorder, packet: Packet) -> None:
        words = ceildiv(packet.packet_bytes, WORD_BYTES)
        m.receive.free(bytes=words * WORD_BYTES)
        held = m.take("ingress", member=engine(packet.enters))
        unit.accesses(m, words)
        m.give(held)

    def words_out(packet: Packet) -> Operand:
        return ceildiv(packet.sent_bytes, WORD_BYTES) if SENT_BYTES in packet else packet.words

    def put_out(m: Recorder, packet: Packet) -> None:
        with m.loop(words_out(packet)):
            m.egress.serve(member=engine(packet.leaves))

    def bursts(packet: Packet) -> Operand:
        ends = sum(work) - work[1] if last else 0
        return packet.bursts if not last else work[stage] if stage != 1 else maximum(packet.bursts - ends, 0)

    def program(m: Recorder, packet: Packet) -> None:
        unit.at_engine(m, "in", engine(packet.enters))
        if stage == 0:
            take_in(m, packet)
        unit.work(m, bursts(packet))
        if stage < last:
            unit.at_engine(m, "out", engine(packet.leaves))
            getattr(m, f"fifo{stage + 1}").put()
            return
        with m.branch(expression(words_out(packet)) > 0, "forwarded"):
            unit.at_engine(m, "out", engine(packet.leaves))
            put_out(m, packet)

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
    """Return the cycles that processors are blocked at the RAM of global variables; None without waiting.

    Sec. 4: several want it at one time, and "at least one initiator stays blocked waiting for access". Each that is
    counts its own cycles, whether its access is the scheduler's, a poll or a section's.
    """
    waiting = [queue.mean for name, queue in prediction.queue.items() if name.startswith("globals")]
    return sum(waiting) * float(p.window_cycles - p.boot_cycles) if waiting else None


def conflict_readings(p: Parameters, prediction: Prediction) -> dict[str, float]:
    """Return what else the conflict cycles of one unit may be (knob conflicts = "target"), in cycles of the window.

    initiators: as `conflict_cycles`; target: cycles of the RAM in which somebody is blocked; accesses: the cycles of
    blocked ones and of those at the RAM; lost: all cycles of processors that no packet needed.
    """
    cycles, busy = float(p.window_cycles - p.boot_cycles), prediction.utilization
    blocked = conflict_cycles(p, prediction)
    assert blocked is not None
    packets = words_read(p, prediction) / packet_words(p)
    return {
        "initiators": blocked, "target": busy["globals.next"].busy * cycles,
        "accesses": blocked + busy["globals"].busy * cycles,
        "lost": p.processors * cycles - packets * alone_cycles(p, mean_share(p)),
    }  # fmt: skip


def soclib() -> Design:
    """Return the SoCLIB NPU with its published parameters."""
    return Design.of("soclib", build, traffic, on_ways)
