"""The programs of the IXP1200's pools of threads for one packet (Figs. 2 and 3), and their common steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npexplore.designs.ixp1200.load import CLASSES, STEP, TABLES, constant_work, cycles, scanned
from npexplore.designs.ixp1200.units import LONGWORD_PAIR, WORD
from npexplore.golden.work import Work
from npexplore.machine.parameters import Parameters
from npexplore.machine.program import Packet, Recorder
from npexplore.machine.workload import CLASS, SENT_BYTES
from npexplore.rows.expressions import Variable, ceildiv

Program = Callable[[Recorder, Packet], None]


class Steps:
    """Records work for threads of one engine: memory accesses with instructions spread evenly between them."""

    def __init__(self, m: Recorder, p: Parameters, engine: str) -> None:
        self.m, self.p, self.engine = m, p, engine
        self.tables = "tables" if p.sram_copies > 1 else "sram"

    def compute(self, count: float, scale: float) -> None:
        """Record `count` instructions on the engine, at `scale` cycles each."""
        if count * scale:
            getattr(self.m, self.engine).compute(cycles=count * scale)

    def access(self, memory: str, words: int, write: bool = False) -> None:
        """Record a read or write of 32-bit words."""
        getattr(getattr(self.m, memory), "write" if write else "read")(bytes=WORD * words)

    def move(self, size: int, way: str) -> Variable:
        """Record an MP's transfer as two commands of half its size with one wait for both; return its bank."""
        self.p.assume("mp_in_halves")
        bank = self.m.draw(self.p.sdram_banks, "sdram bank")  # the bank of the MP's buffer
        half = lambda: getattr(self.m.sdram, way)(bytes=size // 2, bank=bank)  # noqa: E731
        self.m.parallel(half, half)
        return bank

    def work(self, work: Work, scale: float, memory: str = "sram") -> None:
        """Record constant work that golden code counted: one access after another, instructions between them."""
        total = cycles(self.p, work.instructions, len(work.accesses))
        for access in work.accesses:
            self.access(memory, access.words, access.write)
            self.compute(total / len(work.accesses), scale)
        if not work.accesses:
            self.compute(total, scale)

    def columns(self, packet: Packet, scale: float) -> None:
        """Record this packet's work that golden code counted: the classifier's reads, one table after another."""
        for table in TABLES[self.p.classifier]:
            words = getattr(packet, f"{table}_words")
            for kind, extra_words in (("reads", 0), ("long", 1)):
                with self.m.loop(getattr(packet, f"{table}_{kind}")):
                    getattr(self.m, self.tables).read(bytes=WORD * (words + extra_words))
                    getattr(self.m, self.engine).compute(cycles=packet.step * (scale / STEP))


def _from_mac(p: Parameters, m: Recorder, steps: Steps) -> None:
    """Record an MP's transfer from the MAC to an element of the RFIFO, which stays occupied."""
    m.rfifo.take(count=1)
    steps.compute(p.receive_mp_instructions, p.scale_base)  # check the flag, start the receive state machine
    m.ix_in.read(bytes=p.mp_bytes)
    steps.access("sram", 1)  # a buffer descriptor from the free list


def _to_sdram(p: Parameters, m: Recorder, steps: Steps, header: bool = False) -> None:
    """Record an MP's transfer from the RFIFO to the packet buffer."""
    bank = steps.move(p.mp_bytes, "write")
    if header:
        m.sdram.write(bytes=p.header_write_bytes, bank=bank)  # the marked header, from transfer registers
    m.rfifo.give(count=1)
    steps.access("sram", 1, write=True)  # link the buffer descriptor to the previous one


def _route(p: Parameters, steps: Steps, work: Work) -> None:
    """Record the route lookup."""
    if p.routing_table == "sdram":
        for _ in work.accesses:
            steps.m.sdram.read(bytes=LONGWORD_PAIR, bank=steps.m.draw(p.sdram_banks, "sdram bank"))
        steps.compute(cycles(p, work.instructions, len(work.accesses)), p.scale_base)
    else:
        steps.work(work, p.scale_base, steps.tables)


def receiver(p: Parameters, engine: str, queue: str, ports: int) -> Program:
    """Return a receiver's program (Fig. 2), which moves a packet from its MAC to its output queue.

    The first MP stays in the RFIFO until the route is known; the others follow one by one.
    """
    base, diffserv = p.scale_base, p.scale_diffserv
    work, shared = constant_work(p), p.traffic == "classes"

    def program(m: Recorder, packet: Packet) -> None:
        steps = Steps(m, p, engine)
        _from_mac(p, m, steps)
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
            if shared:
                with m.branch(m.policer.police(flow=getattr(packet, CLASS)) == 0):
                    m.rfifo.give(count=1)
                    m.policer.drop()
                with m.otherwise():
                    admitted(m, packet, steps)
                return
        admitted(m, packet, steps)

    def admitted(m: Recorder, packet: Packet, steps: Steps) -> None:
        if p.service == "diffserv":
            steps.work(work["mark"], diffserv)
        search_share = (1 - p.route_cache_hit) * (1 - p.cache_hit * (p.service == "diffserv"))
        if search_share < 1:
            with m.branch(search_share, "cache"):
                _route(p, steps, work["route"])
        else:
            _route(p, steps, work["route"])
        _to_sdram(p, m, steps, header=p.service == "diffserv" and p.header_write_bytes > 0)
        with m.loop(ceildiv(packet.packet_bytes, p.mp_bytes) - 1):
            _from_mac(p, m, steps)
            _to_sdram(p, m, steps)
        with m.sending():
            steps.work(work["enqueue"], diffserv if p.service == "diffserv" else base)
            if p.slow_share:
                with m.branch(p.slow_share, "slow path"):
                    m.slow.put()
                with m.otherwise():
                    to_queue(p, m, packet, queue, ports)
            else:
                to_queue(p, m, packet, queue, ports)
        with m.unsent():
            steps.access("sram", 1, write=True)  # return the buffer to the free list

    return program


def to_queue(p: Parameters, m: Recorder, packet: Packet, queue: str, ports: int) -> None:
    """Record that a packet enters the queue of its class at its output port."""
    member = {"member": packet.out} if ports > 1 else {}
    getattr(m, queue).put(queue=getattr(packet, CLASS) if p.traffic == "classes" else CLASSES.index(p.phb), **member)


def scheduler(p: Parameters, engine: str, queue: str) -> Program:
    """Return the scheduler's program: choose a port and a transmitter for it."""

    def program(m: Recorder, packet: Packet) -> None:
        Steps(m, p, engine).compute(schedule_cycles(p), 1.0)
        getattr(m, queue).put()

    return program


def schedule_cycles(p: Parameters) -> float:
    """Return the scheduler's cycles per choice: its printed code once, or the published value for plain forwarding."""
    return float(p.code_scheduler if runs_code(p) else p.schedule_instructions * p.scale_base)


def runs_code(p: Parameters) -> bool:
    """Return whether transmitters and the scheduler execute their whole printed code for each packet."""
    return bool(p.service == "diffserv" and p.transmit_path == "code")


def transmitter(p: Parameters, engine: str, card: str) -> Program:
    """Return a transmitter's program: scan the port's queues, dequeue a packet's descriptor, send its MPs."""
    scale = p.scale_diffserv if p.service == "diffserv" else p.scale_base
    work = constant_work(p)["dequeue"]
    mp = p.transmit_mp_instructions

    def program(m: Recorder, packet: Packet) -> None:
        steps = Steps(m, p, engine)
        if runs_code(p):  # all code but that of MPs, spread over the counted accesses
            for access in work.accesses:
                steps.access("sram", access.words, access.write)
                steps.compute((p.code_transmitter - mp) / len(work.accesses), 1.0)
        else:
            steps.work(work, scale)
        if p.traffic == "classes":  # scan queues down to its class; its code is counted above
            with m.loop(getattr(packet, CLASS)):
                steps.work(Work(scanned().accesses) if runs_code(p) else scanned(), scale)
        size = packet.sent_bytes if SENT_BYTES in packet else packet.packet_bytes
        with m.loop(ceildiv(size, p.mp_bytes)):
            steps.access("sram", 1)  # the buffer descriptor: the MP's address
            m.tfifo.take(count=1)
            steps.move(p.mp_bytes, "read")  # SDRAM to TFIFO
            steps.compute(mp, p.scale_base)
            m.ix_out.read(bytes=p.mp_bytes)
            m.tfifo.give(count=1)
            steps.access("sram", 1, write=True)  # return the buffer to the free list
        if card == "fe":
            m.fe.send(bytes=size, member=packet.out)
        else:
            m.gbe.send(bytes=size)

    return program


def ready_bus(groups: Sequence[str]) -> Program:
    """Return the ready bus sequencer's program: it detects a packet in a port's MAC and sets the port's flag."""

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
    """Return the StrongARM's program for a packet that receivers cannot handle."""

    def program(m: Recorder, packet: Packet) -> None:
        m.strongarm.compute(cycles=p.slow_path_cycles)
        m.sram.read(bytes=WORD)
        to_queue(p, m, packet, "out_fe", p.fe_ports)

    return program
