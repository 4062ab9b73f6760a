"""Laws of the DDR controller: whatever the part, the options and the accesses, no command comes too early.

The command stream of a run goes through the checker of tests/reference/ddr_commands.py, which is itself shown to find
each kind of fault.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.ddr_commands import Command, commands, faults
from reference.small_machines import NS, machine

from npexplore._kernels import engine
from npexplore.machine.resources import AddressMap, DdrController, Delay, DramTiming, WriteBuffer
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

PARTS = sorted(dram_parts())


@st.composite
def timings(draw):
    """A data-sheet part, or any times that a part could have."""
    if draw(st.booleans()):
        found = DramTiming.of(dram_parts()[draw(st.sampled_from(PARTS))])
        return replace(found, t_refi=draw(st.sampled_from([found.t_refi, 900 * NS])))

    def ns(low, high):
        return draw(st.integers(low, high)) * NS

    clock = draw(st.integers(2, 10))
    t_ras, t_rp, t_rrd = ns(0, 60), ns(0, 40), ns(0, 50)
    return DramTiming(
        t_ck=clock * NS, t_rcd=ns(0, 30), t_cl=ns(clock, 40), t_rp=t_rp, t_ras=t_ras, t_wr=ns(0, 40),
        t_wl=ns(clock, 30), t_refi=ns(600, 1500), t_rfc=draw(st.sampled_from([0, 40, 200])) * NS,
        t_rc=draw(st.sampled_from([0.0, t_ras + t_rp, t_ras + t_rp + 25 * NS])), t_rrd=t_rrd,
        t_faw=draw(st.sampled_from([0.0, t_rrd + 30 * NS, 4 * t_rrd + 100 * NS])), t_wtr=ns(0, 30),
        t_rtw=ns(0, 20), t_rtp=ns(0, 40), t_ccd=ns(0, 30),
    )  # fmt: skip


@st.composite
def controllers(draw):
    """Every option; with an address map in half of the cases."""
    banks = draw(st.sampled_from([1, 2, 4, 8]))
    mapped = draw(st.booleans())
    order = draw(st.sampled_from(["row bank column", "row column bank", "bank row column"]))
    address_map = AddressMap(order, row_bytes=256, rows=8, permutation=draw(st.booleans()))
    entries = draw(st.integers(0, 6))
    high = draw(st.integers(1, max(entries, 1)))
    return DdrController(
        "ddr", draw(timings()), banks, 8, draw(st.integers(1, 12)), draw(st.sampled_from([2, 4, 8])),
        page=draw(st.sampled_from(["closed", "open"])), whole_clocks=draw(st.booleans()),
        address_map=address_map if mapped else None, first=draw(st.sampled_from([None, "column", "row"])),
        write_buffer=WriteBuffer(entries, high, draw(st.integers(0, high - 1))) if entries else None,
    )  # fmt: skip


ACCESSES = st.lists(
    st.tuples(st.booleans(), st.integers(0, 15), st.integers(0, 3), st.integers(1, 200), st.integers(0, 400)),
    min_size=1, max_size=60,
)  # fmt: skip


SHORT_WRITES = DdrController(
    "ddr", DramTiming(
        t_ck=2 * NS, t_rcd=0, t_cl=2 * NS, t_rp=0, t_ras=0, t_wr=0, t_wl=2 * NS, t_refi=600 * NS, t_rfc=0, t_ccd=5 * NS
    ), 1, 8, 1, 2, page="open",
)  # fmt: skip


@settings(max_examples=40)
@example(SHORT_WRITES, [(True, 0, 0, 1, 0), (False, 0, 0, 1, 0)], 1, 1)  # a read waits for tCCD
@given(resource=controllers(), accesses=ACCESSES, threads=st.integers(1, 12), rounds=st.integers(1, 4))
def test_no_command_comes_too_early(resource, accesses, threads, rounds):
    writes, banks, rows, sizes, gaps = (np.array(column, dtype=np.int64) for column in zip(*accesses, strict=True))
    banks = banks % (resource.banks)

    def program(m, packet):
        where = {"bank": packet.bank, "row": packet.row}
        if resource.address_map:
            where = {"address": packet.bank * 64 + packet.row * 2048}
        m.receive.free(bytes=64)
        with m.branch(packet.write == 1):
            m.ddr.write(bytes=packet.bytes, **where)
        with m.otherwise():
            m.ddr.read(bytes=packet.bytes, **where)

    columns = {"packet_bytes": np.full_like(banks, 64), "write": writes, "bank": banks, "row": rows, "bytes": sizes}
    load = Workload(
        "accesses", {name: np.tile(column, rounds) for name, column in columns.items()}, "timestamps",
        t_ns=1500 + np.cumsum(np.tile(gaps, rounds)),
    )  # fmt: skip
    made = machine([resource], program, threads=threads, capacity_bytes=1 << 16)
    stream, state = commands(made, load)
    assert faults(
        stream, resource.timing, burst=resource.burst, banks=resource.banks, page=resource.page,
        whole_clocks=resource.whole_clocks,
    ) == []  # fmt: skip
    assert state.done[0, engine.D_COUNT] == len(load.packet_bytes)  # nobody is forgotten
    bursts = np.tile(np.maximum(-(-sizes // resource.burst_bytes), 1), rounds)
    wrote = np.tile(writes, rounds) == 1
    issued = {name: sum(c.name == name for c in stream) for name in ("RD", "WR")}
    if resource.write_buffer is None:  # the last ones may lie in the buffer
        assert issued["RD"] + issued["WR"] >= bursts.sum() - bursts.max() * threads
    assert issued["RD"] <= bursts[~wrote].sum()
    assert issued["WR"] <= bursts[wrote].sum()


@settings(max_examples=15)
@given(resource=controllers(), read_share=st.sampled_from([0.0, 0.5, 1.0]), threads=st.integers(1, 40))
def test_a_simulation_stays_below_its_roofline(resource, read_share, threads):
    def program(m, packet):
        bank = m.draw(resource.banks, "bank")
        row = m.draw(2, "row")
        where = {"address": m.draw(1 << 16, "address")} if resource.address_map else {"bank": bank, "row": row}
        with m.branch(read_share, "way"):
            m.ddr.read(bytes=64, **where)
        with m.otherwise():
            m.ddr.write(bytes=64, **where)
        m.think.wait(seconds=1 * NS)

    made = machine([resource, Delay("think")], program, threads=threads)
    load = Workload("64 bytes", {"packet_bytes": np.array([64])})
    answer, limit = simulate(made, load, packets=1600), bounds(made, load)
    posted = resource.write_buffer.entries * resource.channels if resource.write_buffer else 0
    window = 1600 / 16
    assert answer.rate_pps <= limit.rate_pps * (1 + (1 + posted) / window)


# ---- the checker finds what is wrong

T = DramTiming(
    t_ck=10 * NS, t_rcd=20 * NS, t_cl=20 * NS, t_rp=20 * NS, t_ras=50 * NS, t_wr=15 * NS, t_wl=10 * NS,
    t_refi=7800 * NS, t_rfc=80 * NS, t_rc=75 * NS, t_rrd=15 * NS, t_faw=90 * NS, t_wtr=12 * NS, t_rtw=5 * NS,
    t_rtp=10 * NS, t_ccd=10 * NS,
)  # fmt: skip
GOOD = [
    ("ACT", 0, 0), ("RD", 0, 20), ("ACT", 1, 40), ("WR", 1, 60), ("ACT", 2, 80), ("ACT", 0, 100), ("RD", 2, 110),
    ("RD", 0, 130), ("ACT", 3, 200), ("RD", 3, 220), ("REF", 0, 400), ("ACT", 0, 480), ("RD", 0, 500),
]  # fmt: skip


def wrong(*changes):
    """What the checker says of GOOD with the times of some commands changed."""
    stream = [[name, bank, time] for name, bank, time in GOOD]
    for k, time in changes:
        stream[k][2] = time
    listed = sorted((Command(round(t * 1000), name, 0, bank, 0) for name, bank, t in stream), key=lambda c: c.time)
    return " ".join(faults(listed, T, burst=20 * NS, banks=4, page="closed"))


def test_the_checker_accepts_what_is_right():
    assert wrong() == ""


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ([(1, 19)], "tRCD"), ([(9, 209)], "tRCD"), ([(5, 74)], "tRC"), ([(2, 14)], "tRRD"), ([(3, 54)], "turn-around"),
        ([(6, 101)], "tWTR"), ([(7, 129)], "data bus"), ([(4, 69)], "one command a clock"),
        ([(1, 40)], "one command a clock"), ([(11, 479)], "tRFC"), ([(10, 269)], "tRP before"),
        ([(10, 210)], "refresh with"),
    ],
)  # fmt: skip
def test_the_checker_finds_it(changes, rule):
    assert rule in wrong(*changes)


@pytest.mark.parametrize(("fifth", "bad"), [(89, True), (90, False)])
def test_the_checker_finds_the_fifth_row_command_of_a_window(fifth, bad):
    listed = [Command(t * 1000, "ACT", 0, k, 0) for k, t in enumerate([0, 15, 30, 45, fifth])]
    assert ("tFAW" in " ".join(faults(listed, T, burst=20 * NS, banks=8, page="closed"))) == bad


def test_the_checker_finds_rows_that_are_not_open():
    listed = [Command(0, "ACT", 0, 0, 5), Command(20_000, "RD", 0, 0, 6)]
    assert "row not open" in " ".join(faults(listed, T, burst=20 * NS, banks=4, page="open"))
    listed = [Command(0, "ACT", 0, 0, 5), Command(100_000, "ACT", 0, 0, 6)]
    assert "row already open" in " ".join(faults(listed, T, burst=20 * NS, banks=4, page="open"))
    listed = [Command(0, "ACT", 0, 0, 5), Command(49_000, "PRE", 0, 0, 6)]
    assert "tRAS, tRTP or tWR" in " ".join(faults(listed, T, burst=20 * NS, banks=4, page="open"))
    assert "clock edge" in " ".join(faults(listed, T, burst=20 * NS, banks=4, page="open", whole_clocks=True))
