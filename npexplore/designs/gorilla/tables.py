"""Changes of Gorilla's tables by packets: route updates by control packets, and route caches in clusters.

    words of an update = trie entries that differ after it; a word holds two entries of level 3      (Sec. 4.2, Fig. 6)

The control processor reaches the tables through the data path. The paper proposes caches but does not build them: one
LRU cache of addresses per cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np
import numpy.typing as npt

from npexplore.designs.gorilla.steps import Box
from npexplore.designs.gorilla.steps.accelerators import MEMORY
from npexplore.golden.ipv4.addresses import prefix_text
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.machine.step_programs import Answer


def changes(tables: Box, routes: int) -> Iterator[int]:
    """Alternately withdraw and announce `routes` IPv4 routes, then continue with the next; yield the words written.

    A word holds one entry of levels 1 and 2, or two entries of level 3 (Fig. 6).
    """
    trie = tables.ipv4.lpm
    assert isinstance(trie, MultibitTrie)
    columns = zip(*(column.tolist() for column in trie.routes()), strict=True)
    next_routes = cycle([row for row in columns if row[0] >> 24 != 10])  # all but the links' routes

    def change(route: tuple[int, ...], announced: bool) -> int:
        value, length, hop = route
        stride, prefix = trie.STRIDES[0], prefix_text(value, length)
        slots = range(value >> 32 - stride, (value >> 32 - stride) + max(1, 1 << max(0, stride - length)))
        before = _around(trie, slots)
        trie.insert(prefix, hop) if announced else trie.remove(prefix)
        return sum(
            _words(old, new, level) for level, (old, new) in enumerate(zip(before, _around(trie, slots), strict=True))
        )

    while True:
        batch = [next(next_routes) for _ in range(routes)]
        for announced in (False, True):
            yield sum(change(route, announced) for route in batch)


def _around(trie: MultibitTrie, under: range) -> list[npt.NDArray[np.integer]]:
    """Return the entries that a prefix update may change, by level: its slots of level 1, all of the other levels."""
    return [np.array([trie.entry(0, at) for at in under]), *(trie.level(n) for n in range(1, len(trie.STRIDES)))]


def _words(before: npt.NDArray[np.integer], after: npt.NDArray[np.integer], level: int) -> int:
    """Return the number of words of a level that changed or are new; level counts from 0."""
    common = min(len(before), len(after))
    changed = np.concatenate([np.flatnonzero(before[:common] != after[:common]), np.arange(common, len(after))])
    return len(np.unique(changed // 2)) if level == 2 else len(changed)


@dataclass
class RouteCaches:
    """An LRU cache of looked-up addresses in each cluster; `cluster` is the number of the one that looks up now."""

    entries: int
    clusters: int
    cluster: int = 0
    routes: list[dict[object, None]] = field(init=False)

    def __post_init__(self) -> None:
        self.routes = [{} for _ in range(self.clusters)]

    def holds(self, address: object) -> bool:
        """Return whether the current cluster's cache holds an address, and insert the address."""
        cached = self.routes[self.cluster]
        hit = cached.pop(address, 0) is None
        cached[address] = None
        if len(cached) > self.entries:
            del cached[next(iter(cached))]
        return hit

    def in_front_of(self, unit: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return a lookup that does not read memory if the cache holds the address."""

        def answer(address: object) -> Answer:
            uncached = unit(address)
            return Answer(uncached.value, {**uncached.used, MEMORY: 0}) if self.holds(address) else uncached

        return answer
