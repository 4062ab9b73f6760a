"""Demands of a recorded program: time and visits per packet at every server, without contention.

Demand = service time x visits (Denning and Buzen's operational analysis). Computed over the distinct packets of a
workload with their weights; a number that depends on a random choice counts as spread evenly over the members.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.expressions import Condition, Values, Variable, evaluate, holds
from npexplore.machine.program import Body, Branch, Draw, Fork, Let, Loop, Parallel, Turn, Visit

LONGEST_LOOP = 100_000


@dataclass
class Demand:
    """Per packet: seconds occupied, the part not spent at an inner server, visits, and each member's seconds."""

    seconds: float = 0.0
    inner: float = 0.0
    visits: float = 0.0
    members: dict[int, float] = field(default_factory=dict)
    spread: float = 0.0  # seconds that fall evenly on all members


@dataclass
class Demands:
    """Demands of one program: by server name, the delay at no server, and the latency without contention."""

    servers: dict[str, Demand] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0
    latency: float = 0.0
    side_by_side: bool = False  # whether the program forks or runs parts in parallel

    def largest(self, server: str, members: int) -> float:
        """Return the seconds per packet at the most loaded member of a server."""
        demand = self.servers[server]
        return demand.spread / members + max(demand.members.values(), default=0.0)


def demands(body: Body, columns: dict[Variable, Values], weights: Values) -> Demands:
    """Return the demands of a recorded body.

    columns: per packet column, the values of the distinct packets (shape n); weights: their shares (shape n, sum 1).
    """
    result = Demands()
    environment: dict[Variable, Values | None] = dict(columns)
    result.latency = float(np.sum(_walk(body, environment, np.asarray(weights, dtype=np.float64), result)))
    return result


def _walk(body: Body, environment: dict[Variable, Values | None], weights: Values, result: Demands) -> Values:
    """Add the demands of a body to the result; return its weighted latency per distinct packet."""
    latency = np.zeros_like(weights)
    for step in body:
        if isinstance(step, Visit):
            latency = latency + _visit(step, environment, weights, result)
        elif isinstance(step, Let):
            environment[step.variable] = evaluate(step.value, environment)
        elif isinstance(step, Draw | Turn):
            environment[step.variable] = None
        elif isinstance(step, Loop):
            latency = latency + _loop(step, environment, weights, result)
        elif isinstance(step, Branch):
            taken = _share(step.condition, environment)
            latency = latency + _walk(step.then, dict(environment), weights * taken, result)
            latency = latency + _walk(step.otherwise, dict(environment), weights * (1 - taken), result)
        elif isinstance(step, Fork):
            result.side_by_side = True
            _walk(step.body, dict(environment), weights, result)
        else:
            assert isinstance(step, Parallel)
            result.side_by_side = True
            parts = [_walk(part, dict(environment), weights, result) for part in step.bodies]
            latency = latency + np.maximum.reduce([np.zeros_like(weights), *parts])
    return latency


def _share(condition: Condition | float, environment: dict[Variable, Values | None]) -> Values:
    if not isinstance(condition, Condition):
        return np.float64(condition)  # type: ignore[return-value]
    value = holds(condition, environment)
    if value is None:
        raise ModelError("a branch must not depend on a random choice by its condition; give it a probability")
    return value


def _loop(step: Loop, environment: dict[Variable, Values | None], weights: Values, result: Demands) -> Values:
    count = evaluate(step.count, environment)
    if count is None:
        raise ModelError("the count of a loop must not depend on a random choice")
    turns = int(np.max(count, initial=0))
    if turns > LONGEST_LOOP:
        raise ModelError(f"a loop runs {turns} times; at most {LONGEST_LOOP} are supported")
    latency = np.zeros_like(weights)
    for index in range(turns):
        inside: dict[Variable, Values | None] = {**environment, step.index: np.float64(index)}  # type: ignore[dict-item]
        latency = latency + _walk(step.body, inside, weights * (count > index), result)
    return latency


def _visit(step: Visit, environment: dict[Variable, Values | None], weights: Values, result: Demands) -> Values:
    values = {name: evaluate(value, environment) for name, value in step.operands.items()}
    uses = step.resource.uses(step.method, values)
    if step.result is not None:
        environment[step.result] = uses.result
    place, live = f"{step.resource.name}.{step.method}", weights > 0
    if np.any((uses.latency < 0) & live):
        raise ModelError(f"{place} takes a negative time for some packets of this workload")
    sizes = {server.name: server.members for server in step.resource.servers()}
    for hold in uses.holds:
        demand = result.servers.setdefault(hold.server, Demand())
        seconds = weights * hold.seconds
        total = float(np.sum(seconds))
        demand.seconds += total
        demand.inner += total if hold.inner is None else float(np.sum(weights * hold.inner))
        demand.visits += float(np.sum(weights)) * hold.visits
        if hold.member is None:
            demand.spread += total
        else:
            members = np.broadcast_to(np.asarray(hold.member), seconds.shape).astype(np.int64)
            outside = live & ((members < 0) | (members >= sizes[hold.server]))
            if np.any(outside):
                raise ModelError(
                    f"{place}: {hold.server} has members 0..{sizes[hold.server] - 1}, got {members[outside][0]}"
                )
            for member in np.unique(members[live]):
                share = float(np.sum(seconds[members == member]))
                demand.members[int(member)] = demand.members.get(int(member), 0.0) + share
    for name, amount in uses.counts.items():
        result.counts[name] = result.counts.get(name, 0.0) + float(np.sum(weights * amount))
    result.delay += float(np.sum(weights * uses.delay))
    return weights * uses.latency
