"""Token buckets behind Poisson arrivals: waits for tokens, and loss where a packet without a token is dropped.

    tokens made in advance   wait = E[max(L - depth, 0)] / rate        L: number in the system of M/D/1, made one by one
    dropped without one      loss = 1 - 1 / (p0 + a)                   M/D/1/depth: p0 of its chain at ends of services

A packet that waits goes on when those before it need only the tokens that are saved; one is dropped where the bucket
lacks a whole token, which is where depth packets would still be served (Berger, IEEE Trans. Communications 39, 1991).
a = rate x seconds of a token.
"""

import numpy as np

from npexplore.solve.queueing.inputs import Floats


def saved_tokens_wait(rate: float, token: float, depth: int) -> float:
    """Return the mean seconds that a packet waits for its token; a token takes `token` seconds, rate x token < 1."""
    load = rate * token
    inside = load + load**2 / (2 * (1 - load))
    chances = (1 - load) * relative_chances(load, depth)
    n = np.arange(depth)
    return float(max(inside - depth + ((depth - n) * chances).sum(), 0.0)) / rate


def bucket_loss(load: float, depth: int) -> float:
    """Return the share of packets that find no token, at a load that may be above 1."""
    served = relative_chances(load, depth)  # chances of 0..depth-1 left behind, where there are no others
    return float(1 - 1 / (served[0] / served.sum() + load))


def relative_chances(load: float, number: int) -> Floats:
    """Return chances (number,) of 0, 1, .. in M/D/1, as multiples of the first; all terms are positive."""
    from scipy.special import gammainc  # takes as long to import as a small machine to solve

    more = gammainc(np.arange(1, number + 1), load)  # chances of more than 0, 1, .. arrivals in a service
    chances = np.zeros(number)
    chances[0] = 1.0
    for k in range(1, number):  # as often up past k - 1 as down
        chances[k] = (more[k - 1] + chances[1:k] @ more[k - 1 : 0 : -1]) * np.exp(load)
    return chances
