"""Closed networks by residual-time mean value analysis, population by population (solve/queueing/residual.py)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

_counts = types.Array(types.int64, 1, "C", readonly=True)
_points = types.Array(types.float64, 1, "C", readonly=True)
_table = types.Array(types.float64, 2, "C", readonly=True)
_cube = types.Array(types.float64, 3, "C", readonly=True)
_out1, _out2 = types.float64[::1], types.float64[:, ::1]
_numbers = types.Array(types.int64, 2, "C", readonly=True)


@kernel(types.void(
    _table, _points, _cube, _table, _cube, _table, _numbers, _counts, _counts, _counts, _cube, types.int64, _points,
    _out2, _out2, _out1, _out2,
))  # fmt: skip
def residual_curve(
    demands: Array, away: Array, rates: Array, extra: Array, met: Array, slowest: Array, worst: Array, varying: Array,
    inside: Array, members: Array, shared: Array, rising: int, weights: Array, throughput: Array, queue_length: Array,
    means: Array, chances_met: Array,
) -> None:  # fmt: skip
    """Write X (P, N) with 1..N customers and Q (P, K) with N.

    demands, extra (P, K): D and D (c - 1) / 2; away (P,); slowest, worst (1 or N, P); rates (1 or P, K, M); met (N, 1 or P, K);
    varying: stations whose rates are not all 1; inside: of varying stations, how many do not wait in front; members: empty, or station, servers and
    customers of a home, for which met is the share of the wait alone; shared (N, W, 2): with 1..N customers, how many of
    them are on one server, and how many servers have as many (W = 0: the same part of each server's own); rising: whether no rate falls.
    weights (N + 1,) of 0..N customers, or none: added up by them are, of the first network, throughput and queues into
    means (K + 1,), and into chances_met (L, N + 1) how many are at the varying stations.
    """
    P, K = demands.shape
    N, L, M = throughput.shape[1], len(varying), rates.shape[2]
    chances, residence, queue = np.empty((L, N + 1)), np.empty(K), np.empty(K)
    there, flow = np.empty(2), np.empty(2)  # of one member of a home with few customers, or with one more
    for p in range(P):
        of_rates, of_met = min(p, rates.shape[0] - 1), min(p, met.shape[1] - 1)
        queue[:], there[:], flow[:] = 0.0, 0.0, 0.0
        chances[:, 0] = 1.0
        x, best = 0.0, 0.0
        if p == 0 and len(weights):
            chances_met[:, 0] = weights[0]
        for n in range(1, N + 1):
            total = away[p]
            for k in range(K):
                residence[k] = demands[p, k] * (1.0 + met[n - 1, of_met, k] * (queue[k] + x * extra[p, k]))
            for at in range(L):
                k = varying[at]
                stays, within = 0.0, 0.0
                for j in range(1, n + 1):
                    few = min(j, inside[at])
                    stays += j * (demands[p, k] / rates[of_rates, k, min(j, M) - 1]) * chances[at, j - 1]
                    within += few * (demands[p, k] / rates[of_rates, k, few - 1]) * chances[at, j - 1]
                residence[k] = within + met[n - 1, of_met, k] * (stays - within)
            for k in range(K):
                total += residence[k]
            if len(members):
                k, servers = members[0], members[1]
                others, passed = total - residence[k], 0.0
                for at in range(shared.shape[1]):
                    same, count = shared[n - 1, at, 0], shared[n - 1, at, 1]  # customers of one member, such members
                    if same == 0.0 or count == 0.0:
                        continue
                    meets = (same - 1.0) / max(n - 1, 1) * (queue[k] + x * extra[p, k])
                    stays = others + demands[p, k] * (1.0 + met[n - 1, of_met, k] * meets)
                    passed += count * same / max(stays, same * demands[p, k])
                for more in range(0 if shared.shape[1] else 2):
                    own, count = members[2] // servers + more, members[2] % servers
                    count = count if more else servers - count
                    if count == 0 or own == 0:
                        continue
                    part, meets = own * n / members[2], (own - 1) / own * members[2] / max(members[2] - 1, 1)
                    meets *= there[more] + flow[more] * extra[p, k]
                    stays = others + demands[p, k] * (1.0 + met[n - 1, of_met, k] * meets)
                    flow[more] = part / max(stays, part * demands[p, k])
                    there[more] = part - flow[more] * others
                    passed += count * flow[more]
                residence[k] = n / passed - others
                total = n / passed
            least = slowest[min(n, len(slowest)) - 1, p]
            if n * least > total:  # the slowest station takes the rest
                slow = worst[min(n, len(worst)) - 1, p]
                residence[slow] += n * least - total
                for more in range(2):
                    flow[more] *= total / (n * least)
                    there[more] *= 1.0 if len(members) and slow == members[0] else total / (n * least)
                total = n * least
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
            if p == 0 and len(weights) and weights[n] != 0.0:
                means[0] += weights[n] * x
                for k in range(K):
                    means[1 + k] += weights[n] * queue[k]
                for at in range(L):
                    for j in range(n + 1):
                        chances_met[at, j] += weights[n] * chances[at, j]
        queue_length[p] = queue
