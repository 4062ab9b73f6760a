"""The ten networks of models/networks: every solver against the closed form, worked out here a second time.

Simulations must lie within four standard errors and 3 % of the truth; exact answers within 1e-9; bounds on their side.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from npexplore.machine.network import load_network
from npexplore.paths import share
from npexplore.solve.networks import solve_network

SEEDS = range(1, 9)
CUSTOMERS = 40_000


def steady(rates):
    """Stationary probabilities by state of a chain given as {(from, to): rate}."""
    states = sorted({state for pair in rates for state in pair})
    Q = np.zeros((len(states), len(states)))
    for (a, b), rate in rates.items():
        Q[states.index(a), states.index(b)] += rate
    Q -= np.diag(Q.sum(axis=1))
    A = np.vstack([Q.T, np.ones(len(states))])
    return dict(zip(states, np.linalg.lstsq(A, np.append(np.zeros(len(states)), 1), rcond=None)[0], strict=True))


def mm1():
    return {"stations.server.mean_number": 4, "classes.jobs.mean_response": 5, "stations.server.utilization": 0.8}


def mmc():
    a, c = 2.4, 3
    top = a**c / math.factorial(c) / (1 - a / c)
    waits = top / (sum(a**k / math.factorial(k) for k in range(c)) + top)
    return {"stations.servers.mean_wait": waits / (c - a), "classes.jobs.mean_response": 1 + waits / (c - a)}


def mm1k():
    p = np.array([0.9**n for n in range(6)]) / sum(0.9**n for n in range(6))
    return {
        "classes.packets.loss": p[5],
        "classes.packets.throughput": 0.9 * (1 - p[5]),
        "stations.buffer.mean_number": p @ np.arange(6),
    }


def md1():
    return {"stations.link.mean_wait": 2, "classes.packets.mean_response": 3}


def closed_multiclass():
    demands = {"processor": (0.4, 5.0), "disk": (0.3, 1.2)}  # visits: 2 and 1; 5 and 4

    def weights(population):
        found = {}
        for here in itertools.product(*(range(n + 1) for n in population)):
            there = tuple(n - k for n, k in zip(population, here, strict=True))
            found[here] = math.prod(
                math.factorial(sum(counts))
                * math.prod(D**k / math.factorial(k) for D, k in zip(Ds, counts, strict=True))
                for counts, Ds in ((here, demands["processor"]), (there, demands["disk"]))
            )
        return found

    whole = weights((4, 2))
    G = sum(whole.values())
    first, second = sum(weights((3, 2)).values()) / G, sum(weights((4, 1)).values()) / G
    return {
        "classes.interactive.throughput": first,
        "classes.interactive.mean_response": 4 / first,
        "classes.batch.throughput": second,
        "stations.processor.mean_number": sum(sum(here) * weight for here, weight in whole.items()) / G,
        "stations.disk.utilization": 0.3 * first + 1.2 * second,
    }


def think_time():
    rates = {}
    for n in range(8):
        rates[n, n + 1] = (8 - n) / 5
        rates[n + 1, n] = (1.0, 1.8, 2.5)[min(n, 2)]
    p = steady(rates)
    number = sum(n * share for n, share in p.items())
    return {
        "stations.processor.mean_number": number,
        "classes.users.throughput": (8 - number) / 5,
        "classes.users.mean_response": 5 * number / (8 - number),
        "stations.processor.utilization": (8 - number) / 5 / 2.5,
    }


def blocking_tandem():
    rates = {}  # (at the first, at the second, is the one at the first's server done and waiting)
    for n, m, waits in [*itertools.product(range(5), range(3), (0,)), *((n, 2, 1) for n in range(1, 5))]:
        if n < 4:
            rates[(n, m, waits), (n + 1, m, waits)] = 0.8
        if n > 0 and not waits:
            rates[(n, m, 0), (n - 1, m + 1, 0) if m < 2 else (n, 2, 1)] = 1.0
        if m > 0:
            rates[(n, m, waits), (n - 1, 2, 0) if waits else (n, m - 1, 0)] = 1.0
    p = steady(rates)
    out = sum(share for (_, m, _), share in p.items() if m > 0)
    return {
        "classes.packets.throughput": out,
        "classes.packets.loss": 1 - out / 0.8,
        "stations.first.mean_number": sum(n * share for (n, _, _), share in p.items()),
        "stations.second.mean_number": sum(m * share for (_, m, _), share in p.items()),
        "stations.first.utilization": sum(share for (n, _, _), share in p.items() if n > 0),
    }


def priorities():
    residual = 0.3 * 1 / 2 + 0.5 * 2 / 2
    voice, data = residual / 0.7, residual / 0.7 / 0.2
    return {
        "classes.voice.mean_response": 1 + voice,
        "classes.data.mean_response": 1 + data,
        "stations.link.mean_wait": (0.3 * voice + 0.5 * data) / 0.8,
    }


def fork_join():
    return {"classes.jobs.mean_response": (12 - 0.6) / 8 / (1 - 0.6), "stations.left.mean_number": 1.5}


def bank_interference():
    """In each cycle every bank with requests serves one, which goes to any of the four banks."""
    rates = {}
    states = {tuple(sorted(banks)) for banks in itertools.product(range(5), repeat=4) if sum(banks) == 4}
    for state in states:
        left = [max(n - 1, 0) for n in state]
        served = 4 - sum(left)
        for ways in itertools.product(range(4), repeat=served):
            again = Counter(ways)
            after = tuple(sorted(n + again[k] for k, n in enumerate(left)))
            rates[state, after] = rates.get((state, after), 0) + 0.25**served
    busy = sum(share * sum(n > 0 for n in state) for state, share in steady(rates).items())
    return {"classes.processors.throughput": busy, "stations.bank0.utilization": busy / 4}


TRUTH = {
    truth.__name__: truth
    for truth in (
        mm1,
        mmc,
        mm1k,
        md1,
        closed_multiclass,
        think_time,
        blocking_tandem,
        priorities,
        fork_join,
        bank_interference,
    )
}
QUEUEING = {"blocking_tandem": "refused", "bank_interference": "approximation"}  # else exact


def network(name):
    return load_network(share("models", "networks", f"{name}.toml"))


def value(result, name):
    kind, subject, field = name.split(".")
    return getattr(getattr(result, kind)[subject], field)


def standard_error(result, name):
    from scipy.special import stdtrit

    low, high = result.ci95[name]
    return (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975)


def test_every_example_is_checked():
    assert {path.stem for path in share("models", "networks").glob("*.toml")} == set(TRUTH)


@pytest.mark.parametrize("name", TRUTH)
def test_example_by_all_methods(name):
    bounds, queueing, simulation = solve_network(network(name), seeds=SEEDS, customers=CUSTOMERS)
    assert simulation.refused is None
    kind = QUEUEING.get(name, "exact")
    assert (queueing.refused is not None, queueing.exact) == (kind == "refused", kind == "exact")
    assert (queueing.approximation is not None) == (kind == "approximation")
    for place, truth in TRUTH[name]().items():
        error = abs(value(simulation, place) - truth)
        assert error <= 4 * standard_error(simulation, place), (place, truth, value(simulation, place))
        assert error <= 0.03 * truth, (place, truth, value(simulation, place))
        if kind == "exact":
            assert value(queueing, place) == pytest.approx(truth, rel=1e-9), place
        if place.endswith("throughput"):
            assert value(bounds, place) >= truth * (1 - 1e-9)
        if place.endswith("response"):
            assert value(bounds, place) <= truth * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTH)
def test_intervals_of_one_seed_cover_the_truth(name):
    """95 % intervals by batch means hold the truth in 90 to 99 % of 200 runs, taken over all its numbers."""
    net, truths = network(name), TRUTH[name]()
    inside = Counter()
    for seed in range(200):
        (result,) = solve_network(net, ["simulation"], [seed], 60_000)
        inside.update(
            place for place, truth in truths.items() if result.ci95[place][0] <= truth <= result.ci95[place][1]
        )
    for place in truths:
        assert 0.88 <= inside[place] / 200 <= 0.995, (place, inside[place])
