"""All markings that can be reached: how many, deadlocks with the way there, bounds, and what grows without end.

Time is left out: whatever may fire, may be next. A net is unbounded where a marking is reached that covers an earlier
one on the way to it (Karp & Miller, J. Comput. Syst. Sci. 3(2), 1969), and what happened in between can happen again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from npexplore.errors import RefusedError
from npexplore.machine.petri import Arc, Formula, Net
from npexplore.records import content_hash
from npexplore.solve.petri.firing import Firing
from npexplore.solve.petri.graph import MOST_STATES, find_graph
from npexplore.solve.petri.net_result import NetResult
from npexplore.solve.petri.structure import incidence

SEARCHED, DEEPEST = 5_000, 400  # markings, and firings one after the other, among which growth is looked for


@dataclass(frozen=True)
class Deadlock:
    """A marking in which no transition can fire, and a shortest sequence of firings that leads there."""

    marking: dict[str, int]
    firings: list[str]


@dataclass(frozen=True)
class Growth:
    """Why a net is unbounded: after `firings`, `again` can fire any number of times, and puts more on `places`."""

    places: list[str]
    firings: list[str]
    again: list[str]


@dataclass(frozen=True, repr=False)
class Markings(NetResult):
    """The markings of a net; None where not explored: `refused` says why. vanishing: those in which no time passes.

    Example:
        >>> from npexplore.petri import find_markings, load_net
        >>> find_markings(load_net("philosophers")).dead_markings
        2
    """

    refused: str | None = None
    states: int | None = None
    arcs: int | None = None
    vanishing: int | None = None
    dead_markings: int | None = None
    deadlock: Deadlock | None = None
    max_tokens_in_place: int | None = None
    max_tokens_in_marking: int | None = None
    bounded: bool | None = None
    witness: Growth | None = None

    solver = "markings"
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return one row with all counts."""
        return [{name: value for name, value in vars(self).items() if name not in ("refused", "deadlock", "witness")}]


def find_markings(net: Net, most_states: int = MOST_STATES, most_bytes: int | None = None) -> Markings:
    """Return a net's reachable markings and deadlocks, or why it is unbounded or was not explored.

    net: the net. most_states: the largest number of markings. most_bytes: the most memory to use, in
    bytes (None: half of what is available).
    """
    try:
        growth = find_growth(net)
        if growth:
            return Markings(bounded=False, witness=growth)
        graph = find_graph(net, most_states, most_bytes)
    except RefusedError as error:
        return Markings(str(error))
    deadlock = None
    if len(graph.dead):
        first = int(graph.dead[0])
        deadlock = Deadlock(net.marking(graph.some(slice(first, first + 1))[0]), graph.way(first))
    in_place, in_marking = graph.most()
    return Markings(
        states=len(graph.held),
        arcs=graph.arcs,
        vanishing=int(graph.vanishing.sum()),
        dead_markings=len(graph.dead),
        deadlock=deadlock,
        max_tokens_in_place=in_place,
        max_tokens_in_marking=in_marking,
        bounded=True,
    )


def find_growth(net: Net) -> Growth | None:
    """Return why a net is unbounded; None where no reason is found, breadth first among the nearest markings."""
    if bounded_by_weights(net):
        return None
    firing = Firing(net)
    rows, parents, by = [net.initial], [-1], [-1]
    known = {net.initial.tobytes()}
    level = [0]
    for _ in range(DEEPEST):
        origin, following, _, which = firing.firings(np.array([rows[k] for k in level], dtype=np.int32))
        fresh: list[int] = []
        for at in range(len(origin)):
            row = np.ascontiguousarray(following[at], dtype=np.int32)
            if row.tobytes() in known:
                continue
            known.add(row.tobytes())
            rows.append(row)
            parents.append(level[origin[at]])
            by.append(int(which[at]))
            fresh.append(len(rows) - 1)
        if not fresh or len(rows) > SEARCHED:
            return None
        table, above = np.array(rows), np.array(parents)
        now, ancestors = table[fresh], above[fresh]
        while (ancestors >= 0).any():
            older = table[ancestors]
            for k in np.flatnonzero((older <= now).all(axis=1) & (ancestors >= 0)):
                between = _between(fresh[k], int(ancestors[k]), parents, by)
                grown = frozenset(np.flatnonzero(now[k] > older[k]).tolist())
                if can_repeat(firing, grown, between):
                    before = _between(int(ancestors[k]), 0, parents, by)
                    names = [one.name for one in net.transitions]
                    return Growth(
                        [net.places[p].name for p in sorted(grown)],
                        [names[t] for t in before],
                        [names[t] for t in between],
                    )
            ancestors = np.where(ancestors >= 0, above[ancestors], -1)
        level = fresh
    return None


def _between(state: int, ancestor: int, parents: list[int], by: list[int]) -> list[int]:
    firings = []
    while state != ancestor:
        firings.append(by[state])
        state = parents[state]
    return firings[::-1]


def can_repeat(firing: Firing, grown: frozenset[int], fired: list[int]) -> bool:
    """Return whether more tokens on some places leave all of a sequence as possible as it was.

    They must not inhibit, limit or steer anything in it, and feed nothing that comes before it by its priority.
    """
    transitions = firing.net.transitions
    lowest = min(firing.level[t] for t in fired)
    for t, one in enumerate(transitions):
        read = {p for formula in one.formulas for p in formula.reads} | _places(one.inhibit)
        if firing.level[t] > lowest:
            read |= _places(one.take) | _places(one.test)
        elif t not in fired:
            continue
        if read & grown:
            return False
    return not grown & {place for place, _ in firing.capacity}


def bounded_by_weights(net: Net) -> bool:
    """Return whether weights above 0 of the places show that no firing adds to the whole: then the net is bounded."""
    limited = [place.capacity is not None for place in net.places]
    if any(isinstance(arc.weight, Formula) for one in net.transitions for arc in (*one.take, *one.give)):
        return False
    free = incidence(net)[[not one for one in limited]].T
    if not free.size:
        return all(limited)
    answer = linprog(np.zeros(free.shape[1]), A_ub=free, b_ub=np.zeros(len(free)), bounds=(1, None), method="highs")
    return bool(answer.status == 0)


def _places(arcs: tuple[Arc, ...]) -> set[int]:
    return {arc.place for arc in arcs}
