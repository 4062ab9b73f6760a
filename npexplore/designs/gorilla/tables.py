"""What packets change in Gorilla's tables: routes by control packets, word by word, and caches in front of them.

    words of a change = entries of the trie that differ after it; a word has two of level 3      (Sec. 4.2, Fig. 6)

The control processor reaches the tables through the data path. Caches are proposed, not built: one in each cluster, of
the addresses used last (LRU).
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
    """Withdraw so many IPv4 routes of a router, announce them again, go on with the next; yield words that each writes.

    A word has an entry of levels 1 and 2, or two of level 3 (Fig. 6).
    """
    trie = tables.ipv4.lpm
    assert isinstance(trie, MultibitTrie)
    columns = zip(*(column.tolist() for column in trie.routes()), strict=True)
    turn = cycle([row for row in columns if row[0] >> 24 != 10])  # not the links

    def change(route: tuple[int, ...], announced: bool) -> int:
        value, length, hop = route
        first, prefix = trie.STRIDES[0], prefix_text(value, length)
        under = range(value >> 32 - first, (value >> 32 - first) + max(1, 1 << max(0, first - length)))
        before = _around(trie, under)
        trie.insert(prefix, hop) if announced else trie.remove(prefix)
        return sum(_words(a, b, n) for n, (a, b) in enumerate(zip(before, _around(trie, under), strict=True)))

    while True:
        batch = [next(turn) for _ in range(routes)]
        for announced in (False, True):
            yield sum(change(route, announced) for route in batch)


def _around(trie: MultibitTrie, under: range) -> list[npt.NDArray[np.integer]]:
    """Return the entries that a change of a prefix may touch: below it in level 1, all of the other levels."""
    return [np.array([trie.entry(0, at) for at in under]), *(trie.level(n) for n in range(1, len(trie.STRIDES)))]


def _words(before: npt.NDArray[np.integer], after: npt.NDArray[np.integer], level: int) -> int:
    """Return the words of a level that differ, or are new."""
    both = min(len(before), len(after))
    changed = np.concatenate([np.flatnonzero(before[:both] != after[:both]), np.arange(both, len(after))])
    return len(np.unique(changed // 2)) if level == 2 else len(changed)


@dataclass
class RouteCaches:
    """A cache of routes in each cluster, of the destinations and sources used last (LRU); `cluster` looks up now."""

    entries: int
    clusters: int
    cluster: int = 0
    routes: list[dict[object, None]] = field(init=False)

    def __post_init__(self) -> None:
        self.routes = [{} for _ in range(self.clusters)]

    def holds(self, address: object) -> bool:
        """Say whether the cluster's cache has an address, and put it there."""
        near = self.routes[self.cluster]
        hit = near.pop(address, 0) is None
        near[address] = None
        if len(near) > self.entries:
            del near[next(iter(near))]
        return hit

    def in_front_of(self, unit: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return a lookup that reads nothing where the cache has the address."""

        def answer(address: object) -> Answer:
            uncached = unit(address)
            return Answer(uncached.value, {**uncached.used, MEMORY: 0}) if self.holds(address) else uncached

        return answer
