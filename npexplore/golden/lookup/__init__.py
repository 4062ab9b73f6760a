"""Lookup structures for longest prefix match, and route caches in front of them.

LPMS and LPMS6 list the structures.
"""

from npexplore.golden.lookup.base import Lpm, MemoryReads, Read, Routes
from npexplore.golden.lookup.binary_trie import BinaryTrie
from npexplore.golden.lookup.cache import ROUTE_CACHES, route_cache_hit_ratio
from npexplore.golden.lookup.dir24_8 import Dir24_8
from npexplore.golden.lookup.linear import LinearLpm, LinearLpm6
from npexplore.golden.lookup.trie6 import SixLevelTrie, Storage6
from npexplore.golden.lookup.trie20_4_8 import Storage, Trie20_4_8

LPMS: dict[str, type[Lpm]] = {
    "linear": LinearLpm,
    "binary_trie": BinaryTrie,
    "dir24_8": Dir24_8,
    "trie20_4_8": Trie20_4_8,
}
LPMS6: dict[str, type[Lpm]] = {"linear": LinearLpm6, "six_level": SixLevelTrie}

__all__ = [
    "LPMS",
    "LPMS6",
    "ROUTE_CACHES",
    "BinaryTrie",
    "Dir24_8",
    "LinearLpm",
    "LinearLpm6",
    "Lpm",
    "MemoryReads",
    "Read",
    "Routes",
    "SixLevelTrie",
    "Storage",
    "Storage6",
    "Trie20_4_8",
    "route_cache_hit_ratio",
]
