"""The chain of a network held against its simulation."""

import msgspec
from scipy.special import stdtrit

from npexplore.networks.records import Network
from npexplore.networks.solve import solve_network

SEEDS = range(1, 9)
CUSTOMERS = 30_000


def network_of(description):
    return msgspec.convert({"name": "n", **description}, Network)


def assert_agrees(network, answers=None, share=0.02):
    """The simulation within five standard errors and `share` of the chain, station by station, class by class."""
    chain, simulation = answers or solve_network(network, ["ctmc", "simulation"], SEEDS, CUSTOMERS)
    assert chain.refused is None, chain.refused
    assert simulation.refused is None, simulation.refused
    compared = 0
    for place, (low, high) in simulation.ci95.items():
        kind, *subject, field = place.split(".")
        if field == "mean_wait" or field.startswith("p"):
            continue
        rows = [getattr(answer, kind) for answer in (chain, simulation)]
        for part in subject:
            rows = [row[part] for row in rows]
        truth, found = (getattr(row, field) for row in rows)
        if truth is None or found is None:
            continue
        compared += 1
        error = 5 * (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975) + 1e-3 * abs(truth) + 1e-4
        assert abs(found - truth) <= min(error, share * abs(truth) + 1e-4) or abs(found - truth) <= error / 2, (
            place, truth, found,
        )  # fmt: skip
    assert compared > 4
    return chain
