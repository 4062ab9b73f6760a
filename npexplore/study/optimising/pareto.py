"""Pareto fronts: the points that no other dominates, that is, costs no more and is worth no less.

    a dominates b  if  every cost of a <= that of b  and  every merit's box of a >= that of b, and a is not b
    box of a merit = floor(ln merit / ln(1 + tolerance))    (Laumanns et al., Evolutionary Computation 10, 2002)

Merits in one box count as equal, so that nobody pays for a gain that is smaller than the tolerance. Boxes have edges;
where all points are known, `worth_their_cost` compares merits themselves.
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
    """Return the numbers of the points that no other dominates, best first; of equal points the first.

    costs (n, c): less is better; merits (n, m): more is better, one a box.
    """
    c, m = (np.asarray(table, dtype=np.float64) for table in (costs, merits))
    spread = c.max(axis=0, initial=0.0) if len(c) else np.ones(c.shape[1])
    price = (c / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    left = np.lexsort((np.arange(len(c)), price, -m.sum(axis=1)))
    front = []
    while len(left):
        # Nothing before it is left, so nothing dominates it: what does has more merit, or as much for less.
        best = left[0]
        front.append(int(best))
        beaten = (c[left] >= c[best]).all(axis=1) & (m[left] <= m[best]).all(axis=1)
        left = left[~beaten]
    return np.array(front, dtype=np.int64)


def worth_their_cost(costs: npt.ArrayLike, merits: npt.ArrayLike, tolerance: float) -> Integers:
    """Return the numbers of points that gain more than a tolerance over every kept one that costs no more.

    costs (n, c): less is better; merits (n, m): more is better. From the cheapest on: each point that is left out has a
    kept one that costs no more in anything, and whose merits are at most the tolerance less. Best first.
    """
    c, m = (np.asarray(table, dtype=np.float64) for table in (costs, merits))
    spread = c.max(axis=0, initial=0.0) if len(c) else np.ones(c.shape[1])
    price = (c / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    front: list[int] = []
    for k in np.lexsort((np.arange(len(c)), *(-m.T[::-1]), price)).tolist():
        cheaper = [one for one in front if (c[one] <= c[k]).all()]
        if all((m[k] > m[one] * (1.0 + tolerance)).any() for one in cheaper):
            front.append(k)
    return np.array(sorted(front, key=lambda one: (*(-m[one]), price[one])), dtype=np.int64)
