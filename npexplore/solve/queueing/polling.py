"""Polling: mean waits of classes with Poisson arrivals whose queues one server visits in turn.

Exhaustive and gated visits, exact for any times: the queue lengths at the server's arrivals are a branching process
with immigration (Resing, Queueing Systems 13, 1993). A served customer is replaced by the arrivals during its service
(gated) or its busy period (exhaustive); the switch-over adds the arrivals during it. The means and covariances over a
cycle solve a discrete Lyapunov equation. With X the length of queue i when it is visited,
W_i = E X (X - 1) / (2 lambda_i E X) (1 + rho_i) for gated visits, and
W_i = E X (X - 1) / (2 lambda_i E X) + lambda_i E B_i^2 / (2 (1 - rho_i)) for exhaustive ones (Takagi, Analysis of
Polling Systems, 1986).
Visits limited to one customer: exact if all queues are equal (Takagi, 4.3), else Boxma and Meister's approximation
(Performance Evaluation 7, 1987), whose weighted sum is that of Boxma and Groenendijk's pseudo-conservation law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import Floats, numbers, stable

EXHAUSTIVE, GATED, LIMITED = VISITS = ("exhaustive", "gated", "limited")


@by_content
class Polling(NamedTuple):
    """Mean waits (N,) of the classes in seconds, and the name of the approximation (None: exact).

    Example:
        >>> from npexplore.queueing import Polling
        >>> import numpy as np
        >>> Polling(np.array([1.0]), None).mean_wait.tolist()
        [1.0]
    """

    mean_wait: Floats
    approximation: str | None


def polling(
    arrival_rate: ArrayLike,
    service_time: ArrayLike,
    service_scv: ArrayLike,
    switch_over: ArrayLike,
    switch_over_scv: ArrayLike = 0.0,
    visits: str = EXHAUSTIVE,
) -> Polling:
    """Return the mean waits (N,) of N classes whose queues one server visits in turn.

    arrival_rate: (N,), per second. service_time: (N,), means in seconds. service_scv: (N,) or one number: squared
    coefficients of variation. switch_over: (N,): mean seconds from a queue to the next one. switch_over_scv: (N,) or
    one number. visits: "exhaustive", "gated" or "limited" (to one customer).

    Raises InputError for an unstable server; limited visits also need rho + lambda_i S < 1 for every class, S the sum
    of the switch-over times of a cycle.
    """
    if visits not in VISITS:
        raise InputError(f"visits: must be one of {', '.join(VISITS)}, got {visits!r}")
    arguments = numbers(
        arrival_rate=arrival_rate, service_time=service_time, service_scv=service_scv, switch_over=switch_over,
        switch_over_scv=switch_over_scv,
    )  # fmt: skip
    rate, mean, scv, switch, switch_scv = (np.atleast_1d(values) for values in np.broadcast_arrays(*arguments))
    rho = rate * mean
    stable(np.asarray(rho.sum()))
    square, variance = mean**2 * (1 + scv), switch**2 * switch_scv
    if visits != LIMITED:
        return Polling(_branching(rate, mean, square, switch, variance, visits), None)
    total = float(switch.sum())
    worst = float((rho.sum() + rate * total).max())
    if worst >= 1:
        raise InputError(f"polling: limited visits need a load and switch-over share below 1, got {worst:.6g}")
    equal = all(np.allclose(values, values[0], rtol=1e-12, atol=0) for values in (rate, mean, square, switch, variance))
    sum_of_loads, squares = rho.sum(), (rho**2).sum()
    cycle_term = (variance.sum() + total**2) / (2 * total) if total else 0.0
    weighted = sum_of_loads * (rate @ square / 2 / (1 - sum_of_loads) + cycle_term)
    weighted += total / 2 / (1 - sum_of_loads) * (sum_of_loads**2 + squares)
    share = (1 - sum_of_loads) / ((1 - sum_of_loads) * sum_of_loads + squares)
    wait = (1 - sum_of_loads + rho) / (1 - sum_of_loads - rate * total) * share * weighted
    return Polling(wait, None if equal else "Boxma-Meister")


def _branching(rate: Floats, mean: Floats, square: Floats, way: Floats, variance: Floats, visits: str) -> Floats:
    from scipy.linalg import solve_discrete_lyapunov

    n, rho, exhaustive = len(rate), rate * mean, visits == EXHAUSTIVE
    timeless = not way.any()
    if timeless:  # the limit of short switch-over times, whose squares vanish
        way, variance = np.ones(n), np.zeros(n)
    # a served customer is replaced by the arrivals during a time of mean `first` and variance `second`
    first = mean / (1 - rho) if exhaustive else mean
    second = (square / (1 - rho) ** 3 if exhaustive else square) - first**2
    cycle, shift, spread = np.eye(n), np.zeros(n), np.zeros((n, n))
    steps = []
    for i in range(n):
        replaced_by = rate.copy()
        if exhaustive:
            replaced_by[i] = 0.0
        step = np.eye(n)
        step[i, i] = 0.0
        step[:, i] += replaced_by * first[i]
        service_covariance = np.diag(replaced_by * first[i]) + np.outer(replaced_by, replaced_by) * second[i]
        switch_covariance = np.diag(rate * way[i]) + np.outer(rate, rate) * (0.0 if timeless else variance[i])
        steps.append((step, rate * way[i], service_covariance, switch_covariance))
        cycle, shift = step @ cycle, step @ shift + rate * way[i]
    start = np.linalg.solve(np.eye(n) - cycle, shift)
    x = start
    for i, (step, come, service_covariance, switch_covariance) in enumerate(steps):
        spread = step @ spread @ step.T + x[i] * service_covariance + switch_covariance
        x = step @ x + come
    covariance = solve_discrete_lyapunov(cycle, spread)
    waits, x = np.zeros(n), start
    for i, (step, come, service_covariance, switch_covariance) in enumerate(steps):
        pairs = covariance[i, i] - x[i] + (0.0 if timeless else x[i] ** 2)
        half = pairs / (2 * rate[i] * x[i]) if rate[i] else np.nan
        waits[i] = half + rate[i] * square[i] / 2 / (1 - rho[i]) if exhaustive else half * (1 + rho[i])
        covariance = step @ covariance @ step.T + x[i] * service_covariance + switch_covariance
        x = step @ x + come
    return waits
