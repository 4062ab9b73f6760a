"""Level 2 of the IPv6 trie from the number of prefixes: how many blocks of 20 bits have routes longer than that.

    blocks = sum over j = 1..M of 1 - exp(-prefixes p_j),   p_j ~ exp(spread z_j), z_j normal quantile of (j - 1/2)/M

The paper prints no IPv6 table (its entries are random, Sec. 4.5) and leaves the strides open; golden/lookup/trie6.py
has 20 bits first, then 12. Registries hand networks out of M blocks, of which some hold many more than others. M and
the spread are fitted to two of the sizes in data/routes/internet6_blocks.csv, a real table and random parts of it.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from npexplore.errors import InputError
from npexplore.golden.lookup import SixLevelTrie
from npexplore.golden.lookup.trie6 import SIX, Storage6
from npexplore.machine.parameters import Parameters
from npexplore.paths import share

FIRST, SECOND = SIX[:2]
BITS = 64
FIRST_UNICAST, MOST_PREFIXES = 0x2 << (FIRST - 4), 1_000_000  # 2000::/3


def weights(p: Parameters) -> npt.NDArray[np.float64]:
    """Return the share of all routes that each block has; shape M, sum 1."""
    count = int(p.blocks6)
    raw = np.exp(float(p.blocks6_spread) * norm.ppf((np.arange(count) + 0.5) / count))
    return np.asarray(raw / raw.sum())


def level2_entries6(p: Parameters, prefixes: float) -> int:
    """Return the entries of level 2 of a table of so many prefixes: whole blocks of 4096."""
    return round(float(-np.expm1(-prefixes * weights(p)).sum())) << SECOND


@cache
def measured() -> tuple[tuple[int, float], ...]:
    """Return (prefixes, mean blocks of level 2) of a real table and of random parts of it."""
    text = share("data", "routes", "internet6_blocks.csv").read_text()
    return tuple((int(row["prefixes"]), float(row["level2_blocks"])) for row in csv.DictReader(text.splitlines()))


@cache
def _lengths() -> npt.NDArray[np.float64]:
    """Return how often each length from 21 to 64 bits occurs in the bundled real table."""
    text = gzip.decompress(share("data", "routes", "internet6_20000.txt.gz").read_bytes()).decode()
    lengths = np.array([int(line.partition("/")[2]) for line in text.split()])
    counts = np.bincount(lengths[(lengths > FIRST) & (lengths <= BITS)], minlength=BITS + 1).astype(np.float64)
    return np.asarray(counts / counts.sum())


def synthetic_routes6(
    p: Parameters, prefixes: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]:
    """Return (upper 64 bits of the first address, length) of a synthetic table of so many different prefixes.

    Raises InputError for a table that is empty or larger than 1,000,000.
    """
    if not 1 <= prefixes <= MOST_PREFIXES:
        raise InputError(f"prefixes of a synthetic table must be 1 to {MOST_PREFIXES}, got {prefixes}")
    wanted = rng.multinomial(prefixes, weights(p))
    chosen = rng.choice(1 << (FIRST - 3), len(wanted), replace=False).astype(np.uint64)
    places = np.uint64(FIRST_UNICAST) + chosen
    keys, block = np.empty(0, np.uint64), np.empty(0, np.int64)
    while len(keys) < prefixes:
        lacking = wanted - np.bincount(block, minlength=len(wanted))
        where = np.repeat(np.arange(len(wanted)), 2 * lacking)
        below = rng.integers(0, 1 << (BITS - FIRST), len(where), np.uint64)
        more = _keys(places[where] << np.uint64(BITS - FIRST) | below, rng.choice(BITS + 1, len(where), p=_lengths()))
        more, first = np.unique(more, return_index=True)
        new = rng.permutation(np.flatnonzero(~np.isin(more, keys)))
        more, where = more[new], where[first][new]
        order = np.argsort(where, kind="stable")
        begin = np.searchsorted(where[order], np.arange(len(wanted)))
        rank = np.arange(len(order)) - begin[where[order]]
        room = order[rank < lacking[where[order]]]
        keys, block = np.append(keys, more[room]), np.append(block, where[room])
    marker = keys & (~keys + np.uint64(1))
    length = BITS - np.log2(marker.astype(np.float64)).astype(np.uint8)
    return (keys ^ marker) >> np.uint64(1), length.astype(np.uint8)


def _keys(value: npt.NDArray[np.uint64], length: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return prefixes as numbers: the address without its first bit, which is 0, and a 1 behind the prefix."""
    left = (BITS - length).astype(np.uint64)
    return np.asarray(((value >> left << np.uint64(1)) | np.uint64(1)) << left)


def storage_of6(value: npt.NDArray[np.uint64], length: npt.NDArray[np.uint8]) -> Storage6:
    """Return the storage of a table of routes of up to 64 bits in the trie of six levels."""
    addresses = np.stack([value, np.zeros_like(value)], axis=1)
    return SixLevelTrie.from_columns(addresses, length, np.zeros(len(value), np.int32)).storage()
