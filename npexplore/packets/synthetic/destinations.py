"""Destinations with Zipf popularity over a routing table: p(rank k) ~ k^-s, a prefix per rank, random hosts inside.

Traces of routers show such a popularity of destinations (Breslau, Cao, Fan, Phillips, Shenker, INFOCOM 1999,
for web requests; Feldmann et al., IEEE/ACM Trans. Networking 9(3), 2001, for prefixes).
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, positive


def zipf_destinations(
    value: NDArray[np.uint32], length: NDArray[np.uint8], count: int, exponent: float, rng: np.random.Generator
) -> NDArray[np.uint32]:
    """Return IPv4 addresses in the prefixes of a table, whose popularity follows Zipf's law; uint32, shape (count,).

    value, length: the prefixes, their lengths in bits, shape (n,) each. count: addresses. exponent: of the law; 0 makes
    all prefixes equally popular. rng: the random numbers to use.

    Prefixes are ranked at random. Raises InputError if there is no prefix.
    """
    positive("Zipf exponent", exponent, zero=True)
    if not len(value):
        raise InputError("Zipf destinations need at least one prefix")
    weight = np.arange(1, len(value) + 1, dtype=float) ** -exponent
    cumulative = np.cumsum(weight)
    rank = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    prefix = rng.permutation(len(value))[np.minimum(rank, len(value) - 1)]
    host = rng.integers(0, 1 << 32, count) >> np.asarray(length, np.int64)[prefix]
    return np.asarray(np.asarray(value, np.int64)[prefix] | host, dtype=np.uint32)
