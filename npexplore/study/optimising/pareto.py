"""Computes Pareto fronts: the points that no other point dominates.

    a dominates b  if  every cost of a <= that of b  and  every merit's box of a >= that of b, and a is not b
    box of a merit = floor(ln merit / ln(1 + tolerance))    (Laumanns et al., Evolutionary Computation 10, 2002)

Merits in one box count as equal, so that a gain below the tolerance justifies no cost. Two nearly equal merits can be
in different boxes; if all points are known, `worth_their_cost` compares the merits themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def boxes(merits: npt.ArrayLike, tolerance: float) -> Floats:
    """Return the boxes of merits (any shape, greater than 0); raises InputError for a tolerance outside 0..1."""
    if not 0 < tolerance <= 1:
        raise InputError(f"tolerance of a front must be above 0 and at most 1, got {tolerance!r}")
    with np.errstate(divide="ignore"):
        levels: Floats = np.floor(np.log(np.asarray(merits, dtype=np.float64)) / np.log1p(tolerance))
    return levels


def front(costs: npt.ArrayLike, merits: npt.ArrayLike) -> Integers:
    """Return the numbers of the points that no other point dominates, best first; of equal points only the first.

    costs (n, c): less is better; merits (n, m): the boxes of merits, more is better.
    """
    c, m = (np.asarray(table, dtype=np.float64) for table in (costs, merits))
    spread = c.max(axis=0, initial=0.0) if len(c) else np.ones(c.shape[1])
    price = (c / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    remaining = np.lexsort((np.arange(len(c)), price, -m.sum(axis=1)))
    front = []
    while len(remaining):
        # No remaining point dominates the first: a dominating point has more merit, or equal merit at less cost.
        best = remaining[0]
        front.append(int(best))
        dominated = (c[remaining] >= c[best]).all(axis=1) & (m[remaining] <= m[best]).all(axis=1)
        remaining = remaining[~dominated]
    return np.array(front, dtype=np.int64)


def worth_their_cost(costs: npt.ArrayLike, merits: npt.ArrayLike, tolerance: float) -> Integers:
    """Return the numbers of points that gain more than a tolerance over every kept point that costs no more.

    costs (n, c): less is better; merits (n, m): more is better. Points are tried from the cheapest on. For each point
    left out there is a kept point with no higher cost, whose merits are lower by at most the tolerance. Best first.
    """
    c, m = (np.asarray(table, dtype=np.float64) for table in (costs, merits))
    spread = c.max(axis=0, initial=0.0) if len(c) else np.ones(c.shape[1])
    price = (c / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    front: list[int] = []
    for k in np.lexsort((np.arange(len(c)), *(-m.T[::-1]), price)).tolist():
        cheaper = [j for j in front if (c[j] <= c[k]).all()]
        if all((m[k] > m[j] * (1.0 + tolerance)).any() for j in cheaper):
            front.append(k)
    return np.array(sorted(front, key=lambda k: (*(-m[k]), price[k])), dtype=np.int64)
