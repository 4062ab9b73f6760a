"""The functional DiffServ router against closed forms and other modules, and what the paper states of its mechanism.

Lin et al., IEEE Network 17(4), 2003: results of Figs. 7 to 9 that follow from policer, quanta and queues alone.
"""

import numpy as np
import pytest

from npexplore.golden.diffserv import Arrivals, ClassQueue, DiffServ, OutputPort, Receiver, Treatment, simulate_diffserv
from npexplore.golden.diffserv.experiments import DiffServBench, load_sweep, many_flows, rates_of_flows
from npexplore.golden.diffserv.link_rate import CHECK, GAP, PREAMBLE, SHORTEST, departure_times
from npexplore.golden.diffserv.queues import QueueLimits
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.token_rate import TokenRate
from npexplore.ledger import load

FLOWS = ("EF", "AF1", "AF2", "AF3")
OVERHEAD = PREAMBLE + GAP
BENCH = DiffServBench("100Mb/s", 64, OVERHEAD, 64)
WIRE_PPS = 1e9 / float(BENCH.wire_ns)


def row(key):
    return load()[f"ixp1200.{key}"]


def limits():
    return {"EF": row("fig7.ef_limit").point}


@pytest.fixture(scope="module")
def sweep():
    loads = [k / 100 for k in (5, 15, 24, 25, 26, 28, 30, 35, 40, 50, 75, 100)]
    return load_sweep(BENCH, loads, FLOWS, limits())


def column(sweep, name):
    return sweep.pivot(index="load", columns="class", values=name)


def test_low_classes_are_dropped_when_four_inputs_fill_the_link(sweep):
    """AF3 loses packets above a quarter of the line rate an input and not below; then AF2, then AF1; EF never."""
    lost = column(sweep, "queue_full")
    first = {name: lost.index[lost[name] > 0].min() for name in ("AF3", "AF2", "AF1")}
    assert row("fig7.af3.drop_onset").hi / 100 < first["AF3"] == 0.26
    assert first["AF3"] < first["AF2"] < first["AF1"]
    assert (lost["EF"] == 0).all()
    assert (column(sweep, "sent_pps").loc[0.25] > 0.999 * WIRE_PPS / 4).all()


def test_the_limit_of_the_highest_class(sweep):
    """EF reaches its limit and stays there; below it everything is admitted."""
    rate, limit = column(sweep, "sent_pps")["EF"], limits()["EF"]
    np.testing.assert_allclose(rate, [min(load * WIRE_PPS, limit) for load in rate.index], rtol=2e-3)


def test_lower_classes_share_what_is_left_by_their_quanta(sweep):
    rate = column(sweep, "sent_pps").loc[0.5:]
    left = WIRE_PPS - limits()["EF"]
    for name, share in (("AF1", 4 / 7), ("AF2", 2 / 7), ("AF3", 1 / 7)):
        np.testing.assert_allclose(rate[name], left * share, rtol=2e-3)
    for higher, lower in (("AF1", "AF2"), ("AF2", "AF3")):
        low, high = row("fig7.af_share_ratio").lo, row("fig7.af_share_ratio").hi
        assert (rate[higher] / rate[lower]).between(low, high).all()


def test_a_full_queue_takes_its_length_over_its_rate(sweep):
    """Where a queue is always full its latency is 64 packets at the class's rate: 1:2 where shares are 2:1."""
    delay, rate = column(sweep, "delay_mean_ns").loc[0.5:], column(sweep, "sent_pps").loc[0.5:]
    for name in ("AF1", "AF2", "AF3"):
        np.testing.assert_allclose(delay[name], 64e9 / rate[name], rtol=0.04)
    assert (delay["EF"] < 3 * float(BENCH.wire_ns)).all()
    low, high = row("fig8.af_latency_ratio").lo, row("fig8.af_latency_ratio").hi
    assert (delay["AF2"] / delay["AF1"]).between(low, high).all()
    assert (delay["AF3"] / delay["AF2"]).between(low, high).all()


def test_latencies_are_alike_while_no_queue_grows(sweep):
    """Up to a quarter of the line rate nobody waits for more than one packet of each other input."""
    delay = column(sweep, "delay_mean_ns").loc[:0.25]
    assert (delay <= 4 * float(BENCH.wire_ns)).all(axis=None)
    assert column(sweep, "delay_mean_ns").loc[0.26, "AF3"] > 50 * delay.to_numpy().max()


@pytest.mark.parametrize("seed", range(3))
def test_phases_of_the_inputs_do_not_matter(seed):
    table = load_sweep(BENCH, [1.0], FLOWS, limits(), seed).set_index("class")
    left = WIRE_PPS - limits()["EF"]
    np.testing.assert_allclose(table["sent_pps"], [limits()["EF"], *(left * k / 7 for k in (4, 2, 1))], rtol=2e-3)


@pytest.mark.parametrize("load_", [0.5, 1.0])
@pytest.mark.parametrize("receiver", [None, Receiver(8800, 16)])
def test_equal_flows_keep_to_their_limits(load_, receiver):
    """500 flows at half the wire rate have exactly their limits; at full rate the policer takes them back to these.

    A receiver that is too slow for the full rate loses packets of all flows, and the limits still bind.
    """
    bench = DiffServBench("100Mb/s", 64, OVERHEAD, 64, receiver=receiver, duration_s=2)
    limit = row("fig9.bw_per_flow").point
    rates = rates_of_flows(bench, [load_], int(row("fig9.flows").point), limit)
    assert rates["sent_pps"].between(limit * 0.99 - 1, limit * 1.01 + 1).all()
    assert (rates["buffer_full"].sum() > 0) == (receiver is not None and load_ == 1.0)
    assert (rates["policed"].sum() > 0) == (load_ == 1.0)


@pytest.mark.parametrize(("service_ns", "plateau"), [(0, None), (10_000, None), (20_000, 50_000)])
def test_slow_receivers_miss_the_plateau(service_ns, plateau):
    """The limit is reached unless the receiver of the input takes longer than 1 / limit for a packet."""
    bench = DiffServBench("100Mb/s", 64, OVERHEAD, 64, receiver=Receiver(service_ns, 16))
    table = load_sweep(bench, [1.0], FLOWS, limits()).set_index("class")
    assert table.loc["EF", "sent_pps"] == pytest.approx(plateau or limits()["EF"], rel=2e-3)


def test_shuffled_turns_need_a_deeper_bucket():
    """Flows at their limit whose packets come unevenly lose some with one token, none with a few."""
    lost = []
    for depth in (1, 3):
        bench = DiffServBench("100Mb/s", 64, OVERHEAD, 64, depth_packets=depth, duration_s=2)
        outcome = many_flows(bench, 0.5, 500, 148.8, shuffle=True)
        lost.append(int(outcome.by_class()["policed"].sum()))
    assert lost[0] > 0 == lost[1]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_one_class_is_a_plain_link(name):
    """With one class every scheduler is first in, first out: departures as those of the router's links."""
    rng = np.random.default_rng(1)
    size = rng.integers(SHORTEST, 1515, 400)
    time = np.cumsum(rng.integers(0, 8000, 400))
    queues = (ClassQueue(2000, QueueLimits(None)),)
    port = OutputPort(TokenRate.of("1Gb/s"), queues, name, PREAMBLE, GAP)
    router = DiffServ((Treatment("BE"),), (port,), classes=("BE",))
    outcome = simulate_diffserv(router, Arrivals.of(time, size + CHECK, 0))
    assert outcome.departure_ns.tolist() == departure_times(zip(time.tolist(), size.tolist(), strict=True), 10**9)


@pytest.mark.parametrize("name", ["drr", "priority_drr", "scfq", "wfq", "wrr"])
def test_saturated_shares_follow_the_weights(name):
    """Three classes that always have packets get 4:2:1 of a link, of bytes (of packets for `wrr`)."""
    weights = [4, 2, 1] if name in ("wrr", "scfq", "wfq") else [6000, 3000, 1500]
    queues = tuple(ClassQueue(weight, QueueLimits(20)) for weight in weights)
    router = DiffServ(
        (Treatment("EF"), Treatment("AF1"), Treatment("BE")), (OutputPort(TokenRate(1, 1), queues, name),),
        classes=("EF", "AF1", "BE"),
    )  # fmt: skip
    count = 9_000
    size = np.random.default_rng(2).integers(64, 1500, count)
    outcome = simulate_diffserv(router, Arrivals.of(np.arange(count) * 150, size, np.arange(count) % 3))
    table = outcome.by_class(100_000, count * 150)
    what = "sent_pps" if name == "wrr" else "sent_bps"
    rate = table[what] / table[what].sum()
    np.testing.assert_allclose(rate, [4 / 7, 2 / 7, 1 / 7], rtol=0.06)
    assert table["sent_bps"].sum() == pytest.approx(8e9, rel=0.01)
