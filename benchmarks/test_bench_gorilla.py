"""Gorilla's 16-6-4 with 200 Mpps: 384 threads, 96 engines, two levels of arbiters, FIFOs and the exit in order.

Our side is the public `simulate` with all its statistics, in packets a second of processor time; SimPy runs the same
flow bare: FIFO of the cluster, engine, channel and waits, without arbiters, order or statistics. Goal: 200,000 packets
a second, aim 500,000. NPEXPLORE_BENCH_PACKETS sets another number of packets than 400,000.
"""

import os

import pytest
import simpy
from reference.timing import best, record

from npexplore.designs import design
from npexplore.designs.gorilla.traffic import lowered

PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "400_000"))
FEW = 10_000  # packets that SimPy is given, who takes so much longer
CLUSTERS, ENGINES, THREADS, CHANNELS = 16, 6, 4, 4
PERIOD_NS, CYCLE_NS = 5.0, 10.0


def simpy_gorilla(packets, compute, waits, reads_ns):
    """Return packets a nanosecond; compute: cycles between waits, waits: cycles, the last of them behind a channel."""
    env = simpy.Environment()
    engines = [simpy.Resource(env) for _ in range(CLUSTERS * ENGINES)]
    channels = [simpy.Resource(env) for _ in range(CHANNELS)]
    fifos = [simpy.Store(env) for _ in range(CLUSTERS)]
    done, enough = [0], env.event()

    def use(resource, time):
        with resource.request() as asked:
            yield asked
            yield env.timeout(time)

    def thread(number):
        engine = engines[number % len(engines)]
        fifo = fifos[number % len(engines) // ENGINES]
        while True:
            yield fifo.get()
            for k, cycles in enumerate(compute):
                yield from use(engine, cycles * CYCLE_NS)
                if k == len(waits) - 1:
                    yield from use(channels[done[0] % CHANNELS], reads_ns)
                if k < len(waits):
                    yield env.timeout(waits[k] * CYCLE_NS)
            done[0] += 1
            if done[0] == packets:
                enough.succeed()

    def source():
        number = 0
        while True:
            yield env.timeout(PERIOD_NS)
            fifos[number % CLUSTERS].put(number)
            number += 1

    for number in range(CLUSTERS * ENGINES * THREADS):
        env.process(thread(number))
    env.process(source())
    env.run(enough)
    return packets / env.now


@pytest.mark.parametrize("proto", ["ipv4", "mpls_1_ipv4"])
def test_sixteen_clusters_at_200_mpps(benchmark, proto):
    made = design("gorilla").with_(proto=proto, boot_us=0.0, window_us=PACKETS / 200)
    p = made.parameters
    path = lowered(design("gorilla").parameters).paths[0]
    ends = [after for after, _ in path.waits]
    steps = [b - a for a, b in zip([0, *ends], [*ends, len(path.steps)], strict=True)]
    compute = [2.0 * n for n in steps]
    compute[0] += p.overhead_cycles
    made.with_(window_us=20).simulate()  # warm

    def run():
        ours, answer = best(made.simulate)
        theirs, rate = best(lambda: simpy_gorilla(FEW, compute, [1, 1, 11], 10.0))
        packets = answer.about["packets"]
        record(
            benchmark, thousand_packets_per_s=1e-3 * packets / ours,
            million_events_per_s=1e-6 * answer.about["events"] / ours,
            times_simpy_bare=(packets / ours) / (FEW / theirs),
        )  # fmt: skip
        return answer, rate

    answer, rate = benchmark.pedantic(run, rounds=1, iterations=1)
    assert answer.rate_pps == pytest.approx(200e6, rel=0.01)
    assert rate == pytest.approx(0.2, rel=0.05)
