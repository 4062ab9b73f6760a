"""What each pool of the IXP1200's threads does with one packet (Figs. 2 and 3): programs, and the steps they share."""

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

    def move(self, size: int, way: str) -> Variable:
        """Move an MP: two commands of half of it, issued one after the other, one wait for both; return its bank."""
        self.p.assume("mp_in_halves")
        bank = self.m.draw(self.p.sdram_banks, "sdram bank")  # of the MP's buffer
        half = lambda: getattr(self.m.sdram, way)(bytes=size // 2, bank=bank)  # noqa: E731
        self.m.parallel(half, half)
        return bank

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


def _from_mac(p: Parameters, m: Recorder, steps: Steps) -> None:
    """Move an MP from the MAC to an element of the RFIFO, which stays taken."""
    m.rfifo.take(count=1)
    steps.compute(p.receive_mp_instructions, p.scale_base)  # see the flag, ask the receive state machine
    m.ix_in.read(bytes=p.mp_bytes)
    steps.access("sram", 1)  # a buffer descriptor from the free list


def _to_sdram(p: Parameters, m: Recorder, steps: Steps, header: bool = False) -> None:
    """Move an MP from the RFIFO to the packet buffer."""
    bank = steps.move(p.mp_bytes, "write")
    if header:
        m.sdram.write(bytes=p.header_write_bytes, bank=bank)  # as it was marked, in transfer registers
    m.rfifo.give(count=1)
    steps.access("sram", 1, write=True)  # the buffer descriptor, linked to the one before


def _route(p: Parameters, steps: Steps, work: Work) -> None:
    """Look the output up."""
    if p.routing_table == "sdram":
        for _ in work.accesses:
            steps.m.sdram.read(bytes=LONGWORD_PAIR, bank=steps.m.draw(p.sdram_banks, "sdram bank"))
        steps.compute(cycles(p, work.instructions, len(work.accesses)), p.scale_base)
    else:
        steps.work(work, p.scale_base, steps.tables)


def receiver(p: Parameters, engine: str, queue: str, ports: int) -> Program:
    """Return a receiver's program (Fig. 2): a packet from its MAC to its queue.

    Its first MP stays in the RFIFO until the route is known; the others are moved on one by one.
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
        searched = (1 - p.route_cache_hit) * (1 - p.cache_hit * (p.service == "diffserv"))
        if searched < 1:
            with m.branch(searched, "cache"):
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
            steps.access("sram", 1, write=True)  # the buffer goes back to the free list

    return program


def to_queue(p: Parameters, m: Recorder, packet: Packet, queue: str, ports: int) -> None:
    """Put a packet into the queue of its class at its port."""
    member = {"member": packet.out} if ports > 1 else {}
    getattr(m, queue).put(queue=getattr(packet, CLASS) if p.traffic == "classes" else CLASSES.index(p.phb), **member)


def scheduler(p: Parameters, engine: str, queue: str) -> Program:
    """Return the scheduler's program: choose a transmitter and a port for it."""

    def program(m: Recorder, packet: Packet) -> None:
        Steps(m, p, engine).compute(schedule_cycles(p), 1.0)
        getattr(m, queue).put()

    return program


def schedule_cycles(p: Parameters) -> float:
    """Return what the scheduler spends on a choice: its printed code once, or what plain forwarding is said to take."""
    return float(p.code_scheduler if runs_code(p) else p.schedule_instructions * p.scale_base)


def runs_code(p: Parameters) -> bool:
    """Say whether transmitters and the scheduler spend their printed code on a packet."""
    return bool(p.service == "diffserv" and p.transmit_path == "code")


def transmitter(p: Parameters, engine: str, card: str) -> Program:
    """Return a transmitter's program: scan the port's queues, take a packet's descriptor, move its MPs out."""
    scale = p.scale_diffserv if p.service == "diffserv" else p.scale_base
    work = constant_work(p)["dequeue"]
    mp = p.transmit_mp_instructions

    def program(m: Recorder, packet: Packet) -> None:
        steps = Steps(m, p, engine)
        if runs_code(p):  # all of it but what belongs to an MP, between the accesses that golden code counts
            for at in work.accesses:
                steps.access("sram", at.words, at.write)
                steps.compute((p.code_transmitter - mp) / len(work.accesses), 1.0)
        else:
            steps.work(work, scale)
        if p.traffic == "classes":  # down the queues to that of its class; the code of a look is counted above
            with m.loop(getattr(packet, CLASS)):
                steps.work(Work(scanned().accesses) if runs_code(p) else scanned(), scale)
        size = packet.sent_bytes if SENT_BYTES in packet else packet.packet_bytes
        with m.loop(ceildiv(size, p.mp_bytes)):
            steps.access("sram", 1)  # the buffer descriptor: where the MP lies
            m.tfifo.take(count=1)
            steps.move(p.mp_bytes, "read")  # SDRAM to TFIFO
            steps.compute(mp, p.scale_base)
            m.ix_out.read(bytes=p.mp_bytes)
            m.tfifo.give(count=1)
            steps.access("sram", 1, write=True)  # the buffer goes back to the free list
        if card == "fe":
            m.fe.send(bytes=size, member=packet.out)
        else:
            m.gbe.send(bytes=size)

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
        to_queue(p, m, packet, "out_fe", p.fe_ports)

    return program
