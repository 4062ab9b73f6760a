"""The DDR controller against closed forms: one read outstanding, saturated pages, one bank under Poisson arrivals."""

from dataclasses import replace

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.machine.resources import DdrController, DramTiming, WriteBuffer
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)
MANY = 256  # outstanding accesses and slots: in-order lines of banks are hardly ever empty
# of a controller written apart from today's, whose accesses each waited for their rules as tasks of the event loop
RECORDED_READS_PER_S = {1: 22.8e6, 2: 36.1e6, 3: 44.4e6, 4: 49.6e6, 6: 55.9e6, 8: 59.5e6, 16: 65.3e6}  # by outstanding
RECORDED_LATENCY_S = {0.1: 46.0e-9, 0.3: 55.9e-9, 0.5: 73.6e-9, 0.7: 115e-9, 0.8: 165e-9, 0.9: 309e-9}  # by load


def timing(part, **rules):
    """A part without refresh, which no bound counts."""
    return replace(DramTiming.of(dram_parts()[part]), **{"t_rfc": 0.0, **rules})


def controller(part="ddr_400", banks=4, burst=4, slots=MANY, **more):
    return DdrController("dram", more.pop("timing", timing(part)), banks, 8, slots, burst, **more)


def stream(resource, threads=MANY + 64, pattern="random", read_share=1.0, **where):
    """Threads that each make one access of a burst after the other; banks at random or in turn."""

    def program(m, packet):
        banks = resource.banks * resource.channels
        place = where or {"bank": m.turn(banks, "bank") if pattern == "in_turn" else m.draw(banks, "bank")}
        m.receive.free(bytes=64)
        with m.branch(read_share, "way"):
            m.dram.read(bytes=resource.burst_bytes, **place)
        with m.otherwise():
            m.dram.write(bytes=resource.burst_bytes, **place)

    return machine([resource], program, threads=threads, capacity_bytes=1 << 22)


SETTINGS = [  # part, banks, transfers of a burst, what binds
    ("ddr_200", 2, 4, "bank"), ("ddr_266", 4, 4, "bank"), ("ddr_333", 4, 4, "bank"), ("ddr_400", 4, 4, "bank"),
    ("ddr_200", 4, 8, "bus"), ("ddr_266a", 4, 8, "bus"), ("ddr_400", 4, 8, "bus"), ("ddr_400", 8, 8, "bus"),
    ("ddr2_533", 8, 4, "window"), ("ddr2_533", 8, 8, "bus"), ("ddr2_533", 4, 4, "bank"),
    ("ddr_200", 8, 4, "activate"), ("ddr_266a", 4, 4, "bank"),  # row and column commands want the same distance
]  # fmt: skip


def least(resource):
    """Accesses a second by min(banks/tRC, 4/tFAW, 1/tRRD, 1/burst), written apart from the kind (tRC as programmed)."""
    t = resource.timing
    limits = {"bank": resource.banks / t.t_rc, "activate": 1 / max(t.t_rrd, t.t_ck), "bus": 1 / resource.burst}
    if t.t_faw:
        limits["window"] = 4 / t.t_faw
    return min(limits.items(), key=lambda item: item[1])


@pytest.mark.parametrize(("pattern", "within"), [("in_turn", 0.03), ("random", 0.05)])
@pytest.mark.parametrize(("part", "banks", "burst", "binds"), SETTINGS, ids=str)
def test_saturated_closed_page_reaches_its_bound(part, banks, burst, binds, pattern, within):
    resource = controller(part, banks, burst)
    name, rate = least(resource)
    assert name == binds
    made = stream(resource, pattern=pattern)
    limit, answer = bounds(made, LOAD), simulate(made, LOAD, packets=16_000)
    assert limit.bottleneck == f"dram.{binds}"
    assert limit.rate_pps == pytest.approx(rate)
    assert answer.rate_pps == pytest.approx(rate, rel=within)
    assert answer.rate_pps <= rate * 1.001
    assert answer.utilization[f"dram.{binds}"].busy > 1 - within


def test_row_commands_apart_bind():
    """Sixteen banks and quick bursts: one row command every tRRD."""
    resource = controller(timing=timing("ddr_400", t_rrd=30 * NS), banks=16)
    made = stream(resource)
    assert bounds(made, LOAD).bottleneck == "dram.activate"
    assert simulate(made, LOAD, packets=8000).rate_pps == pytest.approx(1 / (30 * NS), rel=0.005)


@pytest.mark.parametrize("page", ["closed", "open"])
@pytest.mark.parametrize("part", sorted(dram_parts()))
@pytest.mark.parametrize("clocks", [True, False])
def test_one_read_outstanding_is_one_over_its_latency(part, page, clocks):
    """Two banks in turn: the other bank has precharged meanwhile (closed), every access hits (open)."""
    resource = controller(part, banks=2, page=page, whole_clocks=clocks)
    t, burst = resource.timing, resource.burst
    row = {"row": 3} if page == "open" else {}

    def program(m, packet):
        m.dram.read(bytes=32, bank=m.turn(2, "bank"), **row)

    latency = (t.t_rcd if page == "closed" else 0) + t.t_cl + burst
    if clocks:  # the next one begins at an edge
        latency = t.up(latency)
    period = max(latency, (t.t_rc - latency) if page == "closed" else 0)
    answer = simulate(machine([resource], program), LOAD, packets=1600)
    assert answer.rate_pps == pytest.approx(1 / max(period, latency), rel=1e-6)
    assert answer.latency_s.mean == pytest.approx(max(period, latency), rel=1e-6)


def test_few_outstanding_reads_lie_between():
    """More outstanding reads give more, up to the roofline; queueing is within a tenth."""
    rates, near = [], []
    for threads, recorded in RECORDED_READS_PER_S.items():
        made = stream(controller(slots=16), threads=threads)
        answer = simulate(made, LOAD, packets=16_000)
        assert answer.rate_pps == pytest.approx(recorded, rel=0.01)
        assert answer.rate_pps <= bounds(made, LOAD).rate_pps * 1.001
        rates.append(answer.rate_pps)
        near.append(queueing(made, LOAD).rate_pps / answer.rate_pps)
    assert np.all(np.diff(rates) > 0)
    assert all(0.9 < ratio < 1.1 for ratio in near), near


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.9])
def test_one_bank_under_poisson_arrivals_is_pollaczek_khinchine(load):
    """M/D/1: a closed page keeps its bank for tRC; W = load D / (2 (1 - load)), then the latency of a read."""
    resource = controller(banks=1, whole_clocks=False)
    t = resource.timing
    arrivals = LOAD.with_arrivals("poisson", load / t.t_rc)
    answers = [simulate(stream(resource, bank=0), arrivals, seed=seed, packets=200_000).latency_s for seed in (1, 2, 3)]
    wait = load * t.t_rc / (2 * (1 - load))
    latency = t.t_rcd + t.t_cl + resource.burst
    mean = np.mean([answer.mean for answer in answers])
    assert mean - latency == pytest.approx(wait, rel=0.03)


def test_latency_grows_with_load_and_keeps_the_rate():
    """Random banks up to nine tenths of the roofline: all that comes is served, and later the more comes."""
    made = stream(controller())
    most = bounds(made, LOAD).rate_pps
    means = []
    for share, recorded in RECORDED_LATENCY_S.items():
        answers = [
            simulate(made, LOAD.with_arrivals("poisson", share * most), seed=s, packets=60_000) for s in (1, 2, 3)
        ]
        answer = answers[0]
        assert np.mean([answer.latency_s.mean for answer in answers]) == pytest.approx(recorded, rel=0.01)
        assert answer.rate_pps == pytest.approx(share * most, rel=0.02)
        assert not answer.drops.get("receive")
        means.append(answer.latency_s.mean)
    t = controller().timing
    assert means[0] == pytest.approx(t.t_rcd + t.t_cl + 10 * NS + t.t_ck / 2, rel=0.15)  # half a clock to the edge
    assert np.all(np.diff(means) > 0)
    assert means[-1] > 2 * means[0]


def test_posted_writes_give_back_most_of_what_turn_arounds_cost():
    """Half reads, half writes, a bus that reads alone fill: one by one, and gathered in a buffer of 64."""
    rates = {}
    for name, share, buffer in (("reads", 1.0, None), ("mixed", 0.5, None), ("posted", 0.5, WriteBuffer(64, 48, 8))):
        made = stream(controller(burst=8, slots=32, banks=8, write_buffer=buffer), threads=128, read_share=share)
        assert bounds(made, LOAD).bottleneck == "dram.bus"
        rates[name] = simulate(made, LOAD, packets=16_000).rate_pps
    assert rates["reads"] == pytest.approx(50e6, rel=0.005)
    assert rates["mixed"] < 0.8 * rates["reads"]
    assert rates["posted"] > 0.9 * rates["reads"]


def test_an_open_page_is_worth_it_for_hits_and_not_for_conflicts():
    def rate(page, rows):
        resource = controller(page=page, slots=16)
        row = {} if page == "closed" else {"row": 0}

        def program(m, packet):
            if page == "open":
                row["row"] = m.draw(rows, "row")
            m.dram.read(bytes=32, bank=m.draw(4, "bank"), **row)

        return simulate(machine([resource], program, threads=32), LOAD, packets=16_000).rate_pps

    assert rate("open", 1) == pytest.approx(1 / (10 * NS), rel=0.02)  # the bus
    assert rate("open", 1000) < 0.9 * rate("closed", 1000)


def test_channels_add_up():
    one = simulate(stream(controller()), LOAD, packets=16_000).rate_pps
    two = simulate(stream(controller(channels=2), threads=2 * MANY + 64), LOAD, packets=32_000).rate_pps
    assert two == pytest.approx(2 * one, rel=0.03)


def test_writes_left_in_the_buffer_do_not_hold_up_the_end_of_a_capture():
    """Arrivals by time stamps, some of them dropped: the run ends although writes still lie in the buffer."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.dram.write(bytes=32, bank=m.turn(4, "bank"))
        m.dram.read(bytes=32, bank=0)

    resource = controller(write_buffer=WriteBuffer(16, 8, 2))
    made = machine([resource], program, threads=1, capacity_bytes=256)
    load = Workload("burst", {"packet_bytes": np.full(40, 64)}, "timestamps", t_ns=3000 + np.arange(40))
    answer = simulate(made, load)
    assert answer.drops["receive"] > 0
    assert answer.about["packets"] + answer.drops["receive"] == 40
