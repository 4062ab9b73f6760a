"""Open and mixed product-form networks: Jackson and BCMP stations with open classes, closed classes, or both.

For open classes, a station of capacity alpha(n) is a birth-death process with load rho = sum of lambda_r D_r. Closed
classes get the capacity that open customers leave (Lavenberg, Computer Performance Modeling Handbook, 1983, ch. 3):

    W(n) = sum over m of C(n+m, m) rho^m / (alpha(1)...alpha(n+m))    alpha'(n) = W(n-1) / W(n)

which for a single server is 1 - rho, that is, demands divided by 1 - rho. Given n closed customers at the station the
number m of open ones has weight C(n+m, m) rho^m / (alpha(1)...alpha(n+m)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError
from npexplore.solve.queueing.inputs import Floats, refuse_first
from npexplore.solve.queueing.multiclass import ClosedModel, MultiMva, class_row, solve_closed


def open_network(
    demands: ArrayLike,
    arrival_rates: ArrayLike,
    rates: ArrayLike | None = None,
    *,
    delay: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> MultiMva:
    """Solve P open networks of K stations and R classes with Poisson arrivals exactly (Jackson, BCMP).

    demands: (P, K, R) or (K, R): service time of a customer at each station, in seconds. arrival_rates: (R,) or (P, R),
    per second. rates: as in `mva`; min(j, c) for c servers. delay, names: as in `mva`. Raises InputError with the name
    of a station whose offered load is not below its capacity.
    """
    return mixed_network(demands, arrival_rates, 0, rates=rates, delay=delay, names=names)


def mixed_network(
    demands: ArrayLike,
    arrival_rates: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    rates: ArrayLike | None = None,
    *,
    delay: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> MultiMva:
    """Solve P networks in which some classes are open and the others closed, exactly.

    arrival_rates: (R,) or (P, R), per second, 0 for a closed class. population: (R,) or (P, R), 0 for an open class.
    demands, think_time, rates, delay, names: as in `multiclass_mva`.
    Raises InputError for a class that is both or an unstable station; RefusedError as `multiclass_mva` does.
    """
    model = ClosedModel.read(demands, population, think_time, rates, delay, names, empty=True)
    P, _, R = model.demands.shape
    arrivals = class_row("arrival rate", arrival_rates, P, R)
    conflicting = (arrivals > 0) & (model.population > 0)
    refuse_first(conflicting, arrivals, "arrival rate", "0 where the class has a population", None, ("point", "class"))
    if not (arrivals.any() or model.population.any()):
        raise InputError("a network must have a population or an arrival rate, got neither")
    if not arrivals.any():  # open customers take no capacity
        x, queue, _ = solve_closed(model)
        return model.result(x, queue)
    offered = (arrivals[:, None] * model.demands).sum(axis=2)
    _refuse_unstable(model, offered)

    queueing = ~model.delays
    varying = model.varying
    fixed = queueing & ~varying
    share = 1 - np.where(fixed, offered, 0.0)  # of a single server, for the closed classes
    customers = int(model.population.sum(axis=1).max(initial=0))
    throughput, queue = arrivals.copy(), np.zeros(model.demands.shape)
    capacity_left, open_customers = _left_over(model.rates[:, varying], offered[:, varying], customers)
    closed_chances = np.zeros((P, int(varying.sum()), customers + 1))
    closed_chances[:, :, 0] = 1.0
    if customers:
        capacity = np.ones((P, len(varying), customers))
        capacity[:, varying] = capacity_left
        closed = replace(model, demands=model.demands / share[:, :, None], rates=capacity)
        x, queue, marginal = solve_closed(closed)
        throughput = throughput + x
        if varying.any():
            closed_chances = marginal
    numbers = np.zeros(offered.shape)
    numbers[:, fixed] = (offered * (1 + queue.sum(axis=2)) / share)[:, fixed]
    numbers[:, varying] = (closed_chances * open_customers).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        class_shares = np.where(offered[:, :, None] > 0, arrivals[:, None] * model.demands / offered[:, :, None], 0.0)
    return model.result(throughput, queue + class_shares * numbers[:, :, None])


def _refuse_unstable(model: ClosedModel, offered: Floats) -> None:
    capacity = np.broadcast_to(np.where(model.delays, np.inf, model.rates[:, :, -1]), offered.shape)
    wrong = offered >= capacity
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        rule = f"below its capacity of {capacity[place]:g} servers (the open network is unstable)"
        refuse_first(wrong, offered, "offered load", rule, model.names)


def _left_over(rates: Floats, offered: Floats, customers: int) -> tuple[Floats, Floats]:
    """Return alpha'(1..N) as (P, L, N), and the mean number of open customers given 0..N closed ones (P, L, N + 1).

    The sums over m are cut where the capacity becomes constant; the rest is a tail of the negative binomial
    distribution, an incomplete beta function, so that all terms are positive. Logarithms keep them in range.
    """
    from scipy.special import betainc, gammaln  # imported here: slow to import, and only open customers need them

    P, L = offered.shape
    M = rates.shape[2]
    level = np.log(rates)
    product = np.concatenate([np.zeros((*level.shape[:2], 1)), np.cumsum(level, axis=2)], axis=2)  # log alpha(1)..(j)
    last = level[:, :, -1]
    with np.errstate(divide="ignore"):
        load = np.log(offered)
        y = offered / rates[:, :, -1]
        empty = np.log1p(-y)
    weight, mean = np.empty((P, L, customers + 1)), np.empty((P, L, customers + 1))
    for n in range(customers + 1):
        head = max(M - n, 0)  # terms m < head have individual capacities
        m = np.arange(head)
        choose = gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1)
        power = np.where(m == 0, 0.0, m * np.where(np.isfinite(load), load, 0.0)[:, :, None])
        power = np.where((m > 0) & (offered[:, :, None] == 0), -np.inf, power)
        terms = choose + power - product[:, :, n : n + head]
        start = product[:, :, M] + (n - M) * last  # log of alpha(1)..alpha(n), continued at the last rate
        with np.errstate(divide="ignore"):
            beyond = np.log(betainc(head, n + 1, y)) if head else np.zeros_like(y)
            later = np.log(betainc(head - 1, n + 2, y)) if head > 1 else np.zeros_like(y)
            tail = -start - (n + 1) * empty + beyond
            tail_mean = -start - (n + 2) * empty + later + np.log((n + 1) * y)
        top = np.maximum(terms.max(axis=2, initial=-np.inf), tail)
        head_terms = np.exp(terms - top[:, :, None])
        total = head_terms.sum(axis=2) + np.exp(tail - top)
        mean[:, :, n] = ((head_terms * m).sum(axis=2) + np.exp(tail_mean - top)) / total
        weight[:, :, n] = np.log(total) + top
    return np.exp(weight[:, :, :-1] - weight[:, :, 1:]), mean
