"""Semiflows: minimal weights of places whose sum no firing changes, and minimal counts of firings that change nothing.

y >= 0 with y C = 0 (P), x >= 0 with C x = 0 (T), for C = given - taken; those of minimal support by Farkas' algorithm
(Colom & Silva, Convex geometry and semiflows in P/T nets, 1991). There can be exponentially many: capped, and told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.petri import Formula, Net
from npexplore.records import content_hash
from npexplore.solve.petri.firing import Array, refuse_data
from npexplore.solve.petri.net_result import NetResult

MOST_ROWS = 3_000  # candidates at once
LARGEST = 1 << 30  # of a coefficient: sums of products stay within 64 bits


@dataclass(frozen=True)
class Semiflow:
    """Whole weights by name. tokens: of places, the weighted sum that every marking has.

    Example:
        >>> from npexplore.petri import Semiflow
        >>> Semiflow({"free": 1, "busy": 1}, 4).tokens
        4
    """

    __hash__ = content_hash

    weights: dict[str, int]
    tokens: int | None = None


@dataclass(frozen=True, repr=False)
class Structure(NetResult):
    """A net's minimal semiflows; None where they are too many (`refused` says so) or the arcs are no numbers.

    uncovered_places: in no P-semiflow, so that these do not show them bounded.

    Example:
        >>> from npexplore.petri import find_structure, load_net
        >>> find_structure(load_net("tandem")).places
        4
    """

    refused: str | None
    places: int
    transitions: int
    arcs: int
    p_semiflows: list[Semiflow] | None
    t_semiflows: list[Semiflow] | None
    uncovered_places: list[str] | None

    solver = "structure"
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each semiflow: its weights, and of places the tokens that every marking has."""
        kinds = {"places": self.p_semiflows, "transitions": self.t_semiflows}
        return [
            {"of": kind, "semiflow": " + ".join(name if n == 1 else f"{n} {name}" for name, n in flow.weights.items()),
             "tokens": flow.tokens} for kind, flows in kinds.items() for flow in flows or ()
        ]  # fmt: skip


def find_structure(net: Net, most_rows: int = MOST_ROWS) -> Structure:
    """Return a net's semiflows; the kind of which there are more than `most_rows` candidates is left out, and told."""
    arcs = sum(len(one.take) + len(one.give) + len(one.test) + len(one.inhibit) for one in net.transitions)
    sizes = len(net.places), len(net.transitions), arcs
    try:
        change = incidence(net)
    except RefusedError as error:
        return Structure(str(error), *sizes, None, None, None)
    names = [place.name for place in net.places]
    omissions: list[str] = []
    p_flows = t_flows = uncovered = None
    try:
        flows = semiflows(change, most_rows)
        first = net.initial.astype(np.int64)
        p_flows = [Semiflow(_named(names, flow), int(flow @ first)) for flow in flows]
        uncovered = [name for name, most in zip(names, flows.max(axis=0, initial=0), strict=True) if not most]
    except RefusedError as error:
        omissions.append(f"P-semiflows: {error}")
    try:
        fired = [one.name for one in net.transitions]
        t_flows = [Semiflow(_named(fired, flow)) for flow in semiflows(change.T, most_rows)]
    except RefusedError as error:
        omissions.append(f"T-semiflows: {error}")
    return Structure("; ".join(omissions) or None, *sizes, p_flows, t_flows, uncovered)


def incidence(net: Net) -> Array:
    """Return what a firing adds to each place (P, T); raises RefusedError where the marking decides how much."""
    change = np.zeros((len(net.places), len(net.transitions)), dtype=np.int64)
    refuse_data(net)
    for t, one in enumerate(net.transitions):
        for arcs, sign in ((one.take, -1), (one.give, 1)):
            for arc in arcs:
                if isinstance(arc.weight, Formula):
                    raise RefusedError(f"structure: the marking decides how many tokens transition {one.name!r} moves")
                change[arc.place, t] += sign * arc.weight
    return change


def semiflows(change: Array, most_rows: int = MOST_ROWS) -> Array:
    """Return the minimal non-negative whole solutions y (k, n) of y C = 0 for C (n, m), in order of their supports.

    Raises RefusedError for more than `most_rows` candidates at once, or coefficients beyond 2^30.
    """
    n = len(change)
    left, rows = change.astype(np.int64), np.eye(n, dtype=np.int64)
    while left.shape[1]:
        plus, minus = (left > 0).sum(axis=0), (left < 0).sum(axis=0)
        column = int(np.argmin(plus * minus - plus - minus))  # the one that adds fewest candidates
        own = left[:, column]
        up, down, zero = np.flatnonzero(own > 0), np.flatnonzero(own < 0), np.flatnonzero(own == 0)
        if len(up) * len(down) > 50 * most_rows:
            raise RefusedError(f"more than {most_rows} candidates: {len(up)} x {len(down)} to combine")
        i, j = np.repeat(up, len(down)), np.tile(down, len(up))
        a, b = -own[j], own[i]
        rows = np.concatenate([rows[zero], a[:, None] * rows[i] + b[:, None] * rows[j]])
        left = np.concatenate([left[zero], a[:, None] * left[i] + b[:, None] * left[j]])
        whole = np.concatenate([left, rows], axis=1)
        divisor = np.maximum(np.gcd.reduce(whole, axis=1), 1) if len(whole) else np.ones(0, dtype=np.int64)
        left, rows = left // divisor[:, None], rows // divisor[:, None]
        left = np.delete(left, column, axis=1)
        keep = _minimal(rows, most_rows)
        left, rows = left[keep], rows[keep]
        if len(rows) and max(np.abs(left).max(initial=0), rows.max()) > LARGEST:
            raise RefusedError("coefficients beyond 2^30")
    return rows[np.lexsort((rows == 0).T[::-1])] if len(rows) else rows


def _minimal(rows: Array, most_rows: int) -> Array:
    """Return the numbers of the rows whose support holds no other row's, one of each."""
    support = rows > 0
    _, first = np.unique(np.packbits(support, axis=1), axis=0, return_index=True)
    first.sort()
    size = support.sum(axis=1)
    order = first[np.argsort(size[first], kind="stable")]
    minimal_rows: list[int] = []
    taken = np.zeros((0, rows.shape[1]), dtype=bool)
    for k in order.tolist():
        if not (taken[: len(minimal_rows)] <= support[k]).all(axis=1).any():
            if len(minimal_rows) == most_rows:
                raise RefusedError(f"more than {most_rows} candidates")
            if len(minimal_rows) == len(taken):
                taken = np.concatenate([taken, np.zeros((max(16, len(taken)), rows.shape[1]), dtype=bool)])
            taken[len(minimal_rows)] = support[k]
            minimal_rows.append(k)
    return np.array(sorted(minimal_rows), dtype=np.int64)


def _named(names: list[str], flow: Array) -> dict[str, int]:
    return {name: int(n) for name, n in zip(names, flow, strict=True) if n}
