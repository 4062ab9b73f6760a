"""Random resources of every listed kind and part, and random visits to them, for laws over all kinds."""

from collections.abc import Callable
from dataclasses import dataclass

from reference.example_kinds import NS, varied, visits_of

from npexplore.errors import ModelError
from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.parts import part
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
    Mesh,
    Policer,
    Processor,
    ReorderQueue,
    ScheduledQueue,
    StaticStreams,
    SwitchMatrix,
    TokenChannel,
    WordMemory,
    WriteBuffer,
)
from npexplore.machine.resources.dram_device import dram_devices

DEVICES = ("ddr4_2400", "ddr4_3200", "ddr5_4800", "lpddr5_6400", "hbm3_6400")  # a longer list would draw other machines
DISCIPLINES = ("strict_priority", "drr", "priority_drr", "wrr", "scfq")  # nor may this one grow


@dataclass
class Drawn:
    """Resources of a kind under a name, and one random visit of theirs, as a function of the recorder."""

    resources: list
    act: Callable
    varies: bool = False  # whether its time hangs on what was done before: a row, a clock edge, tokens, credits
    home: str | None = None
    last: bool = False  # whether the packet goes on to another pool


def timing(r):
    """A DRAM part whose rules fit together; each of them binds now and then."""
    t_ras, t_rp, t_rrd = r.choice([20, 45, 90, 130]), r.randint(5, 40), r.randint(0, 15)
    return DramTiming(
        t_ck=5 * NS, t_rcd=r.randint(5, 30) * NS, t_cl=r.randint(5, 30) * NS, t_rp=t_rp * NS, t_ras=t_ras * NS,
        t_wr=r.choice([0, 15, 60]) * NS, t_wl=r.randint(5, 20) * NS, t_rc=(t_ras + t_rp) * NS, t_rrd=t_rrd * NS,
        t_faw=r.choice([0, 4 * t_rrd + 10]) * NS, t_wtr=r.randint(0, 9) * NS, t_rtw=r.randint(0, 9) * NS,
        t_rtp=r.randint(0, 9) * NS, t_ccd=r.randint(0, 9) * NS,
    )  # fmt: skip


def processor(r, name):
    discipline = r.choice(["ready_on_stall", "ready_round_robin", "strict_round_robin", "ready_every_cycle"])
    shared = discipline == "ready_every_cycle"
    made = Processor(
        name, r.randint(1, 3), r.choice([1e9, 5e8, 2.32e8]), 0 if shared else r.randint(0, 3), discipline,
        threads=16 if discipline == "strict_round_robin" else None, pipeline=r.randint(1, 4) if shared else 1,
    )  # fmt: skip
    cycles = r.randint(1, 60)
    return Drawn([made], lambda m: getattr(m, name).compute(cycles=cycles), home=name)


def server(r, name):
    members = r.randint(1, 3)
    made = FifoServer(name, r.randint(0, 50) * NS, r.randint(1, 3), members)
    return Drawn([made], lambda m: getattr(m, name).serve(member=m.draw(members, name)))


def accelerator(r, name):
    members, interval, ordered = r.randint(1, 2), r.randint(1, 20), r.random() < 0.5
    made = Accelerator(
        name, interval * NS, (interval + r.randint(0, 60)) * NS, r.randint(0, 4) * NS, ordered,
        r.choice([None, 1, 2, 5]), members,
    )  # fmt: skip
    words = r.randint(0, 6)
    return Drawn([made], lambda m: getattr(m, name).call(words=words, member=m.draw(members, name)))


def channel(r, name):
    edge = r.choice(["free", "aligned"])
    made = TokenChannel(name, r.choice([1e8, 3e8, 1.25e8]), r.randint(1, 4), edge, 1e8 if edge == "aligned" else None)
    tokens = r.randint(1, 5)
    return Drawn([made], lambda m: getattr(m, name).take(tokens=tokens), varies=edge == "aligned")


def arbiter(r, name):
    groups = r.choice([1, 2])
    interval = r.randint(1, 20)
    within = r.choice([None, "fair", "fixed", "first_come"]) if groups > 1 else None
    made = Arbiter(
        name, 4, interval * NS, (interval + r.randint(0, 30)) * NS, r.choice(["fair", "fixed", "first_come"]), groups,
        within,
    )  # fmt: skip
    grants = r.randint(1, 3)
    return Drawn([made], lambda m: getattr(m, name).request(requester=m.draw(4, name), grants=grants))


def reorder(r, name):
    wait = r.randint(0, 40) * NS

    def act(m):
        ticket = getattr(m, name).enter()
        getattr(m, f"{name}_inside").wait(seconds=wait)
        getattr(m, name).leave(ticket=ticket)

    return Drawn([ReorderQueue(name, r.randint(1, 20)), Delay(f"{name}_inside")], act)


def balancer(r, name):
    members, policy = r.randint(1, 3), r.choice(["in_turn", "random", "key", "shortest"])
    key = {"key": r.randint(0, 9)} if policy == "key" else {}
    resources = [Balancer(name, f"{name}_over", members, policy), FifoServer(f"{name}_over", 9 * NS, 1, members)]
    return Drawn(resources, lambda m: getattr(m, f"{name}_over").serve(member=getattr(m, name).choose(**key)))


def delay(r, name):
    seconds = r.randint(0, 90) * NS
    return Drawn([Delay(name)], lambda m: getattr(m, name).wait(seconds=seconds))


def memory(r, name):
    channels, select = r.randint(1, 3), r.choice(["in_turn", "random", "key", "shortest"])
    made = WordMemory(
        name, 4, r.randint(1, 9) * NS, r.randint(0, 9) * NS, r.randint(0, 90) * NS, channels, r.random() < 0.5,
        r.randint(1, 4), r.choice([1.0, 0.8]), select,
    )  # fmt: skip
    method, size, at = r.choice(["read", "write"]), r.randint(1, 70), r.randint(0, 99)
    address = {"address": at} if select == "key" else {}
    return Drawn([made], lambda m: getattr(getattr(m, name), method)(bytes=size, **address))


def dram(r, name):
    options = DramOptions(
        r.choice(["in_order", "together"]), r.choice(["before_bus", "whole", "with_bus"]),
        r.choice(["like_reads", "bus_first"]), r.choice(["free", "on_bus"]),
    )  # fmt: skip
    banks, limit = r.choice([1, 2, 4]), r.choice([None, 1, 2, 10])
    made = Dram(
        name, timing(r), banks, r.choice([1e9, 2e9, 8e9]), r.randint(0, 15), r.choice([1, 3, 8]), options=options,
        queue_limit=limit, queue_resume=limit and r.choice([None, 0, limit // 2]),
    )  # fmt: skip
    method, size = r.choice(["read", "write"]), r.randint(1, 64)

    def act(m):
        getattr(getattr(m, name), method)(bytes=size, bank=m.draw(banks, f"{name}.bank"))

    return Drawn([made], act)


def ddr(r, name):
    banks, page = r.choice([2, 4, 8]), r.choice(["closed", "open"])
    buffer = WriteBuffer(8, 4, 1) if r.random() < 0.3 else None
    mapped = AddressMap(r.choice(["row bank column", "row column bank"])) if r.random() < 0.3 else None
    made = DdrController(
        name, timing(r), banks, 8, r.choice([1, 4, 16]), r.choice([4, 8]), page=page, whole_clocks=r.random() < 0.5,
        address_map=mapped, write_buffer=buffer,
    )  # fmt: skip
    method, size, row = r.choice(["read", "write"]), r.randint(1, 200), r.randint(0, 3)

    def act(m):
        if mapped is not None:
            getattr(getattr(m, name), method)(bytes=size, address=m.draw(1 << 20, f"{name}.address"))
            return
        where = {"row": row} if page == "open" else {}
        getattr(getattr(m, name), method)(bytes=size, bank=m.draw(banks, f"{name}.bank"), **where)

    return Drawn([made], act, varies=page == "open" or buffer is not None or made.whole_clocks)


def dram_controller(r, name):
    device = dram_devices()[r.choice(DEVICES)]
    page, mapped, channels = r.choice(["closed", "open", "adaptive"]), r.random() < 0.3, r.choice([1, 2])
    units = channels * device.pseudo_channels
    order = r.choice(["row bank column", "row column bank"]) + " channel" * (units > 1)
    made = DramController(
        name, device, channels,
        DramPolicy(
            page=page, cap=r.choice([0, 4]), writes=r.choice([0, 32]), bank_queue=r.choice([0, 4]),
            refresh=r.choice(["all-bank", "none"] + ["bank"] * (device.bank_refresh != "none")),
        ),
        AddressMap(order, row_bytes=device.row_bytes) if mapped else None,
    )  # fmt: skip
    method, size, row = r.choice(["read", "write"]), r.randint(1, 200), r.randint(0, 3)

    def act(m):
        if mapped:
            getattr(getattr(m, name), method)(bytes=size, address=m.draw(1 << 20, f"{name}.address"))
            return
        where = {} if page == "closed" else {"row": row}
        getattr(getattr(m, name), method)(bytes=size, bank=m.draw(units * device.banks, f"{name}.bank"), **where)

    return Drawn([made], act, varies=True)


def pool(r, name):
    count = r.randint(1, 3)
    wait = r.randint(0, 40) * NS

    def act(m):
        getattr(m, name).take(count=count)
        getattr(m, f"{name}_inside").wait(seconds=wait)
        getattr(m, name).give(count=count)

    return Drawn([BufferPool(name, count + r.randint(0, 9)), Delay(f"{name}_inside")], act)


def queue(r, name):
    made = BoundedQueue(name, r.randint(1, 9), members=1, when_full=r.choice(["stall", "credits"]))
    return Drawn([made], lambda m: getattr(m, name).put(), last=True)


def banked_memory(r, name):
    banks, refresh = r.choice([1, 2, 4]), r.choice([0, 7])
    made = BankedMemory(
        name, 8, r.randint(1, 9) * NS, banks, r.randint(0, 40) * NS, r.randint(0, 40) * NS, r.randint(0, 90) * NS,
        refresh * NS, r.choice([1e-7, 1.5e-6]),
    )  # fmt: skip
    method, size = r.choice(["read", "write"]), r.randint(1, 70)
    act = lambda m: getattr(getattr(m, name), method)(bytes=size, bank=m.draw(banks, f"{name}.bank"))  # noqa: E731
    return Drawn([made], act, varies=refresh > 0)


def policer(r, name):
    made = Policer(name, [r.choice([1e9, 3e6])] * r.randint(1, 3), r.randint(1, 9), r.choice([0.0, 1e-6]))
    return Drawn([made], lambda m: getattr(m, name).police(flow=0))


def scheduled_queue(r, name):
    weights = {f"q{k}": r.randint(1, 2000) for k in range(r.randint(1, 3))}
    made, queue = ScheduledQueue(name, r.randint(1, 9), weights, r.choice(DISCIPLINES)), len(weights) - 1
    return Drawn([made], lambda m: getattr(m, name).put(queue=queue), last=True)


def line_card(r, name):
    buffer = r.choice([None, 300])
    made = LineCard(
        name, r.choice([1e9, 1.25e9]), word_bytes=r.choice([1, 4]), gap_bytes=r.choice([0, 12]), buffer_bytes=buffer,
        half_duplex=r.random() < 0.5,
    )  # fmt: skip
    method, size = r.choice(["receive", "send"]), r.randint(1, 300)
    act = lambda m: getattr(getattr(m, name), method)(bytes=size)  # noqa: E731
    return Drawn([made], act)


def mesh(r, name):
    made = Mesh(name, 3, 2, 1e9, r.choice([1, 2, 4]), r.choice([1, 2]), r.choice([1, 2, 3]))
    method, ends, words = r.choice(["send", "deliver"]), r.sample(range(6), 2), r.randint(0, 12)
    act = lambda m: getattr(getattr(m, name), method)(source=ends[0], target=ends[1], words=words)  # noqa: E731
    return Drawn([made], act)


def streams(r, name):
    made = StaticStreams(name, 3, 3, 1e9, [[[8]], [[0, 1, 2], [0, 3], [0, 1]]], fifo_depth=r.choice([4, 12]))
    path, words = r.randint(0, 1), r.randint(0, 12)
    return Drawn([made], lambda m: getattr(m, name).stream(path=path, words=words))


def lock(r, name):
    suspend, held = r.random() < 0.6, r.randint(0, 30) * NS
    ram = FifoServer(f"{name}_ram", r.randint(1, 6) * NS)
    costs = {"acquire_cycles": r.randint(0, 9), "release_cycles": r.randint(0, 9)}
    if suspend and r.random() < 0.5:
        made = Lock(name, "suspend", clock_hz=5e8, wake_cycles=r.randint(0, 9), waiter_cycles=r.randint(0, 3), **costs)
    elif suspend and r.random() < 0.5:
        made = Lock(name, "suspend", clock_hz=5e8, memory=visit(ram, "serve"), **costs)
    elif suspend:
        idle = {"gap_cycles": r.randint(0, 5), "wake_visits": r.randint(0, 4), "wake_cycles": r.randint(0, 3)}
        made = Lock(name, "suspend", clock_hz=5e8, idle=visit(ram, "serve"), **idle, **costs)
    else:
        made = Lock(name, "spin", clock_hz=5e8, gap_cycles=r.randint(0, 5), memory=visit(ram, "serve"), **costs)

    def act(m):
        getattr(m, name).acquire()
        getattr(m, f"{name}_inside").wait(seconds=held)
        getattr(m, name).release()

    return Drawn([made, ram, Delay(f"{name}_inside")], act)


def matrix(r, name):
    made = SwitchMatrix(name, 5, r.randint(0, 5) * NS, r.randint(0, 9) * NS, r.choice([None, 2]), 1)
    ends, words = r.sample(range(5), 2), r.randint(0, 12)
    return Drawn([made], lambda m: getattr(m, name).send(source=ends[0], target=ends[1], words=words))


GIVEN = {
    "pcie_link": lambda r: {
        "generation": r.choice([1, 2]), "lanes": r.choice([1, 4, 16]), "payload_bytes": r.choice([128, 256]),
        "header_credits": r.choice([1, 3, 64]), "data_credits": r.choice([256, 1024]), "flight_ns": r.randint(0, 90),
        "answer_ns": r.randint(0, 90), "tags": r.choice([2, 32]), "drain_bytes_per_s": r.choice([1e9, 25e9]),
    },
    "pcie_wires": lambda r: {
        "generation": r.choice([1, 2, 6]), "lanes": r.choice([1, 4, 16]), "payload_bytes": r.choice([128, 256]),
        "ack_every": r.choice([163, 203]), "rare_down": r.choice([1.0, 1.56]),
    },
    "qdr_sram": lambda r: {
        "clock_mhz": r.choice([100, 200, 333]), "burst": r.choice([2, 4]), "channels": r.randint(1, 3),
        "way_ns": r.randint(0, 90),
    },
    "hash_unit": lambda r: {
        "clock_mhz": r.choice([100, 333]), "step_clocks": r.randint(0, 4), "latency_clocks": r.randint(0, 20),
        "requests": r.choice([1, 3, 16]),
    },
    "ethernet_port": lambda r: {"gbps": r.choice([10, 25, 40, 100, 400])},
    "byte_engine": lambda r: {
        "bytes_per_s": r.choice([1e9, 3e10]), "latency_ns": r.randint(0, 90), "request_ns": r.randint(0, 20),
        "engines": r.randint(1, 3),
    },
    "cpu_caches": lambda r: {
        "l2_ns": r.randint(0, 9), "l3_ns": r.randint(0, 40), "walk_ns": r.randint(0, 9), "channels": r.randint(1, 2),
        "refresh": "none",
    },
}  # fmt: skip

assert GIVEN.keys() == {*PARTS}, f"in GIVEN of this file or in PARTS alone: {GIVEN.keys() ^ {*PARTS}}"


def of_shelf(kind):
    """Draws a part of the shelf."""

    def draw(r, name):
        method, size, given = r.choice(sorted(shelf_part(kind).visits)), r.randint(0, 900), GIVEN[kind](r)
        more = {"pieces": r.randint(1, 9)} if method == "answer" else {}
        lines = {key: r.randint(0, 3) for key in ("l2_lines", "l3_lines", "memory_lines", "page_walks")}
        if method.startswith("packet"):
            more = {"posted": 1024, "share": 0.25, "told": 64, "reports": 0.5}
        visited = lines if method == "touch" else {"share": 0.25} if method == "interrupt" else {"bytes": size, **more}
        act = lambda m: getattr(getattr(m, name), method)(**visited)  # noqa: E731
        meets = kind == "pcie_link" and method == "write" and size > given["payload_bytes"]  # packets of its own
        return Drawn([part(kind, name, **given)], act, varies=meets or kind == "cpu_caches")

    return draw


def of_example(kind):
    """Draws a kind that has no function here, around the example of its class."""

    def draw(r, name):
        made = varied(kind, r, name)
        visit, operands = r.choice([*visits_of(made, lambda limit: r.randrange(limit)).items()])
        return Drawn([made], lambda m: getattr(getattr(m, name), visit)(**operands))

    return draw


BY_HAND = {
    "processor": processor, "server": server, "accelerator": accelerator, "channel": channel, "arbiter": arbiter,
    "reorder": reorder, "balancer": balancer, "delay": delay, "memory": memory, "dram": dram, "ddr": ddr,
    "dram_controller": dram_controller, "pool": pool,
    "queue": queue, "scheduled_queue": scheduled_queue,
    "banked_memory": banked_memory, "policer": policer,
    "line_card": line_card, "mesh": mesh, "streams": streams, "lock": lock, "matrix": matrix,
    **{kind: of_shelf(kind) for kind in PARTS},
}  # fmt: skip
DRAW = {**{kind: of_example(kind) for kind in KINDS}, **BY_HAND}


def drawn(kind, r, name="a"):
    """A random resource of a kind; draws again where parameters contradict each other."""
    while True:
        try:
            return DRAW[kind](r, name)
        except ModelError:
            pass
