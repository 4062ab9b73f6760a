"""Policers and the functional DiffServ router against plain references; disciplines in the event engine, in one run."""

import os

import numpy as np
import pytest
from reference.timing import fastest, seconds

from npexplore.engine.model import build
from npexplore.golden.diffserv import Arrivals, ClassQueue, DiffServ, OutputPort, Receiver, Treatment, simulate_diffserv
from npexplore.golden.diffserv.experiments import DiffServBench, load_sweep
from npexplore.golden.diffserv.reference import simulate_plainly
from npexplore.golden.diffserv.setup import CLASSES
from npexplore.golden.police import DifferentiatedTwoRate, LeakyBucket, SingleRate, TwoRate, police_many
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.schedule.priority_drr import halving_quanta
from npexplore.golden.token_rate import TokenRate
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import BoundedQueue, LineCard, ScheduledQueue
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.disciplines import disciplines
from npexplore.solve.simulate import simulate as run_machine

PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "1_000_000"))
SOME = 10_000
RULES = 500
PORTS = 4
RATE = TokenRate.of("10Mb/s")
POLICERS = {
    "leaky_bucket": LeakyBucket(RATE, 10_000),
    "single_rate": SingleRate(RATE, 10_000, 20_000),
    "two_rate": TwoRate(TokenRate.of("40Mb/s"), 20_000, RATE, 10_000),
    "differentiated_two_rate": DifferentiatedTwoRate(RATE, 10_000, RATE, 20_000),
}
KERNELS = [name for name in SCHEDULERS if SCHEDULERS[name].KIND is not None]


@pytest.fixture(scope="module")
def packets():
    """Times (about 0.6 us apart), lengths of a usual mix, rules, ports."""
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(600, PACKETS)).astype(np.int64)
    lengths = rng.choice([64, 576, 1500], PACKETS, p=[0.6, 0.2, 0.2])
    return times, lengths, rng.integers(0, RULES, PACKETS), rng.integers(0, PORTS, PACKETS)


@pytest.mark.parametrize("name", POLICERS)
def test_policers(benchmark, packets, name):
    times, lengths, number, _ = packets
    several = [POLICERS[name]] * RULES
    benchmark.pedantic(police_many, (several, number, times, lengths), rounds=5, warmup_rounds=1)

    def plainly():
        states = [policer.state() for policer in several]
        for time_ns, size, k in zip(*(column[:SOME].tolist() for column in (times, lengths, number)), strict=True):
            states[k], _ = several[k].police(states[k], time_ns, size)

    ours = seconds(lambda: police_many(several, number, times, lengths)) / PACKETS
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6
    benchmark.extra_info["reference_times_ours"] = seconds(plainly, 1) / SOME / ours


def router(scheduler, receivers=None):
    """Every rule has a policer of its own; four links of 1 Gb/s with six queues, offered half as much again."""
    quanta = halving_quanta(len(CLASSES), 1518 if SCHEDULERS[scheduler].IN_BYTES else 1)
    port = OutputPort(TokenRate.of("1Gb/s"), tuple(ClassQueue(quantum) for quantum in quanta), scheduler, 8, 12)
    treatments = tuple(Treatment(CLASSES[k % len(CLASSES)], k) for k in range(RULES))
    return DiffServ(treatments, (port,) * PORTS, (POLICERS["two_rate"],) * RULES, receivers=receivers)


@pytest.mark.parametrize("receivers", [None, (Receiver(500, 16),)], ids=["unlimited", "receivers"])
@pytest.mark.parametrize("scheduler", KERNELS)
def test_functional_simulation(benchmark, packets, scheduler, receivers):
    setup = router(scheduler, receivers)
    arrivals, some = Arrivals.of(*packets), Arrivals.of(*(column[:SOME] for column in packets))
    outcome = benchmark.pedantic(simulate_diffserv, (setup, arrivals), rounds=5, warmup_rounds=1)
    assert (outcome.departure_ns[:SOME][outcome.sent[:SOME]] > 0).all()
    ours = seconds(lambda: simulate_diffserv(setup, arrivals)) / PACKETS
    benchmark.extra_info["million_packets_per_s"] = PACKETS / fastest(benchmark) / 1e6
    benchmark.extra_info["reference_times_ours"] = seconds(lambda: simulate_plainly(setup, some), 1) / SOME / ours


def test_twenty_loads_of_four_flows(benchmark):
    """The sweep of Figs. 7 and 8: four inputs at 5 to 100 % of 100 Mb/s for 0.2 s each, with its tables."""
    bench = DiffServBench("100Mb/s", 64, 20, 64)
    loads = [k / 20 for k in range(1, 21)]
    flows, limits = ("EF", "AF1", "AF2", "AF3"), {"EF": 62_500.0}
    table = benchmark.pedantic(load_sweep, (bench, loads, flows, limits), rounds=3, warmup_rounds=1)
    benchmark.extra_info["rows"] = len(table)


def link(queue):
    """Six classes into one link that keeps up, through a queue between two threads."""

    def receive(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.queue.put(**({"queue": packet.kind} if isinstance(queue, ScheduledQueue) else {}))

    pools = [Pool("in", 1, receive),
             Pool("out", 1, lambda m, packet: m.card.send(bytes=packet.packet_bytes), gets="queue")]  # fmt: skip
    resources = {r.name: r for r in (queue, LineCard("card", 1.25e8))}
    return Machine("link", pools, Ingress("receive", 1 << 24, 1), resources)


@pytest.mark.parametrize("name", disciplines())
def test_disciplines_in_the_event_engine(benchmark, name):
    """What rows of a discipline cost beside a plain queue in the same machine; without one nothing is run for it."""
    rng = np.random.default_rng(1)
    columns = {"packet_bytes": rng.choice([64, 576, 1500], 6000), "kind": rng.integers(0, 6, 6000)}
    load = Workload("six classes", columns, arrivals="poisson", rate_pps=2e5)
    weights = halving_quanta(6, 1518 if SCHEDULERS[name].IN_BYTES else 1)
    scheduled = link(ScheduledQueue("queue", 64, dict(zip(CLASSES, weights, strict=True)), name))
    plain = link(BoundedQueue("queue", 384, when_full="drop"))
    ours, theirs = build(scheduled, load), build(plain, load)
    benchmark.pedantic(
        lambda: run_machine(scheduled, load, packets=PACKETS >> 4, model=ours), rounds=3, warmup_rounds=1
    )  # fmt: skip
    beside = seconds(lambda: run_machine(plain, load, packets=PACKETS >> 4, model=theirs), 3)
    benchmark.extra_info["million_packets_per_s"] = (PACKETS >> 4) / fastest(benchmark) / 1e6
    benchmark.extra_info["times_a_plain_queue"] = fastest(benchmark) / beside
