"""Exact times of successive messages through the switches of a static network whose routes take time to change.

    start at a switch   S = max(first word arrives, previous message has left) + change, if the switch's route changes
    leaves it           E = max(S + W, S' + W - D + 1 of the next switch, S'' + W - 2 D + 2 of the one after it, ..)

W words, FIFOs of D words between switches, times in cycles: a word moves one cycle after a place is free. A max-plus
recursion over messages in order of arrival (Baccelli, Cohen, Olsder, Quadrat, "Synchronization and Linearity", 1992);
messages that overtake each other before a crossing are not modelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

ROUNDS_PER_PATH = 60  # rounds over all paths, of which the second half is measured
THREADS_TO_SATURATE = 64  # enough threads to keep a crossing busy


@dataclass(frozen=True)
class Crossing:
    """A crossing of paths. paths: switches of each, in order. main: the switch on all paths. words: of a message.

    change, hop: cycles of a route change and of a hop. depth: words of a FIFO. turns: switches that take one message of
    each path in turn, and set the next route before its words arrive.
    """

    paths: Sequence[Sequence[int]]
    main: int
    words: int
    change: int
    depth: int
    hop: int = 1
    turns: frozenset[int] = frozenset()

    @property
    def shared(self) -> set[int]:
        """Return the switches on several paths."""
        tiles = [tile for path in self.paths for tile in path]
        return {tile for tile in tiles if tiles.count(tile) > 1}

    def length(self, path: int) -> int:
        """Return the cycles of the hops of a path; a message alone takes these and one cycle per word."""
        return (len(self.paths[path]) + 1) * self.hop


@dataclass
class Messages:
    """State of the switches for the recursion: when each is free, and its route."""

    crossing: Crossing
    free: dict[int, float] = field(default_factory=dict)
    route: dict[int, int] = field(default_factory=dict)
    behind: dict[tuple[int, int], float] = field(default_factory=dict)  # by path and switch
    entry: dict[int, float] = field(default_factory=dict)

    def send(self, path: int, time: float) -> float:
        """Send a message that is ready at a time; return when its last word has been read."""
        crossing, tiles = self.crossing, self.crossing.paths[path]
        time = max(time, self.entry.get(path, 0.0))
        first, starts = time + crossing.hop, []
        for tile in tiles:
            granted = max(time if tile in crossing.turns else first, self.behind.get((path, tile), 0.0))
            if tile in crossing.shared:
                granted = max(granted, self.free.get(tile, 0.0))
                granted += crossing.change if self.route.get(tile, path) != path else 0
                self.route[tile] = path
            starts.append(max(granted, first))
            first = starts[-1] + crossing.hop
        ends = self._ends(starts)
        for tile, end in zip(tiles, ends, strict=True):
            self.behind[path, tile] = self.free[tile] = end
        self.entry[path] = max(time + crossing.words, starts[0] + crossing.words - crossing.depth + 1)
        return ends[-1] + crossing.hop

    def _ends(self, starts: Sequence[float]) -> list[float]:
        crossing, ends = self.crossing, list[float]()
        for switch in range(len(starts)):
            end = starts[switch] + crossing.words
            for later in range(switch + 1, len(starts)):
                room = (later - switch) * crossing.depth
                if crossing.words > room:
                    end = max(end, starts[later] + crossing.words - room + (later - switch))
            ends.append(max(end, ends[-1] + crossing.hop) if ends else end)
        return ends


def in_turn(crossing: Crossing, threads: int) -> tuple[float, float]:
    """Return messages per cycle, and the mean cycles of each, of threads that send over all paths in turn."""
    messages, paths, ends = Messages(crossing), len(crossing.paths), list[float]()
    starts = list[float]()
    for k in range(ROUNDS_PER_PATH * paths):
        starts.append(ends[k - threads] if k >= threads else 0.0)
        ends.append(messages.send(k % paths, starts[-1]))
    half = ROUNDS_PER_PATH // 2 * paths
    rate = half / (ends[-1] - ends[-1 - half])
    return rate, sum(end - start for start, end in zip(starts[half:], ends[half:], strict=True)) / (len(ends) - half)


def alone_at_random(crossing: Crossing) -> float:
    """Return the mean cycles of a message without contention; paths are drawn with equal probability."""
    paths, total = len(crossing.paths), 0.0
    for path, tiles in enumerate(crossing.paths):
        path_counts = [sum(tile in other for other in crossing.paths) for tile in tiles]
        changes = sum(1 - 1 / number for number in path_counts)
        total += (crossing.words + crossing.length(path) + changes * crossing.change) / paths
    return total
