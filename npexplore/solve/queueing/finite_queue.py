"""A finite queue in front of a server whose rate depends on the number of packets inside: a birth-death chain.

    p_n / p_(n-1) = rate / curve[n-1]   inside           r s / (1 - r + r s)   outside, r = rate / last of curve

s = (c_a^2 + c_s^2) / 2 scales the number of waiting packets of the exponential case (Allen and Cunneen 1978). The last
place is treated as with Poisson arrivals (Keilson 1965). Exact for s = 1, and for the mean of M/G/1.
"""

import numpy as np

from npexplore.solve.queueing.inputs import Floats

AT_ONCE = 100_000  # probabilities computed together; more would not fit into the processor's cache
SMALLEST = 746.0  # exp(-746) is 0


def finite_queues(
    arrival_rate: Floats, curve: Floats, places: int, variability: Floats | None = None, alone: Floats | None = None,
    within: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return (throughput, mean time in system, loss ratio), each (P,), of finite queues with load-dependent servers.

    curve (P, N): rate with n = 1..N inside; further packets wait outside. places: packets in all. With variability 1:
    M/M(n)/1/places. alone: seconds of a packet without contention, so that n - curve[n-1] x alone of n inside wait;
    `within` scales their number (None: `variability`).
    """
    inside, points = min(curve.shape[1], places), len(curve)
    outer_variability = np.ones(points) if variability is None else variability
    within = outer_variability if within is None else within
    mean, loss = np.empty(points), np.empty(points)
    width = max(1, AT_ONCE // places)
    for rows in (slice(start, start + width) for start in range(0, points, width)):
        # only for a single point, so that the result does not depend on other points
        ends = possible(arrival_rate[rows], curve[rows], places, outer_variability[rows]) if width == 1 else places
        p = chances(arrival_rate[rows], curve[rows], places, outer_variability[rows], ends)
        loss[rows] = p[:, -1] if ends == places else 0.0
        mean[rows] = np.sum(p * np.arange(ends + 1.0), axis=1)  # a matrix product rounds by its shape
        if alone is not None:
            waiting = np.maximum(np.arange(1.0, inside + 1) - curve[rows, :inside] * alone[rows, None], 0.0)
            p[:, inside] += p[:, inside + 1 :].sum(axis=1)  # with packets outside, `inside` are inside
            mean[rows] += (within[rows] - 1.0) * np.sum(waiting * p[:, 1 : inside + 1], axis=1)
    throughput = arrival_rate * (1.0 - loss)
    return throughput, mean / throughput, loss


def possible(arrival_rate: Floats, curve: Floats, places: int, longer: Floats) -> int:
    """Return a number of packets, at most `places`, above which all probabilities are 0 in double precision."""
    inside: int = min(curve.shape[1], places)
    first, decay = _outside(arrival_rate / curve[:, inside - 1], longer)
    if not (decay < 1.0).all():
        return places
    log_highest = SMALLEST + np.log(arrival_rate[:, None] / curve[:, :inside]).sum(axis=1) + np.log(first)
    count_outside = float(np.max(np.maximum(log_highest, 0.0) / -np.log(decay)))
    last: int = inside + int(count_outside) + 2
    return places if last > places else last


def _outside(ratio: Floats, longer: Floats) -> tuple[Floats, Floats]:
    """Return (1 - decay) / (1 - ratio), and the decay of probabilities per packet outside."""
    below, above = np.minimum(ratio, 1.0), np.maximum(ratio, 1.0)
    first = 1 / (1 - below + below * longer)
    return first, below * longer * first * (1 + (above - 1) / longer)


def chances(arrival_rate: Floats, curve: Floats, places: int, longer: Floats, ends: int | None = None) -> Floats:
    """Return the probabilities (P, ends + 1) of 0..ends packets; longer: (c_a^2 + c_s^2) / 2, shape (P,).

    ends: number of packets up to `places` above which probabilities are 0 (None: all places).
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
