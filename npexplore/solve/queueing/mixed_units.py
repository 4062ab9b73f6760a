"""The mean number of customers that hold a server's units at once, if they take different numbers of units in order.

    n = sum_k q_k F(C - k),    q_j = p_j sum_k q_k (F(C - k) - F(C - k - j)),    F(r) = 1 + sum_k p_k F(r - k)

Of C units, a customer takes k with probability p_k and holds them for a constant time. Each start waits for one end:
that of the last earlier customer whose units do not fit together with those of all later ones (the heaviest path of an
event graph: Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992, 2.5). So customers go in groups
of n on average; the leader of a group is the first customer that did not fit into the group before. q is the
distribution of the leader's units; F(r) counts the leader and the others that fit into r remaining units (the renewal
function; Feller, An Introduction to Probability Theory II, 1971, XI.1). With many units, the idle units are on average
half of the next customer's units beyond one, where customers count in proportion to their size.
"""

from functools import lru_cache

import numpy as np

MAX_EXACT_TAKES = 16  # limit of the exact method: units, as a multiple of the largest take
ROUNDS, TOLERANCE = 400, 1e-9


@lru_cache(maxsize=64)
def mean_holders(units: int, takes: tuple[tuple[float, float], ...]) -> float:
    """Return the mean number of holders, at least 1; takes: (whole units, share of customers), units at most all."""
    sizes, shares = np.array([round(size) for size, _ in takes]), np.array([share for _, share in takes])
    shares = shares / shares.sum()
    mean = float(shares @ sizes)
    if units > MAX_EXACT_TAKES * sizes.max():
        return (units - (float(shares @ sizes**2) / mean - 1.0) / 2.0) / mean
    fits = np.zeros(units + 1 + sizes.max())  # F, after as many zeros as the largest take
    first = sizes.max()
    for free in range(units + 1):
        fits[first + free] = 1.0 + shares @ fits[first + free - sizes]
    remaining = first + units - sizes
    step = (fits[remaining][:, None] - fits[remaining[:, None] - sizes]) * shares  # from a leader to the next one
    leaders, holders = shares, 0.0
    for _ in range(ROUNDS):
        leaders = (leaders + leaders @ step) / 2  # damped: the sizes of leaders may alternate
        before, holders = holders, float(leaders @ fits[remaining])
        if abs(holders - before) < TOLERANCE * holders:
            break
    return max(holders, 1.0)
