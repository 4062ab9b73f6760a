"""Answers a network file with the requested solvers: bounds, queueing, its Markov chain, simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npexplore.errors import one_of
from npexplore.networks.bounds import solve_bounds
from npexplore.networks.ctmc import MOST_STATES, solve_ctmc
from npexplore.networks.queueing import solve_queueing
from npexplore.networks.records import Network
from npexplore.networks.result import NetworkResult
from npexplore.networks.simulation import CUSTOMERS, simulate_network
from npexplore.networks.traffic import refuse_unstable, traffic

METHODS = ("bounds", "queueing", "simulation", "ctmc")


def solve_network(
    network: Network,
    methods: Sequence[str] = METHODS[:3],
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    customers: int = CUSTOMERS,
    progress: Callable[[int], None] | None = None,
    most_states: int = MOST_STATES,
) -> list[NetworkResult]:
    """Return one answer per method, in the given order.

    network: as `load_network` returns it. methods: of bounds, queueing, ctmc, simulation. seeds: one simulation each.
    customers: measured passes of each simulation. progress: called with each seed that has finished. most_states: cap
    on the states of the Markov chain. Raises UnknownNameError for a method, InputError for an unstable network or one
    that customers cannot leave.
    """
    for method in methods:
        one_of("method", method, METHODS)
    flows = traffic(network)
    refuse_unstable(flows)
    solvers: dict[str, Callable[[], NetworkResult]] = {
        "bounds": lambda: solve_bounds(flows),
        "queueing": lambda: solve_queueing(flows),
        "ctmc": lambda: solve_ctmc(network, most_states),
        "simulation": lambda: simulate_network(network, seeds, customers, progress),
    }
    return [solvers[method]() for method in methods]
