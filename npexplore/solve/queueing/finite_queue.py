"""Packets in front of a server whose rate varies with those inside, and who finds no place: a birth-death chain.

    p_n / p_(n-1) = rate / curve[n-1]   inside           r s / (1 - r + r s)   outside, r = rate / last of curve

s = (c_a^2 + c_s^2) / 2 is how many times more wait than if all were exponential (Allen and Cunneen 1978); the last
place takes what finds it full as behind Poisson arrivals (Keilson 1965). Exact for s = 1, and for the mean of M/G/1.
"""

import numpy as np

from npexplore.solve.queueing.inputs import Floats

AT_ONCE = 100_000  # chances of some points: more would fill memory, and leave the cache
SMALLEST = 746.0  # exp(-746) is 0


def finite_queues(
    arrival_rate: Floats, curve: Floats, places: int, variability: Floats | None = None, alone: Floats | None = None,
    within: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return (throughput, mean time in system, share lost), each (P,), of queues in front of servers of varying rates.

    Rates are curve[:, n-1] (P, N) with n inside, the last one beyond these; `places` in all. M/M(n)/1/places for
    variability 1. alone: seconds of one who meets nobody; those who wait inside, n - curve[n-1] x alone of n, are
    `within` times as many (None: `variability`).
    """
    inside, points = min(curve.shape[1], places), len(curve)
    longer = np.ones(points) if variability is None else variability
    within = longer if within is None else within
    mean, loss = np.empty(points), np.empty(points)
    width = max(1, AT_ONCE // places)
    for some in (slice(start, start + width) for start in range(0, points, width)):
        # of one point alone: where the chances of several end would hang on its neighbours
        ends = possible(arrival_rate[some], curve[some], places, longer[some]) if width == 1 else places
        p = chances(arrival_rate[some], curve[some], places, longer[some], ends)
        loss[some] = p[:, -1] if ends == places else 0.0
        mean[some] = np.sum(p * np.arange(ends + 1.0), axis=1)  # no product of matrices: it adds by their shape
        if alone is not None:
            waiting = np.maximum(np.arange(1.0, inside + 1) - curve[some, :inside] * alone[some, None], 0.0)
            p[:, inside] += p[:, inside + 1 :].sum(axis=1)  # inside are as many whoever waits outside
            mean[some] += (within[some] - 1.0) * np.sum(waiting * p[:, 1 : inside + 1], axis=1)
    throughput = arrival_rate * (1.0 - loss)
    return throughput, mean / throughput, loss


def possible(arrival_rate: Floats, curve: Floats, places: int, longer: Floats) -> int:
    """Return a number inside, at most `places`, beyond which all chances are less than the smallest number above 0."""
    inside: int = min(curve.shape[1], places)
    first, decay = _outside(arrival_rate / curve[:, inside - 1], longer)
    if not (decay < 1.0).all():
        return places
    most = SMALLEST + np.log(arrival_rate[:, None] / curve[:, :inside]).sum(axis=1) + np.log(first)
    beyond = float(np.max(np.maximum(most, 0.0) / -np.log(decay)))
    last: int = inside + int(beyond) + 2
    return places if last > places else last


def _outside(ratio: Floats, longer: Floats) -> tuple[Floats, Floats]:
    """Return (1 - decay) / (1 - ratio), and the decay of one more outside; above 1, of one more free place."""
    below, above = np.minimum(ratio, 1.0), np.maximum(ratio, 1.0)
    first = 1 / (1 - below + below * longer)
    return first, below * longer * first * (1 + (above - 1) / longer)


def chances(arrival_rate: Floats, curve: Floats, places: int, longer: Floats, ends: int | None = None) -> Floats:
    """Return the chances (P, ends + 1) of 0..ends inside; longer: (c_a^2 + c_s^2) / 2, shape (P,).

    ends: of `places`, beyond which chances are 0 (None: all places).
    """
    inside, points = min(curve.shape[1], places), len(curve)
    ends = places if ends is None else ends
    first, decay = _outside(arrival_rate / curve[:, inside - 1], longer)
    steps = np.cumsum(np.log(arrival_rate[:, None] / curve[:, :inside]), axis=1)
    beyond = steps[:, -1:] + np.log(decay)[:, None] * np.arange(1, ends - inside + 1)
    logs = np.ascontiguousarray(np.concatenate([np.zeros((points, 1)), steps, beyond], axis=1))
    logs[:, inside:places] += np.log(first)[:, None]
    p: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p
