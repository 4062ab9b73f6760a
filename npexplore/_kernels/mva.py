"""Exact mean value analysis of closed single-class networks, many design points at once.

Load-independent stations: the recursion of Reiser and Lavenberg (JACM 27, 1980), for n = 1..N

    R_k(n) = D_k (1 + Q_k(n-1))    X(n) = n / (Z + sum R_k(n))    Q_k(n) = X(n) R_k(n)

Load-dependent stations: marginal probabilities. The textbook form takes p(0|n) = 1 - sum p(j|n), which cancels near
saturation, may go below zero and then ruins every later population. Here each load-dependent station is added to a
network R that is already solved, and p(0|n) comes from R's throughput (Reiser, Performance Evaluation 1, 1981), so
that the whole recursion only adds, multiplies and divides positive numbers:

    p(j|n) = X(n) D/alpha(j) p(j-1|n-1)    p(0|n) = X(n) / X_R(n) p(0|n-1)
    1 / X(n) = p(0|n-1) / X_R(n) + sum over j >= 1 of D/alpha(j) p(j-1|n-1)

Levels from the last given rate on share one rate, so their probabilities are kept as one sum: the cost is O(N M), not
O(N^2). Points are taken LANES at a time, so that the innermost loop runs over points and becomes vector instructions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

LANES = 16
NOTHING = 1e-290  # seconds that are none: their inverse would overflow; stations so fast stay empty

_points = types.Array(types.float64, 1, "C", readonly=True)
_counts = types.Array(types.int64, 1, "C", readonly=True)
_table = types.Array(types.float64, 2, "C", readonly=True)
_cube = types.Array(types.float64, 3, "C", readonly=True)
_out1 = types.float64[::1]
_out2 = types.float64[:, ::1]


@kernel(types.void(_table, _counts, _points, _table, _out1, _out2, _out2))
def load_independent(
    demands: Array,
    population: Array,
    think_time: Array,
    scv: Array,
    throughput: Array,
    queue_length: Array,
    curve: Array,
) -> None:
    """Write X (P,) and Q (P, K) for demands (P, K), population (P,), think_time (P,), and X with 1..N into curve (P, N).

    scv (1, K) or (P, K) are the squared coefficients of variation of service; (0, 0) stands for exponential service
    everywhere, the exact case. Otherwise the customer met in service stays for its residual time,

        R_k(n) = D_k (1 + Q_k(n-1) + U_k(n-1) (scv_k - 1) / 2),

    and where that would drive a station beyond capacity, X(n) is 1/D_max and the station of D_max takes the rest.
    """
    P, K = demands.shape
    residual = scv.shape[1] > 0
    per_point = scv.shape[0] > 1
    D, R, E = np.empty((K, LANES)), np.empty((K, LANES)), np.zeros((K, LANES))
    Z, total, x = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    N, worst = np.empty(LANES, np.int64), np.zeros(LANES, np.int64)
    for first in range(0, P, LANES):
        last_n = 0
        for v in range(LANES):
            p = min(first + v, P - 1)
            N[v], Z[v] = population[p], think_time[p]
            last_n = max(last_n, N[v])
            worst[v] = 0
            x[v] = 0.0
            for k in range(K):
                D[k, v], R[k, v] = demands[p, k], 0.0
                if residual:
                    E[k, v] = 0.5 * (scv[p if per_point else 0, k] - 1.0) * D[k, v]
                if D[k, v] > D[worst[v], v]:
                    worst[v] = k
        for n in range(1, last_n + 1):
            for v in range(LANES):
                total[v] = Z[v]
            for k in range(K):
                for v in range(LANES):
                    R[k, v] = D[k, v] + D[k, v] * (x[v] * (R[k, v] + E[k, v]))
                    total[v] += R[k, v]
            finished = False
            for v in range(LANES):
                x[v] = n / total[v]
                finished |= n == N[v]
            if residual:
                for v in range(LANES):
                    slowest = D[worst[v], v]
                    if x[v] * slowest > 1.0:
                        x[v] = 1.0 / slowest
                        R[worst[v], v] += n * slowest - total[v]
            if n <= curve.shape[1]:
                for v in range(min(LANES, P - first)):
                    curve[first + v, n - 1] = x[v]
            if finished:
                for v in range(LANES):
                    if n == N[v] and first + v < P:
                        throughput[first + v] = x[v]
                        for k in range(K):
                            queue_length[first + v, k] = x[v] * R[k, v]


@kernel(types.void(_table, _table, _cube, _counts, _points, _out1, _out2, _out2))
def load_dependent(
    fixed: Array,
    varying: Array,
    rates: Array,
    population: Array,
    think_time: Array,
    throughput: Array,
    queue_fixed: Array,
    queue_varying: Array,
) -> None:
    """Write X (P,), Q (P, F) of the load-independent and Q (P, L) of the load-dependent stations.

    fixed (P, F) and varying (P, L) are demands; rates (1, L, M) or (P, L, M) are alpha(1..M), alpha(M) holds beyond.
    """
    P, F = fixed.shape
    L, M = varying.shape[1], rates.shape[2]
    per_point = rates.shape[0] > 1
    top = 0
    for p in range(P):
        top = max(top, population[p])
    D, Q = np.empty((F, LANES)), np.empty((F, LANES))
    Z, total, tail, tail_mean, h = (np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES))
    N = np.empty(LANES, np.int64)
    s = np.empty((L, M + 1, LANES))  # D / alpha(j)
    inverse = np.empty((L, M))  # shared rates: divided once
    x = np.empty((L + 1, top + 1, LANES))  # throughput of the first i stations and the fixed ones
    slowness = np.empty((top + 1, LANES))  # 1 / X of the network so far
    idle = np.empty((L, top + 1, LANES))  # p(0|n) of station i when it was added last
    mean = np.empty((L, top + 1, LANES))  # its mean number, likewise
    u = np.empty((M + 1, LANES))  # p(j|n) / X(n)
    w, wider = np.empty((top + 2, LANES)), np.empty((top + 2, LANES))  # P(n customers in the first i stations)
    if not per_point:
        for i in range(L):
            for j in range(M):
                inverse[i, j] = 1.0 / rates[0, i, j]
    for first in range(0, P, LANES):
        last_n = 0
        for v in range(LANES):
            p = min(first + v, P - 1)
            N[v], Z[v] = population[p], think_time[p]
            last_n = max(last_n, N[v])
            for k in range(F):
                D[k, v], Q[k, v] = fixed[p, k], 0.0
            for i in range(L):
                for j in range(M):
                    s[i, j + 1, v] = varying[p, i] * (1.0 / rates[p, i, j] if per_point else inverse[i, j])
        # the fixed stations and the think time alone
        for n in range(1, last_n + 1):
            for v in range(LANES):
                total[v] = Z[v]
            for k in range(F):
                for v in range(LANES):
                    Q[k, v] = D[k, v] * (1.0 + Q[k, v])
                    total[v] += Q[k, v]
            for v in range(LANES):
                slowness[n, v] = total[v] / n
                x[0, n, v] = n / total[v] if total[v] > NOTHING else 0.0
            for k in range(F):
                for v in range(LANES):
                    Q[k, v] *= x[0, n, v]
        # add one load-dependent station at a time
        for i in range(L):
            for v in range(LANES):
                u[0, v], tail[v], tail_mean[v] = 1.0, 0.0, 0.0
                x[i + 1, 0, v], idle[i, 0, v], mean[i, 0, v] = 1.0, 1.0, 0.0
            for n in range(1, last_n + 1):
                for v in range(LANES):
                    h[v] = 0.0
                if n >= M:
                    for v in range(LANES):
                        scale = s[i, M, v] * x[i + 1, n - 1, v]
                        tail_mean[v] = scale * (tail_mean[v] + tail[v] + M * u[M - 1, v])
                        tail[v] = scale * (tail[v] + u[M - 1, v])
                        h[v] = tail[v]
                for j in range(min(n, M - 1), 0, -1):
                    for v in range(LANES):
                        # before n reaches j the level is empty: u[j - 1] was written at population n - 1
                        u[j, v] = x[i + 1, n - 1, v] * u[j - 1, v] * s[i, j, v]
                        h[v] += u[j, v]
                for v in range(LANES):
                    u[0, v] = x[i + 1, n - 1, v] * u[0, v] * slowness[n, v]
                    h[v] += u[0, v]
                    slowness[n, v] = h[v]
                    x[i + 1, n, v] = 1.0 / h[v] if h[v] > NOTHING else 0.0
                    idle[i, n, v] = u[0, v] * x[i + 1, n, v]
                wanted = i < L - 1
                for v in range(LANES):
                    wanted |= n == N[v]
                if wanted:
                    for v in range(LANES):
                        total[v] = tail_mean[v]
                    for j in range(1, min(n, M - 1) + 1):
                        for v in range(LANES):
                            total[v] += j * u[j, v]
                    for v in range(LANES):
                        mean[i, n, v] = total[v] * x[i + 1, n, v]
        # means of the fixed stations in the whole network
        for k in range(F):
            for v in range(LANES):
                Q[k, v] = 0.0
        for n in range(1, last_n + 1):
            for k in range(F):
                for v in range(LANES):
                    Q[k, v] = x[L, n, v] * D[k, v] * (1.0 + Q[k, v])
            for v in range(LANES):
                if n == N[v] and first + v < P:
                    throughput[first + v] = x[L, n, v]
                    for k in range(F):
                        queue_fixed[first + v, k] = Q[k, v]
        # means of the load-dependent stations: the last one was added at population N, one added before it at the
        # populations that those after it leave
        for n in range(last_n + 2):
            for v in range(LANES):
                w[n, v] = 1.0 if n == N[v] else 0.0
        for i in range(L - 1, -1, -1):
            for v in range(LANES):
                total[v] = 0.0
            for n in range(1, last_n + 1):
                if i == L - 1:
                    for v in range(LANES):
                        if n == N[v]:
                            total[v] = mean[i, n, v]
                else:
                    for v in range(LANES):
                        total[v] += w[n, v] * mean[i, n, v]
            for v in range(LANES):
                if first + v < P:
                    queue_varying[first + v, i] = total[v]
            if i == 0:
                break
            for v in range(LANES):
                wider[last_n, v] = w[last_n, v]
            for n in range(last_n - 1, -1, -1):  # all levels from M - 1 on step down at the last rate
                for v in range(LANES):
                    wider[n, v] = w[n, v] + x[i + 1, n + 1, v] * s[i, M, v] * wider[n + 1, v]
            for m in range(last_n + 1):
                j = min(M - 1, last_n - m)
                for v in range(LANES):
                    h[v] = wider[m + j, v]
                while j > 0:
                    j -= 1
                    for v in range(LANES):
                        h[v] = w[m + j, v] + x[i + 1, m + j + 1, v] * s[i, j + 1, v] * h[v]
                # w[m] itself is read by no later m
                for v in range(LANES):
                    w[m, v] = idle[i, m, v] * h[v]
