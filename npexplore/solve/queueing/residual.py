"""Closed networks by residual-time mean value analysis, with load-dependent stations and times that overlap.

    single server      R_k(n) = D_k (1 + Q_k(n-1) + U_k(n-1) (c_k - 1) / 2)
    load dependent     R_k(n) = sum over j of j D_k / a_k(j) p_k(j-1 | n-1)
                       p_k(j | n) = X(n) D_k / a_k(j) p_k(j-1 | n-1)
    all                X(n) = n / (Z + sum R_k(n))      Q_k(n) = X(n) R_k(n)      U_k(n) = X(n) D_k

c_k is the squared coefficient of variation of service: who is met in service stays for D_k (1 + c_k) / 2 (Reiser 1979).
a_k are capacities with j customers. Z may be negative, a surrogate delay (Jacobson and Lazowska, CACM 25, 1982): time
that stations count and that the customer does not spend, since its work there goes on without it or stands at two of
them at once. Exact for exponential service and Z >= 0; else an approximation. Where no capacity falls, no customer more
makes a network slower; and none is faster than its slowest station: X(n) <= max a_k / D_k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from npexplore.solve.queueing.inputs import Floats


class Residual(NamedTuple):
    """Throughput (P, N) with 1..N customers, and the mean number at each station (P, K) with N."""

    throughput: Floats
    queue_length: Floats


def residual(demands: Floats, population: int, think_time: Floats, rates: Floats, scv: Floats) -> Residual:
    """Solve P networks of K stations: demands and scv (P, K), think_time (P,), rates (1 or P, K, M).

    Rates are capacities with 1..M customers in units of one server, the last one beyond; scv counts where all are 1.
    """
    P, K = demands.shape
    N, points = population, np.arange(P)
    each = demands / rates.max(axis=2)
    worst = np.argmax(each, axis=1) if K else np.zeros(P, dtype=np.int64)
    slowest = each[points, worst] if K else np.zeros(P)
    away = np.maximum(think_time, slowest - (demands / rates[:, :, 0]).sum(axis=1))
    varying = np.flatnonzero((rates != 1.0).any(axis=(0, 2)))
    rising = bool((np.diff(rates, axis=2) >= 0).all())
    extra = demands * (scv - 1.0) / 2
    levels = np.minimum(np.arange(N), rates.shape[2] - 1)
    # of load-dependent stations: seconds between two that leave with j = 1..N there, probabilities of 0..N (N, P, L)
    apart = np.ascontiguousarray(np.moveaxis(demands[:, varying, None] / rates[:, varying][:, :, levels], 2, 0))
    stays = np.arange(1.0, N + 1)[:, None, None] * apart
    p = np.zeros((N + 1, P, len(varying)))
    p[0] = 1.0
    found, queue, x, best = np.empty((P, N)), np.zeros((P, K)), np.zeros(P), np.zeros(P)
    for n in range(1, N + 1):
        residence = demands * (1.0 + queue + x[:, None] * extra)
        if len(varying):
            residence[:, varying] = (stays[:n] * p[:n]).sum(axis=0)
        total = away + residence.sum(axis=1)
        over = n * slowest > total  # the slowest station takes the rest
        residence[points[over], worst[over]] += n * slowest[over] - total[over]
        x = n / np.maximum(total, n * slowest)
        queue = x[:, None] * residence
        best = np.maximum(best, x) if rising else x
        found[:, n - 1] = best
        if len(varying):
            p[1 : n + 1] = x[:, None] * apart[:n] * p[:n]
            busy = p[1 : n + 1].sum(axis=0)
            p[0] = np.maximum(1.0 - busy, 0.0)
            p[1 : n + 1] /= np.maximum(busy, 1.0)
    return Residual(found, queue)
