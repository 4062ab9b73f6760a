"""Random product-form networks by four ways that share nothing: Markov chain, sum of weights, exact MVA, simulation."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.closed_chains import closed_chain, product_form
from scipy.special import stdtrit

from npexplore.networks.records import Network
from npexplore.networks.simulation import simulate_network
from npexplore.solve.queueing import mixed_network, multiclass_mva, mva

SEEDS = range(8)
demand = st.sampled_from((0.2, 0.35, 0.5, 0.8, 1.3))
speed = st.sampled_from((0.7, 1.0, 1.6, 2.0, 3.0))


@st.composite
def closed(draw):
    """Demands (K, R), population (R,), think times (R,), rates (K, M) of a ring of stations."""
    K, R = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    demands = [[draw(demand) for _ in range(R)] for _ in range(K)]
    rates = [draw(st.lists(speed, min_size=3, max_size=3)) for _ in range(K)]
    population = [draw(st.integers(1, 5 if R == 1 else 3)) for _ in range(R)]
    return demands, population, [draw(st.sampled_from((0.5, 1.0, 4.0))) for _ in range(R)], rates


def as_file(demands, population, think, rates):
    """The ring as a network file: processor sharing at these speeds."""

    def times(mean):
        return {"distribution": "exponential", "mean": mean}

    names = [f"s{k}" for k in range(len(demands))]
    route = dict(zip(["in", *names], [{n: 1.0} for n in [*names, "out"]], strict=True))
    classes = {
        f"c{r}": {
            "population": population[r], "think_time": times(think[r]), "route": route,
            "service": {name: times(demands[k][r]) for k, name in enumerate(names)},
        }
        for r in range(len(population))
    }  # fmt: skip
    station = {name: {"discipline": "ps", "rates": rates[k]} for k, name in enumerate(names)}
    return msgspec.convert({"name": "ring", "station": station, "class": classes}, Network)


@settings(max_examples=60)
@given(closed())
def test_chain_weights_and_mva_agree_to_a_millionth(network):
    x, queue = closed_chain(*network)
    solvers = [product_form(*network)]
    exact = multiclass_mva(*network)
    solvers.append((exact.throughput[0], exact.queue_length[0]))
    demands, population, think, rates = network
    mixed = mixed_network(demands, 0.0, population, think, rates)
    solvers.append((mixed.throughput[0], mixed.queue_length[0]))
    if len(population) == 1:
        one = mva(np.ravel(demands), population[0], think[0], rates)
        solvers.append((one.throughput, one.queue_length.T))
    for throughput, number in solvers:
        np.testing.assert_allclose(throughput, x, rtol=1e-6)
        np.testing.assert_allclose(number, queue, rtol=1e-6)


@settings(max_examples=25)
@given(closed())
def test_simulation_agrees_with_the_weights(network):
    x, queue = product_form(*network)
    found = simulate_network(as_file(*network), SEEDS, 6_000)
    expected = {f"classes.c{r}.throughput": value for r, value in enumerate(x)}
    expected |= {f"stations.s{k}.mean_number": row.sum() for k, row in enumerate(queue)}
    for place, truth in expected.items():
        low, high = found.ci95[place]
        deviation = (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975)
        assert abs((low + high) / 2 - truth) <= 5 * deviation + 0.01 * truth, place
