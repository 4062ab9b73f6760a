"""Flows inside open networks: Poisson stays Poisson, what is alike stays continuous, phases are solved exactly."""

import numpy as np
import pytest
from reference.chain_against_simulation import network_of
from reference.random_networks import compared

from npexplore.networks.ctmc import solve_ctmc
from npexplore.networks.solve import solve_network
from npexplore.queueing import gmc, mg1
from npexplore.solve.queueing.departures import arrival_scv, departure_weight
from npexplore.solve.queueing.phase_queue import phase_wait, two_moments, wait
from npexplore.solve.queueing.renewal import mxgc

HYPER = {"distribution": "hyperexponential", "means": [0.2, 9.2], "probability": 0.9}


def tandem(arrivals, first, second, servers=1):
    route = {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"out": 1.0}}
    one = {"arrivals": arrivals, "service": {"a": first, "b": second}, "route": route}
    return network_of({"station": {"a": {"servers": servers}, "b": {}}, "class": {"c": one}})


def test_poisson_and_exponential_stay_poisson_in_any_network():
    rng = np.random.default_rng(1)
    flow = rng.uniform(0, 1, (4, 4)) * 0.2
    found = arrival_scv(flow, np.ones(4), np.ones(4), rng.uniform(0.1, 0.9, 4), np.array([1, 2, 1, 3]), np.ones(4),
                        np.ones(4), np.array([False, False, True, False]))  # fmt: skip
    assert found == pytest.approx(np.ones(4), abs=1e-9)
    assert departure_weight(np.array([1e-9, 1e5])) == pytest.approx([0.0, 1.0], abs=1e-4)


@pytest.mark.parametrize("scv", [0.005, 0.1, 0.3, 0.999, 1.001, 4.0, 30.0])
def test_two_moments_are_met(scv):
    assert two_moments(3.0, scv).moments() == pytest.approx((3.0, scv), rel=1e-9)


def test_one_queue_is_exact_at_its_limits():
    assert wait(0.7, 1.0, 1.0, 0.3) == pytest.approx(mg1(0.7, 1.0, 0.3).mean_wait)
    assert wait(0.7, 1.0, 1.0 + 1e-7, 0.3) == pytest.approx(wait(0.7, 1.0, 1.0, 0.3), rel=1e-5)
    assert wait(0.8, 1.0, 1e-9, 1.0) == pytest.approx(
        gmc(lambda s: np.exp(-s / 0.8), 0.8, 1.0, 1)[0].mean_wait, rel=0.01
    )
    assert wait(0.8, 1.0, 0.0, 0.0) == pytest.approx(0.0, abs=1e-3)
    h2 = two_moments(1 / 0.8, 4.0)
    exact = gmc(lambda s: float(h2.first @ (-np.diag(h2.rates) / (s - np.diag(h2.rates)))), 0.8, 1.0, 1)[0].mean_wait
    arrive = np.outer(-h2.rates.sum(axis=1), h2.first)
    assert phase_wait(h2.rates, arrive, two_moments(1.0, 1.0)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("geometric", "size"), [(False, 3), (True, 2)])
def test_batches_at_several_servers_are_exact(geometric, size):
    arrivals = {"process": "batch", "rate": 1.4, "size": size, "sizes": "geometric" if geometric else "fixed"}
    one = {"arrivals": arrivals, "service": {"s": {"distribution": "exponential", "mean": 1.0}},
           "route": {"in": {"s": 1.0}, "s": {"out": 1.0}}}  # fmt: skip
    network = network_of({"station": {"s": {"servers": 2}}, "class": {"c": one}})
    chain = solve_ctmc(network, 20_000).classes["c"].mean_response
    assert mxgc(1.4, 1.0, 1.0, 2, size, geometric) + 1.0 == pytest.approx(chain, rel=1e-6)
    assert solve_network(network, ["queueing"])[0].classes["c"].mean_response == pytest.approx(chain, rel=1e-6)


def test_bursts_and_regular_packets_pass_the_first_station():
    """Simulated: 32.0 behind bursts (5.1 as if Poisson inside); regular ones wait less than Poisson's behind them."""
    constant = {"distribution": "deterministic"}
    bursty = tandem({"process": "renewal", "interval": HYPER}, {**constant, "mean": 0.5}, {**constant, "mean": 0.9})
    assert solve_network(bursty, ["queueing"])[0].classes["c"].mean_response == pytest.approx(32.0, rel=0.1)
    exponential = {"distribution": "exponential", "mean": 0.8}
    means = [
        solve_network(tandem({"process": process, "rate": 1.0}, {**constant, "mean": 0.5}, exponential), ["queueing"])
        for process in ("periodic", "poisson")
    ]
    means = [answers[0].classes["c"].mean_response for answers in means]
    assert means[0] < 0.75 * means[1]


def erlang(mean, stages=4):
    return {"distribution": "erlang", "mean": mean, "stages": stages}


def station(arrivals, service, again=0.0, **more):
    one = {
        "arrivals": arrivals,
        "service": {"a": service},
        "route": {"in": {"a": 1.0}, "a": {"a": again, "out": 1 - again}},
    }
    return network_of({"station": {"a": more}, "class": {"c": one}})


@pytest.mark.parametrize("again", [0.3, 0.8])
@pytest.mark.parametrize(
    "arrivals",
    [
        {"process": "renewal", "interval": erlang(1.0)},
        {"process": "on_off", "rate": 1.0, "on": 2.0, "off": 4.0},
        {"process": "batch", "rate": 1.0, "size": 3},
    ],
)
def test_who_comes_again_at_once_stays(again, arrivals):
    """Exact: as if Poisson, bursts were up to 64 % short, and regular customers 23 % long."""
    network = station(arrivals, erlang(0.6 * (1 - again), 2), again)
    chain, queueing = solve_network(network, ["ctmc", "queueing"], most_states=40_000)
    assert queueing.classes["c"].mean_response == pytest.approx(chain.classes["c"].mean_response, rel=1e-3)


def test_a_way_back_over_a_quicker_station_changes_little():
    """A jump between the chance to come again and none, or where two stations are alike, is none."""
    means = []
    for first in (0.2, 0.3 - 1e-6, 0.3 + 1e-6, 0.4):
        network = tandem({"process": "on_off", "rate": 1.0, "on": 3.0, "off": 3.0}, erlang(first), erlang(0.3))
        network.classes["c"].route["b"] = {"a": 0.5, "out": 0.5}
        means.append(solve_network(network, ["queueing"])[0].classes["c"].mean_response)
    assert means[0] < means[1] < means[3]
    assert means[1] == pytest.approx(means[2], rel=1e-4)


@pytest.mark.parametrize("service", [erlang(0.8, 2), {**HYPER, "means": [0.4, 4.4]}])
def test_sharing_behind_regular_customers_minds_the_spread_of_work(service):
    """As if work were exponential, regular customers with regular work were 83 % long (Gromoll 2004: who shares)."""
    network = station({"process": "renewal", "interval": erlang(1.0)}, service, discipline="ps")
    chain, queueing = solve_network(network, ["ctmc", "queueing"], most_states=40_000)
    assert queueing.classes["c"].mean_response == pytest.approx(chain.classes["c"].mean_response, rel=0.08)


def test_closed_networks_of_times_that_vary_too_much_are_refused():
    route = {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"out": 1.0}}
    one = {"population": 3, "service": {"a": HYPER, "b": erlang(1.0)}, "route": route}
    answer = solve_network(network_of({"station": {"a": {}, "b": {}}, "class": {"c": one}}), ["queueing"])[0]
    assert answer.refused.startswith("fifo service at 'a' in a closed network, of service times with scv 13")


def test_random_networks_are_near_their_exact_chains():
    """Of all that are stored, 99 % are within 10 %, and the farthest is 15 % off."""
    errors = [abs(error) for _, _, error in compared(0, 80)]
    assert len(errors) > 40
    assert sum(error <= 0.1 for error in errors) >= 0.95 * len(errors)
    assert max(errors) < 0.2
