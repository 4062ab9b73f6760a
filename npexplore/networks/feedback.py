"""Customers of an open network who come again to a station, as if they stayed there for all their visits.

    service of all visits: mean s / (1 - q), scv (1 - q) c^2 + q          who comes for the first time waits W
    number waiting = (rate of first visits) W                             a visit's mean wait = (1 - q) W

q is the chance to come again. Of customers who come again at once, in any order, this is exact: services are
independent, and so are as many there whoever is served (Kuehn, IEEE Trans. Communications 27, 1979; Whitt 1983,
section III.C). It is as good for those who pass quicker stations between (near-immediate feedback: Whitt and You, A
Robust Queueing Network Analyzer, INFORMS J. Computing 34, 2022). How much quicker they are decides the weight, as it
decides how far bursts pass through a station (queueing/departures.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npexplore.rows.phases import Phases
from npexplore.solve.queueing.departures import arrival_scv, passed_on
from npexplore.solve.queueing.inputs import Booleans, Floats

LEAST_CHANCE, TINY = 1e-9, 1e-300


class Again(NamedTuple):
    """How customers come to a station again: by what chance, how surely as if at once, how first visits come.

    variability: squared coefficient of variation between first visits. batches: E X^2 / E X - 1 of batches in them.
    """

    chance: float = 0.0
    weight: float = 0.0
    variability: float = 1.0
    batches: float = 0.0


def comes_again(
    node: int, flow: Floats, external: Floats, spread: Floats, batches: Floats, load: Floats, servers: Floats,
    scv: Floats, sd: Floats, delay: Booleans,
) -> Again:  # fmt: skip
    """Return how customers come again to a node of N.

    spread, batches: external rates times the scv between those who come, and times what batches are of it (N,). The
    others as in `arrival_scv`.
    """
    count, rate = len(external), flow.sum(axis=0) + external
    onward = flow / np.maximum(rate, TINY)[:, None]
    others = onward.copy()
    others[:, node] = 0.0
    reached = np.linalg.solve(np.eye(count) - others, onward[:, node])  # the chance to come to the node from each
    chance = float(min(reached[node], 1.0))
    if chance < LEAST_CHANCE or delay[node]:
        return Again()
    first_onward = onward.copy()
    first_onward[node] = 0.0  # who has been there does not count any more
    first_rate = np.linalg.solve(np.eye(count) - first_onward.T, external)
    first = first_onward * first_rate[:, None]
    single = np.where(batches > 0, spread - batches, spread) / np.maximum(external, TINY)
    variability = arrival_scv(first, external, single, load, servers, scv, sd, delay)[node]
    between = np.linalg.solve(np.eye(count) - others.T, onward[node] * (np.arange(count) != node)) * reached
    passed = passed_on(rate, load, servers, np.maximum(variability, 0.0) * np.ones(count), scv, delay)[:, node]
    weight = float(np.min(np.where(between > LEAST_CHANCE, passed, 1.0)))
    sizes = float(batches @ _share_of(first_onward, node) / max(first_rate[node], TINY))
    return Again(chance, weight, float(variability), sizes)


def _share_of(onward: Floats, node: int) -> Floats:
    """Return the mean visits to a node of who begins at each (N,)."""
    return np.asarray(np.linalg.inv(np.eye(len(onward)) - onward)[:, node])


def all_visits(service: Phases, chance: float) -> Phases:
    """Return the phases of the service of all visits of customers who come again by a chance."""
    ends = -service.rates.sum(axis=1)
    return Phases(service.first, service.rates + chance * np.outer(ends, service.first)) if chance else service
