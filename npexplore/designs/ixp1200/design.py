"""Intel IXP1200 as a DiffServ edge router: what each pool of threads does with one packet (Figs. 2 and 3 of the paper).

The ready bus tells a receiver thread that its port's MAC has a packet. The receiver moves it in 64-byte MAC packets
(MPs), checks the header, classifies, polices and marks it, looks its route up, stores it in SDRAM and queues its
descriptor in SRAM. The scheduler gives it to a transmitter, which takes it from the queue and moves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npexplore.designs.base import Design
from npexplore.designs.ixp1200.load import STEP, TABLES, constant_work, cycles, own_workload, receivers_of
from npexplore.errors import ModelError
from npexplore.golden.work import Work
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import Parameters
from npexplore.machine.pools import Start
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.resources import BoundedQueue, FifoServer, LineCard, Processor, WordMemory
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.ingress import Ingress
from npexplore.rows.expressions import ceildiv

NS = 1e-9
WORD = 4
BOOT_S, WINDOW_S = 2e-3, 10e-3  # measured from when queues have filled on: traffic is steady
MANY = 8  # receivers, from which on a shorter time has as many packets
LONGWORD_PAIR = 8  # SDRAM and the IX bus move 64 bits at a time
Program = Callable[[Recorder, Packet], None]


def check_control_store(p: Parameters) -> None:
    """Raise ModelError if threads of two roles share an engine whose control store cannot hold both programs."""
    size = {"receiver": p.code_receiver, "transmitter": p.code_transmitter, "scheduler": p.code_scheduler}
    for roles in p.engine_roles.split("+"), ("receiver",), ("transmitter", "scheduler"):
        need = sum(size[role] for role in roles)
        if need > p.control_store:
            told = " and ".join(f"{role} ({size[role]})" for role in roles)
            raise ModelError(
                f"{told} need {need} instructions of a microengine's control store, which holds {p.control_store}"
            )


def memories(p: Parameters) -> list[Resource]:
    """Return SRAM (banks, or copies of the tables beside it), SDRAM, and the two halves of the IX bus."""
    sram_word, split = (p.sram_word_ns, False) if p.sram_type == "sram" else (p.qdr_word_ns, True)

    def sram(name: str, channels: int, shortest: bool = False) -> WordMemory:
        return WordMemory(
            name, WORD, sram_word * NS, p.sram_command_ns * NS, p.sram_latency_ns * NS, channels, split,
            efficiency=p.sram_efficiency, select="shortest" if shortest else "random",
        )  # fmt: skip

    found: list[Resource] = [
        sram("sram", p.sram_banks),
        WordMemory(
            "sdram", LONGWORD_PAIR, p.sdram_word_ns * NS, p.sdram_command_ns * NS, p.sdram_latency_ns * NS,
        ),
        *(WordMemory(f"ix_{way}", LONGWORD_PAIR, 1e-6 / p.ix_bus_mhz) for way in ("in", "out")),
    ]  # fmt: skip
    if p.sram_copies > 1:
        found.append(sram("tables", p.sram_copies, shortest=True))
    return found


class Steps:
    """Records pieces of work for threads of one engine: accesses with the instructions spread over them."""

    def __init__(self, m: Recorder, p: Parameters, engine: str) -> None:
        self.m, self.p, self.engine = m, p, engine
        self.tables = "tables" if p.sram_copies > 1 else "sram"

    def compute(self, count: float, scale: float) -> None:
        """Keep the engine for some instructions, at so many cycles each."""
        if count * scale:
            getattr(self.m, self.engine).compute(cycles=count * scale)

    def access(self, memory: str, words: int, write: bool = False) -> None:
        """Move words of 32 bits."""
        getattr(getattr(self.m, memory), "write" if write else "read")(bytes=WORD * words)

    def move(self, size: int, way: str) -> None:
        """Move an MP: two commands of half of it, issued one after the other, one wait for both."""
        self.p.assume("mp_in_halves")
        half = lambda: getattr(self.m.sdram, way)(bytes=size // 2)  # noqa: E731
        self.m.parallel(half, half)

    def work(self, work: Work, scale: float, memory: str = "sram") -> None:
        """Do what golden code counted for every packet alike: access after access, instructions between them."""
        total = cycles(self.p, work.instructions, len(work.accesses))
        for at in work.accesses:
            self.access(memory, at.words, at.write)
            self.compute(total / len(work.accesses), scale)
        if not work.accesses:
            self.compute(total, scale)

    def columns(self, packet: Packet, scale: float) -> None:
        """Do what golden code counted for this packet: reads of the classifier's tables, table after table."""
        for table in TABLES[self.p.classifier]:
            words = getattr(packet, f"{table}_words")
            for kind, more in (("reads", 0), ("long", 1)):
                with self.m.loop(getattr(packet, f"{table}_{kind}")):
                    getattr(self.m, self.tables).read(bytes=WORD * (words + more))
                    getattr(self.m, self.engine).compute(cycles=packet.step * (scale / STEP))


def receiver(p: Parameters, engine: str, queue: str) -> Program:
    """Return a receiver's program (Fig. 2): a packet from its MAC to its queue."""
    base, diffserv = p.scale_base, p.scale_diffserv
    work = constant_work(p)

    def program(m: Recorder, packet: Packet) -> None:
        steps = Steps(m, p, engine)
        mps = m.let(ceildiv(packet.packet_bytes, p.mp_bytes), "mps")
        with m.loop(mps):
            steps.compute(p.receive_mp_instructions, base)  # see the flag, ask the receive state machine
            m.ix_in.read(bytes=p.mp_bytes)  # MAC to RFIFO
            steps.access("sram", 1)  # a buffer descriptor from the free list
        steps.compute(p.header_instructions, base)  # verify, time to live, checksum
        if p.service == "diffserv":
            if p.cache_hit:
                with m.branch(p.cache_hit, "cache"):
                    steps.compute(p.cache_instructions, diffserv)
                with m.otherwise():
                    steps.columns(packet, diffserv)
            else:
                steps.columns(packet, diffserv)
            steps.work(work["police"], diffserv)
            steps.work(work["mark"], diffserv)
        searched = (1 - p.route_cache_hit) * (1 - p.cache_hit * (p.service == "diffserv"))
        if searched < 1:
            with m.branch(searched, "cache"):
                route(steps)
        else:
            route(steps)
        with m.loop(mps):
            steps.move(p.mp_bytes, "write")  # RFIFO to SDRAM
            steps.access("sram", 1, write=True)  # the buffer descriptor, linked to the one before
        steps.work(work["enqueue"], diffserv if p.service == "diffserv" else base)
        if p.slow_share:
            with m.branch(p.slow_share, "slow path"):
                m.slow.put()
            with m.otherwise():
                getattr(m, queue).put()
        else:
            getattr(m, queue).put()

    def route(steps: Steps) -> None:
        if p.routing_table == "sdram":
            for _ in work["route"].accesses:
                steps.m.sdram.read(bytes=LONGWORD_PAIR)
            steps.compute(cycles(p, work["route"].instructions, len(work["route"].accesses)), base)
        else:
            steps.work(work["route"], base, steps.tables)

    return program


def scheduler(p: Parameters, engine: str, queue: str) -> Program:
    """Return the scheduler's program: choose a transmitter and a port for it."""

    def program(m: Recorder, packet: Packet) -> None:
        Steps(m, p, engine).compute(p.schedule_instructions, p.scale_base)
        getattr(m, queue).put()

    return program


def transmitter(p: Parameters, engine: str, card: str) -> Program:
    """Return a transmitter's program: scan the port's queues, take a packet's descriptor, move its MPs out."""
    scale = p.scale_diffserv if p.service == "diffserv" else p.scale_base
    work = constant_work(p)

    def program(m: Recorder, packet: Packet) -> None:
        steps = Steps(m, p, engine)
        steps.work(work["dequeue"], scale)
        with m.loop(ceildiv(packet.packet_bytes, p.mp_bytes)):
            steps.access("sram", 1)  # the buffer descriptor: where the MP lies
            steps.move(p.mp_bytes, "read")  # SDRAM to TFIFO
            steps.compute(p.transmit_mp_instructions, p.scale_base)
            m.ix_out.read(bytes=p.mp_bytes)
            steps.access("sram", 1, write=True)  # the buffer goes back to the free list
        if card == "fe":
            m.fe.send(bytes=packet.packet_bytes, member=packet.out)
        else:
            m.gbe.send(bytes=packet.packet_bytes)

    return program


def ready_bus(groups: Sequence[str]) -> Program:
    """Return what the ready bus sequencer does: it finds a packet in the MAC of a port and sets the port's flag."""

    def program(m: Recorder, packet: Packet) -> None:
        m.ready_bus.serve()
        m.receive.free(bytes=packet.packet_bytes)
        to_port(m, packet, 0)

    def to_port(m: Recorder, packet: Packet, number: int) -> None:
        if number == len(groups) - 1:
            getattr(m, groups[number]).put()
            return
        with m.branch(packet.port == number):
            getattr(m, groups[number]).put()
        with m.otherwise():
            to_port(m, packet, number + 1)

    return program


def slow_path(p: Parameters) -> Program:
    """Return what the StrongARM does with a packet that receivers cannot handle."""

    def program(m: Recorder, packet: Packet) -> None:
        m.strongarm.compute(cycles=p.slow_path_cycles)
        m.sram.read(bytes=WORD)
        m.out_fe.put()

    return program


def build(p: Parameters) -> Machine:
    """Return the machine; raises ModelError for threads that do not fit, and programs that share a control store."""
    check_control_store(p)
    ports, gigabit, gigabit_engines = receivers_of(p)
    clock, threads = p.me_clock_mhz * 1e6, p.engine_threads
    engines = sorted({port // threads for port in ports})
    bound = [engine * threads + k for engine in engines for k in range(threads)]  # a thread of each is bound to a port
    polls = {
        "idle": "poll", "poll_cycles": p.poll_instructions, "poll_wait_s": p.poll_wait_cycles / clock,
    } if p.idle == "poll" else {}  # fmt: skip
    signals = polls if p.transmitter_idle == "poll" else {}
    looks = {**polls, "poll_cycles": p.schedule_instructions} if polls and p.scheduler_look == "ports" else polls
    resources: list[Resource] = [
        FifoServer("ready_bus", p.ready_bus_ns * NS),
        *memories(p),
        *(Processor(f"me{engine}", 1, clock) for engine in engines),
        Processor("me2", 1, clock),
        LineCard("fe", p.fe_mbps * 1e6 / 8, p.fe_ports, 1, p.gap_bytes, p.mac_buffer_bytes + p.largest_bytes),
        *(BoundedQueue(f"mac{port}", mac_packets(p, p.mac_buffer_bytes), when_full="drop") for port in bound),
        BoundedQueue("out_fe", p.queue_packets, when_full="drop"),
        BoundedQueue("chosen_fe", p.transmitters),
    ]
    start = Start("random", 20e-6)
    pools = [
        Pool("mac", 1, ready_bus([*(f"mac{port}" for port in bound), *["mac_gbe"] * bool(gigabit)]), priority=4),
        *(
            Pool(f"rx{port}", 1, receiver(p, f"me{port // threads}", "out_fe"), home=f"me{port // threads}",
                 gets=f"mac{port}", start=start, **polls)
            for port in bound
        ),
        Pool("schedule_fe", 1, scheduler(p, "me2", "chosen_fe"), home="me2", gets="out_fe", start=start, **looks),
        Pool("tx_fe", p.transmitters, transmitter(p, "me2", "fe"), home="me2", gets="chosen_fe", start=start,
             **signals),
    ]  # fmt: skip
    if gigabit:
        resources += [
            Processor("me_gbe", gigabit_engines, clock), Processor("me_tx_gbe", 1, clock),
            LineCard("gbe", p.gbe_mbps * 1e6 / 8, 1, 1, p.gap_bytes, p.mac_gbe_buffer_bytes + p.largest_bytes),
            BoundedQueue("mac_gbe", mac_packets(p, p.mac_gbe_buffer_bytes), when_full="drop"),
            BoundedQueue("out_gbe", p.queue_packets, when_full="drop"), BoundedQueue("chosen_gbe", p.transmitters),
        ]  # fmt: skip
        pools += [
            Pool("rx_gbe", gigabit, receiver(p, "me_gbe", "out_gbe"), home="me_gbe", gets="mac_gbe", start=start,
                 **polls),
            Pool("schedule_gbe", 1, scheduler(p, "me_tx_gbe", "chosen_gbe"), home="me_tx_gbe", gets="out_gbe",
                 start=start, **looks),
            Pool("tx_gbe", p.transmitters, transmitter(p, "me_tx_gbe", "gbe"), home="me_tx_gbe", gets="chosen_gbe",
                 start=start, **signals),
        ]  # fmt: skip
    if p.slow_share:
        resources += [Processor("strongarm", 1, p.core_clock_mhz * 1e6), BoundedQueue("slow", 64, when_full="drop")]
        pools.append(Pool("strongarm", 1, slow_path(p), home="strongarm", gets="slow", start=start))
    boot, window = measured(p)
    return Machine(
        p.file.name, pools, Ingress("receive", 1 << 24, 1), {r.name: r for r in resources}, facts=p,
        window_s=window, boot_s=boot,
    )  # fmt: skip


def measured(p: Parameters) -> tuple[float, float]:
    """Return boot time and window: about as many packets, whether few receivers are at work or many.

    With plain forwarding the gigabit port's queues fill in four milliseconds; it has the most packets.
    """
    p.assume("steady_traffic")
    if p.service == "ip_forwarding":
        return 2 * BOOT_S, WINDOW_S / 5
    return (BOOT_S, WINDOW_S) if p.receivers < MANY else (BOOT_S / 2, 4 * WINDOW_S / p.receivers)


def mac_packets(p: Parameters, buffer_bytes: int) -> int:
    """Return how many packets of this length a MAC buffer holds (one that is longer passes through it)."""
    return max(int(buffer_bytes // p.packet_bytes), 1)


def ixp1200() -> Design:
    """Return the IXP1200 as the paper programs it."""
    return Design.of("ixp1200", build, own_workload)
