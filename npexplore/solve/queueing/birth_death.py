"""Steady states of small Markov chains, and transients of birth-death chains from an initial state.

States 0..n, births b_0..b_(n-1) and deaths d_1..d_n per second. Steady state: p_(j+1) d_(j+1) = p_j b_j. Transient:
p(t) = p(0) exp(Q t); the time average over [0, t] is the same integral of a chain that also collects its states
(Van Loan, IEEE Trans. Automatic Control 23, 1978).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError, RefusedError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import Floats, nonnegative, numbers

MAX_TRANSIENT_STATES = 1000


def long_run(rates: Floats) -> Floats:
    """Return the stationary probabilities p (n,), with p rates = 0, of a chain with one recurrent class.

    rates: (n, n) generator; or a matrix of transition probabilities minus the identity.
    """
    balance = rates.copy()
    balance[:, 0] = 1.0
    return np.asarray(np.linalg.solve(balance.T, np.eye(len(rates))[0]))


def steady_state(birth: ArrayLike, death: ArrayLike) -> Floats:
    """Return the stationary probabilities (..., n + 1) of birth (..., n) and death (..., n) rates per second.

    A birth rate of 0 ends the chain there. Raises InputError for a death rate of 0.
    """
    up, down = numbers(birth_rate=birth, death_rate=death)
    if up.ndim == 0 or up.shape[-1] == 0:
        raise InputError(f"birth and death rates must have at least one state to reach, got shape {up.shape}")
    numbers(positive=True, death_rate=down)
    with np.errstate(divide="ignore"):
        steps = np.log(up) - np.log(down)
    log = np.concatenate([np.zeros((*steps.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)
    weight = np.exp(log - log.max(axis=-1, keepdims=True))
    p: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return p


@by_content
@dataclass(frozen=True)
class Transient:
    """A chain at T times (seconds): probability (T, n + 1), and average (T, n + 1), its time average since 0.

    Example:
        >>> import numpy as np
        >>> from npexplore.queueing import transient
        >>> transient([1.0, 1.0], [2.0, 2.0], 0, [0.0, 1.0]).probability.shape
        (2, 3)
    """

    times: Floats
    probability: Floats
    average: Floats

    def mean(self) -> Floats:
        """Return the mean state (T,) at each time."""
        mean: Floats = self.probability @ np.arange(self.probability.shape[1])
        return mean


def transient(birth: ArrayLike, death: ArrayLike, initial: ArrayLike, times: ArrayLike) -> Transient:
    """Return the transient probabilities of a birth-death chain of states 0..n.

    birth, death: (n,): rates per second, up from states 0..n - 1 and down from 1..n. initial: the state at time 0, or a
    distribution (n + 1,). times: (T,), in seconds.

    With n servers busy for a finite window this is the start-up that a steady-state model leaves out. Raises
    InputError; RefusedError above MAX_TRANSIENT_STATES states.
    """
    from scipy.linalg import expm  # imported here: the import takes as long as the rest of the queueing model

    up, down = nonnegative("birth rate", birth, axes=("state",)), nonnegative("death rate", death, axes=("state",))
    if up.ndim != 1 or up.shape != down.shape:
        raise InputError(f"birth and death rates must be two rows of one length, got {up.shape} and {down.shape}")
    states = len(up) + 1
    if states > MAX_TRANSIENT_STATES:
        raise RefusedError(f"transient birth-death: {states} states are more than {MAX_TRANSIENT_STATES}")
    start = _start(initial, states)
    instants = nonnegative("time", times, axes=("time",))
    generator = np.diag(up, 1) + np.diag(down, -1)
    generator -= np.diag(generator.sum(axis=1))
    collecting = np.zeros((2 * states, 2 * states))
    collecting[:states, :states], collecting[:states, states:] = generator, np.eye(states)
    begin = np.concatenate([start, np.zeros(states)])
    probability, average = np.empty((len(instants), states)), np.empty((len(instants), states))
    for row, t in enumerate(instants):
        end = begin @ expm(collecting * t)
        probability[row] = end[:states]
        average[row] = end[states:] / t if t > 0 else start
    return Transient(instants, probability, average)


def _start(initial: ArrayLike, states: int) -> Floats:
    if np.ndim(initial) == 0:
        state = float(np.asarray(initial, dtype=np.float64))
        if state not in range(states):
            raise InputError(f"initial state must be one of 0..{states - 1}, got {state:g}")
        certain: Floats = np.eye(states)[int(state)]
        return certain
    start = nonnegative("initial probability", initial, axes=("state",))
    if start.shape != (states,) or abs(start.sum() - 1) > 1e-9:
        raise InputError(f"initial distribution must be {states} probabilities that add up to 1, got sum {start.sum()}")
    return start
