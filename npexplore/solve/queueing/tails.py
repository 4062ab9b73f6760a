"""Quantiles of the time in a queue behind Poisson arrivals, whose server's rate varies with those inside.

An arrival that finds n inside stays, in the mean, as long as n + 1 do among themselves, (n + 1) / curve[n] (Little);
what that is above the time alone is a wait for k exponential services at the full rate. Where services are not
exponential each is the rest R of one that is under way (Benes, General Stochastic Processes in the Theory of Queues,
1963: the wait in M/G/1 is a geometric number of such rests),

    E R = (1 + c^2) / 2      E R^2 = (1 + c^2) (1 + 2 c^2) / 3      of services of mean 1, gamma times by two moments

and given n the stay is a gamma time of its mean and variance (Tijms, A First Course in Stochastic Models, 2003,
appendix B). Exact for M/M/1 and M/M/1/K, near for M/G/c; the mean is the caller's.
"""

from collections.abc import Sequence

import numpy as np

from npexplore.solve.queueing.inputs import LEAST_DIVISOR, Floats
from npexplore.solve.queueing.sojourn import quantiles_of

ATOM = 1e-9  # squared coefficient of variation of a time that is constant
NEVER = 1e-17  # chance of a number inside that is left out


def found_quantiles(
    shares: Sequence[float], chances: Floats, curve: Floats, mean: float, scv: float, kinds: tuple[Floats, Floats],
    spread: float, again: bool = True,
) -> Floats:  # fmt: skip
    """Return the times in seconds that these shares of the admitted packets stay at most.

    chances (K + 1,): of 0..K inside if services were exponential. curve: rates with 1.. inside, the last one beyond.
    mean: of all stays. scv: of a service at the full rate. kinds: seconds without contention and their shares; spread:
    what chance adds to each, a squared coefficient of variation. again: whether packets come to servers again and
    again, so that longer kinds wait more often inside; who comes once waits behind others, whatever it brings itself.
    """
    from scipy.special import gammaincc

    seconds, weights = kinds
    alone, one = float(seconds @ weights), 1.0 / curve[-1]
    p = chances[:-1] / chances[:-1].sum()
    n = 1 + np.flatnonzero(p > NEVER)
    p = p[n - 1]
    inside = np.maximum(np.minimum(n, len(curve)) / curve[np.minimum(n, len(curve)) - 1] - alone, 0.0) / one
    mine = seconds[:, None] / alone if again else np.ones((len(seconds), 1))  # of a wait inside, by kind
    ahead = inside * mine + np.maximum(n - len(curve), 0)
    rest, square = (1 + scv) / 2, (1 + scv) * (1 + 2 * scv) / 3
    whole, part = np.floor(ahead), ahead - np.floor(ahead)
    waits, varies = ahead * rest, whole * (square - rest**2) + part * square - (part * rest) ** 2
    wait_s = float(weights @ (waits @ p)) * one
    longer = max((mean - alone) / wait_s, 0.0) * one if wait_s > 0 else 0.0  # so that the mean is the one that is told
    waits, varies = waits * longer, np.maximum(varies, 0.0) * longer**2
    least = seconds[:, None] * max(1.0 - 3.0 * np.sqrt(spread), 0.0)  # next to nobody is quicker
    centre, variance = seconds[:, None] - least + waits, seconds[:, None] ** 2 * spread + varies
    shape = np.maximum(centre**2 / np.maximum(variance, ATOM * (seconds[:, None] + waits) ** 2), LEAST_DIVISOR)
    scale = np.maximum(centre / shape, LEAST_DIVISOR * alone)

    def later(t: Floats) -> Floats:
        above = np.asarray(t)[..., None, None] - least
        stays = np.where(above < 0, 1.0, np.where(centre > 0, gammaincc(shape, np.maximum(above, 0.0) / scale), 0.0))
        return np.asarray((stays @ p) @ weights)

    return quantiles_of(shares, later, mean)
