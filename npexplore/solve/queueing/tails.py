"""Quantiles of the time in a queue with Poisson arrivals and a load-dependent server.

An arrival that finds n inside stays (n + 1) / curve[n] on average, as n + 1 customers do among themselves (Little). The
part above the time alone is a wait for k exponential services at the full rate. If services are not exponential, each
is replaced by a residual life R (Benes, General Stochastic Processes in the Theory of Queues, 1963: the wait in M/G/1
is a geometric number of residual lives),

    E R = (1 + c^2) / 2      E R^2 = (1 + c^2) (1 + 2 c^2) / 3      for services of mean 1, gamma times by two moments

and given n the time is gamma with this mean and variance (Tijms, A First Course in Stochastic Models, 2003, appendix
B). Exact for M/M/1 and M/M/1/K, approximate for M/G/c; the overall mean is an argument.
"""

from collections.abc import Sequence

import numpy as np

from npexplore.solve.queueing.inputs import LEAST_DIVISOR, Floats
from npexplore.solve.queueing.sojourn import quantiles_of

ATOM = 1e-9  # squared coefficient of variation used for constant times
NEVER = 1e-17  # numbers inside with a lower probability are left out


def found_quantiles(
    shares: Sequence[float], chances: Floats, curve: Floats, mean: float, scv: float, kinds: tuple[Floats, Floats],
    spread: float, again: bool = True,
) -> Floats:  # fmt: skip
    """Return the quantiles of the time of admitted packets at these shares, in seconds.

    chances (K + 1,): of 0..K inside if services were exponential. curve: rates with 1.. inside, constant beyond. mean:
    of all packets. scv: of a service at the full rate. kinds: seconds without contention of each packet kind, and its
    share of packets. spread: random variation of each, a squared coefficient of variation. again: whether packets
    return to servers many times, so that longer kinds wait more inside; otherwise all kinds wait equally.
    """
    from scipy.special import gammaincc

    seconds, weights = kinds
    alone, service_s = float(seconds @ weights), 1.0 / curve[-1]
    p = chances[:-1] / chances[:-1].sum()
    n = 1 + np.flatnonzero(p > NEVER)
    p = p[n - 1]
    inside = np.maximum(np.minimum(n, len(curve)) / curve[np.minimum(n, len(curve)) - 1] - alone, 0.0) / service_s
    kind_factor = seconds[:, None] / alone if again else np.ones((len(seconds), 1))  # share of a wait inside, by kind
    ahead = inside * kind_factor + np.maximum(n - len(curve), 0)
    rest, square = (1 + scv) / 2, (1 + scv) * (1 + 2 * scv) / 3
    whole, part = np.floor(ahead), ahead - np.floor(ahead)
    waits, varies = ahead * rest, whole * (square - rest**2) + part * square - (part * rest) ** 2
    wait_s = float(weights @ (waits @ p)) * service_s
    scale_s = max((mean - alone) / wait_s, 0.0) * service_s if wait_s > 0 else 0.0  # so that the mean is `mean`
    waits, varies = waits * scale_s, np.maximum(varies, 0.0) * scale_s**2
    shortest = seconds[:, None] * max(1.0 - 3.0 * np.sqrt(spread), 0.0)  # nearly all times are longer
    centre, variance = seconds[:, None] - shortest + waits, seconds[:, None] ** 2 * spread + varies
    shape = np.maximum(centre**2 / np.maximum(variance, ATOM * (seconds[:, None] + waits) ** 2), LEAST_DIVISOR)
    scale = np.maximum(centre / shape, LEAST_DIVISOR * alone)

    def later(t: Floats) -> Floats:
        above = np.asarray(t)[..., None, None] - shortest
        stays = np.where(above < 0, 1.0, np.where(centre > 0, gammaincc(shape, np.maximum(above, 0.0) / scale), 0.0))
        return np.asarray((stays @ p) @ weights)

    return quantiles_of(shares, later, mean)
