"""Lookup structures for longest prefix match, and caches of routes in front of them; LPMS lists the structures."""

from npexplore.golden.lookup.base import Lpm, MemoryReads, Read, Routes
from npexplore.golden.lookup.binary_trie import BinaryTrie
from npexplore.golden.lookup.cache import ROUTE_CACHES, route_cache_hit_ratio
from npexplore.golden.lookup.dir24_8 import Dir24_8
from npexplore.golden.lookup.linear import LinearLpm
from npexplore.golden.lookup.trie20_4_8 import Storage, Trie20_4_8

LPMS: dict[str, type[Lpm]] = {
    "linear": LinearLpm,
    "binary_trie": BinaryTrie,
    "dir24_8": Dir24_8,
    "trie20_4_8": Trie20_4_8,
}

__all__ = [
    "LPMS",
    "ROUTE_CACHES",
    "BinaryTrie",
    "Dir24_8",
    "LinearLpm",
    "Lpm",
    "MemoryReads",
    "Read",
    "Routes",
    "Storage",
    "Trie20_4_8",
    "route_cache_hit_ratio",
]
