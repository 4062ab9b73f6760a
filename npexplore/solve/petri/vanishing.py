"""Removal of vanishing markings, in which no time passes, from a chain.

With V the probabilities from vanishing to vanishing markings and T those to tangible ones, B = (I - V)^-1 T has the
probabilities of the next tangible marking, and rates become R_tt + R_tv B (Ajmone Marsan et al., Generalized Stochastic
Petri Nets, 1995, 6.1).
"""

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack
from scipy.sparse.csgraph import connected_components

from npexplore.errors import InputError, RefusedError
from npexplore.solve.chains import Chain, chain
from npexplore.solve.petri.firing import Array
from npexplore.solve.petri.graph import Graph
from npexplore.solve.queueing.inputs import Floats

LARGEST_LOOP = 1_000  # limit of the markings of a loop in which no time passes


def remove_vanishing(graph: Graph, counted: csr_matrix) -> tuple[Chain, csr_matrix]:
    """Return the chain of the tangible markings, and the rates of immediate firings on the paths between them.

    counted (v, K): counts of K kinds of firings per visit of each vanishing marking; the returned rates are (t, K), per
    unit of time. Raises InputError for an endless loop in which no time passes, with its marking.
    """
    inside, outside, arcs, chances = _left(graph)
    within = csr_matrix(chances[:, inside])
    solution = _solved(graph, inside, within, csr_matrix(hstack([chances[:, outside], counted])))
    rates = csr_matrix(arcs[outside])
    direct, indirect = csr_matrix(rates[:, outside]), csr_matrix(rates[:, inside]) @ solution
    total = (direct + indirect[:, : len(outside)]).tocoo()
    return chain(len(outside), total.row, total.col, total.data), csr_matrix(indirect[:, len(outside) :])


def settled(graph: Graph) -> Floats:
    """Return the probability (t,) that each tangible marking is the first one after the net's initial marking."""
    if not graph.vanishing[0]:
        first = np.zeros(int(np.count_nonzero(~graph.vanishing)))
        first[0] = 1.0
        return first
    inside, outside, _, chances = _left(graph)
    solution = _solved(graph, inside, csr_matrix(chances[:, inside]), csr_matrix(chances[:, outside]))
    return np.asarray(solution[0].todense()).ravel()


def _left(graph: Graph) -> tuple[Array, Array, csr_matrix, csr_matrix]:
    """Return the vanishing and the tangible markings, all rates, and the jump probabilities of vanishing markings."""
    n = len(graph.states)
    arcs = csr_matrix((graph.chain.rate, graph.chain.target, graph.chain.begin), shape=(n, n))
    inside, outside = np.flatnonzero(graph.vanishing), np.flatnonzero(~graph.vanishing)
    total = np.asarray(arcs[inside].sum(axis=1)).ravel()
    if not total.all():  # leads only to itself
        raise endless(graph, int(inside[np.argmin(total)]))
    return inside, outside, arcs, diags(1.0 / total) @ arcs[inside]


def _solved(graph: Graph, inside: Array, within: csr_matrix, wanted: csr_matrix) -> csr_matrix:
    """Return (I - within)^-1 wanted: a dense inverse for each loop, then one step per firing of the longest path."""
    count, component = connected_components(within, connection="strong")
    sizes = np.bincount(component, minlength=count)
    looped = np.flatnonzero(sizes > 1)
    if sizes.max(initial=1) > LARGEST_LOOP:
        raise RefusedError(f"a loop of {sizes.max()} markings in which no time passes (at most {LARGEST_LOOP})")
    if len(looped):
        source = np.repeat(np.arange(len(inside)), np.diff(within.indptr))
        same_loop = (component[source] == component[within.indices]) & (sizes[component[source]] > 1)
        staying = csr_matrix((within.data * same_loop, within.indices, within.indptr), shape=within.shape)
        leaving = within - staying
        leaving.eliminate_zeros()
        inverse = _inverses(graph, inside, staying, leaving, wanted, component, looped)
        within, wanted = csr_matrix(inverse @ leaving), csr_matrix(inverse @ wanted)
    total = step = wanted
    while step.nnz:
        step = within @ step
        step.eliminate_zeros()
        total = total + step
    return csr_matrix(total)


def _inverses(
    graph: Graph,
    inside: Array,
    staying: csr_matrix,
    leaving: csr_matrix,
    wanted: csr_matrix,
    part: Array,
    looped: Array,
) -> csr_matrix:
    """Return (I - staying)^-1, which is block-diagonal; raises InputError for a loop without an exit."""
    n = len(inside)
    rows, columns, values = [np.arange(n)], [np.arange(n)], [(~np.isin(part, looped)).astype(float)]
    tangible = np.asarray(wanted[:, : len(graph.states) - n].sum(axis=1)).ravel()
    exit_chance = np.asarray(leaving.sum(axis=1)).ravel() + tangible
    for loop in looped:
        members = np.flatnonzero(part == loop)
        if not exit_chance[members].any():
            raise endless(graph, int(inside[members[0]]))
        block = np.linalg.inv(np.eye(len(members)) - staying[members][:, members].toarray())
        rows.append(np.repeat(members, len(members)))
        columns.append(np.tile(members, len(members)))
        values.append(block.ravel())
    inverse = csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))
    inverse.eliminate_zeros()
    return inverse


def endless(graph: Graph, state: int) -> InputError:
    """Return the error for a marking from which transitions fire forever while no time passes."""
    marking, way = graph.firing.net.marking(graph.states[state]), graph.way(state)
    shown = ", ".join(f"{name}: {n}" for name, n in marking.items()) or "no tokens"
    return InputError(
        f"transitions fire for ever in zero time from the marking ({shown}), reached by {', '.join(way) or 'no firing'}"
    )
