"""Hit probabilities of the items of a cache under independent requests.

Random and first-in first-out replacement: the probability of a content is proportional to the product of its items'
request shares p_i (King 1971; Gelenbe, IEEE Trans. Computers 22, 1973), so with E_m the elementary symmetric sum of
degree m,

    hit_i = p_i E_(m-1)(without i) / E_m.

Least recently used, small caches: each order of items has the probability prod p_(k) / (1 - sum of earlier ones) (King
1971). Larger ones: characteristic time T (Che, Tung and Wang, IEEE JSAC 20, 2002; Fricker, Robert and Roberts, ITC 24,
2012); an item is cached if it was requested within T, hit_i = 1 - exp(-p_i T) with sum_i hit_i = m.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError, one_of
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import Floats, numbers

REPLACE = ("lru", "fifo", "random")
MOST_ORDERS = 200_000  # of items in a least-recently-used cache that are enumerated


@by_content
class Hits(NamedTuple):
    """The hit probability (n,) of each item; `approximation` names the approximation, None if exact.

    Example:
        >>> from npexplore.queueing import hit_chances
        >>> hit_chances([0.5, 0.3, 0.2], 1).hit.shape
        (3,)
    """

    hit: Floats
    approximation: str | None


def hit_chances(popularity: ArrayLike, places: int, replace: str = "lru") -> Hits:
    """Return the hit probability of each of n items in a cache.

    popularity: (n,): share of all requests for each item. places: items that the cache holds. replace: the replacement
    policy, one of REPLACE.

    Raises InputError for shares that are not above 0 and for places outside 1..n - 1, UnknownNameError for the policy.
    """
    one_of("replacement", replace, REPLACE)
    (share,) = numbers(positive=True, popularity=popularity)
    n = len(share)
    if not 0 < places < n:
        raise InputError(f"places of a cache must be in 1..{n - 1}, got {places}")
    p = share / share.sum()
    if replace != "lru":
        return Hits(_symmetric(p, places), None)
    if math.perm(n, places) <= MOST_ORDERS:
        return Hits(_orders(p, places), None)
    return Hits(1 - np.exp(-p * characteristic_time(p, places)), "characteristic time")


def characteristic_time(popularity: Floats, places: int) -> float:
    """Return T with sum_i (1 - exp(-p_i T)) = places, counted in requests."""
    from scipy.optimize import brentq

    high = float(places)
    while (1 - np.exp(-popularity * high)).sum() < places:
        high *= 2
    return float(brentq(lambda t: (1 - np.exp(-popularity * t)).sum() - places, 0, high, xtol=1e-12, rtol=1e-14))


def _symmetric(p: Floats, places: int) -> Floats:
    scale = p / np.exp(np.log(p).mean())  # against overflow of the sums
    ahead, behind = _sums(scale, places), _sums(scale[::-1], places)[::-1]
    hit = np.empty(len(p))
    for i in range(len(p)):
        # elementary sums of degree m - 1 without i: from the sums before and after i, without subtraction
        hit[i] = np.log(scale[i]) + np.logaddexp.reduce(ahead[i][:places] + behind[i + 1][places - 1 :: -1])
    return np.asarray(np.exp(hit - ahead[len(p)][places]))


def _sums(p: Floats, places: int) -> Floats:
    """Return the logarithms of the elementary sums of degree 0..places of the first 0..n numbers."""
    table = np.full((len(p) + 1, places + 1), -np.inf)
    table[0, 0] = 0.0
    for i, x in enumerate(np.log(p)):
        table[i + 1] = table[i]
        table[i + 1, 1:] = np.logaddexp(table[i, 1:], table[i, :-1] + x)
    return table


def _orders(p: Floats, places: int) -> Floats:
    hit = np.zeros(len(p))
    for order in itertools.permutations(range(len(p)), places):
        chance, remaining = 1.0, 1.0
        for item in order:
            chance *= p[item] / remaining
            remaining -= p[item]
        hit[list(order)] += chance
    return hit
