"""Semiflows: minimal weights of places whose sum no firing changes, and minimal counts of firings that change nothing.

P-semiflows y >= 0 with y C = 0 and T-semiflows x >= 0 with C x = 0, for C = given - taken. Farkas' algorithm finds
those of minimal support (Colom & Silva, Convex geometry and semiflows in P/T nets, 1991). Their number can be
exponential; if there are too many, the answer says so.
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

MOST_ROWS = 3_000  # limit of simultaneous candidates
LARGEST = 1 << 30  # limit of coefficients, so that sums of products stay within 64 bits


@dataclass(frozen=True)
class Semiflow:
    """Integer weights by name. tokens: for places, the weighted sum of tokens in every marking.

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
    """A net's minimal semiflows (None: too many, or arcs with formulas; `refused` has the reason).

    uncovered_places: places in no P-semiflow, which semiflows therefore do not prove bounded.

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
        """Return a row for each semiflow: its weights, and for places the weighted sum of tokens."""
        kinds = {"places": self.p_semiflows, "transitions": self.t_semiflows}
        return [
            {"of": kind, "semiflow": " + ".join(name if n == 1 else f"{n} {name}" for name, n in flow.weights.items()),
             "tokens": flow.tokens} for kind, flows in kinds.items() for flow in flows or ()
        ]  # fmt: skip


def find_structure(net: Net, most_rows: int = MOST_ROWS) -> Structure:
    """Return a net's semiflows; a kind with more than `most_rows` candidates is left out, as `refused` says."""
    arcs = sum(len(each.take) + len(each.give) + len(each.test) + len(each.inhibit) for each in net.transitions)
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
        fired = [transition.name for transition in net.transitions]
        t_flows = [Semiflow(_named(fired, flow)) for flow in semiflows(change.T, most_rows)]
    except RefusedError as error:
        omissions.append(f"T-semiflows: {error}")
    return Structure("; ".join(omissions) or None, *sizes, p_flows, t_flows, uncovered)


def incidence(net: Net) -> Array:
    """Return the change of each place by each firing (P, T); raises RefusedError if it depends on the marking."""
    change = np.zeros((len(net.places), len(net.transitions)), dtype=np.int64)
    refuse_data(net)
    for t, each in enumerate(net.transitions):
        for arcs, sign in ((each.take, -1), (each.give, 1)):
            for arc in arcs:
                if isinstance(arc.weight, Formula):
                    raise RefusedError(f"structure: the marking decides how many tokens transition {each.name!r} moves")
                change[arc.place, t] += sign * arc.weight
    return change


def semiflows(change: Array, most_rows: int = MOST_ROWS) -> Array:
    """Return the minimal non-negative integer solutions y (k, n) of y C = 0 for C (n, m), in order of their supports.

    Raises RefusedError for more than `most_rows` simultaneous candidates, or coefficients above 2^30.
    """
    n = len(change)
    residues, rows = change.astype(np.int64), np.eye(n, dtype=np.int64)
    while residues.shape[1]:
        plus, minus = (residues > 0).sum(axis=0), (residues < 0).sum(axis=0)
        column = int(np.argmin(plus * minus - plus - minus))  # adds the fewest candidates
        values = residues[:, column]
        up, down, zero = np.flatnonzero(values > 0), np.flatnonzero(values < 0), np.flatnonzero(values == 0)
        if len(up) * len(down) > 50 * most_rows:
            raise RefusedError(f"more than {most_rows} candidates: {len(up)} x {len(down)} to combine")
        i, j = np.repeat(up, len(down)), np.tile(down, len(up))
        weight_i, weight_j = -values[j], values[i]
        rows = np.concatenate([rows[zero], weight_i[:, None] * rows[i] + weight_j[:, None] * rows[j]])
        residues = np.concatenate([residues[zero], weight_i[:, None] * residues[i] + weight_j[:, None] * residues[j]])
        combined = np.concatenate([residues, rows], axis=1)
        divisor = np.maximum(np.gcd.reduce(combined, axis=1), 1) if len(combined) else np.ones(0, dtype=np.int64)
        residues, rows = residues // divisor[:, None], rows // divisor[:, None]
        residues = np.delete(residues, column, axis=1)
        keep = _minimal(rows, most_rows)
        residues, rows = residues[keep], rows[keep]
        if len(rows) and max(np.abs(residues).max(initial=0), rows.max()) > LARGEST:
            raise RefusedError("coefficients beyond 2^30")
    return rows[np.lexsort((rows == 0).T[::-1])] if len(rows) else rows


def _minimal(rows: Array, most_rows: int) -> Array:
    """Return the numbers of the rows of minimal support, one for each support."""
    support = rows > 0
    _, first = np.unique(np.packbits(support, axis=1), axis=0, return_index=True)
    first.sort()
    size = support.sum(axis=1)
    order = first[np.argsort(size[first], kind="stable")]
    minimal_rows: list[int] = []
    supports = np.zeros((0, rows.shape[1]), dtype=bool)
    for k in order.tolist():
        if not (supports[: len(minimal_rows)] <= support[k]).all(axis=1).any():
            if len(minimal_rows) == most_rows:
                raise RefusedError(f"more than {most_rows} candidates")
            if len(minimal_rows) == len(supports):
                supports = np.concatenate([supports, np.zeros((max(16, len(supports)), rows.shape[1]), dtype=bool)])
            supports[len(minimal_rows)] = support[k]
            minimal_rows.append(k)
    return np.array(sorted(minimal_rows), dtype=np.int64)


def _named(names: list[str], flow: Array) -> dict[str, int]:
    return {name: int(n) for name, n in zip(names, flow, strict=True) if n}
