"""Approximate multi-class mean value analysis: a fixed point instead of a walk over all populations.

What a customer of class r meets at station k is estimated from the means at full population,

    Q_ks(N - e_r) = (N_s - [s = r]) (Q_ks / N_s + F_ksr)

with F = 0 (Bard 1979; Schweitzer 1979), or F from the same fixed point solved at N - e_r, three times over: Linearizer
(Chandy and Neuse, Comm. ACM 25, 1982). At FIFO stations a customer waits for the service times of those it meets, and
for the residual time s (1 + scv) / 2 of the one in service (Reiser, Performance Evaluation, 1979):

    R_kr = D_kr + v_kr sum over s of s_ks (Q_ks(N - e_r) + U_ks(N - e_r) (scv_ks - 1) / 2)

The fixed point is found by steps with squared extrapolation (Varadhan and Roland, Scand. J. Statistics 35, 2008).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

_cube = types.Array(types.float64, 3, "C", readonly=True)
_table = types.Array(types.float64, 2, "C", readonly=True)
_flags = types.Array(types.boolean, 1, "C", readonly=True)
_out2 = types.float64[:, ::1]
_out3 = types.float64[:, :, ::1]


@kernel()
def _step(D, visits, scv, fifo, Z, N, F, X, Q, residence):
    """Put the means that follow from X (R,) and Q (K, R) at population N (R,) in their place; return the change of Q."""
    K, R = D.shape
    for r in range(R):
        if N[r] <= 0.0:
            X[r] = 0.0
            for k in range(K):
                residence[k, r] = 0.0
            continue
        cycle = Z[r]
        for k in range(K):
            wait = 0.0
            for s in range(R):
                left = N[s] - 1.0 if s == r else N[s]
                if left > 0.0:
                    met = left * (Q[k, s] / N[s] + F[k, s, r])
                    if met < 0.0:
                        met = 0.0
                    if fifo[k]:
                        if visits[k, s] > 0.0:
                            busy = X[s] * D[k, s] * left / N[s]
                            wait += visits[k, r] * D[k, s] / visits[k, s] * (met + busy * 0.5 * (scv[k, s] - 1.0))
                    else:
                        wait += D[k, r] * met
            residence[k, r] = D[k, r] + wait
            cycle += residence[k, r]
        X[r] = N[r] / cycle
    # a residual-time correction may ask more of a FIFO station than it has: slow down, and let it keep the rest
    worst, most_busy = -1, 1.0
    for k in range(K):
        busy = 0.0
        for r in range(R):
            busy += X[r] * D[k, r]
        if fifo[k] and busy > most_busy:
            worst, most_busy = k, busy
    change = 0.0
    for r in range(R):
        X[r] /= most_busy
        remainder = N[r] - X[r] * Z[r]
        for k in range(K):
            remainder -= X[r] * residence[k, r]
        for k in range(K):
            q = X[r] * residence[k, r]
            if k == worst and N[r] > 0.0:
                q += remainder
            change = max(change, abs(q - Q[k, r]))
            Q[k, r] = q
    return change


@kernel()
def _core(D, visits, scv, fifo, Z, N, F, tolerance, most, X, Q, residence, past):
    """Iterate X (R,) and Q (K, R) to the fixed point at population N (R,); return the rounds, or -1 without one.

    Every third point is a guess from the two before (squared extrapolation, scheme S3): where stations are nearly alike,
    steps alone take about N rounds. The last half of the rounds does without, should guesses lead nowhere.
    """
    K, R = D.shape
    enough = tolerance * N.sum()
    for step in range(most):
        past[step & 1] = Q
        change = _step(D, visits, scv, fifo, Z, N, F, X, Q, residence)
        if change <= enough:
            return step + 1
        if step & 1 == 0 or 2 * step > most:
            continue
        slope, curve = 0.0, 0.0
        for k in range(K):
            for r in range(R):
                first = past[1, k, r] - past[0, k, r]
                second = Q[k, r] - past[1, k, r] - first
                slope += first * first
                curve += second * second
        if curve > 0.0 and slope > curve:
            length = np.sqrt(slope / curve)
            for k in range(K):
                for r in range(R):
                    first = past[1, k, r] - past[0, k, r]
                    second = Q[k, r] - past[1, k, r] - first
                    Q[k, r] = max(past[0, k, r] + length * (2.0 * first + length * second), 0.1 * Q[k, r])
    return most if change <= 1000.0 * enough else -1


@kernel(
    types.int64(_cube, _cube, _cube, _flags, _table, _table, types.boolean, types.float64, types.int64, _out2, _out3)
)
def fixed_point(
    demands: Array,
    visits: Array,
    scv: Array,
    fifo: Array,
    think_time: Array,
    population: Array,
    linearizer: bool,
    tolerance: float,
    most: int,
    throughput: Array,
    queue: Array,
) -> int:
    """Write X (P, R) and Q (P, K, R); demands, visits, scv (P or 1, K, R). Return the first point without one, or -1."""
    P, K, R = demands.shape
    F = np.zeros((K, R, R))
    X, Y, residence = np.zeros(R), np.zeros((R, R)), np.zeros((K, R))
    smaller, N, past = np.zeros((R, K, R)), np.zeros(R), np.zeros((2, K, R))
    for p in range(P):
        v, c = visits[p if visits.shape[0] > 1 else 0], scv[p if scv.shape[0] > 1 else 0]
        D, Z, full = demands[p], think_time[p], population[p]
        F[:] = 0.0
        X[:] = 0.0
        Y[:] = 0.0
        for r in range(R):
            for k in range(K):
                queue[p, k, r] = full[r] / K
                for s in range(R):
                    smaller[s, k, r] = max(full[r] - (1.0 if s == r else 0.0), 0.0) / K
        if _core(D, v, c, fifo, Z, full, F, tolerance, most, X, queue[p], residence, past) < 0:
            return p
        for _ in range(2 if linearizer else 0):
            for s in range(R):
                if full[s] > 0.0:
                    N[:] = full
                    N[s] -= 1.0
                    if N.sum() > 0.0:
                        if _core(D, v, c, fifo, Z, N, F, tolerance, most, Y[s], smaller[s], residence, past) < 0:
                            return p
            for s in range(R):
                for r in range(R):
                    left = full[r] - 1.0 if s == r else full[r]
                    for k in range(K):
                        if full[s] > 0.0 and left > 0.0:
                            F[k, r, s] = smaller[s, k, r] / left - queue[p, k, r] / full[r]
                        else:
                            F[k, r, s] = 0.0
            if _core(D, v, c, fifo, Z, full, F, tolerance, most, X, queue[p], residence, past) < 0:
                return p
        throughput[p] = X
    return -1
