"""DRAM timing by hand: every option, each limit just before and at it, and accesses that meet one another.

Times in nanoseconds. The test part: tCK 10, tRCD 20, tCL 25, tRP 22, tRAS 50, tWR 15, write latency 12; the bus moves
2 bytes a nanosecond and loses 6 ns an access.
"""

from dataclasses import replace

import numpy as np
import pytest
from reference.small_machines import NS, OPTIONS, QUIET, TIMING, dram, machine, packets, solo, told

from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.errors import InputError, ModelError, SimulationError
from npexplore.machine.resources import Delay, DramOptions, DramTiming
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

CK, RCD, CL, RP, RAS, WR, WL, LOST = 10, 20, 25, 22, 50, 15, 12, 6


def story(options, method, size):
    """One access alone, written apart from the kind: (latency, bank held, command bus busy) in ns."""
    moved = -(-size // 8) * 8 / 2
    bus = moved + LOST
    t = bus if method == "write" and options.writes == "bus_first" else 0.0  # data that come before the bank is asked
    came_first = t > 0
    asked = t
    t += CK
    row_open_from = t
    t += RCD + CK + (CL if method == "read" else WL)
    with_bus = options.gating == "with_bus"
    t += moved if options.gating == "before_bus" else bus
    precharge = max(row_open_from + RAS, t + (WR if method == "write" else 0))
    bank = precharge + CK + RP - asked
    if not came_first and not with_bus:
        t += bus
    commands = (3 if options.precharge_command == "on_bus" else 2) * CK
    return t, bank, commands


def reading(resource, *visits, side_by_side=False):
    """A machine of one thread whose packets make these visits (method, bytes, bank), and then wait for quiet."""

    def program(m, packet):
        steps = [lambda v=v: getattr(m.dram, v[0])(bytes=v[1], bank=v[2]) for v in visits]
        if side_by_side:
            m.parallel(*steps)
        else:
            for step in steps:
                step()
        m.quiet.wait(seconds=QUIET)

    return machine([resource, Delay("quiet")], program)


def latency_ns(*args, **options):
    return (solo(reading(*args, **options), packets(64)).latency - QUIET) / NS


@pytest.mark.parametrize("size", [1, 24, 64])
@pytest.mark.parametrize("method", ["read", "write"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.admission}-{o.gating}-{o.writes}-{o.precharge_command}")
def test_one_access_alone(options, method, size):
    latency, bank, commands = story(options, method, size)
    made = reading(dram(options), (method, size, 2))
    for answer in (solo(made, packets(64)), told(made, packets(64))):
        seconds = {n: getattr(s, "seconds", s) for n, s in answer.servers.items()}
        assert answer.latency - QUIET == pytest.approx(latency * NS, abs=1e-15)
        assert seconds["dram.bank"] == pytest.approx(bank * NS, abs=1e-15)
        assert seconds["dram.command"] == pytest.approx(commands * NS, abs=1e-15)
        assert seconds["dram.bus"] == pytest.approx((-(-size // 8) * 4 + LOST) * NS, abs=1e-15)
        assert answer.counts["dram.bytes"] == -(-size // 8) * 8


@pytest.mark.parametrize("method", ["read", "write"])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.admission}-{o.gating}-{o.writes}-{o.precharge_command}")
def test_a_queueing_network_counts_no_time_twice(options, method):
    """Time is spent at one place at a time: together that is the bank's, and the bus's where apart."""
    latency, bank, _ = story(options, method, 64)
    apart = options.gating != "with_bus" or (method == "write" and options.writes == "bus_first")
    found = told(reading(dram(options), (method, 64, 0)), packets(64))
    assert min(found.spent.values()) >= 0
    assert sum(found.spent.values()) == pytest.approx((bank + (38 if apart else 0)) * NS + QUIET)
    (twice,) = found.overlap.values()
    assert twice == pytest.approx((bank + (38 if apart else 0) - latency) * NS)


@pytest.mark.parametrize(
    ("timing", "method", "held"),
    [
        # 8 bytes: through the gating at 69 (read) or 56 (write) from the row command on; then tCK + tRP = 32
        ({"t_ras": 59}, "read", 69 + 32),  # tRAS just met: row open from 10, 10 + 59 = 69
        ({"t_ras": 60}, "read", 70 + 32),
        ({"t_ras": 90}, "read", 100 + 32),
        ({"t_ras": 50, "t_wr": 4}, "write", 60 + 32),  # tWR just does not matter: 56 + 4 = 10 + 50
        ({"t_ras": 50, "t_wr": 5}, "write", 61 + 32),
        ({"t_ras": 50, "t_wr": 40}, "write", 96 + 32),
        ({"t_rcd": 30}, "read", 79 + 32),
        ({"t_cl": 26}, "read", 70 + 32),
        ({"t_cl": 99}, "write", 71 + 32),  # a write has no CAS latency
        ({"t_wl": 13}, "write", 72 + 32),
        ({"t_rp": 1}, "read", 69 + 11),
        ({"t_ck": 1}, "read", 2 + 20 + 25 + 4 + 1 + 22),
    ],
    ids=str,
)
def test_the_bank_is_busy_until_the_last_limit_is_met(timing, method, held):
    part = replace(TIMING, **{name: value * NS for name, value in timing.items()})
    made = reading(dram(timing=part), (method, 8, 0))
    for answer in (solo(made, packets(64)), told(made, packets(64))):
        bank = answer.servers["dram.bank"]
        assert getattr(bank, "seconds", bank) == pytest.approx(held * NS, abs=1e-15)


def test_second_access_to_a_bank_waits_for_its_precharge():
    # the first is through the gating at 97 and over the bus at 135; its bank is free at 97 + 32 = 129
    assert latency_ns(dram(), ("read", 64, 1), ("read", 64, 1)) == pytest.approx(135 + 135)
    together = latency_ns(dram(), ("read", 64, 1), ("read", 64, 1), side_by_side=True)
    assert together == pytest.approx(129 + 135)


def test_data_of_two_banks_follow_each_other_on_the_bus():
    # the second's commands wait 10 for the command bus; its data wait for the bus from 129 on till 135
    both = latency_ns(dram(), ("read", 64, 1), ("read", 64, 2), side_by_side=True)
    assert both == pytest.approx(135 + 38)
    held = DramOptions(gating="with_bus")  # 103, then 38 more
    assert latency_ns(dram(held), ("read", 64, 1), ("read", 64, 2), side_by_side=True) == pytest.approx(103 + 38)


def test_command_bus_takes_one_command_at_a_time():
    # 1 byte on a bus without loss: only the command bus is in the way, 10 for the row command of the second
    quick = dram(overhead_bytes=0, bus_bytes_per_s=1e15)
    one = latency_ns(quick, ("read", 1, 0))
    assert one == pytest.approx(65)
    assert latency_ns(quick, ("read", 1, 0), ("read", 1, 1), side_by_side=True) == pytest.approx(75)


@pytest.mark.parametrize(("slots", "expected"), [(1, 270), (2, 173)])
def test_slots_limit_how_many_accesses_are_inside(slots, expected):
    both = latency_ns(dram(slots=slots), ("read", 64, 1), ("read", 64, 2), side_by_side=True)
    assert both == pytest.approx(expected)


@pytest.mark.parametrize(("admission", "expected"), [("in_order", 302), ("together", 270)])
def test_admission_of_an_access_whose_bank_is_busy(admission, expected):
    """Two slots; two accesses to bank 0, one to bank 1.

    In order: the second keeps a slot while it waits for its bank (129); the third enters at 135, loses 4 to the
    second's row command, is ready at 204, waits for the gating till 226 and for the bus till 264, 302 in the end.
    Together: the third takes the free slot at once; the second needs bank (129) and slot (135), 135 + 135.
    """
    three = [("read", 64, 0), ("read", 64, 0), ("read", 64, 1)]
    small = dram(DramOptions(admission=admission), slots=2)
    assert latency_ns(small, *three, side_by_side=True) == pytest.approx(expected)


def test_back_pressure_keeps_requests_out():
    both = latency_ns(dram(queue_limit=1), ("read", 64, 1), ("read", 64, 2), side_by_side=True)
    assert both == pytest.approx(270)


@pytest.mark.parametrize(("resume", "third", "fourth"), [(None, 270, 310), (1, 270, 310), (0, 308, 346)])
def test_back_pressure_drains_a_full_queue_before_it_opens(resume, third, fourth):
    """Two enter and are through at 135 and at 173 (the bus of the first): the third goes on at the one or the other.

    If the queue was drained the fourth enters with it, a bus (38) later in the end. Else it enters at 173, loses 2 to
    the third's column command, is ready at 240, 32 in the gating, 38 on the bus.
    """
    four = [("read", 64, bank) for bank in range(4)]
    small = dram(queue_limit=2, queue_resume=resume)
    assert latency_ns(small, *four[:2], side_by_side=True) == pytest.approx(173)
    assert latency_ns(small, *four[:3], side_by_side=True) == pytest.approx(third)
    assert latency_ns(small, *four, side_by_side=True) == pytest.approx(fourth)


@pytest.mark.parametrize(
    ("at_ns", "waits"), [(7799, 0), (7800, 80), (7801, 79), (7879, 1), (7880, 0), (15599, 0), (15600, 80)]
)
def test_no_row_is_opened_during_refresh(at_ns, waits):
    part = replace(TIMING, t_refi=7800 * NS, t_rfc=80 * NS)

    def program(m, packet):
        m.receive.free(bytes=-(-packet.packet_bytes // 64) * 64)
        m.dram.read(bytes=64, bank=0)

    load = Workload("one", {"packet_bytes": np.array([64])}, "timestamps", t_ns=np.array([at_ns]))
    last = run(build(machine([dram(timing=part)], program), load), 1, 1, 1).snapshots[-1]
    assert last.done[0].tolist() == [1, (135 + waits) * 1000, 64, 64]


def test_refresh_costs_a_little_throughput():
    """Saturated, one bank: the share of time in which no row may be opened is lost, and not more than one access."""
    part = replace(TIMING, t_refi=7800 * NS, t_rfc=780 * NS)

    def program(m, packet):
        m.dram.read(bytes=64, bank=0)

    made = [machine([dram(timing=timing)], program, threads=4) for timing in (TIMING, part)]
    free, hindered = (simulate(m, packets(64), packets=4000).rate_pps for m in made)
    assert 0.88 < hindered / free < 0.92


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(TIMING, t_ras=-1e-9), "DRAM timing t_ras must be a finite time of at least 0 s, got -1e-09"),
        (
            lambda: replace(TIMING, t_refi=1e-6, t_rfc=1e-6),
            "DRAM timing: t_rfc must be below t_refi, got 1e-06 of 1e-06",
        ),
        (lambda: dram(banks=0), "dram: banks must be an integer of at least 1, got 0"),
        (lambda: dram(slots=0), "dram: slots must be an integer of at least 1, got 0"),
        (lambda: dram(bus_bytes_per_s=0.0), "dram: bus bytes must be a finite rate above 0 per second, got 0.0"),
        (lambda: dram(overhead_bytes=-3), "dram: bus overhead must be a finite time of at least 0 s"),
        (lambda: dram(queue_limit=0), "dram: queue limit must be an integer of at least 1, got 0"),
        (lambda: dram(queue_limit=3, queue_resume=3), "dram: queue_resume must be below queue_limit 3, got 3"),
        (lambda: dram(queue_resume=0), "dram: queue_resume must be below queue_limit None, got 0"),
    ],
)
def test_impossible_parts_are_refused(make, message):
    with pytest.raises(ModelError) as error:
        make()
    assert message in str(error.value)


def test_misspelt_option_names_the_nearest():
    with pytest.raises(InputError, match=r"DRAM option gating 'befor_bus' is unknown \(nearest: before_bus"):
        DramOptions(gating="befor_bus")


@pytest.mark.parametrize("bank", [4, -1])
def test_a_bank_that_is_not_there_is_refused_by_every_solver(bank):
    """Not silently the command bus, which is the engine's next resource."""

    def program(m, packet):
        m.dram.read(bytes=64, bank=packet.bank)

    made = machine([dram()], program)
    with pytest.raises(ModelError, match=rf"dram.read: dram.bank has members 0..3, got {bank}"):
        bounds(made, packets(64, bank=[bank]))
    with pytest.raises(SimulationError, match=r"dram.read: dram.bank has members 0..3, the program asks for another"):
        simulate(made, packets(64, bank=[bank]))
    assert bounds(made, packets(64, 64, bank=[0, 3])).rate_pps > 0


def test_default_timing_has_no_refresh():
    assert DramTiming(1, 1, 1, 1, 1, 1, 1).t_rfc == 0
