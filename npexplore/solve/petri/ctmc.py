"""The Markov chain of a stochastic net: certified throughputs of transitions and mean tokens of places.

Markings are states; vanishing ones, in which no time passes, are removed first (vanishing.py). A throughput is the mean
rate at which a transition fires; immediate firings are counted on the paths between tangible markings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from npexplore.errors import RefusedError, one_of
from npexplore.machine.petri import Net
from npexplore.records import content_hash
from npexplore.rows.distributions import Exponential
from npexplore.solve.chains import Chain, stationary
from npexplore.solve.petri.durations import as_race, not_exponential
from npexplore.solve.petri.graph import MOST_STATES, Graph, find_graph, refuse_large
from npexplore.solve.petri.markings import find_growth
from npexplore.solve.petri.net_result import NetResult, means
from npexplore.solve.petri.vanishing import remove_vanishing, settled
from npexplore.solve.queueing.inputs import Floats


@dataclass(frozen=True)
class PlaceMean:
    """Mean tokens of a place; the true value is certified to be in low..high."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Throughput:
    """Mean firings of a transition per unit of time; the true value is certified to be in low..high."""

    throughput: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class NetChain(NetResult):
    """A net's steady state. error: largest possible error of a mean. states: number of tangible markings.

    Example:
        >>> from npexplore.petri import load_net, solve_chain
        >>> solve_chain(load_net("tandem")).states
        120
    """

    refused: str | None = None
    states: int | None = None
    vanishing: int | None = None
    places: dict[str, PlaceMean] | None = None
    transitions: dict[str, Throughput] | None = None
    error: float | None = None

    solver = "ctmc"
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each place and transition: its mean and the certified bounds."""
        return means(places=self.places, transitions=self.transitions)


def solve_chain(
    net: Net,
    most_states: int = MOST_STATES,
    most_bytes: int | None = None,
    tolerance: float = 1e-9,
    only: Iterable[str] | None = None,
) -> NetChain:
    """Solve a net by its Markov chain; refused for times that are not exponential and for more states than allowed.

    Args:
        net: the net; one with durations must be free of conflict.
        most_states: the largest number of markings.
        most_bytes: the largest memory to use, in bytes (None: half of the available memory).
        tolerance: the largest relative width of a mean's bracket.
        only: names of the places and transitions to compute (None: all); each mean of a large net takes time.

    Raises InputError for a loop in which no time passes, UnknownNameError for a name in `only`.
    """
    try:
        return _solved(net, most_states, most_bytes, tolerance, only)
    except RefusedError as error:
        return NetChain(str(error))


def _solved(
    net: Net, most_states: int, most_bytes: int | None, tolerance: float, only: Iterable[str] | None
) -> NetChain:
    reduction = reduced(net, most_states, most_bytes, only)
    answer = stationary(reduction.chain, reduction.rewards, tolerance)
    means = list(zip(answer.mean.tolist(), answer.low.tolist(), answer.high.tolist(), strict=True))
    at = len(reduction.places)
    return NetChain(
        states=reduction.chain.states,
        vanishing=reduction.vanishing,
        places={name: PlaceMean(*mean) for name, mean in zip(reduction.places, means[:at], strict=True)},
        transitions={name: Throughput(*mean) for name, mean in zip(reduction.transitions, means[at:], strict=True)},
        error=float(answer.error.max()),
    )


class Reduced(NamedTuple):
    """A net's chain over its n tangible markings, the initial distribution `start` (n,), and the rewards.

    rewards (n, K): tokens of `places`, then firings per unit of time of `transitions`. vanishing: number of removed
    markings.
    """

    chain: Chain
    start: Floats
    rewards: Floats
    places: list[str]
    transitions: list[str]
    vanishing: int


def reduced(net: Net, most_states: int, most_bytes: int | None, only: Iterable[str] | None) -> Reduced:
    """Return the chain of a net; raises RefusedError, and InputError and UnknownNameError as `solve_chain`."""
    names = [place.name for place in net.places], [transition.name for transition in net.transitions]
    wanted = [one_of("place or transition", name, names[0] + names[1]) for name in only or names[0] + names[1]]
    race = net if net.timing == "race" else as_race(net)
    for transition in race.transitions:
        if transition.delay is not None and not isinstance(transition.delay, Exponential):
            raise not_exponential(transition)
    growth = find_growth(race)
    if growth:
        repeated, place = ", ".join(growth.again), growth.places[0]
        raise RefusedError(f"the net is unbounded: {repeated} can go on for ever and fill {place!r}")
    graph = find_graph(race, most_states, most_bytes)
    refuse_large(graph, most_bytes)
    places = [p for p, name in enumerate(names[0]) if name in wanted]
    fired = [t for t, transition in enumerate(race.transitions) if transition.name in wanted]
    chain, tokens, firings = graph.chain, graph.states[:, places], _firings(graph, fired)
    vanishing = int(graph.vanishing.sum())
    if vanishing:
        chain, counted = remove_vanishing(graph, firings[graph.vanishing])
        tokens, firings = tokens[~graph.vanishing], firings[~graph.vanishing] + counted
    start = settled(graph)
    del graph
    rewards = np.concatenate([tokens, firings.toarray()], axis=1)
    return Reduced(
        chain, start, rewards, [names[0][p] for p in places], [race.transitions[t].name for t in fired], vanishing
    )


def _firings(graph: Graph, wanted: list[int]) -> csr_matrix:
    """Return (n, K): rates of K transitions in tangible markings, firings per visit of vanishing ones.

    Firings that do not change a vanishing marking count additionally, before the marking is left.
    """
    column = np.full(len(graph.firing.net.transitions), -1)
    column[wanted] = np.arange(len(wanted))
    arcs = np.flatnonzero(column[graph.which] >= 0)
    origin, value = graph.origin(arcs), graph.strength[arcs]
    if graph.vanishing.any():
        total = np.bincount(graph.origin()[graph.leaving], graph.strength[graph.leaving], minlength=len(graph.states))
        value = value / np.where(graph.vanishing & (total > 0), total, 1.0)[origin]
    shape = len(graph.states), len(wanted)
    return csr_matrix((value, (origin, column[graph.which[arcs]])), shape=shape)
