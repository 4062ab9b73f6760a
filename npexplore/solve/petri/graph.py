"""The reachability graph of a net: all markings, the transitions that fire in each, and the markings that follow.

Markings are numbered breadth first from 0; the firings of a marking are consecutive, by falling priority level.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npexplore.machine.petri import Net
from npexplore.solve.chains import Chain, explore, memory_left
from npexplore.solve.chains.explore import refuse_memory
from npexplore.solve.petri.firing import Array, Firing
from npexplore.solve.petri.packed import Layout, can_pack, explore_packed
from npexplore.solve.queueing.inputs import Floats, Ints

MOST_STATES = 10_000_000
AT_ONCE, PART = 1 << 16, 1 << 12  # markings processed together
STATE_BYTES, ARC_BYTES = 80, 32  # memory of a chain per state and arc, besides the integers of a marking


@dataclass(frozen=True)
class Graph:
    """All markings; in marking i, transition which[a] fires and leads to target[a], a in begin[i]..begin[i + 1] - 1.

    held: the markings (n, P), or packed into words with a layout.
    """

    firing: Firing
    held: Array
    begin: Ints
    target: Array
    which: Array
    layout: Layout | None = None

    @cached_property
    def states(self) -> Array:
        """All markings (n, P)."""
        return self.some(slice(None))

    def some(self, which: slice) -> Array:
        """Return some markings (k, P)."""
        return self.held[which] if self.layout is None else self.layout.unpack(self.held[which])

    def most(self) -> tuple[int, int]:
        """Return the largest number of tokens in a place and in a marking."""
        largest = [
            (int(part.max()), int(part.sum(axis=1, dtype=np.int64).max()))
            for part in (self.some(slice(k, k + PART)) for k in range(0, len(self.held), PART))
        ]
        return max(in_place for in_place, _ in largest), max(in_marking for _, in_marking in largest)

    @property
    def arcs(self) -> int:
        """The number of firings."""
        return len(self.target)

    @cached_property
    def dead(self) -> Ints:
        """The numbers of the markings in which no transition can fire."""
        return np.flatnonzero(self.begin[1:] == self.begin[:-1])

    @cached_property
    def vanishing(self) -> Array:
        """Flags (n,) of the vanishing markings, in which immediate transitions fire."""
        vanishing_mask = np.zeros(len(self.held), dtype=bool)
        if self.firing.instant.any():
            alive = np.flatnonzero(self.begin[1:] > self.begin[:-1])
            vanishing_mask[alive] = self.firing.instant[self.which[self.begin[alive]]]
        return vanishing_mask

    @cached_property
    def strength(self) -> Floats:
        """The rate of each firing, or the weight of an immediate one (arcs,)."""
        transitions = self.firing.net.transitions
        rates = [each.weight if each.rate is None else each.rate for each in transitions]
        varied = [t for t, each in enumerate(transitions) if not isinstance(rates[t], int | float) or each.servers != 1]
        plain = np.array([0.0 if t in varied else rates[t] for t in range(len(rates))])
        strengths: Floats = plain[self.which]
        for first in range(0, len(self.held) if varied else 0, AT_ONCE):
            arcs = np.arange(self.begin[first], self.begin[min(first + AT_ONCE, len(self.held))])
            columns = np.ascontiguousarray(self.some(slice(first, first + AT_ONCE)).T)
            for t in varied:
                arcs_of_t = arcs[self.which[arcs] == t]
                markings = columns[:, self.origin(arcs_of_t) - first]
                strengths[arcs_of_t] = self.firing.strength(transitions[t], markings, len(arcs_of_t))
        return strengths

    def origin(self, arcs: Array | None = None) -> Ints:
        """Return the origin markings of some firings, given by their numbers (None: of all firings)."""
        if arcs is None:
            return np.repeat(np.arange(len(self.held)), np.diff(self.begin))
        return np.searchsorted(self.begin, arcs, side="right") - 1

    @cached_property
    def leaving(self) -> Array:
        """Flags (arcs,) of the firings that change the marking."""
        return np.asarray(self.target != np.repeat(np.arange(len(self.held), dtype=np.int32), np.diff(self.begin)))

    @cached_property
    def chain(self) -> Chain:
        """The chain of the firings that change the marking; rates of vanishing markings are weights."""
        if self.leaving.all():
            return Chain(self.begin, self.target, self.strength)
        row_starts = np.concatenate([[0], np.cumsum(self.leaving)])[self.begin]
        return Chain(row_starts, self.target[self.leaving], self.strength[self.leaving])

    def way(self, state: int) -> list[str]:
        """Return a shortest sequence of firings from the initial marking to a marking."""
        firings: list[str] = []
        while state:
            arc = int(np.argmax(self.target == state))  # the first firing that leads there
            firings.append(self.firing.net.transitions[self.which[arc]].name)
            state = int(self.origin(np.array([arc]))[0])
        return firings[::-1]


def find_graph(net: Net, most_states: int = MOST_STATES, most_bytes: int | None = None) -> Graph:
    """Return the graph of a net's markings; raises RefusedError for more states or memory than allowed."""
    firing = Firing(net)
    room = memory_left() if most_bytes is None else most_bytes
    if not can_pack(net):
        return _by_formulas(firing, most_states, room)
    explored = explore_packed(firing, most_states, room)
    return Graph(firing, explored.words, explored.begin, explored.target, explored.which, explored.layout)


def refuse_large(graph: Graph, most_bytes: int | None = None) -> None:
    """Raise RefusedError for a graph whose chain and unpacked markings would take more memory than allowed."""
    n, room = len(graph.held), memory_left() if most_bytes is None else most_bytes
    refuse_memory(n, n * (4 * len(graph.firing.net.places) + STATE_BYTES) + graph.arcs * ARC_BYTES, room)


def _by_formulas(firing: Firing, most_states: int, most_bytes: int) -> Graph:
    """Return the graph of a net with formulas, which are evaluated for many markings at once."""
    origins: list[Array] = []
    names: list[Array] = []
    leaves: list[Array] = []
    done = 0

    def successors(states: Array) -> tuple[Array, Array, Floats]:
        nonlocal done
        origin, rows, strength, which = firing.firings(states)
        order = np.argsort(origin, kind="stable")
        origins.append((origin + done)[order])
        names.append(which[order])
        leaves.append(((rows != states[origin]).any(axis=1) & (strength > 0))[order])
        done += len(states)
        return origin[order], rows[order], strength[order]

    states, chain = explore(firing.net.initial, successors, most_states, most_bytes)
    origin, leaving = np.concatenate(origins), np.concatenate(leaves)
    target = origin.astype(np.int32)
    target[leaving] = chain.target
    begin = np.searchsorted(origin, np.arange(len(states) + 1))
    return Graph(firing, states, begin, target, np.concatenate(names))
