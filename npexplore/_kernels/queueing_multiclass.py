"""Exact closed multi-class networks over all population vectors n <= N, states in mixed radix order.

Load-independent stations: multi-class mean value analysis (Reiser and Lavenberg, JACM 27, 1980)

    R_kr(n) = D_kr (1 + Q_k(n - e_r))    X_r(n) = n_r / (Z_r + sum R_kr(n))    Q_k(n) = sum X_r(n) R_kr(n)

Load-dependent stations: unnormalized marginals g, summed and never subtracted, so that nothing cancels:

    g(0, n) = G_without(n)    g(j, n) = sum over r of D_r / alpha(j) g(j-1, n - e_r)    G(n) = sum over j of g(j, n)
    X_r(n) = G(n - e_r) / G(n)

The caller scales demands and think times of each class so that X_r is about 1 and G stays within double precision.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

_table = types.Array(types.float64, 2, "C", readonly=True)
_cube = types.Array(types.float64, 3, "C", readonly=True)
_counts = types.Array(types.int64, 2, "C", readonly=True)
_out2 = types.float64[:, ::1]
_out3 = types.float64[:, :, ::1]

TINY, HUGE = 1e-280, 1e280


@kernel()
def _next(n, population):
    """Make of a population vector the next one, in place; return the class that grew."""
    r = 0
    while n[r] == population[r]:
        n[r] = 0
        r += 1
    n[r] += 1
    return r


@kernel()
def _state_count(population):
    """Return how many vectors there are up to a population."""
    states = 1
    for r in range(len(population)):
        states *= population[r] + 1
    return states


@kernel(types.void(_cube, _counts, _table, _out2, _out3))
def load_independent(demands: Array, population: Array, think_time: Array, throughput: Array, queue: Array) -> None:
    """Write X (P, R) and Q (P, K, R) for demands (P, K, R), population (P, R), think_time (P, R)."""
    P, K, R = demands.shape
    most = 1
    for p in range(P):
        most = max(most, _state_count(population[p]))
    Q = np.empty((most, K))
    n, stride = np.zeros(R, np.int64), np.empty(R, np.int64)
    residence = np.empty(K)
    for p in range(P):
        states = 1
        for r in range(R):
            stride[r] = states
            states *= population[p, r] + 1
            n[r], throughput[p, r] = 0, 0.0
        Q[0, :] = 0.0
        queue[p] = 0.0
        for i in range(1, states):
            _next(n, population[p])
            for k in range(K):
                Q[i, k] = 0.0
            for r in range(R):
                if n[r] > 0:
                    before = i - stride[r]
                    total = think_time[p, r]
                    for k in range(K):
                        residence[k] = demands[p, k, r] * (1.0 + Q[before, k])
                        total += residence[k]
                    x = n[r] / total
                    for k in range(K):
                        Q[i, k] += x * residence[k]
                    if i == states - 1:
                        throughput[p, r] = x
                        for k in range(K):
                            queue[p, k, r] = x * residence[k]


@kernel()
def _add_fixed(G, demands, population, stride, n, states):
    """Convolve G in place with one load-independent station: G(n) += sum of D_r G(n - e_r)."""
    n[:] = 0
    for i in range(1, states):
        _next(n, population)
        for r in range(len(n)):
            if n[r] > 0:
                G[i] += demands[r] * G[i - stride[r]]


@kernel()
def _add_varying(G, g, demands, slowness, population, stride, n, states):
    """Convolve G in place with one load-dependent station and leave its marginals in g.

    g[i, j] for j < M are levels, g[i, M] the sum over levels >= M = len(slowness), g[i, M + 1] the same weighted by level.
    """
    M = len(slowness)
    n[:] = 0
    for i in range(states):
        if i > 0:
            _next(n, population)
        g[i, 0] = G[i]
        for j in range(1, M + 2):
            g[i, j] = 0.0
        for r in range(len(n)):
            if n[r] > 0 and demands[r] > 0.0:
                before = i - stride[r]
                for j in range(1, M):
                    g[i, j] += demands[r] * slowness[j - 1] * g[before, j - 1]
                last = demands[r] * slowness[M - 1]
                g[i, M] += last * (g[before, M - 1] + g[before, M])
                g[i, M + 1] += last * (M * g[before, M - 1] + g[before, M] + g[before, M + 1])
        for j in range(1, M + 1):
            G[i] += g[i, j]


@kernel(types.int64(_cube, _cube, _cube, _counts, _table, _out2, _out3, _out3, _out3))
def load_dependent(
    fixed: Array,
    varying: Array,
    slowness: Array,
    population: Array,
    think_time: Array,
    throughput: Array,
    queue_fixed: Array,
    queue_varying: Array,
    marginal: Array,
) -> int:
    """Write X (P, R), Q (P, F, R), Q (P, L, R), and marginal (P, L, M + 1): p(j|N), j < M, then p(>= M|N).

    slowness (1, L, M) or (P, L, M) is 1 / alpha(1..M). Returns the first point whose G leaves double precision, or -1.
    Every station is added last once, since only the marginals of the last are those of the whole network.
    """
    P, F, R = fixed.shape
    L, M = varying.shape[1], slowness.shape[2]
    per_point = slowness.shape[0] > 1
    most = 1
    for p in range(P):
        most = max(most, _state_count(population[p]))
    start, G, Q = np.empty(most), np.empty(most), np.empty((most, F))
    g = np.empty((most, M + 2))
    n, stride = np.zeros(R, np.int64), np.empty(R, np.int64)
    x = np.empty(R)
    for p in range(P):
        states = 1
        for r in range(R):
            stride[r] = states
            states *= population[p, r] + 1
        start[0] = 1.0
        n[:] = 0
        for i in range(1, states):  # the think times: product of Z_r ** n_r / n_r!
            r = _next(n, population[p])
            start[i] = start[i - stride[r]] * think_time[p, r] / n[r]
        for k in range(F):
            _add_fixed(start, fixed[p, k], population[p], stride, n, states)
        for last in range(L):
            G[:states] = start[:states]
            for other in range(L):
                if other != last:
                    slow = slowness[p if per_point else 0, other]
                    _add_varying(G, g, varying[p, other], slow, population[p], stride, n, states)
            slow = slowness[p if per_point else 0, last]
            _add_varying(G, g, varying[p, last], slow, population[p], stride, n, states)
            end = states - 1
            for i in range(states):
                if not TINY < G[i] < HUGE:
                    return p
            for j in range(M + 1):
                marginal[p, last, j] = g[end, j] / G[end]
            for r in range(R):
                throughput[p, r] = queue_varying[p, last, r] = 0.0
                if population[p, r] > 0:
                    before = end - stride[r]
                    seen = M * g[before, M - 1] + g[before, M] + g[before, M + 1]
                    seen *= slow[M - 1]
                    for j in range(1, M):
                        seen += j * slow[j - 1] * g[before, j - 1]
                    throughput[p, r] = G[before] / G[end]
                    queue_varying[p, last, r] = varying[p, last, r] * seen / G[end]
        # the arrival theorem with the throughputs of the whole network
        n[:] = 0
        Q[0, :] = 0.0
        queue_fixed[p] = 0.0
        for i in range(1, states):
            _next(n, population[p])
            for r in range(R):
                x[r] = G[i - stride[r]] / G[i] if n[r] > 0 else 0.0
            for k in range(F):
                Q[i, k] = 0.0
                for r in range(R):
                    if n[r] > 0:
                        Q[i, k] += x[r] * fixed[p, k, r] * (1.0 + Q[i - stride[r], k])
            if i == states - 1:
                for k in range(F):
                    for r in range(R):
                        if n[r] > 0:
                            queue_fixed[p, k, r] = x[r] * fixed[p, k, r] * (1.0 + Q[i - stride[r], k])
    return -1
