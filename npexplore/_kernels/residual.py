"""Closed networks by residual-time mean value analysis, population by population (solve/queueing/residual.py).

The plainly written function that this kernel equals is `Recursion` there; the formulas stand there as well.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

_counts = types.Array(types.int64, 1, "C", readonly=True)
_points = types.Array(types.float64, 1, "C", readonly=True)
_table = types.Array(types.float64, 2, "C", readonly=True)
_cube = types.Array(types.float64, 3, "C", readonly=True)
_out2 = types.float64[:, ::1]


@kernel(types.void(_table, _points, _cube, _table, _cube, _points, _counts, _counts, types.int64, _out2, _out2))
def residual_curve(
    demands: Array, away: Array, rates: Array, extra: Array, met: Array, slowest: Array, worst: Array, varying: Array,
    rising: int, throughput: Array, queue_length: Array,
) -> None:  # fmt: skip
    """Write X (P, N) with 1..N customers and Q (P, K) with N.

    demands, extra (P, K): D and D (c - 1) / 2; away, slowest, worst (P,); rates (1 or P, K, M); met (N, 1 or P, K);
    varying: stations whose rates are not all 1; rising: whether no rate falls.
    """
    P, K = demands.shape
    N, L, M = throughput.shape[1], len(varying), rates.shape[2]
    chances, residence, queue = np.empty((L, N + 1)), np.empty(K), np.empty(K)
    for p in range(P):
        of_rates, of_met = min(p, rates.shape[0] - 1), min(p, met.shape[1] - 1)
        queue[:] = 0.0
        chances[:, 0] = 1.0
        x, best = 0.0, 0.0
        for n in range(1, N + 1):
            total = away[p]
            for k in range(K):
                residence[k] = demands[p, k] * (1.0 + met[n - 1, of_met, k] * (queue[k] + x * extra[p, k]))
            for at in range(L):
                k = varying[at]
                stays = 0.0
                for j in range(1, n + 1):
                    stays += j * (demands[p, k] / rates[of_rates, k, min(j, M) - 1]) * chances[at, j - 1]
                residence[k] = stays
            for k in range(K):
                total += residence[k]
            if n * slowest[p] > total:  # the slowest station takes the rest
                residence[worst[p]] += n * slowest[p] - total
                total = n * slowest[p]
            x = n / total
            for k in range(K):
                queue[k] = x * residence[k]
            best = max(best, x) if rising else x
            throughput[p, n - 1] = best
            for at in range(L):
                k = varying[at]
                busy = 0.0
                for j in range(n, 0, -1):
                    chances[at, j] = x * (demands[p, k] / rates[of_rates, k, min(j, M) - 1]) * chances[at, j - 1]
                    busy += chances[at, j]
                chances[at, 0] = max(1.0 - busy, 0.0)
                if busy > 1.0:
                    for j in range(1, n + 1):
                        chances[at, j] /= busy
        queue_length[p] = queue
