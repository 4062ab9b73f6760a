"""SoCLIB multiprocessor NPU routing IPv4 under the Mutek micro-kernel: what a task does with one packet (Secs. 3, 4).

Each processor runs one task, which carries a packet from end to end. The task locks an input engine, takes the packet
and unlocks; runs the elements on the packet's path, whose cache misses go through the interconnect to code and packet
memory; locks an output engine, passes it the packet and unlocks. If the lock is taken, the task sleeps while its
processor's scheduler reads the RAM of global variables (mutex), or the task polls a word of that RAM (spin). Either way
it competes with the accesses of the lock's holder. Several units form a router.
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
    """Return how the processors start after boot: together, one after another, or at random within a packet's time."""
    seconds = {"simultaneous": 0.0, "staggered": float(p.stagger_cycles), "random": alone_cycles(p)}[p.start]
    return Start(p.start, seconds * cycle_s(p))


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError if the boot time exceeds the window."""
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
    """Return the pools of one unit (clones, or a pipeline of stages) and its resources."""
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
        Pool(f"processor{k or ''}", processors, route(p, k), gets=f"fifo{k}" if k else None, start=start(p))
        for k, processors in enumerate(counts)
    ]
    return pools, resources


def stages(p: Parameters) -> list[int]:
    """Return the longest path's bursts by stage: all in one (clones), or acquisition, middle and extraction."""
    if p.software == "clones":
        return [int(p.bursts)]
    cycles = element_cycles(p)
    end_bursts = [
        max(1, round(p.bursts * cycles[name] / sum(cycles.values()))) for name in ("acquisition", "extraction")
    ]
    return [end_bursts[0], max(1, int(p.bursts) - sum(end_bursts)), end_bursts[1]]


def processors_of_stages(p: Parameters) -> list[int]:
    """Return the number of processors of each stage, in proportion to its work; raises ModelError for too few."""
    stage_bursts, processors = stages(p), int(p.processors)
    if processors < len(stage_bursts):
        raise ModelError(f"a pipeline of {len(stage_bursts)} threads needs as many processors, got {processors}")
    counts = [1] * len(stage_bursts)
    for _ in range(processors - len(stage_bursts)):
        counts[max(range(len(stage_bursts)), key=lambda stage: stage_bursts[stage] / counts[stage])] += 1
    return counts


def route(p: Parameters, stage: int = 0) -> Callable[[Recorder, Packet], None]:
    """Return a task's program: from an input engine to an output engine, or for a stage between two FIFOs."""
    unit, stage_bursts = Unit(p), stages(p)
    last, engines = len(stage_bursts) - 1, int(p.egress_engines)

    def engine(interface: Operand) -> Operand:
        return interface if engines > 1 else 0

    def take_in(m: Recorder, packet: Packet) -> None:
        words = ceildiv(packet.packet_bytes, WORD_BYTES)
        m.receive.free(bytes=words * WORD_BYTES)
        engine_hold = m.take("ingress", member=engine(packet.enters))
        unit.accesses(m, words)
        m.give(engine_hold)

    def words_out(packet: Packet) -> Operand:
        return ceildiv(packet.sent_bytes, WORD_BYTES) if SENT_BYTES in packet else packet.words

    def put_out(m: Recorder, packet: Packet) -> None:
        with m.loop(words_out(packet)):
            m.egress.serve(member=engine(packet.leaves))

    def bursts(packet: Packet) -> Operand:
        end_bursts = sum(stage_bursts) - stage_bursts[1] if last else 0
        return (
            packet.bursts if not last else stage_bursts[stage] if stage != 1 else maximum(packet.bursts - end_bursts, 0)
        )

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
    """Return the words that output engines read in the window, by the utilization law; partial packets count too.

    In a router, only engines at Ethernet links count: packets to the matrix have not left yet.
    """
    cycles = p.window_cycles - p.boot_cycles
    engines = {"egress": p.egress_engines} if p.units == 1 else {f"egress{k + 1}": 1 for k in range(p.units)}
    busy_engines = sum(prediction.utilization[name].busy * count for name, count in engines.items())
    return float(busy_engines * cycles / p.egress_word_cycles)


def bits_per_cycle(p: Parameters, prediction: Prediction) -> float:
    """Return throughput in bits per cycle over the whole window, boot included, as the paper counts."""
    return 8 * float(p.packet_bytes) / packet_words(p) * words_read(p, prediction) / float(p.window_cycles)


def conflict_cycles(p: Parameters, prediction: Prediction) -> float | None:
    """Return the cycles for which processors are blocked at the RAM of global variables; None without queue lengths.

    Sec. 4: several initiators access it at the same time, and "at least one initiator stays blocked waiting for
    access". Every blocked initiator's cycles count, for accesses of the scheduler, of polling and of sections.
    """
    mean_waiting = [queue.mean for name, queue in prediction.queue.items() if name.startswith("globals")]
    return sum(mean_waiting) * float(p.window_cycles - p.boot_cycles) if mean_waiting else None


def conflict_readings(p: Parameters, prediction: Prediction) -> dict[str, float]:
    """Return several readings of one unit's conflict cycles (knob conflicts = "target"), in cycles of the window.

    initiators: as `conflict_cycles`; target: cycles in which the RAM has at least one blocked initiator; accesses:
    cycles of blocked accesses and of those in service; lost: all processor cycles that packets did not need.
    """
    cycles, utilization = float(p.window_cycles - p.boot_cycles), prediction.utilization
    blocked = conflict_cycles(p, prediction)
    assert blocked is not None
    packets = words_read(p, prediction) / packet_words(p)
    return {
        "initiators": blocked, "target": utilization["globals.next"].busy * cycles,
        "accesses": blocked + utilization["globals"].busy * cycles,
        "lost": p.processors * cycles - packets * alone_cycles(p, mean_share(p)),
    }  # fmt: skip


def soclib() -> Design:
    """Return the SoCLIB NPU with its published parameters."""
    return Design.of("soclib", build, traffic, on_ways)
