"""Predicts trie storage from the number of prefixes (Fig. 6): the blocks of level 2 that a routing table needs.

    sites = share x prefixes;   blocks = M (1 - exp(-sites / M)),   M = blocks of 2^12 addresses that can be routed
    words = level 1 + level 2 + level 3 / 2        (two entries of level 3 share a word of 18 bits)

A site is a network with prefixes longer than 20 bits; sites are at random among M blocks. `share` is fitted to one row
of the table. The number of prefixes longer than 24 bits (level 3) does not follow from the number of prefixes.
"""

from __future__ import annotations

import gzip
import math
from functools import cache

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError
from npexplore.golden.lookup import Storage, Trie20_4_8
from npexplore.paths import share

FIRST, SECOND, THIRD = Trie20_4_8.STRIDES
LEVEL1 = 1 << FIRST
ROUTABLE = 221 / 256  # share of first bytes 1 to 223 without 10 and 127
MOST_PREFIXES = 4_000_000


def level2_entries(prefixes: float, sites_share: float) -> int:
    """Return the entries of level 2: whole blocks of 16."""
    blocks = LEVEL1 * ROUTABLE
    return round(blocks * -math.expm1(-sites_share * prefixes / blocks)) << SECOND


def fitted_share(prefixes: float, entries: float) -> float:
    """Return the share of sites with which a table of `prefixes` prefixes has `entries` entries of level 2."""
    blocks = LEVEL1 * ROUTABLE
    return -math.log1p(-(entries / (1 << SECOND)) / blocks) * blocks / prefixes


def words(level2: float, level3: float) -> float:
    """Return the 18-bit words of a table."""
    return LEVEL1 + level2 + level3 / 2


@cache
def _lengths() -> npt.NDArray[np.float64]:
    """Return the shares of prefix lengths (index) of level 2 in the bundled real table; shape (33,)."""
    text = gzip.decompress(share("data", "routes", "internet_20000.txt.gz").read_bytes()).decode()
    lengths = np.array([int(line.partition("/")[2]) for line in text.split()])
    counts = np.bincount(lengths[(lengths > FIRST) & (lengths <= FIRST + SECOND)], minlength=33).astype(np.float64)
    return np.asarray(counts / counts.sum())


def synthetic_routes(
    prefixes: int, sites_share: float, rng: np.random.Generator, long_share: float = 0.0, short_share: float = 0.2
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Return (first address, length) of a synthetic table of `prefixes` different prefixes.

    short_share: share of prefixes of up to 20 bits. long_share: share of prefixes of more than 24 bits, each in its own
    block. The others are in the sites, at least one in each. Raises InputError if no prefixes are left for the sites.
    """
    sites, short, long = (round(part * prefixes) for part in (sites_share, short_share, long_share))
    in_sites = prefixes - short - long
    if not 0 < sites <= in_sites or prefixes > MOST_PREFIXES:
        raise InputError(
            f"{prefixes} prefixes (at most {MOST_PREFIXES}) must have room for {sites} sites beside {short} short and "
            f"{long} long ones"
        )
    sites_at = rng.integers(1 << (FIRST - 8), 224 << (FIRST - 8), sites)
    keys = np.unique(_keys(sites_at, rng.choice(33, sites, p=_lengths()), rng))
    for blocks, count, lengths in ((sites_at, in_sites, None), (sites_at, in_sites + long, 26), (None, prefixes, 0)):
        while len(keys) < count:
            lacking = count - len(keys)
            draws = 2 * lacking + 8  # draw more than needed, because some draws are duplicates
            if blocks is None:
                length = rng.integers(12, FIRST + 1, draws)
                drawn_keys = _keys(rng.integers(1 << (FIRST - 8), 224 << (FIRST - 8), draws), length, rng)
            else:
                length = rng.choice(33, draws, p=_lengths()) if lengths is None else np.full(draws, lengths)
                drawn_keys = _keys(rng.choice(blocks, draws), length, rng)
            keys = np.union1d(keys, rng.permutation(np.setdiff1d(drawn_keys, keys))[:lacking])
    return (keys >> 6).astype(np.uint32), (keys & 63).astype(np.uint8)


def _keys(
    place: npt.NDArray[np.int64], length: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return random prefixes of some lengths in blocks of level 1, as numbers: address << 6 | length."""
    value = place << 12 | rng.integers(0, 1 << 12, len(place))
    return np.asarray((value >> (32 - length) << (32 - length)) << 6 | length)


def storage_of(value: npt.NDArray[np.uint32], length: npt.NDArray[np.uint8]) -> Storage:
    """Return the storage of a table of routes, as Fig. 6 counts it."""
    return Trie20_4_8.from_columns(value, length, np.zeros(len(value), np.int32)).storage()
