"""Continuous-time Markov chains as arrays: states told apart by hashing, Gauss-Seidel sweeps, certified brackets.

A chain of n states is held by rows: state i goes to target[a] at rate[a] for a in begin[i]..begin[i+1]-1; Q is its
generator. For any numbers h and any rewards r a second, min(r + Q h) <= pi r <= max(r + Q h), since pi Q = 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]
_ints = types.Array(types.int64, 1, "C", readonly=True)
_links = types.Array(types.int32, 1, "C", readonly=True)
_floats = types.Array(types.float64, 1, "C", readonly=True)
_table = types.Array(types.float64, 2, "C", readonly=True)
_rows = types.Array(types.int32, 2, "C", readonly=True)
EPSILON = 2.220446049250313e-16
FORTH, BACK, TURNS = range(3)  # which way sweeps go


@kernel(types.uint64(_rows, types.int64))
def _hash(rows, i):
    h = np.uint64(0xCBF29CE484222325)
    for j in range(rows.shape[1]):
        h = (h ^ np.uint64(np.uint32(rows[i, j]))) * np.uint64(0x9E3779B97F4A7C15)
        h = h ^ (h >> np.uint64(29))
    return h


@kernel(types.int64(types.int32[:, ::1], types.int64, types.int32[::1], _rows, types.int32[::1]))
def number(states: Array, known: int, slots: Array, rows: Array, numbers: Array) -> int:
    """Write the numbers of `rows` into `numbers`; new ones are appended to states[known:], which has room for all.

    slots: 2^b entries, 1 + the number of a state, 0 empty, at most half of them full in the end; returns how many
    states are known then.
    """
    mask = np.uint64(len(slots) - 1)
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        at = _hash(rows, i) & mask
        while True:
            other = slots[at] - 1
            if other < 0:
                for j in range(width):
                    states[known, j] = rows[i, j]
                slots[at] = known + 1
                numbers[i] = known
                known += 1
                break
            same = True
            for j in range(width):
                if states[other, j] != rows[i, j]:
                    same = False
                    break
            if same:
                numbers[i] = other
                break
            at = (at + np.uint64(1)) & mask
    return known


@kernel(types.void(_rows, types.int64, types.int32[::1]))
def rehash(states: Array, known: int, slots: Array) -> None:
    """Enter the first `known` states, all different, into empty slots."""
    mask = np.uint64(len(slots) - 1)
    for i in range(known):
        at = _hash(states, i) & mask
        while slots[at] != 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = i + 1


@kernel(types.void(_links, _links, _floats, types.int64[::1], types.int32[::1], types.float64[::1]))
def group(key: Array, other: Array, rate: Array, begin: Array, others: Array, rates: Array) -> None:
    """Write arcs by their keys 0..n - 1, those of one key in the order they come in; begin (n + 1,) has to be 0."""
    n = len(begin) - 1
    for a in range(len(key)):
        begin[key[a] + 1] += 1
    for i in range(n):
        begin[i + 1] += begin[i]
    for a in range(len(key)):  # begin[i] is the next free place of key i, and ends where key i + 1 begins
        at = begin[key[a]]
        others[at], rates[at] = other[a], rate[a]
        begin[key[a]] = at + 1
    for i in range(n, 0, -1):
        begin[i] = begin[i - 1]
    begin[0] = 0


@kernel(
    types.UniTuple(types.float64, 2)(
        _ints, _links, _floats, _floats, types.float64[::1], types.int64, types.int64, types.float64
    )
)
def sweep_probabilities(
    begin: Array, source: Array, rate: Array, out: Array, pi: Array, sweeps: int, way: int, weight: float
) -> tuple[float, float]:
    """Improve pi by sweeps towards sum_i pi_i q_ij / q_j, `weight` times the change; arcs are held by their targets.

    way: FORTH, BACK or TURNS. Keeps the sum at 1; returns the largest relative change of the last sweep, and the sum of all its changes.
    """
    n = len(out)
    change, changes = 0.0, 0.0
    for s in range(sweeps):
        change, changes, total = 0.0, 0.0, 0.0
        forth = way == FORTH or (way == TURNS and s % 2 == 0)
        for k in range(n):
            j = k if forth else n - 1 - k
            flow = 0.0
            for a in range(begin[j], begin[j + 1]):
                flow += pi[source[a]] * rate[a]
            new = pi[j] + weight * (flow / out[j] - pi[j])
            if new < 0.0:  # too far
                new = 0.5 * pi[j]
            moved = abs(new - pi[j])
            changes += moved
            if moved > change * new and new > 0.0:
                change = moved / new
            pi[j] = new
            total += new
        for j in range(n):
            pi[j] /= total
    return change, changes


@kernel(
    types.void(
        _ints, _links, _floats, _floats, _table, _floats, types.float64[:, ::1], types.int64, types.int64, types.float64,
    )
)  # fmt: skip
def sweep_values(
    begin: Array, target: Array, rate: Array, out: Array, reward: Array, gain: Array, h: Array, sweeps: int,
    way: int, weight: float,
) -> None:  # fmt: skip
    """Improve h (n, K) by sweeps towards (r_i - g + sum_j q_ij h_j) / q_i: solves Q h = g - r.

    FORTH here sweeps from the last state to the first: with the same weight it gains as much a sweep as that of pi.
    """
    n, K = h.shape
    new = np.empty(K)
    for s in range(sweeps):
        forth = way == FORTH or (way == TURNS and s % 2 == 0)
        for k in range(n):
            i = n - 1 - k if forth else k
            for m in range(K):
                new[m] = reward[i, m] - gain[m]
            for a in range(begin[i], begin[i + 1]):
                j, q = target[a], rate[a]
                for m in range(K):
                    new[m] += q * h[j, m]
            for m in range(K):
                h[i, m] += weight * (new[m] / out[i] - h[i, m])
        for m in range(K):  # only differences count; small numbers round less
            middle = h[0, m]
            for i in range(n):
                h[i, m] -= middle


@kernel(types.void(_ints, _links, _floats, _table, _table, types.float64[::1], types.float64[::1]))
def bracket(begin: Array, target: Array, rate: Array, reward: Array, h: Array, low: Array, high: Array) -> None:
    """Write min and max of r + Q h of each of K rewards, widened by a bound of their rounding errors."""
    n, K = h.shape
    low[:] = np.inf
    high[:] = -np.inf
    value, size = np.empty(K), np.empty(K)
    for i in range(n):
        degree = begin[i + 1] - begin[i]
        for m in range(K):
            value[m] = reward[i, m]
            size[m] = abs(reward[i, m])
        for a in range(begin[i], begin[i + 1]):
            j, q = target[a], rate[a]
            for m in range(K):
                value[m] += q * (h[j, m] - h[i, m])
                size[m] += q * abs(h[j, m] - h[i, m])
        for m in range(K):
            error = (degree + 4) * EPSILON * size[m]
            low[m] = min(low[m], value[m] - error)
            high[m] = max(high[m], value[m] + error)
