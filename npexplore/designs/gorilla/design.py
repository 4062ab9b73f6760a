"""Gorilla, network processors in an FPGA: clusters of multithreaded engines that run one step program (Secs. 3, 4).

The pre-processor stores a packet's body in the body buffer, gives its header a place in the order of arrival and puts
the header into a cluster's FIFO. A thread of the cluster takes the header and executes steps on the engine, `request +
edit` cycles each. When a step calls accelerators, the thread waits and the engine runs another thread. Calls go through
local arbiters to the cluster's label table, or through two levels of arbiters to a channel of QDR memory, which serves
one read per memory clock. The post-processor sends headers in order of arrival with their bodies, and frees the bodies'
buffer space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from npexplore.designs.base import Design
from npexplore.designs.gorilla.memory import channels_of, reads_per_s
from npexplore.designs.gorilla.traffic import FRAME, WORD, cached_share, header_words, in_frames, lowered, traffic
from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import (
    Arbiter,
    BoundedQueue,
    BufferPool,
    Delay,
    FifoServer,
    Processor,
    ReorderQueue,
    TokenChannel,
)
from npexplore.machine.resources.arbiter import Discipline as Order
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.processor import Discipline
from npexplore.machine.step_programs import Lowered
from npexplore.machine.step_programs.paths import End
from npexplore.rows.expressions import Expression, Operand, expression
from npexplore.solve.prediction import Prediction

TICKS_A_CYCLE = 3000  # ticks per core cycle; a memory read takes 1000 (QDRII) or 500 (QDRII+) ticks
SCHEDULERS: Mapping[str, Discipline] = {
    "ready": "ready_every_cycle", "ready_on_stall": "ready_on_stall", "round_robin": "strict_round_robin",
    "packet_end": "ready_on_stall",
}  # fmt: skip
CHECKS = ("integrity2", "integrity4", "integrity6")
ARBITERS: Mapping[str, Order] = {"fair": "fair", "unfair": "fixed", "first_come": "first_come"}


def cycle_s(p: Parameters) -> float:
    """Return the length of a core clock cycle, in seconds."""
    return 1e-6 / float(p.core_mhz)


def delays(p: Parameters) -> dict[str, float]:
    """Return the core cycles of one call without contention, by accelerator."""
    p.assume("header_check")
    trie, port = float(p.lookup_delay or p.lookup_cycles), float(p.port_cycles)
    return {
        **dict.fromkeys(CHECKS, p.check_cycles),
        "label_table": p.label_cycles, "lookup4": trie + port, "lookup6": trie * p.ipv6_delay_ratio + port,
        "flow_counter": float(p.lookup_cycles + port if p.counter_flush == 1 else p.low_order_cycles),
    }  # fmt: skip


def mean_delays(p: Parameters) -> dict[str, float]:
    """Return `delays`, with the mean of hits and misses where a cache answers some lookups."""
    latencies, hits = delays(p), cached_share(p)
    return latencies | {name: hits * p.label_cycles + (1 - hits) * latencies[name] for name in ("lookup4", "lookup6")}


def overhead(p: Parameters) -> float:
    """Return the engine's cycles per packet outside steps; moving shorter headers in and out takes fewer."""
    saved_words = header_words("all") - header_words(str(p.protocols))
    return float(p.overhead_cycles - 2 * saved_words * p.word_cycles)


def issue_cycles(p: Parameters, steps: int, edits: int | None = None) -> float:
    """Return the engine's cycles for a packet that executes `steps` substeps; edits None: one edit per substep."""
    return overhead(p) + float(steps * p.request_cycles + (steps if edits is None else edits) * p.edit_cycles)


def split_edits(p: Parameters) -> bool:
    """Return whether every substep has its own context edit."""
    return bool(p.edits == "substep")


def residence_cycles(p: Parameters, lowered_program: Lowered | None = None) -> tuple[float, float]:
    """Return a packet's mean engine cycles without contention: (without, with) the waits for replies."""
    paths = (lowered_program or lowered(p)).paths
    each = split_edits(p)
    issue = sum(path.share * issue_cycles(p, len(path.steps), path.edits(each)[-1]) for path in paths)
    stalls = sum(path.share * path.stalls(mean_delays(p)) for path in paths)
    return issue, issue + float(p.handover_cycles) + stalls


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError if parameters contradict each other."""
    cycle, lowered_program = cycle_s(p), lowered(p)
    if not p.check_cycles:
        lowered_program = lowered_program.inline(CHECKS)  # part of the engine's steps: the thread does not wait
    if p.protocols == "ipv4" and p.proto != "ipv4":
        raise ModelError(f"a processor for IPv4 alone takes no other traffic: proto must be ipv4, got {p.proto!r}")
    count, threads = p.clusters * p.engines, p.clusters * p.engines * p.threads
    ideal = p.balancing == "ideal"
    if p.when_full == "drop" and p.reorder == "on" and not ideal:
        raise ModelError("headers that a full FIFO drops never leave in order: when_full=drop needs reorder=off")
    resources: list[Resource] = [
        Delay("wait"),
        engine(p, threads + (0 if ideal else 1)),
        Arbiter(
            "labels", p.engines, cycle, p.label_cycles * cycle, ARBITERS[p.local_arbiter], members=p.clusters
        ),
        Arbiter(
            "qdr", count, 1 / reads_per_s(p), discipline=ARBITERS[p.global_arbiter], groups=p.clusters,
            within=ARBITERS[p.local_arbiter] if p.clusters > 1 else None, members=channels_of(p),
        ),
        FifoServer("qdr_write", 1 / reads_per_s(p), members=channels_of(p)),
    ]  # fmt: skip
    if p.crossing == "tokens":
        resources.append(
            TokenChannel(
                "crossing", reads_per_s(p), depth=round(reads_per_s(p) * cycle), edge="aligned",
                clock_hz=p.core_mhz * 1e6, members=channels_of(p),
            )
        )  # fmt: skip
    start = Start("random", cycle * max(1.0, residence_cycles(p, lowered_program)[1]))
    work = lowered_program.record(compute(p), visit(p, lowered_program), _end(p), split_edits(p))
    if ideal:
        pools = [Pool("engine", threads, _alone(p, work), home="engine", start=start)]
    else:
        resources += [
            FifoServer("pre", cycle / p.lanes),
            FifoServer("post", cycle / p.lanes),
            BufferPool("bodies", body_words(p)),
            BoundedQueue(
                "fifo", p.fifo_packets, when_full=p.when_full, carries=("ticket",), members=p.clusters,
                select=p.balancing,
            ),
        ]  # fmt: skip
        if p.reorder == "on":
            resources.append(ReorderQueue("order", p.reorder_places))
        pools = [
            Pool("pre", 1, _split(p)),
            Pool("engine", threads, _in_order(p, work), home="engine", gets="fifo", start=start),
        ]
    return Machine(
        p.file.name, pools, Ingress("receive", p.buffer_packets * FRAME, FRAME),
        {resource.name: resource for resource in resources}, counted="64-byte frames", cell_bytes=FRAME,
        tick=cycle / TICKS_A_CYCLE, facts=p, window_s=p.window_us * 1e-6, boot_s=p.boot_us * 1e-6,
    )  # fmt: skip


def body_words(p: Parameters) -> int:
    """Return the body buffer's size, in words of the scratchpad's width."""
    return int(p.body_kib) * 1024 // WORD


def engine(p: Parameters, threads: int) -> Processor:
    """Return the engines, with their thread scheduler, as one resource."""
    strict = threads if p.scheduler == "round_robin" else None
    return Processor(
        "engine", p.clusters * p.engines, p.core_mhz * 1e6, discipline=SCHEDULERS[p.scheduler], threads=strict
    )


def compute(p: Parameters) -> Callable[[Recorder, int, int, bool], None]:
    """Return the recorder of the engine's work between two waits: steps, and for a new packet moving its header."""

    def run(m: Recorder, requests: int, edits: int, first: bool) -> None:
        if first and p.handover_cycles:
            m.wait.wait(seconds=p.handover_cycles * cycle_s(p))  # the thread waits, its engine runs others
        cycles = requests * p.request_cycles + edits * p.edit_cycles + (overhead(p) if first else 0.0)
        if p.scheduler == "packet_end":
            m.wait.wait(seconds=cycles * cycle_s(p))  # the thread holds its engine all the time
        else:
            m.engine.compute(cycles=cycles)

    return run


def visit(p: Parameters, lowered_program: Lowered) -> Callable[[Recorder, str, Mapping[str, Operand]], None]:
    """Return the recorder of accelerator calls: what a thread waits for, by accelerator name."""
    cycle, delay, read = cycle_s(p), delays(p), 1 / reads_per_s(p)

    def most(amount: Operand) -> float:
        if not isinstance(amount, Expression):
            return float(amount)
        return float(lowered_program.columns[amount.name].max())  # type: ignore[attr-defined]

    def memory(m: Recorder, name: str, reads: Operand) -> None:
        """Record `reads` reads of the next channel in turn, then the rest of the accelerator's delay."""
        channel = m.turn(channels_of(p), f"{name} channel")
        m.qdr.request(requester=m.home, grants=reads, member=channel)
        if p.crossing == "tokens":
            m.crossing.take(tokens=reads, member=channel)
        m.wait.wait(seconds=max(0.0, delay[name] * cycle - most(reads) * read))

    def count(m: Recorder, used: Mapping[str, Operand]) -> None:
        """Record an on-chip low-order counter and, at 1 of `counter_flush` packets, an asynchronous memory update."""
        m.wait.wait(seconds=p.low_order_cycles * cycle)
        with m.branch(1 / p.counter_flush, "counters are flushed"), m.fork():
            memory(m, "flow_counter", used["reads"])
            with m.loop(used["writes"]):
                m.qdr_write.serve(member=m.turn(channels_of(p), "write channel"))

    def call(m: Recorder, name: str, used: Mapping[str, Operand]) -> None:
        reads = used.get("reads", 0)
        if name == "flow_counter" and p.counter_flush > 1:
            count(m, used)
            return
        if name.startswith("integrity"):
            m.wait.wait(seconds=p.check_cycles * cycle)
        elif name == "label_table":
            m.labels.request(requester=m.home % p.engines, member=m.home // p.engines)
            if isinstance(reads, Expression):
                with m.branch(reads > 0, "label miss"):
                    memory(m, "lookup4", 1)
            elif reads:
                memory(m, "lookup4", reads)
        elif name.startswith("lookup") and p.cache_entries:
            with m.branch(expression(reads) > 0, "route is not cached"):
                memory(m, name, reads)
            with m.otherwise():
                m.wait.wait(seconds=p.label_cycles * cycle)
        else:
            memory(m, name, reads)
        if used.get("writes"):
            with m.fork(), m.loop(used["writes"]):
                m.qdr_write.serve(member=m.turn(channels_of(p), "write channel"))

    return call


def _end(p: Parameters) -> End:
    """Return what follows the last step: a control packet's changes of the tables go through the data path.

    The thread waits until the changed words are written, so that updates beyond the channels' write rate delay packets.
    """

    def end(m: Recorder, packet: Packet, step: str) -> None:
        if step == "control" and p.update_routes:
            with m.loop(packet.update_words):
                m.qdr_write.serve(member=m.turn(channels_of(p), "update channel"))

    return end


def _held(p: Parameters, work: Callable[[Recorder, Packet], None]) -> Callable[[Recorder, Packet], None]:
    """Return a thread's work; with scheduler `packet_end`, the thread holds its engine to the end of the packet."""
    if p.scheduler != "packet_end":
        return work

    def keep(m: Recorder, packet: Packet) -> None:
        hold = m.take("engine", member=m.home)
        work(m, packet)
        m.give(hold)

    return keep


def _alone(p: Parameters, work: Callable[[Recorder, Packet], None]) -> Callable[[Recorder, Packet], None]:
    """Return the program for ideal balancing: any free thread takes the next header."""
    inner = _held(p, work)

    def program(m: Recorder, packet: Packet) -> None:
        m.receive.free(bytes=packet.packet_bytes)
        inner(m, packet)

    return program


def _units(packet: Packet) -> Operand:
    """Return the number of 64-byte units of a frame."""
    return packet.units if "units" in packet else 1


def _through(units: Operand, m: Recorder, serve: Callable[[], None]) -> None:
    """Move a frame through the pre- or post-processor, unit by unit."""
    if isinstance(units, int) and units == 1:
        serve()
    else:
        with m.loop(units):
            serve()


def _split(p: Parameters) -> Callable[[Recorder, Packet], None]:
    """Return the pre-processor's program: it stores the body and puts the header with its ticket into a FIFO."""

    def program(m: Recorder, packet: Packet) -> None:
        _through(_units(packet), m, m.pre.serve)
        m.bodies.take(count=packet.body_words)
        m.receive.free(bytes=packet.packet_bytes)
        ticket: Operand = m.order.enter() if p.reorder == "on" else 0
        m.fifo.put(ticket=ticket)

    return program


def _in_order(p: Parameters, work: Callable[[Recorder, Packet], None]) -> Callable[[Recorder, Packet], None]:
    """Return a thread's program; the post-processor sends packets in order while the thread takes the next one."""
    inner = _held(p, work)

    def program(m: Recorder, packet: Packet) -> None:
        inner(m, packet)
        with m.fork():
            if p.reorder == "on":
                m.order.leave(ticket=packet.ticket)
            with m.sending():  # a dropped packet also waits for its place in the order
                _through(_units(packet), m, m.post.serve)
            m.bodies.give(count=packet.body_words)

    return program


def gorilla() -> Design:
    """Return Gorilla with its published parameters: 16-6-4 (clusters, engines, threads) with IPv4 at 200 Mpps."""
    return Design.of("gorilla", build, traffic, in_frames, hardware=_in_hardware)


def _in_hardware(p: Parameters, packets: int) -> Prediction:
    from npexplore.designs.gorilla.rate import rate  # slow import, needed by rtl() only

    return rate(p, packets)
