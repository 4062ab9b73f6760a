"""Predicts level 2 of the IPv6 trie from the number of prefixes: the blocks of 20 bits with longer prefixes.

    blocks = sum over j = 1..M of 1 - exp(-prefixes p_j),   p_j ~ exp(spread z_j), z_j normal quantile of (j - 1/2)/M

The paper prints no IPv6 table (its entries are random, Sec. 4.5) and does not state the strides; golden/lookup/trie6.py
has 20 bits first, then 12. Registries assign networks from M blocks with very different numbers of networks. M and the
spread are fitted to two of the sizes in data/routes/internet6_blocks.csv, a real table and random parts of it.
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
    """Return each block's share of all routes; shape (M,), sum 1."""
    count = int(p.blocks6)
    raw = np.exp(float(p.blocks6_spread) * norm.ppf((np.arange(count) + 0.5) / count))
    return np.asarray(raw / raw.sum())


def level2_entries6(p: Parameters, prefixes: float) -> int:
    """Return the entries of level 2 of a table with `prefixes` prefixes: whole blocks of 4096."""
    return round(float(-np.expm1(-prefixes * weights(p)).sum())) << SECOND


@cache
def measured() -> tuple[tuple[int, float], ...]:
    """Return the recorded (prefixes, mean blocks of level 2) of a real table and of random parts of it."""
    text = share("data", "routes", "internet6_blocks.csv").read_text()
    return tuple((int(row["prefixes"]), float(row["level2_blocks"])) for row in csv.DictReader(text.splitlines()))


@cache
def _lengths() -> npt.NDArray[np.float64]:
    """Return the shares of prefix lengths (index) from 21 to 64 bits in the bundled real table; shape (65,)."""
    text = gzip.decompress(share("data", "routes", "internet6_20000.txt.gz").read_bytes()).decode()
    lengths = np.array([int(line.partition("/")[2]) for line in text.split()])
    counts = np.bincount(lengths[(lengths > FIRST) & (lengths <= BITS)], minlength=BITS + 1).astype(np.float64)
    return np.asarray(counts / counts.sum())


def synthetic_routes6(
    p: Parameters, prefixes: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]:
    """Return (upper 64 bits of the first address, length) of a synthetic table of `prefixes` different prefixes.

    Raises InputError for an empty table or more than 1,000,000 prefixes.
    """
    if not 1 <= prefixes <= MOST_PREFIXES:
        raise InputError(f"prefixes of a synthetic table must be 1 to {MOST_PREFIXES}, got {prefixes}")
    prefixes_of_block = rng.multinomial(prefixes, weights(p))
    numbers = rng.choice(1 << (FIRST - 3), len(prefixes_of_block), replace=False).astype(np.uint64)
    blocks = np.uint64(FIRST_UNICAST) + numbers
    keys, block = np.empty(0, np.uint64), np.empty(0, np.int64)
    while len(keys) < prefixes:
        lacking = prefixes_of_block - np.bincount(block, minlength=len(prefixes_of_block))
        drawn_block = np.repeat(np.arange(len(prefixes_of_block)), 2 * lacking)
        below = rng.integers(0, 1 << (BITS - FIRST), len(drawn_block), np.uint64)
        drawn_keys = _keys(
            blocks[drawn_block] << np.uint64(BITS - FIRST) | below, rng.choice(BITS + 1, len(drawn_block), p=_lengths())
        )
        drawn_keys, first = np.unique(drawn_keys, return_index=True)
        new = rng.permutation(np.flatnonzero(~np.isin(drawn_keys, keys)))
        drawn_keys, drawn_block = drawn_keys[new], drawn_block[first][new]
        order = np.argsort(drawn_block, kind="stable")
        begin = np.searchsorted(drawn_block[order], np.arange(len(prefixes_of_block)))
        rank = np.arange(len(order)) - begin[drawn_block[order]]
        accepted = order[rank < lacking[drawn_block[order]]]
        keys, block = np.append(keys, drawn_keys[accepted]), np.append(block, drawn_block[accepted])
    marker = keys & (~keys + np.uint64(1))
    length = BITS - np.log2(marker.astype(np.float64)).astype(np.uint8)
    return (keys ^ marker) >> np.uint64(1), length.astype(np.uint8)


def _keys(value: npt.NDArray[np.uint64], length: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return prefixes as numbers: the address without its first bit, which is 0, and a 1 bit after the prefix."""
    host_bits = (BITS - length).astype(np.uint64)
    return np.asarray(((value >> host_bits << np.uint64(1)) | np.uint64(1)) << host_bits)


def storage_of6(value: npt.NDArray[np.uint64], length: npt.NDArray[np.uint8]) -> Storage6:
    """Return the storage of a table of routes of up to 64 bits in the trie of six levels."""
    addresses = np.stack([value, np.zeros_like(value)], axis=1)
    return SixLevelTrie.from_columns(addresses, length, np.zeros(len(value), np.int32)).storage()
