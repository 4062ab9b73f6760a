"""Token buckets with Poisson arrivals: waits for tokens, and loss where packets without a token are dropped.

    packets wait for tokens   wait = E[max(L - depth, 0)] / rate        L: number in M/D/1 whose service makes a token
    packets are dropped       loss = 1 - 1 / (p0 + a)                   M/D/1/depth: p0 of its chain at ends of services

A waiting packet proceeds when the saved tokens suffice for it and all packets before it. A packet is dropped if the
bucket has no whole token, that is, if depth packets would be in M/D/1/depth (Berger, IEEE Trans. Communications 39,
1991). a = rate x seconds of a token.
"""

import numpy as np

from npexplore.solve.queueing.inputs import Floats


def saved_tokens_wait(rate: float, token: float, depth: int) -> float:
    """Return the mean seconds that a packet waits for its token; token: seconds to make one, rate x token < 1."""
    load = rate * token
    inside = load + load**2 / (2 * (1 - load))
    chances = (1 - load) * relative_chances(load, depth)
    n = np.arange(depth)
    return float(max(inside - depth + ((depth - n) * chances).sum(), 0.0)) / rate


def bucket_loss(load: float, depth: int) -> float:
    """Return the share of packets that find no token; the load may be above 1."""
    served = relative_chances(load, depth)  # relative probabilities of 0..depth-1 left behind at departures
    return float(1 - 1 / (served[0] / served.sum() + load))


def relative_chances(load: float, number: int) -> Floats:
    """Return the probabilities (number,) of 0, 1, .. in M/D/1 relative to the first; all terms are positive."""
    from scipy.special import gammainc  # imported here: the import takes as long as solving a small machine

    more = gammainc(np.arange(1, number + 1), load)  # probabilities of more than 0, 1, .. arrivals in a service
    chances = np.zeros(number)
    chances[0] = 1.0
    for k in range(1, number):  # balance between the states up to k - 1 and those above
        chances[k] = (more[k - 1] + chances[1:k] @ more[k - 1 : 0 : -1]) * np.exp(load)
    return chances
