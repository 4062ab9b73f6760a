"""A stochastic net at given times after its start: certified mean tokens of places and rates of transitions.

By uniformization: with a rate q above all exit rates of markings, P = I + Q / q has no negative entry, and
p(t) = sum over k of Poisson(k; q t) p(0) P^k (Jensen, Skandinavisk Aktuarietidskrift 36, 1953). There are no
subtractions, so that the number of operations bounds rounding errors; the probability of omitted terms bounds the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import Net
from npexplore.records import content_hash
from npexplore.solve.chains import Chain
from npexplore.solve.petri.ctmc import PlaceMean, Throughput, reduced
from npexplore.solve.petri.graph import MOST_STATES
from npexplore.solve.petri.net_result import NetResult, means
from npexplore.solve.queueing.inputs import Floats

MOST_STEPS = 2_000_000
HEADROOM = 1.25  # q over the highest exit rate, so that the diagonal of P is not a small difference
LEFT_OUT = 1e-14  # probability of the omitted numbers of steps
ROUNDING = float(np.finfo(float).eps)


@dataclass(frozen=True, repr=False)
class NetTransient(NetResult):
    """A net at `times`, with one entry per time in each list. error: largest possible error of a mean.

    Example:
        >>> from npexplore.petri import load_net, solve_transient
        >>> solve_transient(load_net("tandem"), [0.0, 1.0]).times
        (0.0, 1.0)
    """

    refused: str | None
    times: tuple[float, ...]
    states: int | None = None
    places: dict[str, list[PlaceMean]] | None = None
    transitions: dict[str, list[Throughput]] | None = None
    error: float | None = None

    solver = "transient"
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each time and each place and transition."""
        return [
            {"time": time, **row} for k, time in enumerate(self.times)
            for row in means(
                places={name: values[k] for name, values in (self.places or {}).items()},
                transitions={name: values[k] for name, values in (self.transitions or {}).items()},
            )
        ]  # fmt: skip


def solve_transient(
    net: Net,
    times: Sequence[float],
    most_states: int = MOST_STATES,
    most_bytes: int | None = None,
    only: Iterable[str] | None = None,
) -> NetTransient:
    """Return expected values at times after the start from the net's Markov chain; refused like `solve_chain`.

    net: the net. times: in its unit of time, shape (T,). most_states, most_bytes, only: as in `solve_chain`.

    The throughput of a transition is its firing rate at that instant, per unit of time. Raises InputError for times
    that are negative or not finite, and for a loop in which no time passes; UnknownNameError.
    """
    instants = tuple(float(time) for time in times)
    if not instants or not all(math.isfinite(time) and time >= 0 for time in instants):
        raise InputError(f"times must be numbers of at least 0, got {list(times)}")
    try:
        reduction = reduced(net, most_states, most_bytes, only)
        low, mean, high = _means(reduction.chain, reduction.start, reduction.rewards, instants)
    except RefusedError as error:
        return NetTransient(str(error), instants)
    rows = [list(zip(*row, strict=True)) for row in zip(mean.T.tolist(), low.T.tolist(), high.T.tolist(), strict=True)]
    at = len(reduction.places)
    return NetTransient(
        refused=None,
        times=instants,
        states=reduction.chain.states,
        places={name: [PlaceMean(*m) for m in row] for name, row in zip(reduction.places, rows[:at], strict=True)},
        transitions={
            name: [Throughput(*m) for m in row] for name, row in zip(reduction.transitions, rows[at:], strict=True)
        },
        error=float(np.max(np.maximum(high - mean, mean - low), initial=0.0)),
    )


def _means(chain: Chain, start: Floats, rewards: Floats, times: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Return low, mean and high (times, K) of non-negative rewards (n, K)."""
    n, out = chain.states, chain.out
    q = HEADROOM * float(out.max(initial=0.0))
    begins, weights = zip(*(_poisson(q * time) for time in times), strict=True)
    last = max(begin + len(chances) for begin, chances in zip(begins, weights, strict=True))
    if last > MOST_STEPS:
        raise RefusedError(
            f"{last} steps of the chain to the last of the times (at most {MOST_STEPS}): ask for earlier"
        )
    arcs = csr_matrix((chain.rate, chain.target, chain.begin), shape=(n, n))
    steps = csr_matrix((arcs / q + diags(1.0 - out / q)).T) if q > 0 else csr_matrix((n, n))
    widest = int(np.diff(steps.indptr).max(initial=0))
    means, distribution = np.zeros((len(times), rewards.shape[1])), start
    for k in range(last):
        expected = None
        for mean, begin, chances in zip(means, begins, weights, strict=True):
            if begin <= k < begin + len(chances):
                expected = distribution @ rewards if expected is None else expected
                mean += chances[k - begin] * expected
        distribution = steps @ distribution
    operations = last * (widest + 20) + n + 4 * max(len(chances) for chances in weights) + 50
    relative_error = 2 * operations * ROUNDING
    return means * (1 - relative_error), means, means * (1 + relative_error) + 2 * LEFT_OUT * rewards.max(axis=0)


def _poisson(mean: float) -> tuple[int, Floats]:
    """Return the first relevant number of steps and the probabilities from there on, computed outwards from the mode.

    Omitted numbers have a probability below LEFT_OUT (Fox & Glynn, Communications of the ACM 31(4), 1988).
    """
    if mean == 0:
        return 0, np.ones(1)
    middle = int(mean)
    far = int(9 * math.sqrt(mean) + 60)  # a Poisson number is further away with a probability below 1e-15
    up = np.cumprod(mean / np.arange(middle + 1, middle + far + 1))
    down = np.cumprod(np.arange(middle, max(middle - far, 0), -1) / mean)
    chances = np.concatenate([down[::-1], [1.0], up])
    return middle - len(down), chances / math.fsum(chances.tolist())
