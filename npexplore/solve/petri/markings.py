"""Reachable markings: their number, deadlocks with a firing sequence, bounds, and a witness of unboundedness.

Time is neglected: any enabled transition may fire next. A net is unbounded if a marking covers an earlier one on its
firing sequence (Karp & Miller, J. Comput. Syst. Sci. 3(2), 1969), and the firings in between can repeat.
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

SEARCHED, DEEPEST = 5_000, 400  # limits of the search for growth: markings, depth in firings


@dataclass(frozen=True)
class Deadlock:
    """A marking in which no transition can fire, and a shortest sequence of firings that leads there."""

    marking: dict[str, int]
    firings: list[str]


@dataclass(frozen=True)
class Growth:
    """Why a net is unbounded: after `firings`, the sequence `again` can repeat and adds tokens to `places`."""

    places: list[str]
    firings: list[str]
    again: list[str]


@dataclass(frozen=True, repr=False)
class Markings(NetResult):
    """The markings of a net (None: not explored, for the reason `refused`). vanishing: without time passing in them.

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

    net: the net. most_states: the largest number of markings. most_bytes: the largest memory to use, in bytes (None:
    half of the available memory).
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
    """Return a witness of unboundedness from a breadth-first search of the nearest markings (None: none found)."""
    if bounded_by_weights(net):
        return None
    firing = Firing(net)
    rows, parents, fired_by = [net.initial], [-1], [-1]
    known = {net.initial.tobytes()}
    level = [0]
    for _ in range(DEEPEST):
        origin, following, _, which = firing.firings(np.array([rows[k] for k in level], dtype=np.int32))
        new_rows: list[int] = []
        for at in range(len(origin)):
            row = np.ascontiguousarray(following[at], dtype=np.int32)
            if row.tobytes() in known:
                continue
            known.add(row.tobytes())
            rows.append(row)
            parents.append(level[origin[at]])
            fired_by.append(int(which[at]))
            new_rows.append(len(rows) - 1)
        if not new_rows or len(rows) > SEARCHED:
            return None
        table, parent_of = np.array(rows), np.array(parents)
        new_markings, ancestors = table[new_rows], parent_of[new_rows]
        while (ancestors >= 0).any():
            ancestor_markings = table[ancestors]
            for k in np.flatnonzero((ancestor_markings <= new_markings).all(axis=1) & (ancestors >= 0)):
                between = _between(new_rows[k], int(ancestors[k]), parents, fired_by)
                grown = frozenset(np.flatnonzero(new_markings[k] > ancestor_markings[k]).tolist())
                if can_repeat(firing, grown, between):
                    firings_before = _between(int(ancestors[k]), 0, parents, fired_by)
                    names = [transition.name for transition in net.transitions]
                    return Growth(
                        [net.places[p].name for p in sorted(grown)],
                        [names[t] for t in firings_before],
                        [names[t] for t in between],
                    )
            ancestors = np.where(ancestors >= 0, parent_of[ancestors], -1)
        level = new_rows
    return None


def _between(state: int, ancestor: int, parents: list[int], by: list[int]) -> list[int]:
    firings = []
    while state != ancestor:
        firings.append(by[state])
        state = parents[state]
    return firings[::-1]


def can_repeat(firing: Firing, grown: frozenset[int], fired: list[int]) -> bool:
    """Return whether a firing sequence stays possible if some places get more tokens.

    These places must not inhibit it, must have no capacity, must not be read by its formulas, and must not enable
    transitions of higher priority.
    """
    transitions = firing.net.transitions
    lowest = min(firing.level[t] for t in fired)
    for t, transition in enumerate(transitions):
        read = {p for formula in transition.formulas for p in formula.reads} | _places(transition.inhibit)
        if firing.level[t] > lowest:
            read |= _places(transition.take) | _places(transition.test)
        elif t not in fired:
            continue
        if read & grown:
            return False
    return not grown & {place for place, _ in firing.capacity}


def bounded_by_weights(net: Net) -> bool:
    """Return whether positive weights of places exist whose weighted sum no firing increases: the net is bounded."""
    limited = [place.capacity is not None for place in net.places]
    if any(isinstance(arc.weight, Formula) for each in net.transitions for arc in (*each.take, *each.give)):
        return False
    free = incidence(net)[[not has_capacity for has_capacity in limited]].T
    if not free.size:
        return all(limited)
    answer = linprog(np.zeros(free.shape[1]), A_ub=free, b_ub=np.zeros(len(free)), bounds=(1, None), method="highs")
    return bool(answer.status == 0)


def _places(arcs: tuple[Arc, ...]) -> set[int]:
    return {arc.place for arc in arcs}
