"""The Markov chain of a stochastic net: throughput of transitions and mean tokens of places, each certified.

Markings are states; those in which no time passes are taken out first (`vanishing`). A throughput is the mean rate at
which a transition fires, of instantaneous ones the mean count on the ways from one tangible marking to the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from npexplore.errors import RefusedError, one_of
from npexplore.machine.petri import Net
from npexplore.rows.distributions import Exponential
from npexplore.solve.chains import stationary
from npexplore.solve.petri.durations import as_race, not_exponential
from npexplore.solve.petri.firing import Array
from npexplore.solve.petri.markings import MOST_STATES, Graph, find_graph, find_growth, is_vanishing
from npexplore.solve.petri.vanishing import remove_vanishing
from npexplore.solve.queueing.inputs import Floats

AT_ONCE = 1 << 16


@dataclass(frozen=True)
class PlaceMean:
    """Mean tokens of a place; the truth lies in low..high for certain."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Throughput:
    """Mean firings of a transition a unit of time; the truth lies in low..high for certain."""

    throughput: float
    low: float
    high: float


@dataclass(frozen=True)
class NetChain:
    """A net's steady state. error: how far the worst of the means can be from the truth. states: tangible ones."""

    refused: str | None
    states: int | None
    vanishing: int | None
    places: dict[str, PlaceMean] | None
    transitions: dict[str, Throughput] | None
    error: float | None


def solve_chain(
    net: Net,
    most_states: int = MOST_STATES,
    most_bytes: int | None = None,
    tolerance: float = 1e-9,
    only: Iterable[str] | None = None,
) -> NetChain:
    """Answer by the net's Markov chain; refused for times that are not exponential and more states than allowed.

    only: names of places and transitions, of large nets (each mean takes time; None: all). Of nets with durations those
    free of conflict are answered. Raises InputError for a loop in which no time passes, UnknownNameError.
    """
    try:
        return _solved(net, most_states, most_bytes, tolerance, only)
    except RefusedError as error:
        return NetChain(str(error), None, None, None, None, None)


def _solved(
    net: Net, most_states: int, most_bytes: int | None, tolerance: float, only: Iterable[str] | None
) -> NetChain:
    names = [place.name for place in net.places], [one.name for one in net.transitions]
    wanted = [one_of("place or transition", name, names[0] + names[1]) for name in only or names[0] + names[1]]
    race = net if net.timing == "race" else as_race(net)
    for one in race.transitions:
        if one.delay is not None and not isinstance(one.delay, Exponential):
            raise not_exponential(one)
    growth = find_growth(race)
    if growth:
        again, place = ", ".join(growth.again), growth.places[0]
        raise RefusedError(f"the net is unbounded: {again} can go on for ever and fill {place!r}")
    graph = find_graph(race, most_states, most_bytes)
    vanishing = is_vanishing(graph)
    chain, states = graph.chain, graph.states
    firings = _firings(graph, vanishing)
    if vanishing.any():
        chain, counted = remove_vanishing(graph, vanishing, firings[np.flatnonzero(vanishing)])
        states = states[~vanishing]
        firings = firings[np.flatnonzero(~vanishing)] + counted
    places = [p for p, name in enumerate(names[0]) if name in wanted]
    fired = [t for t, one in enumerate(race.transitions) if one.name in wanted]
    rewards = np.concatenate([states[:, places], firings[:, fired].toarray()], axis=1)
    answer = stationary(chain, rewards, tolerance)
    means = list(zip(answer.mean.tolist(), answer.low.tolist(), answer.high.tolist(), strict=True))
    rates = zip(fired, means[len(places) :], strict=True)
    return NetChain(
        refused=None,
        states=len(states),
        vanishing=int(vanishing.sum()),
        places={names[0][p]: PlaceMean(*mean) for p, mean in zip(places, means, strict=False)},
        transitions={race.transitions[t].name: Throughput(*mean) for t, mean in rates},
        error=float(answer.error.max()),
    )


def _firings(graph: Graph, vanishing: Array) -> csr_matrix:
    """Return (n, T): rates of the transitions in tangible markings, firings at a visit of vanishing ones.

    A firing that changes nothing in a vanishing marking is one more, before it is left.
    """
    rows, columns, values = [], [], []
    for first in range(0, len(graph.states), AT_ONCE):
        part = graph.states[first : first + AT_ONCE]
        origin, following, strength, which = graph.firing.firings(part)
        leaving = (following != part[origin]).any(axis=1)
        away = np.bincount(origin[leaving], strength[leaving], minlength=len(part))
        gone: Floats = np.where(vanishing[first : first + AT_ONCE] & (away > 0), away, 1.0)
        rows.append(origin + first)
        columns.append(which)
        values.append(strength / gone[origin])
    every = np.concatenate(rows), np.concatenate(columns)
    return csr_matrix((np.concatenate(values), every), shape=(len(graph.states), len(graph.firing.net.transitions)))
