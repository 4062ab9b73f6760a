"""Caches in front of a memory: the level at which each access hits, and the lines that a packet takes from each level.

    hit of a set-associative LRU cache = stack distance within the set < ways           (Mattson et al. 1970)

`levels_of` replays accesses one by one, for all cores, devices and levels (exact LRU, or random replacement).
`set_distances` gives the hits of one cache for every number of ways at once. Columns of a workload hold the counts of
each packet: bounds and queueing use their mean, a simulation uses each packet's count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.caches import replay
from npexplore._kernels.capture_flows import stack_distances
from npexplore.errors import ModelError, one_of
from npexplore.golden.touches import Touches

if TYPE_CHECKING:
    from npexplore.machine.described.parts import Part

KB = 1024
REPLACEMENTS = ("lru", "random")
MEMORY, WALKS = "memory_lines", "page_walks"
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """One cache level: its size, its ways (lines per set), and whether all cores share it."""

    name: str
    size_bytes: int
    ways: int
    shared: bool = False

    def sets(self, line_bytes: int) -> int:
        """Return the number of sets; raises ModelError for an impossible geometry."""
        lines = self.size_bytes // line_bytes
        if self.size_bytes < line_bytes or self.size_bytes % line_bytes:
            raise ModelError(f"{self.name}: {self.size_bytes} bytes must be whole lines of {line_bytes} bytes")
        if not 1 <= self.ways <= lines:
            raise ModelError(f"{self.name}: ways must be 1 to its {lines} lines of {line_bytes} bytes, got {self.ways}")
        if lines % self.ways:
            raise ModelError(f"{self.name}: {lines} lines must be whole sets of {self.ways} ways")
        return lines // self.ways


@dataclass(frozen=True)
class Caches:
    """Cache levels, nearest to the core first; raises ModelError for impossible geometries.

    device_ways: ways of the last level in which device writes may allocate lines (0: they go to memory). inclusive: a
    line evicted from the last level leaves all levels. translations: entries of a core's TLB for pages of page_bytes.
    """

    levels: tuple[Level, ...]
    line_bytes: int = 64
    cores: int = 1
    device_ways: int = 0
    inclusive: bool = True
    replacement: str = "lru"
    page_bytes: int = 4096
    translations: int = 0

    def __post_init__(self) -> None:
        if not self.levels or self.line_bytes < 1 or self.cores < 1:
            raise ModelError(
                f"caches must have a level, a core and lines of a byte, got {len(self.levels)}, {self.cores} "
                f"and {self.line_bytes}"
            )
        if self.line_bytes & (self.line_bytes - 1):
            raise ModelError(f"caches must have lines of a power of two bytes, got {self.line_bytes}")
        for level in self.levels:
            level.sets(self.line_bytes)
        for near, far in pairwise(self.levels):
            if self.inclusive and near.size_bytes > far.size_bytes:
                raise ModelError(
                    f"{near.name}: its bytes must be at most the {far.size_bytes} of {far.name}, which holds all its "
                    f"lines, got {near.size_bytes}"
                )
        last = self.levels[-1]
        if self.cores > 1 and not last.shared:
            raise ModelError(f"{last.name}: the last level must be shared by the {self.cores} cores")
        if not 0 <= self.device_ways <= last.ways:
            raise ModelError(f"{last.name}: ways of devices must be 0 to its {last.ways} ways, got {self.device_ways}")
        if self.page_bytes < self.line_bytes or self.translations < 0:
            raise ModelError(f"pages must hold a line of {self.line_bytes} bytes, got {self.page_bytes} bytes")
        one_of("replacement", self.replacement, REPLACEMENTS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `columns`: hits of each level but the first, lines from memory, page walks."""
        return (*(f"{level.name}_lines" for level in self.levels[1:]), MEMORY, WALKS)

    def _geometry(self, levels: Sequence[Level], line_bytes: int) -> Integers:
        rows, start = [], 0
        for level in levels:
            sets, units = level.sets(line_bytes), 1 if level.shared else self.cores
            rows.append((sets, level.ways, units, start))
            start += sets * level.ways * units
        return np.array(rows, np.int64)

    def levels_of(self, touches: Touches, seed: int = 1) -> Integers:
        """Return the level of each access's hit (0: first; number of levels: memory); caches start empty."""
        random = self.replacement == "random"
        draws = np.random.default_rng(seed).integers(0, 1 << 31, len(touches) if random else 0)
        return replay(
            touches.core, touches.lines(self.line_bytes), touches.write, self._geometry(self.levels, self.line_bytes),
            self.inclusive, self.device_ways, draws,
        )  # fmt: skip

    def walked(self, touches: Touches) -> NDArray[np.bool_]:
        """Return flags of the core accesses that miss the TLB, which is fully associative with LRU replacement."""
        if not self.translations:
            return np.zeros(len(touches), np.bool_)
        tlb = self._geometry([Level("translations", self.translations * self.page_bytes, self.translations)],
                             self.page_bytes)  # fmt: skip
        writes = np.zeros(len(touches), np.bool_)
        pages = touches.lines(self.page_bytes)
        level = replay(touches.core, pages, writes, tlb, False, 0, np.zeros(0, np.int64))
        return np.asarray((level > 0) & (touches.core >= 0))

    def columns(self, touches: Touches, packets: int, seed: int = 1) -> Mapping[str, Integers]:
        """Return, per packet, the core accesses that hit each level but the first or memory, and the page walks."""
        level, by_core = self.levels_of(touches, seed), touches.core >= 0

        def count(chosen: NDArray[np.bool_]) -> Integers:
            return np.bincount(touches.packet[chosen & by_core], minlength=packets).astype(np.int64)

        counts = [count(level == k) for k in range(1, len(self.levels) + 1)] + [count(self.walked(touches))]
        return dict(zip(self.names, counts, strict=True))


def caches_of(part: Part) -> Caches:
    """Return the caches that a part `cpu_caches` describes; raises ModelError."""
    p: Any = part.parameters
    levels = [
        Level(name, int(getattr(p, f"{name}_kb") * KB), int(getattr(p, f"{name}_ways")), name == "l3")
        for name in ("l1", "l2", "l3")
    ]
    return Caches(
        tuple(levels), int(p.line_bytes), int(p.cores), int(p.device_ways), p.inclusive == "yes",
        str(p.replacement), int(p.page_bytes), int(p.translations),
    )  # fmt: skip


def set_distances(lines: NDArray[np.integer], sets: int = 1) -> Integers:
    """Return the stack distance of each access: other lines of its set used since the line's last use (-1: first use).

    An LRU cache with `ways` ways hits exactly the accesses with 0 <= distance < ways. sets = 1: fully associative.
    """
    lines = np.asarray(lines, np.int64)
    order = np.argsort(lines % sets, kind="stable")  # accesses of one set become adjacent
    _, number = np.unique(lines, return_inverse=True)
    distance = np.empty(len(lines), np.int64)
    distance[order] = stack_distances(
        number[order].astype(np.int64), np.full(int(number.max(initial=-1)) + 1, -1, np.int64)
    )
    return distance
