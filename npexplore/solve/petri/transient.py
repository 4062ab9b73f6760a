"""A stochastic net at given times after its beginning: mean tokens of places and rates of transitions, each certified.

By uniformization: with a rate q above all those at which markings are left, P = I + Q / q has no negative number, and
p(t) = sum over k of Poisson(k; q t) p(0) P^k (Jensen, Skandinavisk Aktuarietidskrift 36, 1953). Nothing is ever
subtracted, so rounding is bounded by the number of operations, and what is left out by its chance.
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
HEADROOM = 1.25  # of q above the highest rate: what stays in a marking is no small difference
LEFT_OUT = 1e-14  # chance of the numbers of steps that are left out
ROUNDING = float(np.finfo(float).eps)


@dataclass(frozen=True, repr=False)
class NetTransient(NetResult):
    """A net at `times`, one entry of each list for each. error: how far the worst can be from the truth.

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
                places={name: one[k] for name, one in (self.places or {}).items()},
                transitions={name: one[k] for name, one in (self.transitions or {}).items()},
            )
        ]  # fmt: skip


def solve_transient(
    net: Net,
    times: Sequence[float],
    most_states: int = MOST_STATES,
    most_bytes: int | None = None,
    only: Iterable[str] | None = None,
) -> NetTransient:
    """Answer what is expected at times after the start, by the net's Markov chain; refused as `solve_chain` is.

    net: the net. times: in its unit of time, shape (T,). most_states, most_bytes, only: as in `solve_chain`.

    The throughput of a transition is how often per unit of time it fires at that instant. Raises InputError for times
    that are negative or not finite, and for a loop in which no time passes; UnknownNameError.
    """
    instants = tuple(float(one) for one in times)
    if not instants or not all(math.isfinite(one) and one >= 0 for one in instants):
        raise InputError(f"times must be numbers of at least 0, got {list(times)}")
    try:
        reduction = reduced(net, most_states, most_bytes, only)
        low, mean, high = _means(reduction.chain, reduction.start, reduction.rewards, instants)
    except RefusedError as error:
        return NetTransient(str(error), instants)
    rows = [list(zip(*one, strict=True)) for one in zip(mean.T.tolist(), low.T.tolist(), high.T.tolist(), strict=True)]
    at = len(reduction.places)
    return NetTransient(
        refused=None,
        times=instants,
        states=reduction.chain.states,
        places={name: [PlaceMean(*one) for one in row] for name, row in zip(reduction.places, rows[:at], strict=True)},
        transitions={
            name: [Throughput(*one) for one in row] for name, row in zip(reduction.transitions, rows[at:], strict=True)
        },
        error=float(np.max(np.maximum(high - mean, mean - low), initial=0.0)),
    )


def _means(chain: Chain, start: Floats, rewards: Floats, times: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Return low, mean and high (times, K) of rewards (n, K) that none is negative of."""
    n, out = chain.states, chain.out
    q = HEADROOM * float(out.max(initial=0.0))
    begins, weights = zip(*(_poisson(q * time) for time in times), strict=True)
    last = max(begin + len(some) for begin, some in zip(begins, weights, strict=True))
    if last > MOST_STEPS:
        raise RefusedError(
            f"{last} steps of the chain to the last of the times (at most {MOST_STEPS}): ask for earlier"
        )
    arcs = csr_matrix((chain.rate, chain.target, chain.begin), shape=(n, n))
    steps = csr_matrix((arcs / q + diags(1.0 - out / q)).T) if q > 0 else csr_matrix((n, n))
    widest = int(np.diff(steps.indptr).max(initial=0))
    means, now = np.zeros((len(times), rewards.shape[1])), start
    for k in range(last):
        worth = None
        for mean, begin, some in zip(means, begins, weights, strict=True):
            if begin <= k < begin + len(some):
                worth = now @ rewards if worth is None else worth
                mean += some[k - begin] * worth
        now = steps @ now
    operations = last * (widest + 20) + n + 4 * max(len(some) for some in weights) + 50
    doubt = 2 * operations * ROUNDING
    return means * (1 - doubt), means, means * (1 + doubt) + 2 * LEFT_OUT * rewards.max(axis=0)


def _poisson(mean: float) -> tuple[int, Floats]:
    """Return the first of the numbers of steps that count, and their chances: from the likeliest on, to both sides.

    What is left out is less likely than LEFT_OUT (Fox & Glynn, Communications of the ACM 31(4), 1988).
    """
    if mean == 0:
        return 0, np.ones(1)
    middle = int(mean)
    far = int(9 * math.sqrt(mean) + 60)  # a Poisson number is further away with a chance below 1e-15
    up = np.cumprod(mean / np.arange(middle + 1, middle + far + 1))
    down = np.cumprod(np.arange(middle, max(middle - far, 0), -1) / mean)
    chances = np.concatenate([down[::-1], [1.0], up])
    return middle - len(down), chances / math.fsum(chances.tolist())
