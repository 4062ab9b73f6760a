"""Servers and delays with random times against closed forms: M/G/1, M/M/2, a closed pair, thinking threads."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.errors import InputError, ModelError
from npexplore.machine.resources import Delay, FifoServer
from npexplore.rows.distributions import Deterministic, Empirical, Erlang, Exponential, Hyperexponential, Uniform
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing import machine_repairman, mg1, mmc
from npexplore.solve.queueing_model import queueing
from npexplore.solve.seeds import replicate
from npexplore.solve.simulate import simulate

MEAN = 100 * NS
TIMES = [
    Deterministic(mean=MEAN),
    Exponential(mean=MEAN),
    Erlang(mean=MEAN, stages=3),
    Hyperexponential(means=(50 * NS, 250 * NS), probability=0.75),
    Uniform(low=20 * NS, high=180 * NS),
    Empirical(values=[50 * NS, 150 * NS], weights=[1.0, 1.0]),
]


def served(time, threads=1, units=1, capacity_bytes=64_000, **more):
    def program(m, packet):
        m.receive.free(bytes=64)
        m.hash.serve()

    return machine([FifoServer("hash", time, units=units)], program, threads, capacity_bytes=capacity_bytes, **more)


@pytest.mark.parametrize("time", TIMES, ids=lambda time: type(time).__name__)
def test_one_thread_is_an_mg1_queue(time):
    load = packets(64).with_arrivals("poisson", 7e6)
    answer = replicate(served(time), load, (1, 2, 3, 4), packets=60_000)
    mean, scv = time.moments()
    assert answer.utilization["hash"].busy == pytest.approx(7e6 * mean, rel=0.02)
    assert answer.latency_s.mean == pytest.approx(float(mg1(7e6, mean, scv).mean_response), rel=0.05)
    assert answer.about["little_gap"] == 0


def test_two_places_are_an_mm2_queue():
    load = packets(64).with_arrivals("poisson", 14e6)
    answer = replicate(served(Exponential(mean=MEAN), threads=200, units=2), load, (1, 2, 3, 4), packets=60_000)
    assert answer.latency_s.mean == pytest.approx(float(mmc(14e6, MEAN, 2).mean_response), rel=0.05)


def test_thinking_threads_are_the_machine_repairman():
    """Six threads think for 400 ns in the mean and share one exponential server; any thinking time gives the same."""

    def program(m, packet):
        m.think.wait()
        m.hash.serve()

    expected = float(machine_repairman(6, 400 * NS, MEAN).throughput)
    for thinking in (Exponential(mean=400 * NS), Uniform(low=0.0, high=800 * NS)):
        made = machine([FifoServer("hash", Exponential(mean=MEAN)), Delay("think", thinking)], program, threads=6)
        assert simulate(made, packets(64), packets=100_000).rate_pps == pytest.approx(expected, rel=0.01)
        assert queueing(made, packets(64)).rate_pps == pytest.approx(expected, rel=1e-9)
        assert bounds(made, packets(64)).rate_pps == pytest.approx(min(1 / MEAN, 6 / (500 * NS)))


def test_each_server_has_a_stream_of_its_own():
    """A server more, and those before see the same times."""

    def program(m, packet):
        m.hash.serve()
        if "more" in m.resources:
            m.more.serve()

    first = FifoServer("hash", Exponential(mean=MEAN))
    alone = simulate(machine([first], program), packets(64), packets=500)
    both = simulate(machine([first, FifoServer("more", Exponential(mean=MEAN))], program), packets(64), packets=500)
    spent = alone.about["simulated_s"], both.utilization["hash"].busy * both.about["simulated_s"]
    assert np.isclose(*spent, rtol=1e-2)


def test_wrong_times_are_refused():
    with pytest.raises(InputError, match=r"hash: service time: mean must be greater than 0 and finite, got -1.0"):
        FifoServer("hash", Exponential(mean=-1.0))
    with pytest.raises(InputError, match="think: time: high must be at least low"):
        Delay("think", Uniform(low=2.0, high=1.0))

    def told(m, packet):
        m.think.wait(seconds=1e-9)

    def untold(m, packet):
        m.think.wait()

    with pytest.raises(ModelError, match=r"think.wait has a time of its own and takes no seconds"):
        bounds(machine([Delay("think", Exponential(mean=1e-9))], told), packets(64))
    with pytest.raises(ModelError, match=r"think.wait needs the operand 'seconds'"):
        simulate(machine([Delay("think")], untold), packets(64))
