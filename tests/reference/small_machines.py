"""Small machines for tests: one instance of each resource kind with visits, exponential servers, runs read exactly."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from reference.example_kinds import visits_of

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.errors import ModelError
from npexplore.machine.described.kinds import shown
from npexplore.machine.described.parts import part
from npexplore.machine.flows import flows
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.program import visit
from npexplore.machine.resources import (
    KINDS,
    Accelerator,
    AddressMap,
    Arbiter,
    Balancer,
    BankedMemory,
    BoundedQueue,
    BufferPool,
    DdrController,
    Delay,
    Dram,
    DramController,
    DramOptions,
    DramPolicy,
    DramTiming,
    FifoServer,
    LineCard,
    Lock,
    Policer,
    Processor,
    ReorderQueue,
    ScheduledQueue,
    TokenChannel,
    WordMemory,
)
from npexplore.machine.resources.base import Hold, OwnFaces, Resource, Server, Uses
from npexplore.machine.resources.dram_device import dram_device
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.matrix import SwitchMatrix
from npexplore.machine.resources.mesh import Mesh
from npexplore.machine.resources.streams import StaticStreams
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Variable

NS = 1e-9
TICK = 1e-12
QUIET = 5000 * NS  # longer than anything a visit leaves behind
TIMING = DramTiming(t_ck=10 * NS, t_rcd=20 * NS, t_cl=25 * NS, t_rp=22 * NS, t_ras=50 * NS, t_wr=15 * NS, t_wl=12 * NS)
STRICT = replace(
    TIMING, t_rc=75 * NS, t_rrd=15 * NS, t_faw=70 * NS, t_wtr=8 * NS, t_rtw=5 * NS, t_rtp=9 * NS, t_ccd=7 * NS
)
OPTIONS = [
    DramOptions(*chosen)  # every combination
    for chosen in itertools.product(
        ("in_order", "together"), ("before_bus", "whole", "with_bus"), ("like_reads", "bus_first"), ("free", "on_bus")
    )
]


class Exponential(OwnFaces):
    """A server whose visits last an exponential time: product form, so that queueing theory is exact."""

    VISITS: ClassVar = {"serve": ()}

    def __init__(self, name, mean_s, units=1, members=1):
        super().__init__(name)
        self.mean, self.units, self.members = mean_s, units, members

    def servers(self):
        return [Server(self.name, units=self.units, members=self.members)]

    def uses(self, method, values):
        return Uses(self.mean, [Hold(self.name, self.mean, squares=np.float64(2 * self.mean**2))])

    def emit(self, method, operands, asm):
        place = asm.number(self.name)
        if self.members > 1:
            member = Variable("member")
            asm.draw(member, self.members, f"{self.name} member")
            place = member + place
        asm.emit(
            engine.SERVE, asm.operand(place), asm.operand(asm.ticks(self.mean)), x=engine.EXPONENTIAL, source=self.name
        )


class Probe(OwnFaces):
    """Counts a value: what the engine computed against what demands computed."""

    VISITS: ClassVar = {"see": ("value",)}

    def servers(self):
        return []

    def uses(self, method, values):
        return Uses(np.float64(0), counts={f"{self.name}.sum": values["value"]})

    def emit(self, method, operands, asm):
        asm.count(f"{self.name}.sum", operands["value"])


def dram(options=None, **more):
    """A DRAM of 4 banks, 2 bytes a nanosecond, 12 bytes of overhead an access."""
    settings = {"banks": 4, "bus_bytes_per_s": 2e9, "overhead_bytes": 12, "slots": 8, **more}
    return Dram("dram", settings.pop("timing", TIMING), options=options, **settings)


def today(page):
    policy = DramPolicy(page=page, writes=0, refresh="none")
    return DramController("dram_controller", dram_device("ddr4_3200"), policy=policy)


def ddr(kind=DdrController, **more):
    """A DDR controller of 4 banks, 8 bytes wide, bursts of 4: 32 bytes in 20 ns, no whole clocks."""
    settings = {"banks": 4, "bus_bytes": 8, "burst_length": 4, "slots": 8, "whole_clocks": False, **more}
    return kind("ddr", settings.pop("timing", TIMING), **settings)


@dataclass(frozen=True)
class Case:
    """A resource of some kind, one of its visits, and the latency worked out by hand."""

    kind: str
    resource: Resource
    method: str
    operands: dict
    latency_ns: float
    program: Callable | None = None  # instead of this one visit: what it needs before and behind, in no time
    beside: tuple = ()  # other resources that it needs

    def __str__(self):
        return f"{self.kind}.{self.method}({', '.join(f'{k}={v}' for k, v in self.operands.items())})"


def sdram(**knobs):
    """Four banks of SDRAM behind a unit."""
    return BankedMemory("sdram", 8, 10 * NS, 4, 40 * NS, 20 * NS, 180 * NS, **knobs)


def machine(resources, program, threads=1, home=None, capacity_bytes=None, cell_bytes=64, **more):
    """A machine of these resources whose threads run `program`; what they put into a queue is finished behind it."""
    pools = [Pool("thread", threads, program, home)]
    pools += [
        Pool(f"behind_{r.name}", 1, lambda m, p: None, gets=r.name) for r in resources if isinstance(r, BoundedQueue)
    ]
    parts, more = {r.name: r for r in resources}, {"cell_bytes": cell_bytes} | more
    return received("small", pools, capacity_bytes, cell_bytes, parts, **more)


def received(name, pools, capacity_bytes, cells, parts, **more):
    """A machine with a receive buffer of these bytes; None: 8192 bytes if a program frees them, else no limit."""
    made = Machine(name, pools, Ingress("receive", capacity_bytes or 8192, cells), dict(parts), **more)
    try:
        made.check_freed()
    except ModelError:
        if capacity_bytes is None:
            return Machine(name, pools, Ingress("receive"), dict(parts), **more)
    return made


def packets(*sizes, **columns):
    """A workload of these packet lengths, in this order."""
    data = {"packet_bytes": np.array(sizes, dtype=np.int64)}
    data |= {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    return Workload("small", data)


@dataclass(frozen=True)
class Solo:
    """What one thread alone does per packet: seconds of latency and of each server, amounts counted."""

    latency: float
    servers: dict
    counts: dict


def solo(made, workload, rounds=3):
    """Run a machine of one thread over whole rounds of the workload; the program must end with a long wait."""
    assert made.pools[0].count == 1
    n = len(workload.packet_bytes)
    model = build(made, workload)
    shots = run(model, 1, n * (rounds + 1), rounds + 1).snapshots
    first, last = shots[1], shots[-1]
    count = int((last.done - first.done)[0, engine.D_COUNT])
    assert count == n * rounds
    ticks = last.now - first.now
    busy = {}
    for name, (server, number) in model.servers.items():
        part = slice(number, number + server.members)
        free = int((last.integral_free - first.integral_free)[part].sum())
        busy[name] = (server.units * server.members * ticks - free) * TICK / count
    counts = dict(zip(model.counters, ((last.counters - first.counters) / count).tolist(), strict=True))
    return Solo(int((last.done - first.done)[0, engine.D_LATENCY]) * TICK / count, busy, counts)


def busy(made, seen, found):
    """Seconds that servers were busy by a simulation, but for those that only the engine knows."""
    shown = {server.name for server in made.servers().values() if server.role != "hidden"} | set(found.servers)
    return {name: seconds for name, seconds in seen.servers.items() if seconds > 0 and name in shown}


def told(made, workload):
    """The demands of a machine's programs over a workload."""
    return flows(made, *workload.distinct()).demands


def policed(m):
    """A packet that finds no token is dropped."""
    with m.branch(m.police.police(flow=0) == 0):
        m.police.drop()


def whole_lock(m):
    """A lock is released where it was acquired."""
    m.lock.acquire()
    m.lock.release()


RAM = FifoServer("ram", 0.0)

FORKED = StaticStreams("st", 3, 3, 1e9, [[[8]], [[0, 1, 2], [0, 3], [0, 1]]], fifo_depth=12)
CARRIED = 1 - (2 * 8 / 203 + 4 / 1538)  # of a link before the sixth generation
WIRES = part("pcie_wires", "wires", generation=1, lanes=1)
LINK = part("pcie_link", "link", generation=1, lanes=1, drain_bytes_per_s=25e9)
CASES = [
    Case("processor", Processor("me", engines=3, clock_hz=5e8), "compute", {"cycles": 17}, 34),
    Case("processor", Processor("me", engines=3, clock_hz=5e8), "compute", {"cycles": 2.5}, 5),
    Case("processor", Processor("me", engines=1, clock_hz=1e9, switch_cycles=3), "compute", {"cycles": 10}, 13),
    Case("server", FifoServer("hash", 148 * NS), "serve", {}, 148),
    Case("server", FifoServer("hash", 8 * NS, units=2), "serve", {}, 8),
    Case("server", FifoServer("hash", 8 * NS, members=3), "serve", {"member": 2}, 8),
    Case("processor", Processor("me", 3, 5e8, 1, "ready_round_robin"), "compute", {"cycles": 17}, 36),
    Case("processor", Processor("me", 3, 5e8, 1, "strict_round_robin", threads=4), "compute", {"cycles": 17}, 36),
    Case("processor", Processor("me", 3, 5e8, discipline="ready_every_cycle"), "compute", {"cycles": 17}, 34),
    Case("processor", Processor("me", 3, 5e8, 0, "ready_every_cycle", pipeline=4), "compute", {"cycles": 17}, 136),
    Case("accelerator", Accelerator("hash", 8 * NS, 20 * NS), "call", {}, 20),
    Case("accelerator", Accelerator("hash", 8 * NS, 8 * NS, 3 * NS, members=2), "call", {"words": 5, "member": 1}, 23),
    Case("accelerator", Accelerator("trie", 8 * NS, 20 * NS, 4 * NS, True), "call", {"words": 3}, 32),
    Case("accelerator", Accelerator("trie", 8 * NS, 20 * NS, 4 * NS, True, window=2), "call", {"words": 3}, 32),
    Case("channel", TokenChannel("qdr", 125e6), "take", {}, 0),
    Case("channel", TokenChannel("qdr", 125e6, depth=3), "take", {"tokens": 3}, 0),
    Case("channel", TokenChannel("qdr", 125e6, depth=3, members=2), "take", {"tokens": 5, "member": 1}, 16),
    Case("channel", TokenChannel("qdr", 125e6, 1, "aligned", clock_hz=1e8), "take", {"tokens": 6}, 40),
    Case("arbiter", Arbiter("grant", 6, 10 * NS), "request", {"requester": 5}, 10),
    Case("arbiter", Arbiter("grant", 6, 10 * NS, 35 * NS, "fixed", members=2), "request",
         {"requester": 0, "member": 1}, 35),
    Case("arbiter", Arbiter("grant", 6, 10 * NS, groups=2, within="fixed"), "request", {"requester": 3}, 10),
    Case("reorder", ReorderQueue("order", 2), "enter", {}, 0,
         lambda m: m.order.leave(ticket=m.order.enter())),
    Case("reorder", ReorderQueue("order", 3, members=2), "leave", {"ticket": 0, "member": 1}, 0,
         lambda m: m.order.leave(ticket=m.order.enter(member=1), member=1)),
    Case("balancer", Balancer("spread", "cluster", 3, "shortest"), "choose", {}, 0,
         lambda m: m.cluster.serve(member=m.spread.choose()), (FifoServer("cluster", 0.0, members=3),)),
    Case("balancer", Balancer("spread", "cluster", 3, "key"), "choose", {"key": 7}, 0,
         lambda m: m.cluster.serve(member=m.spread.choose(key=7)), (FifoServer("cluster", 0.0, members=3),)),
    Case("memory", WordMemory("sram", 4, 5 * NS, burst_words=2, efficiency=0.5), "read", {"bytes": 12}, 40),
    Case("memory", WordMemory("sram", 4, 5 * NS, channels=3, select="random"), "read", {"bytes": 12}, 15),
    Case("memory", WordMemory("sram", 4, 5 * NS, channels=3, select="key"), "write", {"bytes": 12, "address": 68}, 15),
    Case("delay", Delay("think"), "wait", {"seconds": 70 * NS}, 70),
    Case("delay", Delay("think"), "wait", {"seconds": 0}, 0),
    Case("memory", WordMemory("sram", 4, 5 * NS), "read", {"bytes": 4}, 5),
    Case("memory", WordMemory("sram", 4, 5 * NS), "read", {"bytes": 5}, 10),
    Case("memory", WordMemory("sram", 4, 5 * NS, 3 * NS, 150 * NS, 2, True), "read", {"bytes": 16}, 173),
    Case("memory", WordMemory("sram", 4, 5 * NS, 3 * NS, 150 * NS, 2, True), "write", {"bytes": 1}, 158),
    Case("pool", BufferPool("buffers", 4), "take", {"count": 0}, 0),
    Case("pool", BufferPool("buffers", 4), "give", {"count": 0}, 0),
    Case("queue", BoundedQueue("tx", 3), "put", {}, 0),
    Case("queue", BoundedQueue("tx", 64, "bytes", "drop"), "put", {}, 0),
    Case("queue", BoundedQueue("tx", 2, "packets", "credits", 50 * NS, ["bank"]), "put", {"bank": 7}, 0),
    # 8 words of 10 and a command of 40; the precharge of 20 goes on beside
    Case("banked_memory", sdram(), "read", {"bytes": 60, "bank": 3}, 40 + 80 + 180),
    Case("banked_memory", sdram(refresh_s=70 * NS), "write", {"bytes": 1, "bank": 0}, 40 + 10 + 180),
    Case("policer", Policer("police", [1e6, 2e6], 3), "police", {"flow": 1}, 0),
    Case("policer", Policer("police", [1e9]), "drop", {}, 0, policed),
    Case("scheduled_queue", ScheduledQueue("tx", 3, {"high": 2, "low": 1}, "wrr"), "put", {"queue": 1}, 0),
    Case("line_card", LineCard("card", 1e9), "receive", {"bytes": 65}, 65),
    Case("line_card", LineCard("card", 1e9, 3, word_bytes=4, gap_bytes=12), "receive", {"bytes": 65, "member": 2}, 80),
    Case("line_card", LineCard("card", 1e9, half_duplex=True), "send", {"bytes": 65}, 65),
    Case("line_card", LineCard("card", 1e9, word_bytes=4, buffer_bytes=65), "send", {"bytes": 65}, 0),
    Case("line_card", LineCard("card", 1e9, 2, buffer_bytes=80, when_full="drop"), "send",
         {"bytes": 65, "member": 1}, 0),
    # 1 + 17 flits over entry, 6 links and exit; with 3 cycles a hop; FIFOs of 2 for 4 cycles of round trip
    Case("mesh", Mesh("net", 4, 4, 1e9, 4), "deliver", {"source": 0, "target": 15, "words": 17}, 8 + 17),
    Case("mesh", Mesh("net", 4, 4, 5e8, 4, hop_cycles=3), "deliver", {"source": 5, "target": 5, "words": 0}, 2 * 6),
    Case("mesh", Mesh("net", 4, 4, 1e9, 4, header_words=3), "send", {"source": 0, "target": 15, "words": 17}, 20),
    Case("mesh", Mesh("net", 4, 4, 1e9, 2, hop_cycles=3), "send", {"source": 0, "target": 3, "words": 16}, 8 * 4 + 1),
    Case("mesh", Mesh("net", 3, 2, 1e9, 1, ports=[0]), "deliver", {"source": 6, "target": 5, "words": 2}, 5 + 4),
    Case("streams", FORKED, "stream", {"path": 1, "words": 9}, 4 + 9),
    Case("streams", FORKED, "stream", {"path": 0, "words": 9}, 2 + 9),
    Case("streams", FORKED, "stream", {"path": 0, "words": 0}, 0),
    Case("streams", FORKED, "send", {"path": 0, "words": 3}, 3),
    Case("streams", FORKED, "receive", {"tile": 2, "words": 0}, 0),
    # 3 levels of switches above 5 ports: ports 0 and 1 share a switch, 0 and 4 only the top one
    Case("matrix", SwitchMatrix("net", 4, 2 * NS, 5 * NS), "send", {"source": 0, "target": 3, "words": 7}, 14 + 5 + 14),
    Case("matrix", SwitchMatrix("net", 4, 2 * NS, 5 * NS), "send", {"source": 2, "target": 2, "words": 7}, 0),
    Case("matrix", SwitchMatrix("net", 5, 2 * NS, 5 * NS, 2), "send", {"source": 0, "target": 1, "words": 3}, 12 + 5),
    Case("matrix", SwitchMatrix("net", 5, 2 * NS, 5 * NS, 2, 2), "send", {"source": 4, "target": 0, "words": 1},
         6 * 2 + 5 * 5),
    Case("lock", Lock("lock", clock_hz=5e8, acquire_cycles=12), "acquire", {}, 24, whole_lock),
    Case("lock", Lock("lock", clock_hz=5e8, release_cycles=20, wake_cycles=9, waiter_cycles=7), "release", {}, 40,
         whole_lock),
    Case("lock", Lock("lock", clock_hz=5e8, release_cycles=3, memory=visit(RAM, "serve")), "release", {}, 6, whole_lock,
         (RAM,)),
    Case("lock", Lock("lock", "spin", clock_hz=5e8, acquire_cycles=2, gap_cycles=5, memory=visit(RAM, "serve")),
         "acquire", {}, 4, whole_lock, (RAM,)),
    Case("lock", Lock("lock", clock_hz=5e8, gap_cycles=7, wake_visits=3, wake_cycles=2, idle=visit(RAM, "serve")),
         "acquire", {}, 0, whole_lock, (RAM,)),
    # column: 2 x 10 + 20 + (25 read, 12 write); bytes through gating 32 (64 of them); bus 32 + 6
    Case("dram", dram(), "read", {"bytes": 64, "bank": 3}, 65 + 32 + 38),
    Case("dram", dram(), "read", {"bytes": 57, "bank": 0}, 65 + 32 + 38),
    Case("dram", dram(), "read", {"bytes": 56, "bank": 0}, 65 + 28 + 34),
    Case("dram", dram(), "write", {"bytes": 64, "bank": 0}, 52 + 32 + 38),
    Case("dram", dram(DramOptions(gating="whole")), "read", {"bytes": 64, "bank": 0}, 65 + 38 + 38),
    Case("dram", dram(DramOptions(gating="with_bus")), "read", {"bytes": 64, "bank": 0}, 65 + 38),
    Case("dram", dram(DramOptions(gating="with_bus")), "write", {"bytes": 24, "bank": 0}, 52 + 18),
    Case("dram", dram(DramOptions(writes="bus_first")), "write", {"bytes": 24, "bank": 0}, 18 + 52 + 12),
    Case("dram", dram(DramOptions(admission="together")), "read", {"bytes": 8, "bank": 1}, 65 + 4 + 10),
    Case("dram", dram(queue_limit=2), "write", {"bytes": 8, "bank": 1}, 52 + 4 + 10),
    # tRCD, tCL or tWL, bursts of 20; with open pages the second time and from then on a row hit
    Case("ddr", ddr(), "read", {"bytes": 32, "bank": 3}, 20 + 25 + 20),
    Case("ddr", ddr(), "read", {"bytes": 0, "bank": 3}, 20 + 25 + 20),
    Case("ddr", ddr(), "read", {"bytes": 33, "bank": 0}, 20 + 25 + 40),
    Case("ddr", ddr(timing=STRICT), "write", {"bytes": 32, "bank": 1}, 20 + 12 + 20),
    Case("ddr", ddr(timing=STRICT), "write", {"bytes": 100, "bank": 1}, 20 + 12 + 80),
    Case("ddr", ddr(timing=STRICT, channels=2), "read", {"bytes": 100, "bank": 7}, 20 + 25 + 80),
    Case("ddr", ddr(timing=STRICT, page="open"), "read", {"bytes": 64, "bank": 2, "row": 9}, 25 + 40),
    Case("ddr", ddr(address_map=AddressMap()), "read", {"bytes": 8, "address": 12345}, 20 + 25 + 20),
    # DDR4-3200: tRCD 13.75 (closed), tCL 13.75 or tWL 10, bursts of 2.5; a second burst to the bank 5 (tCCD_L) later
    Case("dram_controller", today("closed"), "read", {"bytes": 64, "bank": 3}, 13.75 + 13.75 + 2.5),
    Case("dram_controller", today("closed"), "read", {"bytes": 100, "bank": 3}, 13.75 + 5 + 13.75 + 2.5),
    Case("dram_controller", today("closed"), "write", {"bytes": 0, "bank": 3}, 13.75 + 10 + 2.5),
    Case("dram_controller", today("open"), "read", {"bytes": 64, "bank": 2, "row": 9}, 13.75 + 2.5),
    # parts: one lane of generation 1 takes 4 ns a byte, eight of generation 3 take 8.125 ns for 64 bytes;
    # acknowledgements and flow control take 16 bytes in 203, clock compensation 4 in 1538
    Case("pcie_link", LINK, "write", {"bytes": 600}, (2 * (256 + 24) * 4 + (88 + 24) * 4) / CARRIED),
    Case("pcie_link", LINK, "write", {"bytes": 0}, 0),
    Case("pcie_link", part("pcie_link", "link", generation=3, lanes=8, drain_bytes_per_s=26e9), "write", {"bytes": 104},
         2 * 8.125 / CARRIED),
    Case("pcie_link", LINK, "read", {"bytes": 600}, (2 * 24 * 4 + (600 + 3 * 20) * 4) / CARRIED + 500),
    Case("pcie_link", LINK, "read", {"bytes": 600, "offset": 192}, (2 * 24 * 4 + (600 + 4 * 20) * 4) / CARRIED + 500),
    Case("pcie_wires", WIRES, "post", {"bytes": 257}, (256 + 24 + 1 + 24) * 4 / CARRIED),
    Case("pcie_wires", WIRES, "post", {"bytes": 600, "between_s": 1e-7}, (600 + 3 * 24) * 4 / CARRIED + 100),
    Case("pcie_wires", WIRES, "ask", {"bytes": 600, "more": 12}, (2 * 24 + 12) * 4 / CARRIED),
    Case("pcie_wires", WIRES, "answer", {"bytes": 600, "pieces": 10}, (600 + 10 * 20) * 4 / CARRIED),
    Case("pcie_wires", part("pcie_wires", "wires", generation=6, lanes=16), "answer", {"bytes": 212, "pieces": 2},
         256 / 128),
    Case("pcie_wires", WIRES, "packet_in", {"bytes": 300, "posted": 1024, "share": 0.25, "told": 64, "reports": 1},
         ((1024 + 4 * 20 + 32) / 4 + 300 + 2 * 24 + 2 * 24 / 4 + 64 + 24) * 4 / CARRIED),
    Case("pcie_wires", WIRES, "packet_out", {"bytes": 300, "posted": 256, "share": 0.25, "told": 64, "reports": 0.5},
         (300 + 2 * 20 + (256 + 20 + 32) / 4 + 24 + 24 / 4 + (64 + 24) / 2) * 4 / CARRIED),
    Case("pcie_wires", WIRES, "interrupt", {"share": 0.5}, (4 + 24) / 2 * 4 / CARRIED),
    Case("cpu_caches", part("cpu_caches", "cache", memory="ddr4_3200", refresh="none", l2_ns=3.5), "touch",
         {"l2_lines": 2, "l3_lines": 1, "memory_lines": 1, "page_walks": 3}, 7 + 2 * 12 + 3 * 8 + 13.75 * 2 + 2.5),
    Case("qdr_sram", part("qdr_sram", "qdr", clock_mhz=200), "read", {"bytes": 12}, 7.5 + 2 * 5),
    Case("qdr_sram", part("qdr_sram", "qdr", clock_mhz=200, burst=4, channels=3), "write", {"bytes": 12}, 10),
    Case("hash_unit", part("hash_unit", "hash", clock_mhz=200, latency_clocks=20), "hash", {"bytes": 12}, 2 * 5 + 100),
    Case("ethernet_port", part("ethernet_port", "port", gbps=100), "receive", {"bytes": 600}, (600 + 18 + 20) * 0.08),
    *(Case("ethernet_port", part("ethernet_port", "port", gbps=rate), "send", {"bytes": 46}, (64 + 20) * 8 / rate)
      for rate in (10, 25, 40, 400)),
    Case("byte_engine", part("byte_engine", "aes", bytes_per_s=1e10, latency_ns=50, request_ns=5, engines=2), "process",
         {"bytes": 600}, 5 + 60 + 50),
]  # fmt: skip
EXAMPLES = [  # of kinds without a case here: the latency is worked out by hand in the example of the class
    Case(kind, made, method, operands, unloaded_visit(visit(made, method, **operands)).latency / NS)
    for kind in sorted({*KINDS} - {case.kind for case in CASES})
    for made in [shown(kind)] for method, operands in visits_of(made).items()
]  # fmt: skip
