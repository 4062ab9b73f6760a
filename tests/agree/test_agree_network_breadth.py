"""What networks have beyond product form: each feature by an exact answer written down again and by the simulation."""

import math

import numpy as np
import pytest
from reference.chain_against_simulation import assert_agrees, network_of
from reference.markov import steady
from reference.network_truths import exponential, poisson, queue, renewal, ring, value
from scipy.special import stdtrit
from scipy.stats import lognorm, pareto, weibull_min

from npexplore.networks.solve import solve_network

SEEDS = range(1, 9)
CUSTOMERS = 40_000


def time(distribution, **values):
    return {"distribution": distribution, **values}


def interval(distribution, **values):
    return {"process": "renewal", "interval": time(distribution, **values)}


COXIAN = time("coxian", means=[0.4, 1.2], go_on=[0.5])  # mean 1, second moment 2 (0.16 + 0.5 (1.44 + 0.48))
PHASES = time("phase_type", first=[0.3, 0.7], rates=[[-0.5, 0.2], [0.0, -2.0]])  # chances and rates of two phases
BURSTS = {"process": "markovian", "quiet": [[-2.1, 0.1], [0.05, -0.25]], "arrive": [[2.0, 0.0], [0.0, 0.2]]}


def modulated():
    """M/M/1 under BURSTS: states (customers, phase), cut where next to nobody comes."""
    rates, most = {}, 400
    for n in range(most):
        for phase, (up, change) in enumerate(((2.0, 0.1), (0.2, 0.05))):
            if n + 1 < most:
                rates[(n, phase), (n + 1, phase)] = up
            rates[(n, phase), (n, 1 - phase)] = change
            if n:
                rates[(n, phase), (n - 1, phase)] = 2.0
    return sum(n * share for (n, _), share in steady(rates).items())


def service_moments(mean, square, rate=0.6):
    """Response of M/G/1."""
    return mean + rate * square / 2 / (1 - rate * mean)


def of_law(law, rate=0.6):
    return service_moments(law.mean(), law.var() + law.mean() ** 2, rate)


def quantile_transform(law):
    from scipy.integrate import quad

    return lambda s: quad(lambda u: math.exp(-s * law.ppf(u)), 0, 1, limit=400, epsabs=1e-12)[0]


SPREAD = math.log(3.0)  # a lognormal of scv 2
LOGNORMAL = lognorm(math.sqrt(SPREAD), scale=math.exp(-SPREAD / 2))
ONE_QUEUE = {  # description, response
    "coxian service": (queue(arrivals=poisson(0.6), service=COXIAN), service_moments(1.0, 2 * (0.16 + 0.5 * 1.92))),
    "phases": (
        queue(arrivals=poisson(0.6), service=PHASES),
        # from phase 0: mean 2 + 0.4 / 2; squares by the first step, E T^2 = 2 / a^2 + 2 m / a p + p E T'^2
        service_moments(
            0.3 * 2.2 + 0.7 * 0.5, 0.3 * (2 / 0.25 + 2 * 2 * 0.4 * 0.5 + 0.4 * 0.5) + 0.7 * 0.5
        ),
    ),
    "gamma service": (
        queue(arrivals=poisson(0.6), service=time("gamma", mean=1.0, shape=2.5)), service_moments(1, 1.4),
    ),
    "weibull service": (
        queue(arrivals=poisson(0.6), service=time("weibull", scale=1.0, shape=1.5)), of_law(weibull_min(1.5)),
    ),
    "lognormal service": (
        queue(arrivals=poisson(0.6), service=time("lognormal", mean=1.0, scv=2.0)), of_law(LOGNORMAL),
    ),
    "pareto service": (
        queue(arrivals=poisson(0.6), service=time("pareto", minimum=0.8, shape=6.0)), of_law(pareto(6.0, scale=0.8)),
    ),
    "erlang arrivals": (
        queue(arrivals=interval("erlang", mean=1 / 0.7, stages=3)), renewal(lambda s: (2.1 / (2.1 + s)) ** 3),
    ),
    "gamma arrivals": (
        queue(arrivals=interval("gamma", mean=1 / 0.7, shape=0.5)), renewal(lambda s: (1 + s / 0.35) ** -0.5),
    ),
    "pareto arrivals": (
        queue(arrivals=interval("pareto", minimum=1.0, shape=3.0)), renewal(quantile_transform(pareto(3.0))),
    ),
    "uniform arrivals": (
        queue(arrivals=interval("uniform", low=0.5, high=2.5)),
        renewal(lambda s: (math.exp(-0.5 * s) - math.exp(-2.5 * s)) / (2 * s)),
    ),
    "bursts": (queue(arrivals=BURSTS, service=exponential(0.5)), modulated() / 0.8),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_QUEUE)
def test_one_queue(name):
    description, response = ONE_QUEUE[name]
    queueing, simulation = solve_network(network_of(description), ["queueing", "simulation"], SEEDS, CUSTOMERS)
    assert queueing.exact
    assert queueing.classes["c"].mean_response == pytest.approx(response, rel=1e-6)
    low, high = simulation.ci95["classes.c.mean_response"]
    error = abs(simulation.classes["c"].mean_response - response)
    assert (
        error <= min(4 * (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975), 0.05 * response) or error <= 0.02 * response
    )


def test_a_trace_is_replayed_in_its_order():
    """A closed customer alone sees the trace itself: six seconds for four visits."""
    network = network_of(queue(population=1, service=time("trace", values=[1.0, 0.5, 4.0, 0.5])))
    bounds, queueing, simulation = solve_network(network, seeds=[1, 2], customers=4000)
    for one in (bounds, queueing, simulation):
        assert one.classes["c"].throughput == pytest.approx(4 / 6, rel=1e-6)


def switching(discipline):
    """Customers come as new, half of them return once as old: two closed classes of one chain, and an open one."""
    return {
        "station": {"cpu": {"discipline": discipline}, "disk": {}},
        "class": {
            "new": {
                "population": 3, "service": {"cpu": exponential(0.6), "disk": exponential(0.5)},
                "route": {"in": {"cpu": 1.0}, "cpu": {"disk": 1.0}, "disk": {"cpu as old": 0.5, "out": 0.5}},
            },
            "old": {
                "service": {"cpu": exponential(0.6 if discipline == "fifo" else 1.5)},
                "route": {"cpu": {"out as new": 1.0}},
            },
        },
    }  # fmt: skip


@pytest.mark.parametrize("discipline", ["fifo", "ps", "priority"])
def test_customers_that_change_their_class(discipline):
    network = network_of(switching(discipline))
    queueing, chain, simulation = solve_network(network, ["queueing", "ctmc", "simulation"], SEEDS, CUSTOMERS)
    assert_agrees(network, (chain, simulation))
    if discipline == "priority":
        assert queueing.refused is not None
        return
    assert queueing.exact
    for station, rows in chain.station_classes.items():
        for c, row in rows.items():
            assert queueing.station_classes[station][c].mean_number == pytest.approx(row.mean_number, rel=1e-9)
            assert queueing.station_classes[station][c].throughput == pytest.approx(row.throughput, rel=1e-9)


def dispatch(how, shares=(0.5, 0.5), **more):
    names = [f"s{k}" for k in range(len(shares))]
    return {
        "station": {name: {} for name in names},
        "class": {"c": {
            "service": {name: exponential(1.0 + k / 2) for k, name in enumerate(names)},
            "route": {
                "in": dict(zip(names, shares, strict=True)), **{name: {"out": 1.0} for name in names},
            },
            "choose": {"in": how}, **more,
        }},
    }  # fmt: skip


def test_turns_split_poisson_arrivals_into_erlang_ones():
    """Each second customer of a Poisson stream: E_2/M/1."""
    network = network_of(dispatch("in_turn", arrivals=poisson(1.0)))
    queueing, chain, simulation = solve_network(network, ["queueing", "ctmc", "simulation"], SEEDS, CUSTOMERS)
    response = renewal(lambda s: (1 / (1 + s)) ** 2)
    assert chain.stations["s0"].mean_response == pytest.approx(response, rel=1e-6)
    assert queueing.approximation == "turns taken as chance"
    assert_agrees(network, (chain, simulation))


@pytest.mark.parametrize(("how", "shares"), [("in_turn", (0.75, 0.25)), ("shortest", (0.4, 0.3, 0.3))])
def test_weighted_turns_and_the_shortest_line(how, shares):
    assert_agrees(network_of(dispatch(how, shares, population=5)))


REGION = {
    "station": {"a": {}, "b": {"servers": 2}, "c": {}},
    "class": {
        "x": {
            "population": 6, "service": {"a": exponential(0.5), "b": exponential(0.9), "c": exponential(0.7)},
            "route": {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"c": 0.7, "b": 0.1, "out": 0.2}, "c": {"out": 1.0}},
        }
    },
}  # fmt: skip


@pytest.mark.parametrize("when_full", ["wait", "drop"])
def test_regions(when_full):
    assert_agrees(
        network_of(REGION | {"region": {"r": {"stations": ["b", "c"], "capacity": 3, "when_full": when_full}}})
    )


def test_a_region_of_one_station_is_its_capacity():
    limited = solve_network(network_of(queue({"capacity": 4})), ["queueing"])[0]
    network = network_of(queue() | {"region": {"r": {"stations": ["s"], "capacity": 4, "when_full": "drop"}}})
    (chain,) = solve_network(network, ["ctmc"])
    for place in ("classes.c.loss", "classes.c.mean_response", "stations.s.mean_number"):
        assert value(chain, place) == pytest.approx(value(limited, place), rel=1e-9)


def cached(replace, **more):
    return {
        "station": {"near": {"discipline": "ps"}, "far": {}},
        "cache": {"lookup": {"items": 5, "places": 2, "popularity": 0.9, "replace": replace}},
        "class": {"c": {
            "service": {"near": exponential(0.2), "far": exponential(1.0)},
            "route": {
                "in": {"lookup": 1.0}, "lookup hit": {"near": 1.0}, "lookup miss": {"far": 1.0}, "near": {"out": 1.0},
                "far": {"out": 1.0},
            },
            **more,
        }},
    }  # fmt: skip


@pytest.mark.parametrize("replace", ["lru", "fifo", "random"])
def test_caches(replace):
    network = network_of(cached(replace, population=2))
    queueing, chain, simulation = solve_network(network, ["queueing", "ctmc", "simulation"], SEEDS, CUSTOMERS)
    assert_agrees(network, (chain, simulation))
    assert queueing.approximation == "hits of 'lookup' taken as independent"
    rows = [answer.stations["near"].throughput / answer.classes["c"].throughput for answer in (queueing, chain)]
    assert rows[0] == pytest.approx(rows[1], rel=1e-9)


def test_weights_share_a_server():
    """Discriminatory sharing with one customer of each class: alone at full speed, together 3 : 1."""
    one = {"population": 1, "think_time": exponential(1.0), "route": {"in": {"s": 1.0}, "s": {"out": 1.0}}}
    network = network_of({
        "station": {"s": {"discipline": "ps", "weights": {"gold": 3.0}}},
        "class": {name: one | {"service": {"s": exponential(1.0)}} for name in ("gold", "tin")},
    })  # fmt: skip
    p = steady({
        ((0, 0), (1, 0)): 1.0, ((0, 0), (0, 1)): 1.0, ((1, 0), (1, 1)): 1.0, ((0, 1), (1, 1)): 1.0,
        ((1, 0), (0, 0)): 1.0, ((0, 1), (0, 0)): 1.0, ((1, 1), (0, 1)): 0.75, ((1, 1), (1, 0)): 0.25,
    })  # fmt: skip
    queueing, chain, simulation = solve_network(network, ["queueing", "ctmc", "simulation"], [1], 1000)
    assert chain.station_classes["s"]["gold"].mean_number == pytest.approx(p[1, 0] + p[1, 1], rel=1e-9)
    assert "different weights" in queueing.refused
    assert "weights is not simulated" in simulation.refused


def test_constant_cycles_reach_their_bound():
    for population in (1, 2, 5):
        network = network_of(ring(
            {"a": {}, "b": {}}, {"a": time("deterministic", mean=1.0), "b": time("deterministic", mean=0.4)},
            population=population,
        ))  # fmt: skip
        bounds, queueing, simulation = solve_network(network, seeds=[1, 2], customers=2000)
        assert queueing.exact
        for place in ("classes.c.throughput", "stations.a.mean_number", "stations.b.mean_number"):
            assert value(simulation, place) == pytest.approx(value(queueing, place), rel=2e-3)
        assert value(bounds, "classes.c.throughput") == pytest.approx(value(queueing, "classes.c.throughput"))


def test_equal_constant_times_under_priorities_are_not_refused():
    """0.7 and 0.1: their squares' sum rounds to a variance of -1e-16."""
    one = {"route": {"in": {"s": 1.0}, "s": {"out": 1.0}}, "service": {"s": time("deterministic", mean=0.7)}}
    for rates in ((0.1, 0.3), (0.7, 0.6), (0.3, 0.3)):
        classes = {f"c{k}": one | {"arrivals": poisson(rate), "priority": 0} for k, rate in enumerate(rates)}
        network = network_of({"station": {"s": {"discipline": "priority"}}, "class": classes})
        (queueing,) = solve_network(network, ["queueing"])
        load = 0.7 * sum(rates)
        assert queueing.classes["c0"].mean_response == pytest.approx(0.7 + load * 0.7 / 2 / (1 - load))


def test_loss_does_not_ask_how_service_is_distributed():
    answers = []
    for service in (exponential(1.0), time("deterministic", mean=1.0), time("uniform", low=0.0, high=2.0)):
        (queueing,) = solve_network(
            network_of(queue({"servers": 3, "capacity": 3}, poisson(2.0), service)), ["queueing"]
        )
        assert queueing.exact
        answers.append(queueing.classes["c"].loss)
    np.testing.assert_allclose(answers, (8 / 6) / (1 + 2 + 2 + 8 / 6))


def test_quantiles_have_intervals():
    """Of 20 single runs most intervals hold the truth; their batches are short, so that not all do."""
    network = network_of(queue(arrivals=poisson(0.6)))
    exact = solve_network(network, ["queueing"])[0].classes["c"].p99
    inside = 0
    for seed in range(20):
        (run,) = solve_network(network, ["simulation"], [seed], 40_000)
        low, high = run.ci95["classes.c.p99"]
        assert low < run.classes["c"].p99 < high
        inside += low <= exact <= high
    assert inside >= 15


def test_bursts_come_at_their_mean_rate_in_a_short_run():
    """Phases last 10 and 20 s, so that customers come at (10 * 2 + 20 * 0.2) / 30 = 0.8 a second."""
    network = network_of(queue(arrivals=BURSTS, service=exponential(0.5)))
    assert network.classes["c"].arrivals.steady() == pytest.approx([1 / 3, 2 / 3])
    (found,) = solve_network(network, ["simulation"], [1], 10_000)
    assert found.classes["c"].throughput == pytest.approx(0.8, rel=0.1)
