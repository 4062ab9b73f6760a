"""Every timing rule of the DDR controller by two accesses that make just that rule bind; exact times of commands.

Times in nanoseconds from the first request on. The test part: tCK 10, tRCD 20, tCL 20, tWL 10, tRP 20, tRAS 50, tWR 15;
bursts of 20 (4 transfers of 8 bytes), all other rules off unless the test says so.
"""

from dataclasses import replace

import numpy as np
import pytest
from reference.ddr_commands import commands, faults
from reference.small_machines import NS, ddr, machine, packets

from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.errors import ModelError, SimulationError, UnknownNameError
from npexplore.machine.resources import DdrController, DramTiming, WriteBuffer
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate
from npexplore.units import UnitWarning

FIRST = 2000  # when the first request comes: all threads are awake
PART = DramTiming(
    t_ck=10 * NS, t_rcd=20 * NS, t_cl=20 * NS, t_rp=20 * NS, t_ras=50 * NS, t_wr=15 * NS, t_wl=10 * NS
)  # fmt: skip


def part(**rules):
    return replace(PART, **{name: value * NS for name, value in rules.items()})


def controller(rules=None, **more):
    return ddr(timing=part(**(rules or {})), banks=more.pop("banks", 8), **more)


def asked(resource, *accesses):
    """A machine and its requests: accesses are (way, bank[, row[, at[, bytes]]])."""
    full = [
        (*access, 0, 0, 32)[:5] if len(access) == 2 else (*access, *(0, 0, 32)[len(access) - 2 :])
        for access in accesses
    ]

    def program(m, packet):
        m.receive.free(bytes=-(-packet.packet_bytes // 64) * 64)
        row = {"row": packet.row} if resource.page == "open" else {}
        with m.branch(packet.way == 1):
            m.ddr.write(bytes=packet.packet_bytes, bank=packet.bank, **row)
        with m.otherwise():
            m.ddr.read(bytes=packet.packet_bytes, bank=packet.bank, **row)

    columns = {
        "packet_bytes": [bytes_ for *_, bytes_ in full], "way": [int(way == "write") for way, *_ in full],
        "bank": [bank for _, bank, *_ in full], "row": [row for _, _, row, *_ in full],
    }  # fmt: skip
    load = Workload(
        "asked", {name: np.array(values, dtype=np.int64) for name, values in columns.items()}, "timestamps",
        t_ns=np.array([FIRST + at for *_, at, _ in full]),
    )  # fmt: skip
    return machine([resource], program, threads=len(full)), load


def story(resource, *accesses):
    """The commands as (command, bank, ns since the first request); checked for broken rules."""
    made, load = asked(resource, *accesses)
    stream, _ = commands(made, load)
    page, clocks = resource.page, resource.whole_clocks
    t, burst, banks = resource.timing, resource.burst, resource.banks
    assert faults(stream, t, burst=burst, banks=banks, page=page, whole_clocks=clocks) == []
    return [(c.name, c.bank, c.time / 1000 - FIRST) for c in stream]


def latencies(resource, *accesses):
    """Sum of the latencies in ns."""
    made, load = asked(resource, *accesses)
    last = run(build(made, load), 1, len(accesses), 1).snapshots[-1]
    return last.done[0, 1] / 1000


RULES = [  # rules, accesses, the command looked at, when it is issued
    ("one read", {}, [("read", 0)], ("RD", 0), 20),
    ("tRCD", {"t_rcd": 33}, [("read", 0)], ("RD", 0), 33),
    ("one command a clock", {}, [("read", 0), ("read", 1)], ("ACT", 1), 10),
    ("tRRD", {"t_rrd": 35}, [("read", 0), ("read", 1)], ("ACT", 1), 35),
    ("tRRD does not bind", {"t_rrd": 10}, [("read", 0), ("read", 1)], ("ACT", 1), 10),
    ("tFAW", {"t_faw": 200}, [("read", b) for b in range(5)], ("ACT", 4), 200),
    ("tFAW holds four", {"t_faw": 200, "t_rrd": 15, "t_rcd": 300}, [("read", b) for b in range(5)], ("ACT", 3), 45),
    ("tFAW with tRRD", {"t_faw": 200, "t_rrd": 15}, [("read", b) for b in range(6)], ("ACT", 5), 215),
    ("data of one read after the other", {}, [("read", 0), ("read", 1)], ("RD", 1), 40),
    ("tCCD", {"t_ccd": 33}, [("read", 0), ("read", 1)], ("RD", 1), 53),
    ("write after write", {}, [("write", 0), ("write", 1)], ("WR", 1), 40),
    ("tRAS + tRP", {}, [("read", 0), ("read", 0)], ("ACT", 0), 70),
    ("tRC", {"t_rc": 90}, [("read", 0), ("read", 0)], ("ACT", 0), 90),
    ("tRC does not bind", {"t_rc": 70}, [("read", 0), ("read", 0)], ("ACT", 0), 70),
    ("tRAS", {"t_ras": 61}, [("read", 0), ("read", 0)], ("ACT", 0), 81),
    ("tRP", {"t_rp": 33}, [("read", 0), ("read", 0)], ("ACT", 0), 83),
    ("burst before precharge", {"t_ras": 0}, [("read", 0), ("read", 0)], ("ACT", 0), 60),
    ("tRTP of the last prefetch", {"t_rtp": 45, "t_ccd": 5}, [("read", 0), ("read", 0)], ("ACT", 0), 20 + 15 + 45 + 20),
    ("tRTP", {"t_rtp": 45, "t_ccd": 20}, [("read", 0), ("read", 0)], ("ACT", 0), 20 + 45 + 20),
    ("tWR", {}, [("write", 0), ("read", 0)], ("ACT", 0), 20 + 10 + 20 + 15 + 20),
    ("longer tWR", {"t_wr": 40}, [("write", 0), ("read", 0)], ("ACT", 0), 20 + 10 + 20 + 40 + 20),
    ("tWR of a write, not of a read", {"t_wr": 400}, [("read", 0), ("read", 0)], ("ACT", 0), 70),
    ("tWL before tWR", {"t_wl": 14}, [("write", 0), ("read", 0)], ("ACT", 0), 20 + 14 + 20 + 15 + 20),
    ("read after write", {}, [("write", 0), ("read", 1)], ("RD", 1), 20 + 10 + 20),
    ("tWTR", {"t_wtr": 12}, [("write", 0), ("read", 1)], ("RD", 1), 20 + 10 + 20 + 12),
    ("write after read", {}, [("read", 0), ("write", 1)], ("WR", 1), 20 + 20 + 20 - 10),
    ("turn-around", {"t_rtw": 7}, [("read", 0), ("write", 1)], ("WR", 1), 20 + 20 + 20 + 7 - 10),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "accesses", "command", "at"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_rule(rules, accesses, command, at):
    assert [t for name, bank, t in story(controller(rules), *accesses) if (name, bank) == command][-1] == at


def test_latency_is_up_to_the_last_data():
    assert latencies(controller(), ("read", 0)) == 20 + 20 + 20
    assert latencies(controller({"t_cl": 25}), ("read", 0)) == 65
    assert latencies(controller(), ("write", 0)) == 20 + 10 + 20
    assert latencies(controller(burst_length=8), ("read", 0)) == 80
    assert latencies(controller(), ("read", 0), ("read", 1)) == 60 + 80


def test_more_than_a_burst_is_column_commands_one_after_the_other():
    three = ("read", 0, 0, 0, 96)
    assert story(controller(), three) == [("ACT", 0, 0), ("RD", 0, 20), ("RD", 0, 40), ("RD", 0, 60)]
    assert latencies(controller(), three) == 60 + 20 + 20
    # nobody comes between them, and the bank precharges after the last: tRAS 0, 60 + 20 + 20
    with_other = story(controller({"t_ras": 0}), three, ("read", 1), ("read", 0))
    assert ("RD", 1, 80) in with_other
    assert ("ACT", 0, 100) in with_other


def test_accesses_of_other_banks_overtake():
    """The third access does not wait for the second, whose bank is busy."""
    seen = story(controller(), ("read", 0), ("read", 0), ("read", 1))
    assert [(name, bank) for name, bank, _ in seen] == [
        ("ACT", 0),
        ("ACT", 1),
        ("RD", 0),
        ("RD", 1),
        ("ACT", 0),
        ("RD", 0),
    ]


def test_one_slot_is_one_access_at_a_time():
    assert story(controller(slots=1), ("read", 0), ("read", 1))[2] == ("ACT", 1, 60)


def test_channels_know_nothing_of_each_other():
    two = controller({"t_rrd": 35}, banks=2, channels=2)
    assert latencies(two, ("read", 0), ("read", 2), ("read", 1)) == 60 + 60 + 35 + 60


@pytest.mark.parametrize(("first", "act", "read"), [("row", 20, 30), ("column", 30, 20)])
def test_who_gets_the_clock_that_both_want(first, act, read):
    """At 20 the first read's column command and, by tRRD, the second row command could go."""
    seen = story(controller({"t_rrd": 20}, first=first), ("read", 0), ("read", 1))
    assert ("ACT", 1, act) in seen
    assert ("RD", 0, read) in seen


@pytest.mark.parametrize(
    ("burst", "page", "first"), [(4, "closed", "column"), (2, "closed", "row"), (2, "open", "column")]
)
def test_commands_of_what_is_scarcer_go_first(burst, page, first):
    assert controller({"t_rrd": 15}, burst_length=burst, page=page).first == first


# ---- open pages


def test_hit_miss_conflict():
    opened = controller(page="open")
    seen = story(opened, ("read", 0, 5), ("read", 0, 5, 200), ("read", 0, 6, 400), ("read", 1, 6, 600))
    assert seen == [
        ("ACT", 0, 0), ("RD", 0, 20),
        ("RD", 0, 200),
        ("PRE", 0, 400), ("ACT", 0, 420), ("RD", 0, 440),
        ("ACT", 1, 600), ("RD", 1, 620),
    ]  # fmt: skip
    made, load = asked(opened, ("read", 0, 5), ("read", 0, 5, 200), ("read", 0, 6, 400), ("read", 1, 6, 600))
    rates = simulate(made, load).rates
    hits, misses, conflicts = (rates[f"ddr.row_{what}"] for what in ("hits", "misses", "conflicts"))
    assert misses == pytest.approx(2 * hits)
    assert conflicts == pytest.approx(hits)


OPEN = [  # rules, accesses, the precharge
    ("tRAS", {}, [("read", 0, 1), ("read", 0, 2)], 50),
    ("burst", {"t_ras": 0}, [("read", 0, 1), ("read", 0, 2)], 40),
    ("tRTP", {"t_rtp": 45, "t_ccd": 20}, [("read", 0, 1), ("read", 0, 2)], 65),
    ("tWR", {}, [("write", 0, 1), ("read", 0, 2)], 20 + 10 + 20 + 15),
    ("the later of two column commands", {}, [("write", 0, 1), ("read", 0, 1), ("read", 0, 2)], 70),
]


@pytest.mark.parametrize(("rules", "accesses", "at"), [r[1:] for r in OPEN], ids=[r[0] for r in OPEN])
def test_a_row_is_closed_as_early_as_its_rules_allow(rules, accesses, at):
    seen = story(controller(rules, page="open"), *accesses)
    assert ("PRE", 0, at) in seen
    assert ("ACT", 0, at + 20) in seen


def test_open_page_keeps_the_row_cycle():
    seen = story(controller({"t_rc": 90}, page="open"), ("read", 0, 1), ("read", 0, 2))
    assert ("PRE", 0, 50) in seen
    assert ("ACT", 0, 90) in seen


def test_hits_of_one_bank_fill_the_bus():
    seen = story(controller(page="open"), *[("read", 0, 3)] * 4)
    assert seen == [("ACT", 0, 0), ("RD", 0, 20), ("RD", 0, 40), ("RD", 0, 60), ("RD", 0, 80)]


# ---- refresh

DUE = 7800 - FIRST  # tREFI after the start of the run
FRESH = {"t_refi": 7800, "t_rfc": 80}


@pytest.mark.parametrize(
    ("at", "act"),
    [(DUE - 1, 0), (DUE, 80), (DUE + 1, 79), (DUE + 79, 1), (DUE + 80, 0), (DUE + 7799, 0), (DUE + 7800, 80)],
)
def test_an_idle_memory_is_refreshed_on_time(at, act):
    assert ("ACT", 0, at + act) in story(controller(FRESH), ("read", 0, 0, at))


def test_refresh_waits_until_all_banks_are_idle():
    seen = story(controller(FRESH), ("read", 0, 0, DUE - 10), ("read", 1, 0, DUE), ("read", 2, 0, DUE))
    assert [s for s in seen if s[0] in ("ACT", "REF")] == [
        ("ACT", 0, DUE - 10), ("REF", 0, DUE + 60), ("ACT", 1, DUE + 140), ("ACT", 2, DUE + 150)
    ]  # fmt: skip


def test_refresh_closes_open_rows_first():
    seen = story(controller(FRESH, page="open"), ("read", 0, 7, 0), ("read", 0, 7, DUE + 5))
    assert seen[2:] == [("PREA", 0, DUE), ("REF", 0, DUE + 20), ("ACT", 0, DUE + 100), ("RD", 0, DUE + 120)]
    late = story(controller(FRESH, page="open"), ("write", 0, 7, DUE - 5), ("read", 0, 7, DUE))
    # write at 15, data till 45, tWR till 60 after the due time less 5
    assert ("PREA", 0, DUE - 5 + 65) in late


def test_refresh_waits_for_tras_of_open_rows():
    seen = story(controller(FRESH, page="open"), ("read", 0, 7, DUE - 5), ("read", 0, 7, DUE))
    assert ("PREA", 0, DUE - 5 + 50) in seen


def test_two_refreshes_that_are_both_due_follow_each_other():
    """A hundred bursts take longer than tREFI; what comes behind each due time refreshes when they are over."""
    long = ("read", 0, 0, 590, 100 * 32)
    seen = story(controller({"t_refi": 800, "t_rfc": 80}), long, ("read", 1, 0, 1250), ("read", 2, 0, 2050))
    refreshes = [t for name, _, t in seen if name == "REF"]
    idle = 590 + 20 + 100 * 20 + 20
    assert [t for t in refreshes if 700 < t < 2800] == [idle, idle + 80]


def test_saturated_refresh_costs_its_share_and_keeps_its_rate():
    resource = ddr(timing=part(t_refi=1950, t_rfc=195), page="closed", slots=16)

    def program(m, packet):
        m.ddr.read(bytes=32, bank=m.draw(4, "bank"))

    stream, _ = commands(machine([resource], program, threads=16), packets(64), packets=4000)
    refreshes = [c.time for c in stream if c.name == "REF"]
    assert np.mean(np.diff(refreshes)) == pytest.approx(1950e3, rel=0.01)
    assert faults(stream, resource.timing, burst=resource.burst, banks=4, page="closed") == []


# ---- whole clocks


@pytest.mark.parametrize(("at", "act"), [(0, 0), (1, 10), (9, 10), (10, 10), (13, 20)])
def test_commands_wait_for_the_clock_edge(at, act):
    assert story(controller(whole_clocks=True), ("read", 0, 0, at))[0] == ("ACT", 0, act)


def test_distances_are_rounded_up_to_clocks():
    rules = {"t_rcd": 15, "t_rp": 11, "t_ras": 41, "t_rrd": 12, "t_cl": 25, "t_rtw": 5}
    seen = story(
        controller(rules, whole_clocks=True, first="column"), ("read", 0), ("read", 0), ("read", 1), ("write", 2)
    )
    assert [s for s in seen if s[0] == "ACT"] == [("ACT", 0, 0), ("ACT", 1, 30), ("ACT", 2, 60), ("ACT", 0, 80)]
    # tRRD is two clocks, but reads at 20 and 50 have the command bus; the write follows 25 + 20 + 5 - 10 after a read
    assert [s for s in seen if s[0] != "ACT"] == [("RD", 0, 20), ("RD", 1, 50), ("WR", 2, 90), ("RD", 0, 120)]
    assert PART.in_clocks().t_wr == pytest.approx(20 * NS)
    assert part(t_cl=25).in_clocks().t_cl == 25 * NS  # half clocks are possible
    assert part(t_refi=7805, t_rfc=75).in_clocks().t_refi == pytest.approx(7800 * NS)


# ---- posted writes


def posted(**more):
    return controller(more.pop("rules", None), write_buffer=WriteBuffer(**{"entries": 8, "high": 4, "low": 1, **more}))


def test_a_write_is_done_when_it_is_in_the_buffer():
    assert latencies(posted(), ("write", 0)) == 0
    assert story(posted(), ("write", 0), ("read", 1))[0] == ("ACT", 1, 0)  # it still lies there


def test_a_drain_begins_at_the_high_mark_or_where_no_read_waits():
    reads = [("read", 7)] * 5
    few, many = ([*reads, *[("write", b) for b in range(n)]] for n in (3, 4))
    order = ["".join(name[0] for name, *_ in story(posted(), *a) if name in ("RD", "WR")) for a in (few, many)]
    assert order == ["RRRRRWWW", "WWWWRRRRR"]


def test_no_read_comes_between_the_writes_of_a_drain():
    accesses = [("read", 0), *[("write", b, 0, 10) for b in range(1, 5)], ("read", 5, 0, 11), ("read", 6, 0, 11)]
    order = "".join(name[0] for name, *_ in story(posted(), *accesses) if name in ("RD", "WR"))
    assert "WWW" in order


def test_a_full_buffer_keeps_writes_out():
    """Two entries: the third write waits until the first has its column command."""
    small = posted(entries=2, high=2, low=0)
    assert latencies(small, ("write", 0), ("write", 1)) == 0
    assert latencies(posted(entries=2, high=2, low=0), ("write", 0), ("write", 1), ("write", 2)) == 20


def test_more_writes_than_a_buffer_all_get_done():
    """Writes that come while a drain goes on are drained by the next one; nothing is lost and nothing hangs."""
    many = [("write", k % 8, 0, 7 * k) for k in range(100)] + [("read", k % 8, 0, 9 * k) for k in range(60)]
    many.sort(key=lambda access: access[3])
    seen = story(posted(), *many)
    assert sum(name == "RD" for name, *_ in seen) == 60
    assert 100 - 4 < sum(name == "WR" for name, *_ in seen) <= 100


def test_turn_arounds_become_rare():
    def stream(**more):
        resource = ddr(timing=part(t_wtr=12, t_rtw=7), banks=8, slots=16, **more)

        def program(m, packet):
            with m.branch(0.5, "way"):
                m.ddr.read(bytes=32, bank=m.draw(8, "bank"))
            with m.otherwise():
                m.ddr.write(bytes=32, bank=m.draw(8, "bank"))

        seen, _ = commands(machine([resource], program, threads=24), packets(64), packets=4000)
        ways = [c.name for c in seen if c.name in ("RD", "WR")]
        return sum(a != b for a, b in zip(ways[1:], ways[:-1], strict=True)) / len(ways)

    assert stream() > 0.2
    assert stream(write_buffer=WriteBuffer(32, 16)) < 2.5 / 32  # two for sixteen writes and as many reads


# ---- what cannot be


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: part(t_rc=69), "DRAM timing: t_rc must be at least t_ras + t_rp = 7e-08, got 6.9"),
        (lambda: part(t_faw=10, t_rrd=12), "DRAM timing: t_faw must be at least t_rrd"),
        (lambda: part(t_wtr=-1), "DRAM timing t_wtr must be a finite time of at least 0 s, got -1e-09"),
        (lambda: part(t_rfc=80, t_refi=80), "DRAM timing: t_rfc must be below t_refi"),
        (lambda: part(t_ck=0).in_clocks(), "DRAM timing: whole clocks need a t_ck above 0, got 0.0"),
        (lambda: controller({"t_wl": 9}), "ddr: t_cl and t_wl must be at least t_ck"),
        (lambda: controller(burst_length=3), "ddr: burst_length must be even (two transfers a clock), got 3"),
        (lambda: controller(banks=0), "ddr: banks must be an integer of at least 1, got 0"),
        (lambda: controller(channels=0), "ddr: channels must be an integer of at least 1, got 0"),
        (lambda: WriteBuffer(8, 4, 4), "write buffer: low must be below high, and high at most entries = 8"),
        (lambda: WriteBuffer(8, 9), "high at most entries = 8, got low 0 and high 9"),
        (lambda: WriteBuffer(0, 1), "write buffer: entries must be an integer of at least 1, got 0"),
    ],
)  # fmt: skip
def test_impossible_controllers_are_refused(make, message):
    with pytest.raises(ModelError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("option", [{"page": "opn"}, {"first": "rows"}])
def test_misspelt_options_name_the_nearest(option):
    with pytest.raises(UnknownNameError, match=r"nearest: (open|row)"):
        controller(**option)


@pytest.mark.parametrize(
    ("resource", "operands", "message"),
    [
        (controller(), {}, "ddr.read needs the operand 'bank': the controller has closed pages"),
        (controller(page="open"), {"bank": 0}, "ddr.read needs the operand 'row': the controller has open pages"),
        (
            controller(),
            {"bank": 0, "address": 0},
            "ddr.read must not have the operand 'address': it has no address map",
        ),
    ],
)
def test_a_visit_says_where_it_goes(resource, operands, message):
    made = machine([resource], lambda m, packet: m.ddr.read(bytes=32, **operands))
    for solve in (bounds, simulate):
        with pytest.raises(ModelError) as error:
            solve(made, packets(64))
        assert message in str(error.value)


@pytest.mark.parametrize("bank", [8, -1])
def test_a_bank_that_is_not_there_is_refused_by_every_solver(bank):
    made = machine([ddr(channels=2)], lambda m, packet: m.ddr.read(bytes=32, bank=packet.bank))
    with pytest.raises(ModelError, match=r"members 0\.\."):
        bounds(made, packets(64, bank=[bank]))
    with pytest.raises(SimulationError, match="members 0"):
        simulate(made, packets(64, bank=[bank]))


def one_read(m, packet):
    m.ddr.read(bytes=32, bank=0)


def test_a_tick_that_is_given_and_does_not_divide_a_clock_is_refused():
    odd = DdrController("ddr", part(t_cl=20.3), 4, 8, 8, whole_clocks=False)
    with pytest.raises(ModelError, match="is not a whole number of ticks"):
        simulate(machine([odd], one_read, tick=1e-9), packets(64))


def test_the_tick_follows_from_the_clock_and_half_picoseconds_are_exact():
    """Reads of one bank after each other are tRAS + tRP = 52 + 22 clocks of 312.5 ps apart, to the tick."""
    t_ck = 0.3125
    fast = part(t_ck=t_ck, t_rcd=22 * t_ck, t_cl=22 * t_ck, t_wl=20 * t_ck, t_rp=22 * t_ck, t_ras=52 * t_ck)
    with pytest.warns(UserWarning, match=r"a clock period of 0.3125 ns is that of a part with bank groups"):
        one = machine([ddr(timing=fast, whole_clocks=True)], one_read)
    assert one.tick == 5e-13
    assert simulate(one, packets(64)).latency_s.mean == pytest.approx(74 * t_ck * NS, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*bank groups")
def test_what_no_tick_holds_is_rounded_and_told_and_edges_stay_edges():
    t_ck = 0.31234567
    odd = part(t_ck=t_ck, t_rcd=22 * t_ck, t_cl=22 * t_ck, t_wl=20 * t_ck, t_rp=22 * t_ck, t_ras=52 * t_ck)
    with pytest.warns(
        UnitWarning,
        match=r"t_ck of 3.1234567e-10 s is not a whole number of ticks of 1.06e-15 s: simulated 1.3e-08",
    ):
        one = machine([ddr(timing=odd, whole_clocks=True)], one_read)
    assert simulate(one, packets(64)).latency_s.mean == pytest.approx(74 * t_ck * NS, rel=2e-6)  # no clock is lost
