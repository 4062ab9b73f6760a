"""Means of a chain in the long run, each with a certified bracket: min(r + Q h) <= pi r <= max(r + Q h) for any h.

pi: few states by one solution, dense or sparse, more by Gauss-Seidel sweeps, forth and back (Stewart, Introduction to
the Numerical Solution of Markov Chains, 1994, 3.2). h then solves Q h = g - r with g = pi r by sweeps of the same kind:
whatever they have reached, the bracket holds, and it says how far they have come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from npexplore._kernels import chains as kernels
from npexplore.errors import InputError
from npexplore.records import by_content
from npexplore.solve.chains.chain import Chain
from npexplore.solve.queueing.inputs import Floats

DENSE, SPARSE = 800, 5000  # states that are solved at once, as a matrix of either kind
THIN, FEW_ARCS = 20_000, 4  # so are more with few ways out of each, a plane or nearly, where sweeps are slow
ROUND, MOST_SWEEPS = 10, 4_000
SETTLED = 1e-12  # relative change of pi in a sweep
PATIENCE = 20  # rounds of sweeps without any gain
TOGETHER = 8  # rewards whose h are swept side by side
WEIGHTS = (1.08, 1.16, 1.24, 1.32, 1.4, 1.5, 1.6)  # of the changes, tried in turn while they gain
Pace = tuple[int, float]
TRUST = 0.98  # in a gain, a round
SURE: Pace = (kernels.TURNS, 1.0)
SLOW, AWAY = 5, 10.0  # rounds without gain, or a bracket so many times as wide, end a pace


@by_content
class Stationary(NamedTuple):
    """Probabilities (n,), means (K,) of the rewards a second, and what they lie between for certain (K,).

    Example:
        >>> import numpy as np
        >>> from npexplore.solvers import Stationary
        >>> one = np.array([1.0])
        >>> Stationary(one, one, one, one).mean.tolist()
        [1.0]
    """

    probability: Floats
    mean: Floats
    low: Floats
    high: Floats

    @property
    def error(self) -> Floats:
        """Return how far each mean can be from the truth (K,)."""
        return np.maximum(self.high - self.mean, self.mean - self.low)


def stationary(chain: Chain, rewards: ArrayLike, tolerance: float = 1e-9, most_sweeps: int = MOST_SWEEPS) -> Stationary:
    """Return the steady state of a chain, and certified means of some rewards.

    chain: as `chain` or `explore` made it. rewards: of each state, shape (n,) or (n, K). tolerance: the largest width
    of a mean's bracket, relative to the mean (to the largest reward, where the mean is next to nothing). most_sweeps:
    after which it stops; also where sweeps help no more. Each bracket says then how wide it is.

    Raises InputError for rewards of another length; RefusedError for a chain with several sets of states that are never
    left.
    """
    table = np.asarray(rewards, dtype=np.float64)
    table = np.ascontiguousarray(table[:, None] if table.ndim == 1 else table)
    if len(table) != chain.states:
        raise InputError(f"chain: rewards must be one per state ({chain.states}), got {len(table)}")
    keep = chain.recurrent()
    inner, reward = chain.part(keep), np.ascontiguousarray(table[keep])
    whole = np.zeros(chain.states)
    if len(keep) == 1:
        whole[keep] = 1.0
        return Stationary(whole, reward[0], reward[0], reward[0])
    if len(keep) <= SPARSE or (len(keep) <= THIN and len(inner.rate) <= FEW_ARCS * len(keep)):
        pi, low, high = _at_once(inner, reward)
    else:
        pi, pace = _probabilities(inner, most_sweeps)
        low, high = _brackets(inner, reward, pi, tolerance, most_sweeps, pace)
    whole[keep] = pi
    return Stationary(whole, np.clip(pi @ reward, low, high), low, high)


def _at_once(chain: Chain, reward: Floats) -> tuple[Floats, Floats, Floats]:
    n = chain.states
    unit = np.zeros(n)
    unit[0] = 1.0
    source = np.repeat(np.arange(n), np.diff(chain.begin))
    if n <= DENSE:
        matrix = np.zeros((n, n))
        np.add.at(matrix, (source, chain.target), chain.rate)
        matrix[np.diag_indices(n)] = -chain.out
        matrix[:, 0] = 1.0  # h_0 = 0 and g in its place: Q h + (r - g) = 0; pi of the same matrix, from the left
        pi = np.maximum(np.linalg.solve(matrix.T, unit), 0.0)
        pi /= pi.sum()
        h = -np.linalg.solve(matrix, reward - pi @ reward)
    else:
        own, others = np.arange(n), chain.target != 0
        rows = np.concatenate([source[others], own[1:], own])
        columns = np.concatenate([chain.target[others], own[1:], np.zeros(n, dtype=np.int64)])
        values = np.concatenate([chain.rate[others], -chain.out[1:], np.ones(n)])
        solver = splu(csc_matrix((values, (rows, columns)), shape=(n, n)))
        pi = np.maximum(solver.solve(unit, trans="T"), 0.0)
        pi /= pi.sum()
        h = -solver.solve(reward - pi @ reward)
    h[0] = 0.0
    low, high = np.empty(h.shape[1]), np.empty(h.shape[1])
    kernels.bracket(chain.begin, chain.target, chain.rate, reward, np.ascontiguousarray(h), low, high)
    return pi, low, high


def _probabilities(chain: Chain, most_sweeps: int) -> tuple[Floats, Pace]:
    """Return pi and the pace that served best: which way the sweeps go, and the weight of their changes.

    Each way is tried for two rounds, and what the second gains counts; then rising weights (successive over-relaxation,
    Stewart 3.2.4) until one gains less than the one before. A round that leads away is taken back. What a pace gained
    is believed the less the longer ago it was, so that where all are slow each has its turn again.
    """
    arcs, out = chain.by_target(), chain.out
    pi = np.full(chain.states, 1.0 / chain.states)
    change, changes = kernels.sweep_probabilities(*arcs, out, pi, ROUND, *SURE)
    gains: dict[Pace, float] = dict.fromkeys([(kernels.FORTH, 1.0), (kernels.BACK, 1.0), SURE], 0.0)
    weights, again, pace = list(WEIGHTS), False, SURE
    for _ in range(ROUND, most_sweeps, ROUND):
        if change < SETTLED:
            break
        if again:
            again = False
        else:
            best, last = min(gains, key=lambda one: gains[one]), pace
            if weights and gains[best] and best[1] in (1.0, last[1]):
                best = best[0], weights.pop(0)
            pace, again = best, best != last
        before = pi.copy()
        change, after = kernels.sweep_probabilities(*arcs, out, pi, ROUND, *pace)
        for one in gains:
            gains[one] *= TRUST
        gains[pace] = after / changes
        if pace[1] > 1 and not again and gains[pace] > min(gains.values()):
            weights = []
        if after < changes or pace == SURE:
            changes = after
        else:
            pi[:], again = before, False
    return pi, min(gains, key=lambda one: gains[one])


def _brackets(
    chain: Chain, reward: Floats, pi: Floats, tolerance: float, most_sweeps: int, pace: Pace
) -> tuple[Floats, Floats]:
    """Return low and high (K,); sweeps that begin to lead away at a pace go on at SURE."""
    out, K = chain.out, reward.shape[1]
    low, high = reward.min(axis=0), reward.max(axis=0)
    gain, most = pi @ reward, np.abs(reward).max(axis=0)
    for first in range(0, K, TOGETHER):
        some = np.arange(first, min(first + TOGETHER, K))
        some = some[low[some] < high[some]]
        if not len(some):
            continue
        own, h, now = np.ascontiguousarray(reward[:, some]), np.zeros((chain.states, len(some))), pace
        a, b = np.empty(len(some)), np.empty(len(some))
        wanted = tolerance * np.maximum(np.abs(gain[some]), 1e-3 * most[some])
        narrow, idle, sweeps = np.inf, 0, 0
        while sweeps < most_sweeps and idle < PATIENCE:
            kernels.sweep_values(chain.begin, chain.target, chain.rate, out, own, gain[some], h, ROUND, *now)
            kernels.bracket(chain.begin, chain.target, chain.rate, own, h, a, b)
            sweeps += ROUND
            low[some], high[some] = np.maximum(low[some], a), np.minimum(high[some], b)
            if (high[some] - low[some] <= wanted).all():
                break
            left = float(((b - a) / wanted).max())
            if left > 0.99 * narrow:
                idle += 1
                if now != SURE and (idle > SLOW or not left < AWAY * narrow):
                    h[:], now, narrow, idle = 0.0, SURE, np.inf, 0
            else:
                idle = 0
            narrow = min(narrow, left)
    return low, high
