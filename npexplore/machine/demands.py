"""Demands of a recorded program: time and visits per packet at every server, without contention.

Demand = service time x visits (Denning and Buzen's operational analysis). For a server that is held over other visits,
the service time is the time from the take to the give (machine/sections.py). Demands are computed over the distinct
packets of a workload with their weights. A member that a random choice selects counts as spread evenly over all.

Loop iterations do not depend on each other, so many are walked at once as arrays, as if they were packets. Iterations
that take more units than they give, or that hand packets on, are walked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.amounts import repeated, total_of
from npexplore.machine.lone import uses_of
from npexplore.machine.loop_turns import TooManyTurnsError
from npexplore.machine.members import Members
from npexplore.machine.program import HOME
from npexplore.machine.progress import (
    LEAST_DIVISOR,
    ROUNDING_S,
    Chain,
    Held,
    Progress,
    TurnsDifferError,
    Value,
    distinct,
)
from npexplore.machine.resources.base import LEAST_LOADED, Hold, Taken, Uses
from npexplore.machine.sections import Demand, Demands, Sections, without
from npexplore.machine.tree import Body, Branch, Fork, Give, Loop, Parallel, Take, Visit
from npexplore.machine.walk import Known
from npexplore.rows.expressions import Values, Variable, evaluate

MAX_SCV_IN_TURN = 0.25  # of service times; up to it, members visited in turn count as one queue
AT_ONCE = 8192  # loop iterations x distinct packets that are walked at once


def demands(
    body: Body, columns: Mapping[Variable, Values | None], weights: Values, at_once: int = AT_ONCE, apart: bool = False
) -> Demands:
    """Return the demands of a recorded body.

    columns: per packet column, the values of the distinct packets (shape n). weights: their shares (shape n, sum 1).
    at_once: limit on loop iterations x n that are walked at once (1: one after the other). apart: whether to keep the
    times of each distinct packet at each server. Raises ModelError for a program that cannot be evaluated.
    """
    if at_once > 1:
        try:
            return _demands(body, columns, weights, at_once, apart)
        except TooManyTurnsError:
            raise
        except (TurnsDifferError, ModelError):
            pass  # walking iterations one by one shows which of them is at fault
    return _demands(body, columns, weights, 1, apart)


def _demands(
    body: Body, columns: Mapping[Variable, Values | None], weights: Values, at_once: int, apart: bool
) -> Demands:
    shares = np.asarray(weights, dtype=np.float64)
    walk, path = _Program(at_once, len(shares) if apart else 0), Progress(np.zeros_like(shares), shares)
    walk.body(body, {**columns, HOME: None}, path)
    walk.sections.settle(path)
    result, by_server = walk.result, walk.sections.by_server
    uses: Any = walk.uses  # sums here; arrays for a visit
    result.clock = path.clock * shares
    result.latency = float(np.sum(result.clock))
    result.own_waits = walk.own.settle()
    result.share, result.chance = float(shares.sum()), float(uses.chance)
    variance, mean = _variance(result.clock, shares), result.latency / max(result.share, LEAST_DIVISOR)
    result.scv = variance / mean**2 if mean > ROUNDING_S else 0.0
    result.variance = variance + result.chance / max(result.share, LEAST_DIVISOR)
    result.latency_parts = {name: seconds for name, seconds in walk.latency_parts.items() if seconds > 0}
    result.sections = {name: section for name, section in by_server.items() if not section.untied}
    result.untied = by_server.keys() - result.sections.keys()
    result.loose = {
        name: (section.demand.seconds, shares * path.units.get(name, 0.0))
        for name, section in by_server.items()  # in this fixed order: the order of a set varies between processes
        if name in result.untied and not section.lent
    }
    for name, section in result.sections.items():
        result.servers.setdefault(name, Demand()).merge(section.demand)
    result.spent, result.counts = without(uses.spent, result.untied), uses.counts
    result.visited, result.order = without(walk.sections.counts.visited, result.untied), walk.sections.counts.order
    if result.freed > 0:
        result.early = {place: seconds / result.freed for place, seconds in without(walk.early, result.untied).items()}
    result.overlap = {chain: s for (chain, _), s in without(_apart(uses.overlap), result.untied).items()}
    result.aside = {name: s for name, s in uses.beside.items() if name and s and name not in result.untied}
    return result


def _variance(clock: Values, shares: Values) -> float:
    """Return the variance of the time between packets, in s²; clock: each packet's time x its share."""
    live, total = shares > 0, max(float(shares.sum()), LEAST_DIVISOR)
    return max(float((clock[live] ** 2 / shares[live]).sum()) / total - (float(clock.sum()) / total) ** 2, 0.0)


def _apart(overlap: dict[Chain, float]) -> dict[tuple[Chain, str], float]:
    """Return overlaps by (servers held, ""), the keys that `without` needs."""
    return {(chain, ""): seconds for chain, seconds in overlap.items()}


class _Program(Members):
    """Walks a program for all distinct packets at once; amounts are sums over all packets."""

    every_side = True

    def __init__(self, at_once: int, rows: int = 0) -> None:
        super().__init__(at_once)
        self.rows = rows  # number of distinct packets, if the times of each are kept, else 0
        self.result, self.sections = Demands(), Sections()
        self.early: dict[tuple[Chain, str], float] = {}  # seconds spent before bytes leave the receive buffer x bytes
        self.sides = 0  # nesting depth of branches, forks and parallel parts

    def body(self, body: Body, known: Known, path: Progress) -> None:
        super().body(body, known, path)
        self.sections.leave(path)

    def of(self, path: Progress, amount: Value) -> float:
        """Return the sum over packets of amounts (shape n, or one for all) by their shares."""
        if type(amount) is np.ndarray and amount.ndim:
            return total_of(path.share * amount)
        return path.total * float(amount)

    # ---- blocks

    def apart(self, go: Callable[..., None], *along: Any) -> None:
        """Walk work that not every packet does, or not in this order; then forget which members it left busy."""
        self.sides += 1
        go(*along)
        self.sides -= 1
        self.busy_behind.clear()

    def branch(self, step: Branch, known: Known, path: Progress) -> None:
        self.apart(super().branch, step, known, path)

    def fork(self, step: Fork, known: Known, path: Progress) -> None:
        self.apart(super().fork, step, known, path)

    def parallel(self, step: Parallel, known: Known, path: Progress) -> None:
        self.apart(super().parallel, step, known, path)

    def turns(self, step: Loop, known: Known, path: Progress, index: Values, count: Value) -> None:
        start = path.side_by_side(np.float64(1) * (np.broadcast_to(count, path.clock.shape) > index[:, None]))
        inside = replace(start, units=dict(start.units))
        stacked = {
            variable: repeated(values, len(index)) if type(values) is np.ndarray and values.ndim else values
            for variable, values in known.items()
        }
        stacked[step.index] = np.repeat(index, len(path.clock))
        freed_before, spent_before, fresh_before = self.result.freed, dict(self.uses.spent), self.fresh
        steps_before = self.sections.counts.lengths()
        self.fresh = set()
        self.body(step.body, stacked, inside)
        self.fresh |= fresh_before
        self.busy_behind.clear()
        if path.turns == 1 and self.result.freed > freed_before:  # on average after half of the iterations
            mean_spent = {place: (spent_before.get(place, 0.0) + s) / 2 for place, s in self.uses.spent.items()}
            self.leaves(self.result.freed - freed_before, mean_spent)
        self.sections.counts.repeat(steps_before, len(index))
        path.after(inside, start)

    def moved(self, held: Held, path: Progress) -> None:
        self.sections.by_server[held.server.name].outlives = True
        self.sections.close(path, path.open.index(held))

    def forked_off(self, path: Progress, strand: Progress, parallel: bool) -> None:
        self.result.side_by_side = True
        self.sections.tie(path, strand, parallel)

    def chosen(self, probability: float, path: Progress, sides: Sequence[Progress]) -> None:
        times = [self.of(side, side.clock) / max(side.total, LEAST_DIVISOR) for side in sides]
        self.uses.chance += path.total * probability * (1 - probability) * (times[0] - times[1]) ** 2

    def joined(self, path: Progress, ends: Sequence[Value], chances: Sequence[Value]) -> Value:
        total = max(path.total, LEAST_DIVISOR)
        variances = [0.0, *(chance / total for chance in chances)]
        self.own.parts([self.of(path, end) / total for end in ends], variances, path.total)
        return path.total * max(variances)

    def longest(self, path: Progress, ends: Sequence[Value], parts: Sequence[dict[str, Value]]) -> None:
        """Add each part's seconds times the fraction of its time that belongs to packets for which it ends last."""
        for number, part in enumerate(parts, start=1):
            passed = (ends[number] - path.clock) * path.share
            last = np.argmax(ends, axis=0) == number
            share = float(passed[last].sum()) / max(float(passed.sum()), LEAST_DIVISOR)
            for name, seconds in part.items():
                self.latency_parts[name] = self.latency_parts.get(name, 0.0) + seconds * share

    # ---- holding

    def take(self, step: Take, known: Known, path: Progress) -> None:
        for number, holding in enumerate(step.holdings):
            server = holding.server
            assert server is not None
            place, units = f"take of {server.name!r}", evaluate(holding.units, known)
            if units is None:
                raise ModelError(f"{place}: the number of units must not depend on a random choice")
            member, outer, variance = evaluate(holding.member, known), path.open, self.uses.chance
            held = self.held[holding] = Held(server, holding, units, member, path.clock, outer, variance)
            for earlier in (self.held[earlier_holding] for earlier_holding in step.holdings[:number]):
                known_members = earlier.member is not None and member is not None
                if earlier.server is server and known_members and np.any((earlier.member == member) & path.live):
                    raise ModelError(f"{place}: two holdings of one take_all must be of different members")
            self.sections.begin(path, held, 1, place)

    def give(self, step: Give, known: Known, path: Progress) -> None:
        held = self.held[step.holding]
        ended = replace(held, variance=self.uses.chance)
        self.sections.end(path, ended, f"give of {held.server.name!r}")

    # ---- visits

    def visit(self, step: Visit, known: Known, path: Progress) -> None:
        """Add what a visit uses, and the units that it takes or gives across visits."""
        values = {name: evaluate(value, known) for name, value in step.operands.items()}
        if len(path.clock) == 1:  # numbers are faster than arrays, and their results are cached
            values = {name: v[0] if type(v) is np.ndarray and v.ndim else v for name, v in values.items()}
        place, servers = f"{step.resource.name}.{step.method}", step.resource.reached
        operands, grouped, per_packet = distinct(step.resource, values, path)
        uses = uses_of(step.resource, step.method, operands, grouped.live)
        self.beside_itself(uses, step, grouped, path)
        if not self.sides and any(value is None for value in values.values()):
            self.check_drawn(step, values, known)
        if not (self.sides or uses.aside):
            self.come_again(uses, step, values, path, per_packet)
        for hold in uses.holds if self.rows else ():
            times = (path.share * per_packet(hold.seconds)).reshape(-1, self.rows).sum(axis=0)
            self.result.apart[hold.server] = self.result.apart.get(hold.server, 0.0) + times
        self.merge(uses, path, grouped, step)
        for hold in uses.holds:
            if hold.units is not None and path.total:
                self.sections.take_in_all(hold.server, per_packet(hold.units), path)  # per packet of each iteration
        path.clock = path.clock + per_packet(uses.latency)
        if uses.frees is not None:
            freed = self.of(path, uses.frees)
            self.result.freed += freed
            if path.turns == 1:
                self.leaves(freed, self.uses.spent)
        if uses.hands_on:
            if path.turns > 1:
                raise TurnsDifferError
            self.result.handed.setdefault(step.resource.name, []).append((path.share, values))

        def held(one: Taken, since: Value) -> Held:
            units, member = per_packet(one.units), per_packet(one.member)
            return Held(servers[one.server], one.server, units, member, since, path.open, self.uses.chance)

        for taken in uses.opens:
            self.sections.begin(path, held(taken, path.clock), 0, place)
        for taken in uses.closes:
            self.sections.end(path, held(taken, None), place)
        if step.result is not None:
            known[step.result] = per_packet(uses.result)

    def beside_itself(self, uses: Uses, step: Visit, seen: Progress, path: Progress) -> None:
        """Note when concurrent work of one packet visits which server, if there is such work."""
        if not path.total or not (self.own.strands or uses.beside):
            return
        begin, latency = self.of(path, path.clock) / path.total, self.of(seen, uses.latency) / path.total
        visits = [(hold.server, begin, self.of(seen, hold.seconds), False) for hold in uses.holds]
        visits += [(server, begin + latency, self.of(seen, seconds), True) for server, seconds in uses.beside.items()]
        for name, start, seconds, posted in visits:
            server, strand = step.resource.reached[name], self.own.strand
            if posted:
                self.own.enter(posted=True)
            if server.units == 1:
                visit_s = seconds / path.total * path.turns
                self.own.visit(name, start, visit_s, path.total / path.turns / server.members)
            self.own.strand = strand

    def leaves(self, number: float, spent: Mapping[tuple[Chain, str], Any]) -> None:
        """Note that so many bytes (number) leave the receive buffer after these seconds were spent."""
        for place, seconds in spent.items():
            self.early[place] = self.early.get(place, 0.0) + number * seconds

    def occupied(
        self, hold: Hold, spent: Mapping[tuple[Chain, str], Value], path: Progress, seen: Progress, step: Visit
    ) -> None:
        """Add the time for which a visit occupies a server, and what the visit holds."""
        demand, server = self.result.servers.setdefault(hold.server, Demand()), step.resource.reached[hold.server]
        place = f"{step.resource.name}.{step.method}: {hold.server}"
        visits, seconds, squares = self.of(seen, hold.visits), self.of(seen, hold.seconds), self.of(seen, hold.squares)
        member, counter = hold.member, self.counter(step, server.members) if hold.member is None else ""
        first, line_s = self.turned.get(hold.server, (counter, 0.0))
        if counter != first:  # members taken in turn by two counters are loaded as if they were drawn at random
            demand.chosen, demand.spread, demand.in_turn = demand.chosen - line_s, demand.spread + line_s, 0.0
            self.turned[hold.server] = ("", 0.0)
            counter = ""
        if counter and visits * squares <= (1.0 + MAX_SCV_IN_TURN) * seconds**2:
            member = np.asarray(LEAST_LOADED)  # the next member in turn has the least work queued
        total = demand.add(seen.share * hold.seconds, member, seen.live, server.members, place)
        if counter:
            demand.in_turn += total if member is None else 0.0
            self.turned[hold.server] = (counter, line_s if member is None else line_s + total)
        if not path.aside:
            self.sections.counts.add(hold.server, visits, seconds, squares, path.chain, spent)
        demand.visits += visits
        demand.squares += squares
        demand.variance += self.of(seen, hold.variance)
        if hold.units is not None:
            self.sections.inside(hold.server, hold.units, hold, seen)
