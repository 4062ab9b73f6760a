"""Durations and random numbers of the event engine; docs/engine.md, Durations and draws.

Uniform numbers are SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): hash number n of a row's stream from key + n golden
ratios. Petri nets have the same numbers, and the same bins of times.
"""

import math

import numpy as np

from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
U30, U27, U31, U11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel(forceinline=True, _nrt=False)
def _bin(value):
    """Return the histogram bin of a latency in ticks: exact below 32, then 32 bins an octave."""
    if value < 32:
        return max(value, 0)
    exponent = (np.float64(value).view(np.int64) >> 52) - 1028  # value >> exponent is in [32, 64)
    top = value >> exponent
    if top >= 64:  # rounding of the conversion to float
        exponent += 1
        top >>= 1
    return min(32 * exponent + top, BINS - 1)


@kernel(forceinline=True, _nrt=False)
def _unit(z):
    """Return a number in [0, 1) from a state of SplitMix64."""
    z = (z ^ (z >> U30)) * MIX1
    z = (z ^ (z >> U27)) * MIX2
    z = z ^ (z >> U31)
    return np.float64(z >> U11) * (1.0 / 9007199254740992.0)


@kernel(forceinline=True, _nrt=False)
def _uniform(model, state, row):
    """Return the next number in [0, 1) of the row's stream: SplitMix64 of (key + n golden)."""
    n = state.draws[row]
    state.draws[row] = n + 1
    return _unit(model.stream[row] + np.uint64(n) * GOLDEN)


@kernel(forceinline=True, _nrt=False)
def _log_factorial(k):
    """Return the logarithm of k!: Stirling's series from 10 on, below by k! = 9! / ((k + 1) ... 9)."""
    x, below = k + 1.0, 1.0
    while x < 10.0:
        below *= x
        x += 1.0
    series = (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi) + series - math.log(below)


@kernel(_nrt=False)
def _poisson(a, b, row, model, state):
    """Return how many events of a Poisson process with mean gap b are in a ticks; -1 where the operands allow none.

    Knuth's product of uniform numbers; from a mean of 10 on Hoermann's rejection (1993).
    """
    if a < 0 or b < 1:
        return np.int64(-1)
    mean = a / b
    if mean < 10.0:
        k, product, end = np.int64(0), _uniform(model, state, row), math.exp(-mean)
        while product > end:
            k += 1
            product *= _uniform(model, state, row)
        return k
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    scale = math.log(1.1239 + 1.1328 / (b - 3.4))
    while True:
        u, v = _uniform(model, state, row) - 0.5, 1.0 - _uniform(model, state, row)
        side = max(0.5 - abs(u), 1e-17)
        x = math.floor((2.0 * a / side + b) * u + mean + 0.43)
        if side >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
            return np.int64(x)
        if x < 0.0 or (side < 0.013 and v > side):
            continue
        if math.log(v / (a / (side * side) + b)) + scale <= x * math.log(mean) - mean - _log_factorial(x):
            return np.int64(x)


@kernel(forceinline=True, _nrt=False)
def _draw(kind, a, b, c, now, row, model, state):
    """Return a duration or number of the given kind; -1 where the operands allow none."""
    table, table_at = model.table, model.table_at
    if kind == FIXED:
        return a
    if kind == EXPONENTIAL:
        return np.int64(round(-a * math.log(1.0 - _uniform(model, state, row))))
    if kind == UNIFORM:
        if b < a:
            return np.int64(-1)
        return a + np.int64(_uniform(model, state, row) * (b - a + 1))
    if kind == ERLANG:
        if b < 1:
            return np.int64(-1)
        total = 0.0
        for _ in range(b):
            total -= math.log(1.0 - _uniform(model, state, row))
        return np.int64(round(a * total / b))
    if kind == HYPEREXPONENTIAL:  # mean a with probability c / 2**30, else mean b
        mean = a if _uniform(model, state, row) * 1073741824.0 < c else b
        return np.int64(round(-mean * math.log(1.0 - _uniform(model, state, row))))
    if kind == BELOW:
        if a <= 0:
            return np.int64(-1)
        return np.int64(_uniform(model, state, row) * a)
    if kind == EMPIRICAL:  # rows of table a: value, cumulative weight out of 2**53
        if a < 0 or a >= table_at.shape[0] or table_at[a, 1] < 1 or table_at[a, 2] < 2:
            return np.int64(-1)
        u = np.int64(_uniform(model, state, row) * 9007199254740992.0)
        start, rows, width = table_at[a, 0], table_at[a, 1], table_at[a, 2]
        low, high = 0, rows - 1
        while low < high:
            middle = (low + high) >> 1
            if table[start + middle * width + 1] > u:
                high = middle
            else:
                low = middle + 1
        return table[start + low * width]
    if kind == UNTIL:
        return max(a - now, 0)
    if kind == WINDOW:  # inside [phase + k period, phase + k period + length): sleep to its end
        if a <= 0:
            return np.int64(0)
        inside = (now - c) % a
        return b - inside if inside < b else np.int64(0)
    return np.int64(-1)
