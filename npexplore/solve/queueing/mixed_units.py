"""How many can hold a server's units at once who take them in different numbers, in the order in which they come.

    n = sum_k q_k F(C - k),    q_j = p_j sum_k q_k (F(C - k) - F(C - k - j)),    F(r) = 1 + sum_k p_k F(r - k)

C units, of which a customer takes k with chance p_k and keeps them for a constant time. Each start then waits for one
end, that of the last one whose units do not fit beside those of all who came since (the heaviest path of an event
graph: Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992, 2.5). So customers go in groups of n,
each led by the one that found no room in the group before. q are the chances of leaders, F(r) counts the others who fit
into r units, and the leader (the renewal function; Feller, An Introduction to Probability Theory II, 1971, XI.1). With
many units half of what whoever is next takes beyond one unit, met in proportion to the size, lies idle.
"""

from functools import lru_cache

import numpy as np

MAX_EXACT_TAKES = 16  # the most units that are counted exactly, in largest takes
ROUNDS, TOLERANCE = 400, 1e-9


@lru_cache(maxsize=64)
def mean_holders(units: int, takes: tuple[tuple[float, float], ...]) -> float:
    """Return how many hold units at once, 1 at least; takes: of whole units, at most all, each with its share."""
    sizes, shares = np.array([round(size) for size, _ in takes]), np.array([share for _, share in takes])
    shares = shares / shares.sum()
    mean = float(shares @ sizes)
    if units > MAX_EXACT_TAKES * sizes.max():
        return (units - (float(shares @ sizes**2) / mean - 1.0) / 2.0) / mean
    fits = np.zeros(units + 1 + sizes.max())  # F, behind as many zeros as the largest take
    first = sizes.max()
    for free in range(units + 1):
        fits[first + free] = 1.0 + shares @ fits[first + free - sizes]
    left = first + units - sizes
    turn = (fits[left][:, None] - fits[left[:, None] - sizes]) * shares  # from a leader to the next one
    leaders, holders = shares, 0.0
    for _ in range(ROUNDS):
        leaders = (leaders + leaders @ turn) / 2  # half as fast: leaders may come by turns
        before, holders = holders, float(leaders @ fits[left])
        if abs(holders - before) < TOLERANCE * holders:
            break
    return max(holders, 1.0)
