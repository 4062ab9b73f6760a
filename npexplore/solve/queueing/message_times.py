"""Messages one after the other over the switches of a static network, whose routes take time to change: exact times.

    start at a switch   S = max(first word is there, message before has left) + change, if its route was another
    leaves it           E = max(S + W, S' + W - D + 1 of the next switch, S'' + W - 2 D + 2 of the one after it, ..)

W words, FIFOs of D words between switches, times in cycles: a word goes on a cycle after a place is free. A max-plus
recursion over messages in the order in which they come (Baccelli, Cohen, Olsder, Quadrat, "Synchronization and
Linearity", 1992); messages that overtake each other on their way to a crossing are not followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

ROUNDS_PER_PATH = 60  # of all paths, of which the second half is counted
THREADS_TO_SATURATE = 64  # that keep a crossing busy


@dataclass(frozen=True)
class Crossing:
    """Paths as switches in order, the switch that all pass, words of a message; change, FIFOs and hops in cycles.

    turns: switches that take one message of each path in turn, and set themselves to a route before its words come.
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
        """Return the switches that several paths pass."""
        passed = [tile for path in self.paths for tile in path]
        return {tile for tile in passed if passed.count(tile) > 1}

    def length(self, path: int) -> int:
        """Return the cycles of a message alone on a path beside its words."""
        return (len(self.paths[path]) + 1) * self.hop


@dataclass
class Messages:
    """When switches are free, and which routes they have."""

    crossing: Crossing
    free: dict[int, float] = field(default_factory=dict)
    route: dict[int, int] = field(default_factory=dict)
    behind: dict[tuple[int, int], float] = field(default_factory=dict)  # by path and switch
    entry: dict[int, float] = field(default_factory=dict)

    def send(self, path: int, time: float) -> float:
        """Return when the last word of a message that is ready at a time has been read."""
        one, tiles = self.crossing, self.crossing.paths[path]
        time = max(time, self.entry.get(path, 0.0))
        first, starts = time + one.hop, []
        for tile in tiles:
            granted = max(time if tile in one.turns else first, self.behind.get((path, tile), 0.0))
            if tile in one.shared:
                granted = max(granted, self.free.get(tile, 0.0))
                granted += one.change if self.route.get(tile, path) != path else 0
                self.route[tile] = path
            starts.append(max(granted, first))
            first = starts[-1] + one.hop
        ends = self._ends(starts)
        for tile, end in zip(tiles, ends, strict=True):
            self.behind[path, tile] = self.free[tile] = end
        self.entry[path] = max(time + one.words, starts[0] + one.words - one.depth + 1)
        return ends[-1] + one.hop

    def _ends(self, starts: Sequence[float]) -> list[float]:
        one, ends = self.crossing, list[float]()
        for here in range(len(starts)):
            end = starts[here] + one.words
            for ahead in range(here + 1, len(starts)):
                room = (ahead - here) * one.depth
                if one.words > room:
                    end = max(end, starts[ahead] + one.words - room + (ahead - here))
            ends.append(max(end, ends[-1] + one.hop) if ends else end)
        return ends


def in_turn(crossing: Crossing, threads: int) -> tuple[float, float]:
    """Return messages a cycle of so many threads that send over all paths in turn, and the mean cycles of each."""
    messages, paths, done = Messages(crossing), len(crossing.paths), list[float]()
    began = list[float]()
    for k in range(ROUNDS_PER_PATH * paths):
        began.append(done[k - threads] if k >= threads else 0.0)
        done.append(messages.send(k % paths, began[-1]))
    half = ROUNDS_PER_PATH // 2 * paths
    rate = half / (done[-1] - done[-1 - half])
    return rate, sum(end - start for start, end in zip(began[half:], done[half:], strict=True)) / (len(done) - half)


def alone_at_random(crossing: Crossing) -> float:
    """Return the mean cycles of a message that meets no other, where each is sent over any path, all alike."""
    paths, total = len(crossing.paths), 0.0
    for path, tiles in enumerate(crossing.paths):
        others = [sum(tile in other for other in crossing.paths) for tile in tiles]
        changes = sum(1 - 1 / number for number in others)
        total += (crossing.words + crossing.length(path) + changes * crossing.change) / paths
    return total
