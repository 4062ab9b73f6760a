"""The networks of models/networks: every solver against the closed form, worked out a second time.

Simulations must lie within four standard errors and 3 % of the truth; exact answers within 1e-9; bounds on their side.
"""

import pytest
from reference.network_truths import EXAMPLES, example, value

from npexplore.networks.solve import solve_network
from npexplore.paths import share

SEEDS = range(1, 9)
CUSTOMERS = 40_000
QUEUEING = {  # else exact
    "blocking_tandem": "refused", "region": "refused",
    "bank_interference": "approximation", "round_robin": "approximation",
}  # fmt: skip


def standard_error(result, name):
    from scipy.special import stdtrit

    low, high = result.ci95[name]
    return (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975)


def test_every_example_is_checked():
    assert {path.stem for path in share("models", "networks").glob("*.toml")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_by_all_methods(name):
    bounds, queueing, simulation = solve_network(example(name), seeds=SEEDS, customers=CUSTOMERS)
    assert simulation.refused is None
    kind = QUEUEING.get(name, "exact")
    assert (queueing.refused is not None, queueing.exact) == (kind == "refused", kind == "exact")
    assert (queueing.approximation is not None) == (kind == "approximation")
    for place, truth in EXAMPLES[name]().items():
        error = abs(value(simulation, place) - truth)
        assert error <= 4 * standard_error(simulation, place), (place, truth, value(simulation, place))
        assert error <= 0.03 * truth, (place, truth, value(simulation, place))
        if kind == "exact":
            assert value(queueing, place) == pytest.approx(truth, rel=1e-9), place
        if place.endswith("throughput"):
            assert value(bounds, place) >= truth * (1 - 1e-9)
        if place.endswith("response"):
            assert value(bounds, place) <= truth * (1 + 1e-9)
