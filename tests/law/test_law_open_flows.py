"""Flows inside open networks: Poisson stays Poisson, what is alike stays continuous, phases are solved exactly."""

import copy

import numpy as np
import pytest
from reference.chain_against_simulation import network_of
from reference.random_networks import HARD, compared, harsh_network

from npexplore.networks.ctmc import solve_ctmc
from npexplore.networks.open_flows import MEETING, open_general
from npexplore.networks.solve import solve_network
from npexplore.networks.streams import lines_of, streams_of
from npexplore.networks.traffic import traffic
from npexplore.queueing import gmc, mg1
from npexplore.solve.queueing.departures import departure_weight, phase_excess, renewal_excess
from npexplore.solve.queueing.phase_queue import phase_wait, two_moments, wait
from npexplore.solve.queueing.renewal import mxgc

HYPER = {"distribution": "hyperexponential", "means": [0.2, 9.2], "probability": 0.9}


def tandem(arrivals, first, second, servers=1):
    route = {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"out": 1.0}}
    one = {"arrivals": arrivals, "service": {"a": first, "b": second}, "route": route}
    return network_of({"station": {"a": {"servers": servers}, "b": {}}, "class": {"c": one}})


def test_poisson_and_exponential_stay_poisson_in_any_network():
    names, rng = ["a", "b", "c", "d"], np.random.default_rng(1)
    stations = {name: {"servers": servers} for name, servers in zip(names, (1, 2, 1, 3), strict=True)}
    stations["c"] = {"discipline": "delay"}
    classes = {}
    for c in ("x", "y"):
        ways = rng.dirichlet(np.ones(5), size=4)
        route = {
            name: dict(zip([*names, "out"], way.tolist(), strict=True)) for name, way in zip(names, ways, strict=True)
        }
        service = {name: {"distribution": "exponential", "mean": 0.1} for name in names}
        arrivals = {"process": "poisson", "rate": 1.0}
        classes[c] = {"arrivals": arrivals, "service": service, "route": {"in": dict.fromkeys(names, 0.25), **route}}
    network = network_of({"station": stations, "class": classes})
    exact = solve_network(network, ["queueing"])[0]
    flows = traffic(network)
    found = open_general(flows)
    assert exact.exact
    for c in classes:
        assert found.classes[c].mean_response == pytest.approx(exact.classes[c].mean_response, rel=1e-6)
    assert max(float(np.abs(line.seen).max()) for line in lines_of(streams_of(flows)).values()) < 1e-6
    assert departure_weight(np.array([1e-9, 1e5])) == pytest.approx([0.0, 1.0], abs=1e-4)


@pytest.mark.parametrize("scv", [0.02, 0.3, 1.0, 1.5, 9.0])
def test_independent_times_are_a_chain(scv):
    times, discount = two_moments(2.0, scv), np.array([1e-3, 0.1, 1.0, 10.0])
    chain = phase_excess(times.rates, np.outer(-times.rates.sum(axis=1), times.first), discount)
    assert renewal_excess(2.0, scv, discount) == pytest.approx(chain, abs=1e-9)


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


@pytest.mark.parametrize("fast", [1.36, 1.56])
def test_a_queue_behind_slow_modulation_has_an_answer(fast):
    """The rounding of its chain is above the tolerance; short of that load, it is solved without."""
    service, waits = two_moments(1.0, 0.05), []
    for rate in (0.79, 0.8, 0.81):
        a, b = fast * rate / 0.8, (1.6 - fast) * rate / 0.8
        waits.append(phase_wait(np.array([[-a - 0.02, 0.02], [0.02, -b - 0.02]]), np.diag([a, b]), service))
    assert waits[0] < waits[1] < waits[2] < 2 * waits[0]


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


def responses(description):
    return [one.mean_response for one in solve_network(network_of(description), ["queueing"])[0].classes.values()]


@pytest.mark.parametrize("seed", range(HARD, HARD + 12))
def test_a_change_of_nothing_changes_nothing(seed):
    """Of a service mean, of a share of a route and of an arrival rate, of networks of several classes and ways."""
    description = harsh_network(seed)[1]
    before = responses(description)
    for one in description["class"].values():
        other = copy.deepcopy(description)
        time, route = [*other["class"].values()][-1]["service"], one["route"]
        for name, service in time.items():
            time[name] = service | {key: longer(value) for key, value in service.items() if key in ("mean", "means")}
        assert responses(other) == pytest.approx(before, rel=1e-3)
        other = copy.deepcopy(description)
        other["class"][next(k for k, v in description["class"].items() if v is one)]["route"] = {
            start: ways
            if start == "in" or "out" in ways
            else {"out": 1e-5, **{to: p * (1 - 1e-5) for to, p in ways.items()}}
            for start, ways in route.items()
        }
        assert responses(other) == pytest.approx(before, rel=1e-3)


def longer(value):
    return [longer(one) for one in value] if isinstance(value, list) else value * (1 + 1e-5)


@pytest.mark.parametrize(
    "bursts", [{"process": "renewal", "interval": HYPER}, {"process": "batch", "rate": 1.0, "size": 3}]
)
def test_who_left_a_constant_server_waits_again_where_the_next_is_slower(bursts):
    """The wait in a row of constant servers is that at the slowest of them (Friedman, Operations Research 13, 1965)."""
    alone = [responses(station_of(bursts, mean))[0] - mean for mean in (0.7, 0.9)]
    for first, second, truth in ((0.7, 0.9, alone[1]), (0.9, 0.7, alone[1]), (0.7, 0.7, alone[0])):
        constant = [{"distribution": "deterministic", "mean": mean} for mean in (first, second)]
        row = solve_network(tandem(bursts, *constant), ["queueing"])[0].classes["c"].mean_response - first - second
        assert row == pytest.approx(truth, rel=0.03)


def station_of(arrivals, mean):
    route, service = {"in": {"a": 1.0}, "a": {"out": 1.0}}, {"a": {"distribution": "deterministic", "mean": mean}}
    return {"station": {"a": {}}, "class": {"c": {"arrivals": arrivals, "service": service, "route": route}}}


def test_constant_customers_never_wait_at_constant_servers():
    periodic = {"process": "periodic", "rate": 1.0}
    constant = [{"distribution": "deterministic", "mean": mean} for mean in (0.8, 0.9)]
    assert solve_network(tandem(periodic, *constant), ["queueing"])[0].classes["c"].mean_response == pytest.approx(
        1.7, rel=0.01
    )


def test_classes_wait_by_their_own_bursts():
    """Exact: of Poisson customers and batches at one server, who comes in batches waits for those before him."""
    route, constant = {"in": {"a": 1.0}, "a": {"out": 1.0}}, {"a": {"distribution": "deterministic", "mean": 0.5}}
    arrivals = {"x": {"process": "poisson", "rate": 0.6}, "y": {"process": "batch", "rate": 0.6, "size": 3}}
    classes = {c: {"arrivals": one, "service": constant, "route": route} for c, one in arrivals.items()}
    work = (1.2 * 0.125 + 0.3 * 0.5) / (1 - 0.6)
    assert responses({"station": {"a": {}}, "class": classes}) == pytest.approx([work + 0.5, work + 1.0], rel=1e-6)


@pytest.mark.parametrize("seed", range(HARD, HARD + 8))
def test_waits_grow_with_the_load(seed):
    description, responses_before = harsh_network(seed)[1], None
    for factor in (0.3, 0.6, 0.9, 1.0):
        other = copy.deepcopy(description)
        for one in other["class"].values():
            for service in one["service"].values():
                service |= {
                    key: [part * factor for part in value] if isinstance(value, list) else value * factor
                    for key, value in service.items()
                    if key in ("mean", "means")
                }
        found = responses(other)
        assert responses_before is None or all(a < b for a, b in zip(responses_before, found, strict=True))
        responses_before = found


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ({"in": {"a": 1.0}, "a": {"b": 0.5, "c": 0.5}, "b": {"d": 1.0}, "c": {"d": 1.0}, "d": {"out": 1.0}}, True),
        ({"in": {"a": 1.0}, "a": {"b": 0.5, "d": 0.5}, "b": {"d": 1.0}, "d": {"out": 1.0}}, True),
        ({"in": {"b": 0.5, "c": 0.5}, "b": {"d": 1.0}, "c": {"d": 1.0}, "d": {"out": 1.0}}, True),
        ({"in": {"a": 1.0}, "a": {"b": 0.5, "d": 0.5}, "b": {"out": 1.0}, "d": {"out": 1.0}}, False),
        ({"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"a": 0.5, "out": 0.5}}, False),
    ],
)
def test_ways_that_meet_again_are_told(route, said, monkeypatch):
    monkeypatch.setattr("npexplore.networks.streams.MOST_TYPES", 1)
    names = sorted(route.keys() - {"in"})
    one = {"arrivals": {"process": "on_off", "rate": 1.0, "on": 20.0, "off": 40.0}, "route": route}
    one["service"] = {name: {"distribution": "exponential", "mean": 0.3} for name in names}
    (answer,) = solve_network(network_of({"station": {name: {} for name in names}, "class": {"c": one}}), ["queueing"])
    assert (MEETING in answer.approximation) == said


@pytest.mark.parametrize("process", [{"process": "on_off", "on": 20.0, "off": 40.0}, {"process": "batch", "size": 8}])
def test_ways_that_take_no_time_are_none(process):
    """As if the halves were independent, bursts were up to 64 % short where they meet again."""
    route, means = {"in": {"a": 1.0}, "a": {"d": 1.0}, "d": {"out": 1.0}}, {"a": 0.5, "d": 0.8, "b": 1e-6, "c": 1e-6}
    found = []
    for ways in (route, route | {"a": {"b": 0.5, "c": 0.5}, "b": {"d": 1.0}, "c": {"d": 1.0}}):
        names = sorted(ways.keys() - {"in"})
        service = {name: {"distribution": "deterministic", "mean": means[name]} for name in names}
        one = {"arrivals": {"rate": 1.0, **process}, "service": service, "route": ways}
        found += responses({"station": {name: {} for name in names}, "class": {"c": one}})
    assert found[1] == pytest.approx(found[0], rel=0.15)


def test_harsh_networks_are_near_their_simulations():
    """Of all that are stored, 96 % are within 10 %; the farthest is 17 % off."""
    errors = [abs(error) for _, _, error in compared(HARD, HARD + 60)]
    assert len(errors) > 50
    assert sum(error <= 0.1 for error in errors) >= 0.85 * len(errors)
    assert max(errors) < 0.3


def test_random_networks_are_near_their_exact_chains():
    """Of all that are stored, 99 % are within 10 %, and the farthest is 15 % off."""
    errors = [abs(error) for _, _, error in compared(0, 80)]
    assert len(errors) > 40
    assert sum(error <= 0.1 for error in errors) >= 0.95 * len(errors)
    assert max(errors) < 0.2
