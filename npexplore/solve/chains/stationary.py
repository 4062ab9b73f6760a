"""Stationary means of a chain, each with a certified bracket: min(r + Q h) <= pi r <= max(r + Q h) for any h.

pi of few states comes from one linear solve, dense or sparse; of more states from Gauss-Seidel sweeps, forward and
backward (Stewart, Introduction to the Numerical Solution of Markov Chains, 1994, 3.2). h then solves Q h = g - r with
g = pi r by sweeps of the same kind. The bracket is valid for any h, and its width shows the convergence.
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

DENSE, SPARSE = 800, 5000  # largest numbers of states for one linear solve with a matrix of either kind
THIN, FEW_ARCS = 20_000, 4  # so many states are solved directly if they have few arcs each, since sweeps are slow then
ROUND, MOST_SWEEPS = 10, 4_000
SETTLED = 1e-12  # relative change of pi in a sweep
PATIENCE = 20  # rounds of sweeps without progress, after which sweeping ends
TOGETHER = 8  # rewards whose h are swept together
WEIGHTS = (1.08, 1.16, 1.24, 1.32, 1.4, 1.5, 1.6)  # over-relaxation weights, tried in turn while they help
Pace = tuple[int, float]  # direction of sweeps, weight of changes
TRUST = 0.98  # factor per round by which a measured gain loses importance
SURE: Pace = (kernels.TURNS, 1.0)
SLOW, AWAY = 5, 10.0  # rounds without progress, or growth of the bracket, after which a pace is given up


@by_content
class Stationary(NamedTuple):
    """Probabilities (n,), means (K,) of the rewards, and their certified bounds low, high (K,).

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
        """The largest possible error of each mean (K,)."""
        return np.maximum(self.high - self.mean, self.mean - self.low)


def stationary(chain: Chain, rewards: ArrayLike, tolerance: float = 1e-9, most_sweeps: int = MOST_SWEEPS) -> Stationary:
    """Return the steady state of a chain, and certified means of some rewards.

    chain: from `chain` or `explore`. rewards: of each state, shape (n,) or (n, K). tolerance: the largest width of a
    mean's bracket, relative to the mean (but to the largest reward, if the mean is nearly 0). most_sweeps: limit of
    sweeps, which also end without progress; the brackets may then be wider.

    Raises InputError for rewards of another length; RefusedError for a chain with several recurrent classes.
    """
    table = np.asarray(rewards, dtype=np.float64)
    table = np.ascontiguousarray(table[:, None] if table.ndim == 1 else table)
    if len(table) != chain.states:
        raise InputError(f"chain: rewards must be one per state ({chain.states}), got {len(table)}")
    keep = chain.recurrent()
    inner, reward = chain.part(keep), np.ascontiguousarray(table[keep])
    probability = np.zeros(chain.states)
    if len(keep) == 1:
        probability[keep] = 1.0
        return Stationary(probability, reward[0], reward[0], reward[0])
    if len(keep) <= SPARSE or (len(keep) <= THIN and len(inner.rate) <= FEW_ARCS * len(keep)):
        pi, low, high = _at_once(inner, reward)
    else:
        pi, pace = _probabilities(inner, most_sweeps)
        low, high = _brackets(inner, reward, pi, tolerance, most_sweeps, pace)
    probability[keep] = pi
    return Stationary(probability, np.clip(pi @ reward, low, high), low, high)


def _at_once(chain: Chain, reward: Floats) -> tuple[Floats, Floats, Floats]:
    n = chain.states
    unit = np.zeros(n)
    unit[0] = 1.0
    source = np.repeat(np.arange(n), np.diff(chain.begin))
    if n <= DENSE:
        matrix = np.zeros((n, n))
        np.add.at(matrix, (source, chain.target), chain.rate)
        matrix[np.diag_indices(n)] = -chain.out
        matrix[:, 0] = 1.0  # g takes the place of h_0 = 0 in Q h + (r - g) = 0; pi solves the transposed system
        pi = np.maximum(np.linalg.solve(matrix.T, unit), 0.0)
        pi /= pi.sum()
        h = -np.linalg.solve(matrix, reward - pi @ reward)
    else:
        diagonal, kept_arcs = np.arange(n), chain.target != 0
        rows = np.concatenate([source[kept_arcs], diagonal[1:], diagonal])
        columns = np.concatenate([chain.target[kept_arcs], diagonal[1:], np.zeros(n, dtype=np.int64)])
        values = np.concatenate([chain.rate[kept_arcs], -chain.out[1:], np.ones(n)])
        solver = splu(csc_matrix((values, (rows, columns)), shape=(n, n)))
        pi = np.maximum(solver.solve(unit, trans="T"), 0.0)
        pi /= pi.sum()
        h = -solver.solve(reward - pi @ reward)
    h[0] = 0.0
    low, high = np.empty(h.shape[1]), np.empty(h.shape[1])
    kernels.bracket(chain.begin, chain.target, chain.rate, reward, np.ascontiguousarray(h), low, high)
    return pi, low, high


def _probabilities(chain: Chain, most_sweeps: int) -> tuple[Floats, Pace]:
    """Return pi and the best pace: the direction of sweeps and the weight of their changes.

    Each direction is tried for two rounds, and the second one's gain counts; then increasing weights (successive
    over-relaxation, Stewart 3.2.4) until one gains less than the one before. A round that diverges is undone. Measured
    gains lose importance with time, so that all paces are tried again if all are slow.
    """
    arcs, out = chain.by_target(), chain.out
    pi = np.full(chain.states, 1.0 / chain.states)
    change, changes = kernels.sweep_probabilities(*arcs, out, pi, ROUND, *SURE)
    gains: dict[Pace, float] = dict.fromkeys([(kernels.FORTH, 1.0), (kernels.BACK, 1.0), SURE], 0.0)
    weights, repeat, pace = list(WEIGHTS), False, SURE
    for _ in range(ROUND, most_sweeps, ROUND):
        if change < SETTLED:
            break
        if repeat:
            repeat = False
        else:
            best, last = min(gains, key=lambda candidate: gains[candidate]), pace
            if weights and gains[best] and best[1] in (1.0, last[1]):
                best = best[0], weights.pop(0)
            pace, repeat = best, best != last
        previous = pi.copy()
        change, new_changes = kernels.sweep_probabilities(*arcs, out, pi, ROUND, *pace)
        for candidate in gains:
            gains[candidate] *= TRUST
        gains[pace] = new_changes / changes
        if pace[1] > 1 and not repeat and gains[pace] > min(gains.values()):
            weights = []
        if new_changes < changes or pace == SURE:
            changes = new_changes
        else:
            pi[:], repeat = previous, False
    return pi, min(gains, key=lambda candidate: gains[candidate])


def _brackets(
    chain: Chain, reward: Floats, pi: Floats, tolerance: float, most_sweeps: int, pace: Pace
) -> tuple[Floats, Floats]:
    """Return low and high (K,); if sweeps diverge at a pace, they restart at SURE."""
    out, K = chain.out, reward.shape[1]
    low, high = reward.min(axis=0), reward.max(axis=0)
    gain, most = pi @ reward, np.abs(reward).max(axis=0)
    for first in range(0, K, TOGETHER):
        columns = np.arange(first, min(first + TOGETHER, K))
        columns = columns[low[columns] < high[columns]]
        if not len(columns):
            continue
        table, h, speed = np.ascontiguousarray(reward[:, columns]), np.zeros((chain.states, len(columns))), pace
        a, b = np.empty(len(columns)), np.empty(len(columns))
        wanted_width = tolerance * np.maximum(np.abs(gain[columns]), 1e-3 * most[columns])
        best_width, idle, sweeps = np.inf, 0, 0
        while sweeps < most_sweeps and idle < PATIENCE:
            kernels.sweep_values(chain.begin, chain.target, chain.rate, out, table, gain[columns], h, ROUND, *speed)
            kernels.bracket(chain.begin, chain.target, chain.rate, table, h, a, b)
            sweeps += ROUND
            low[columns], high[columns] = np.maximum(low[columns], a), np.minimum(high[columns], b)
            if (high[columns] - low[columns] <= wanted_width).all():
                break
            width = float(((b - a) / wanted_width).max())
            if width > 0.99 * best_width:
                idle += 1
                if speed != SURE and (idle > SLOW or not width < AWAY * best_width):
                    h[:], speed, best_width, idle = 0.0, SURE, np.inf, 0
            else:
                idle = 0
            best_width = min(best_width, width)
    return low, high
