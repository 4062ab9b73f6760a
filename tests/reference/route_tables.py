"""Real routing tables for tests, and the plainest longest prefix match that a large table allows."""

import gzip
from pathlib import Path

import numpy as np

from npexplore.golden.ipv4.addresses import prefix_columns, prefix_mask
from npexplore.golden.ipv6 import addresses as six
from npexplore.golden.lookup.family import IPV6

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "data" / "routes" / "internet_20000.txt.gz"
WHOLE = ROOT.parent / "shared" / "data" / "routes" / "bart_full_table_v4_v6.txt.gz"


def read_prefixes(path):
    with gzip.open(path, "rt") as file:
        return [line for line in file.read().split() if ":" not in line]


def bundled_table():
    """Columns (value, length) of the 20,000 routes that come with the package."""
    return prefix_columns(read_prefixes(BUNDLED))


def largest_table():
    """The full Internet table where it is there, else the bundled part of it."""
    return prefix_columns(read_prefixes(WHOLE if WHOLE.exists() else BUNDLED))


def addresses_within(value, length, count, rng):
    """Draw addresses inside prefixes chosen at random."""
    row = rng.integers(0, len(value), count)
    inside = rng.integers(0, 2**32, count, dtype=np.int64) & ((1 << (32 - length[row].astype(np.int64))) - 1)
    return (value[row].astype(np.int64) + inside).astype(np.uint32)


def match(routes, address):
    """Longest prefix match in a dict {(value, length): next hop}: try every length, longest first."""
    for length in range(32, -1, -1):
        hop = routes.get((address & prefix_mask(length), length))
        if hop is not None:
            return hop
    return None


BUNDLED6 = ROOT / "data" / "routes" / "internet6_20000.txt.gz"


def read_prefixes6(path):
    with gzip.open(path, "rt") as file:
        return [line for line in file.read().split() if ":" in line]


def bundled_table6():
    """Columns (value, length) of the 20,000 IPv6 routes that come with the package, sorted by (value, length)."""
    return six.prefix_columns(read_prefixes6(BUNDLED6))


def addresses_within6(value, length, count, rng):
    """Draw addresses inside prefixes chosen at random."""
    row = rng.integers(0, len(value), count)
    inside = rng.integers(0, 2**64, (count, 2), dtype=np.uint64, endpoint=False)
    return value[row] | inside & ~IPV6.masks()[length[row]]


def match6(routes, address):
    """As `match`, for IPv6."""
    for length in range(128, -1, -1):
        hop = routes.get((address & six.mask_of(length), length))
        if hop is not None:
            return hop
    return None
