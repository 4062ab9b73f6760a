"""Results for paths across one switch whose change of route takes time: paths in turn, or two random paths.

in turn  closed: max-plus recursion of messages; Poisson: M/D/1 with the time of words and a change as service
random   chain at the ends of messages (solve/queueing/route_changes.py): closed exact; with Poisson arrivals within
         0.1 % of the chain of both paths' queue lengths (tests/law/test_law_crossing.py): limited polling, whose
         switch-over times depend on the waiting messages
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import StaticStreams
from npexplore.solve.queueing.message_times import THREADS_TO_SATURATE, Crossing, in_turn
from npexplore.solve.queueing.route_changes import Groups
from npexplore.study.laboratory.lone import LoneResource


def closed_crossing(lone: LoneResource, threads: int) -> float:
    """Return the messages/s of `threads` threads; raises RefusedError unless paths are in turn or two random paths."""
    crossing, cycle = _crossing(lone)
    if lone.operands["path"] == "round_robin":
        return in_turn(crossing, threads)[0] / cycle
    return _two(crossing).throughput(threads) / cycle


def open_crossing(lone: LoneResource, rate: float) -> float:
    """Return the mean time of a message in s with Poisson arrivals; rate: messages/s."""
    crossing, cycle = _crossing(lone)
    if lone.operands["path"] == "round_robin":
        hold_cycles, alone_cycles = 1 / in_turn(crossing, THREADS_TO_SATURATE)[0], in_turn(crossing, 1)[1]
        load = _steady(rate * cycle * hold_cycles)
        return cycle * (alone_cycles + load * hold_cycles / (2 * (1 - load)))
    groups = _two(crossing)
    _steady(rate * cycle * (groups.words + groups.change))
    return cycle * groups.time_in_system(rate * cycle, groups.back)


def _crossing(lone: LoneResource) -> tuple[Crossing, float]:
    net, words = lone.resource, lone.number("words")
    assert isinstance(net, StaticStreams)
    paths = [tuple(tree.before) for tree in net.trees]
    main = [tile for tile in net.crossings if all(tile in path for path in paths)]
    drawn = lone.operands["path"] in ("random", "round_robin") and lone.visit == "stream" and isinstance(words, int)
    if not drawn or len(main) != 1 or len(paths) % 2 or net.turns or net.hop > 1:
        raise RefusedError("theory: a crossing needs an even number of paths in turn or at random, without turns")
    return Crossing(paths, main[0], int(words), net.change, net.depth), net.cycle


def _two(one: Crossing) -> Groups:
    if len(one.paths) > 2:
        raise RefusedError("theory: the chain of changes of route is that of two paths")
    return Groups((1, 1), one.words, one.change, one.length(0), one.depth)


def _steady(load: float) -> float:
    if load >= 1:
        raise RefusedError(f"theory: the load is {load:.3g} with changes of route, no steady state")
    return load
