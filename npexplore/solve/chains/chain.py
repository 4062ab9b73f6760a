"""A chain's transition rates as sparse rows, and its recurrent class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from npexplore._kernels import chains as kernels
from npexplore.errors import InputError, RefusedError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import Floats, Ints

Array = NDArray[Any]


class SeveralClassesError(RefusedError):
    """A chain has more than one recurrent class, so that it has no unique steady state."""


@by_content
@dataclass(frozen=True)
class Chain:
    """Rates of n states: i goes to target[a] at rate[a] per second, a in begin[i]..begin[i + 1] - 1, without i -> i."""

    begin: Ints  # (n + 1,)
    target: Array  # (arcs,), 32 bits
    rate: Floats  # (arcs,)

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.begin) - 1

    @property
    def out(self) -> Floats:
        """The total rate (n,) out of each state."""
        total, has_arcs = np.zeros(self.states), np.diff(self.begin) > 0
        if has_arcs.any():
            total[has_arcs] = np.add.reduceat(self.rate, self.begin[:-1][has_arcs])
        return total

    def by_target(self) -> tuple[Array, Array, Floats]:
        """Return (begin, source, rate) of the same arcs, grouped by target."""
        source = np.repeat(np.arange(self.states, dtype=np.int32), np.diff(self.begin))
        return _grouped(self.states, self.target, source, self.rate)

    def recurrent(self) -> Ints:
        """Return the numbers of the recurrent states in order; raises SeveralClassesError for several classes."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        n = self.states
        ones = np.ones(len(self.rate), dtype=np.int8)
        count, part = connected_components(csr_matrix((ones, self.target, self.begin), (n, n)), connection="strong")
        if count == 1:
            return np.arange(n)
        is_left = np.zeros(count, dtype=bool)
        source = np.repeat(part, np.diff(self.begin))
        is_left[source[source != part[self.target]]] = True
        closed = np.flatnonzero(~is_left)
        if len(closed) > 1:
            sizes = np.bincount(part, minlength=count)[closed]
            raise SeveralClassesError(
                f"no single steady state: {len(closed)} sets of states ({_some(sizes)}) are never left"
            )
        return np.flatnonzero(part == closed[0])

    def part(self, keep: Ints) -> Chain:
        """Return the chain restricted to the states `keep`, which no arc may leave."""
        if len(keep) == self.states:
            return self
        new = np.full(self.states, -1, dtype=np.int32)
        new[keep] = np.arange(len(keep), dtype=np.int32)
        inside = np.repeat(new >= 0, np.diff(self.begin))
        begin = np.concatenate([[0], np.cumsum(np.diff(self.begin)[keep])]).astype(np.int64)
        return Chain(begin, new[self.target[inside]], self.rate[inside])


def chain(states: int, source: ArrayLike, target: ArrayLike, rate: ArrayLike) -> Chain:
    """Return a Markov chain in continuous time from its arcs.

    states: number of states, numbered from 0. source, target: states at the ends of each arc, shape (a,). rate: of each
    arc, per second, shape (a,); arcs between the same states add up.

    Arcs from a state to itself and rates of 0 are left out. Raises InputError for a state outside 0..states - 1, and
    for a rate that is negative or not finite.
    """
    begins, ends, rates = np.asarray(source), np.asarray(target), np.asarray(rate, dtype=np.float64)
    for subject, numbers in (("source", begins), ("target", ends)):
        wrong = (numbers < 0) | (numbers >= states)
        if wrong.any():
            raise InputError(f"chain: {subject} must be a state in 0..{states - 1}, got {numbers[wrong][0]}")
    wrong = ~((rates >= 0) & np.isfinite(rates))
    if wrong.any():
        raise InputError(f"chain: rates must be finite and at least 0, got {rates[wrong][0]}")
    real = (begins != ends) & (rates > 0)
    if not real.all():
        begins, ends, rates = begins[real], ends[real], rates[real]
    return Chain(*_grouped(states, begins, ends, rates))


def _grouped(states: int, key: Array, other: Array, rate: Floats) -> tuple[Ints, Array, Floats]:
    """Return (begin, other, rate) of arcs, grouped by the states `key`."""
    begin = np.zeros(states + 1, np.int64)
    others, rates = np.empty(len(rate), np.int32), np.empty(len(rate))
    keys, other_ends = (np.ascontiguousarray(numbers, dtype=np.int32) for numbers in (key, other))
    kernels.group(keys, other_ends, np.ascontiguousarray(rate), begin, others, rates)
    return begin, others, rates


def _some(numbers: Ints) -> str:
    shown = ", ".join(str(number) for number in numbers[:3])
    return f"{shown}, ..." if len(numbers) > 3 else shown
