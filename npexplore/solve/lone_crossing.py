"""A machine that is one crossing of a static network, whose routes take time to change or are served in turns.

    in turn    closed: max-plus recursion over messages; Poisson: latency alone + wait of M/G/1 with the holding times,
               exact for equal ones (Friedman, Operations Research 13, 1965)
    at random  Markov chain of two groups of paths that alternate (queueing/route_changes.py). If the switch serves
               paths in turns there is no steady state: the difference of the paths' message counts is a random walk, as
               at an assembly line (Harrison, "Assembly-like queues", Journal of Applied Probability 10, 1973)

In larger machines, queueing neglects route changes and turns (`Server.approximation`).
"""

from typing import NamedTuple

from npexplore.errors import RefusedError
from npexplore.machine.program import Draw, Turn, Visit
from npexplore.machine.resources.streams import StaticStreams
from npexplore.machine.tree import Body
from npexplore.rows.expressions import Constant, Expression
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.message_times import THREADS_TO_SATURATE, Crossing, alone_at_random, in_turn
from npexplore.solve.queueing.route_changes import Groups

TESTED_LOAD = 0.95  # of the rate with route changes: waits were compared with simulation up to it
TESTED_UNLIKE = {True: 0.5, False: 0.85}  # the same for groups of unequal sizes: paths in turn, at random
SLACK = 1e-9  # relative rounding error


class LoneCrossing(NamedTuple):
    """A crossing, whether messages take its paths in turn (or draw them at random), and the seconds of a cycle."""

    crossing: Crossing
    in_turn: bool
    cycle: float

    def closed(self, threads: int) -> float:
        """Return the messages per second of a closed network of threads; raises RefusedError if the rate is unknown."""
        if self.in_turn:
            return in_turn(self.crossing, threads)[0] / self.cycle
        if threads == 1:
            return 1 / (alone_at_random(self.crossing) * self.cycle)
        crossing = self.crossing
        groups = self._groups()
        if threads <= 3 and crossing.words <= crossing.depth and max(groups.paths) > 1:
            raise RefusedError(
                f"queueing: {threads} messages of {crossing.words} words fit into FIFOs of {crossing.depth} words: "
                "the order of the paths of a group is not known"
            )
        return groups.throughput(threads) / self.cycle

    def limit(self) -> float:
        """Return the saturated rate in messages per second."""
        return (in_turn(self.crossing, THREADS_TO_SATURATE)[0] if self.in_turn else self._groups().limit()) / self.cycle

    def open(self, rate: float) -> float:
        """Return the mean latency in seconds with Poisson arrivals at a rate; raises RefusedError near saturation."""
        limit = self.limit()
        paths = len(self.crossing.paths)
        tested = TESTED_UNLIKE[self.in_turn] if paths > 2 and paths % 2 else TESTED_LOAD
        if rate > tested * limit * (1 + SLACK):
            raise RefusedError(
                f"queueing: messages over a crossing come at {rate / limit:.0%} of the {limit / 1e6:.4g} Mpps that "
                f"changes of route leave; waits are known up to {tested:.0%}"
            )
        if not self.in_turn:
            crossing = self.crossing
            length = sum(crossing.length(path) for path in range(len(crossing.paths))) / len(crossing.paths)
            return self._groups().time_in_system(rate * self.cycle, length) * self.cycle
        hold, latency_alone = 1 / limit, in_turn(self.crossing, 1)[1] * self.cycle
        return latency_alone + rate * hold**2 / (2 * (1 - rate * hold))

    def _groups(self) -> Groups:
        """Return the paths as two groups that meet only at the switch; raises RefusedError for other networks."""
        crossing, shared = self.crossing, self.crossing.shared - {self.crossing.main}
        groups: list[list[int]] = []
        for path, tiles in enumerate(crossing.paths):
            own = shared & {*tiles}
            near = [group for group in groups if any(own & {*crossing.paths[other]} for other in group)]
            groups = [group for group in groups if group not in near] + [[*(p for group in near for p in group), path]]
        meet_once = all(self._meet_once(group) for group in groups)
        if len(groups) != 2 or max(map(len, groups)) > 2 or not meet_once or crossing.turns or crossing.hop > 1:
            raise RefusedError(
                "queueing: changes of route are solved for paths in turn, and for two groups of one or two paths that "
                "meet before a crossing and behind it"
            )
        length = round(sum(crossing.length(path) for path in range(len(crossing.paths))) / len(crossing.paths) + 1e-9)
        return Groups((len(groups[0]), len(groups[1])), crossing.words, crossing.change, length, crossing.depth)

    def _meet_once(self, group: list[int]) -> bool:
        tiles = [self.crossing.paths[path] for path in group]
        common_tiles = [tile for tile in tiles[0] if all(tile in other for other in tiles)]
        return len(group) == 1 or (len(common_tiles) == 3 and common_tiles[1] == self.crossing.main)


def lone_crossing(batch: Batch, body: Body) -> LoneCrossing | None:
    """Return the crossing that a program consists of, if changes or turns matter; raises RefusedError if unsolved."""
    visits = [step for step in body if isinstance(step, Visit)]
    if len(visits) != 1 or not all(isinstance(step, Visit | Draw | Turn) for step in body):
        return None
    (visit,) = visits
    net, path = visit.resource, visit.operands.get("path")
    if not isinstance(net, StaticStreams) or visit.method != "stream" or isinstance(path, Constant):
        return None
    if not net.turns and (not net.change or len(net.trees) == 1):
        return None
    if len(batch) > 1:
        raise RefusedError("queueing: changes of route are solved for one machine at a time")
    return _described(net, body, path, visit.operands["words"])


def _described(net: StaticStreams, body: Body, path: Expression | None, words: Expression) -> LoneCrossing:
    drawn = next((step for step in body if isinstance(step, Draw | Turn) and step.variable is path), None)
    common_tiles = [tile for tile in net.crossings if all(tile in tree.before for tree in net.trees)]
    single_target = all(len(tree.targets) == 1 for tree in net.trees)
    if drawn is None or not common_tiles or not single_target or not isinstance(words, Constant):
        raise RefusedError(
            f"queueing: {net.name}: changes of route and turns are solved for messages of one length, over paths with "
            "one target each that all pass one switch, drawn at random or in turn"
        )
    if net.turns and (isinstance(drawn, Draw) or any(list(order) != sorted(order) for order in net.turns.values())):
        raise RefusedError(
            f"queueing: {net.name}: switches take one message of each path in a fixed order, and packets come in "
            "another: messages of one path wait without limit, or all threads wait for another path (no steady state)"
        )
    paths = [tuple(tree.before) for tree in net.trees]
    crossing = Crossing(paths, common_tiles[0], int(words.value), net.change, net.depth, net.hop, frozenset(net.turns))
    return LoneCrossing(crossing, isinstance(drawn, Turn), net.cycle)
