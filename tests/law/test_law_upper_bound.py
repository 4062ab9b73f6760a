"""The bound holds for the packets that are finished: those that are lost leave the machine to others that cost less."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.small_machines import NS

from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import FifoServer, LineCard
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

PACKETS = 3000
SIZES = st.lists(st.integers(40, 1500), min_size=2, max_size=4, unique=True)


def card(m, packet):
    m.hash.serve()
    m.receive.free(bytes=packet.packet_bytes)
    m.card.send(bytes=packet.packet_bytes)


def made_of(threads):
    parts = [FifoServer("hash", 20 * NS), LineCard("card", 10e9)]
    return Machine("card", Pool("thread", threads, card), Ingress("receive", 4096, 64), {r.name: r for r in parts})


def mixed(sizes, rate_pps=None):
    """Packets of these lengths in random order, each length a class of its own."""
    columns = {"packet_bytes": np.array(sizes, np.int64), "class": np.arange(len(sizes), dtype=np.int64)}
    arrivals = "saturated" if rate_pps is None else "poisson"
    return Workload("mixed", columns, arrivals=arrivals, rate_pps=rate_pps, ordered=False)


def as_finished(load, found):
    """The packets of a load in the shares in which a simulation finished them."""
    done = [round(found.classes[str(k)].rate_pps * found.about["simulated_s"]) for k in range(len(load.packet_bytes))]
    return Workload("finished", {name: np.repeat(column, done) for name, column in load.columns.items()})


@settings(max_examples=40, deadline=None)
@given(sizes=SIZES, times=st.sampled_from([0.5, 1.2, 2.0, 6.0]), threads=st.integers(1, 6), seed=st.integers(0, 99))
def test_what_is_finished_keeps_its_own_bound(sizes, times, threads, seed):
    made = made_of(threads)
    load = mixed(sizes, times * bounds(made, mixed(sizes)).rate_pps)
    found = simulate(made, load, seed=seed, packets=PACKETS)
    limit = bounds(made, as_finished(load, found)).rate_pps
    begun_before = threads / bounds(made, mixed([max(sizes)])).rate_pps  # seconds of work that the window did not see
    assert found.rate_pps <= limit * (1 + 1e-4 + begun_before / found.about["simulated_s"])


def test_packets_that_come_may_be_other_than_those_that_are_finished():
    made = made_of(4)
    load = mixed([64, 1500], 3 * bounds(made, mixed([64, 1500])).rate_pps)
    found, offered = simulate(made, load, packets=PACKETS), bounds(made, load)
    assert found.rate_pps > 1.3 * offered.rate_pps
    assert found.classes["0"].rate_pps > 2 * found.classes["1"].rate_pps
    assert "in the shares in which they come" in offered.approximation
