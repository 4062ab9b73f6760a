"""What may fire in many markings at once, and what follows: one row of integers a marking.

Of what is enabled only the highest priority fires; in a race, what takes no time comes before what takes some (Ajmone
Marsan et al., Modelling with Generalized Stochastic Petri Nets, 1995, 3.3). Durations are left out here: a firing takes
and gives at once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import Arc, Formula, Net, Transition
from npexplore.solve.queueing.inputs import Floats

Array = NDArray[Any]


class Firing:
    """The firing rule of one net."""

    def __init__(self, net: Net) -> None:
        self.net = net
        refuse_data(net)
        race = net.timing == "race"
        levels = [(race and not one.timed, one.priority) for one in net.transitions]
        order = {level: k for k, level in enumerate(sorted(set(levels)))}
        self.level = np.array([order[level] for level in levels], dtype=np.int8 if len(order) < 100 else np.int32)
        self.capacity = [(p, one.capacity) for p, one in enumerate(net.places) if one.capacity is not None]
        self.reads = [
            bool(one.formulas) or one.servers != 1 or isinstance(one.rate, Formula) or isinstance(one.weight, Formula)
            for one in net.transitions
        ]
        self.instant = np.array([race and not one.timed for one in net.transitions], dtype=bool)

    def enabled(self, columns: Array) -> Array:
        """Return (T, m): which transitions may fire in m markings, given as tokens by place (P, m)."""
        able = np.empty((len(self.net.transitions), columns.shape[1]), dtype=bool)
        for t, one in enumerate(self.net.transitions):
            able[t] = self._able(one, columns)
        if len(set(self.level.tolist())) > 1:
            best = np.max(np.where(able, self.level[:, None], -1), axis=0)
            able &= self.level[:, None] == best
        return able

    def firings(self, states: Array) -> tuple[Array, Array, Floats, Array]:
        """Return (origin, following, strength, transition) of all firings in markings (m, P)."""
        columns = np.ascontiguousarray(states.T)
        able = self.enabled(columns)
        origins, rows, strengths, which = [], [], [], []
        for t, one in enumerate(self.net.transitions):
            at = np.flatnonzero(able[t])
            if not len(at):
                continue
            own = states[at]
            here = columns[:, at] if self.reads[t] else columns[:, :0]
            for arcs, sign in ((one.take, -1), (one.give, 1)):
                for arc in arcs:
                    own[:, arc.place] += sign * _tokens(arc, here, one.name)
            origins.append(at)
            rows.append(own)
            strengths.append(self.strength(one, here, len(at)))
            which.append(np.full(len(at), t, dtype=np.int32))
        if not origins:
            return np.zeros(0, np.int64), states[:0], np.zeros(0), np.zeros(0, np.int32)
        return np.concatenate(origins), np.concatenate(rows), np.concatenate(strengths), np.concatenate(which)

    def strength(self, one: Transition, columns: Array, count: int) -> Floats:
        """Return the rate of a transition in markings in which it may fire; its weight, if it takes no time."""
        said = one.weight if one.rate is None else one.rate
        rate = _value(said, columns, one.name) if isinstance(said, Formula) else said
        value = np.broadcast_to(np.asarray(rate, dtype=float), count)
        wrong = ~((value >= 0) & np.isfinite(value))
        if wrong.any():
            kind = "weight" if one.rate is None else "rate"
            raise InputError(f"transition.{one.name}: a {kind} must be at least 0, got {value[wrong][0]:g}")
        if one.rate is None or one.servers == 1:
            return value
        degree = np.full(count, np.iinfo(np.int32).max if one.servers is None else one.servers)
        for arc in one.take:
            tokens = np.maximum(_tokens(arc, columns, one.name), 1)
            degree = np.minimum(degree, columns[arc.place] // tokens)
        return np.asarray(value * degree, dtype=float)

    def _able(self, one: Transition, columns: Array) -> Array:
        able = np.ones(columns.shape[1], dtype=bool)
        for said in (False, True):  # formulas count where numbers do not decide
            for arcs, fewer in (((*one.take, *one.test), False), (one.inhibit, True)):
                for arc in arcs:
                    if isinstance(arc.weight, Formula) == said:
                        able &= (columns[arc.place] >= _tokens(arc, columns, one.name, able)) != fewer
        for guard in one.guards:
            able &= np.asarray(_value(guard, columns, one.name, able), dtype=bool)
        for place, capacity in self.capacity:
            gives = [arc for arc in one.give if arc.place == place]
            if gives:
                takes = [arc for arc in one.take if arc.place == place]
                change = sum(_tokens(a, columns, one.name, able) for a in gives) - sum(
                    (_tokens(a, columns, one.name, able) for a in takes), 0
                )
                able &= (columns[place] + change <= capacity) | np.asarray(change <= 0)
        if isinstance(one.rate, Formula) or isinstance(one.weight, Formula):
            at = np.flatnonzero(able)
            able[at] = self.strength(one, columns[:, at], len(at)) > 0  # at rate 0 it does not fire
        return able


def refuse_data(net: Net) -> None:
    """Raise RefusedError where what tokens carry decides what fires: a marking counts tokens alone."""
    for one in net.transitions:
        if one.by_data:
            raise RefusedError(f"transition {one.name!r} looks at what tokens carry; only simulation does")


def _value(said: Formula, columns: Array, name: str, live: Any = True) -> Array:
    """Return the value of a formula in markings, those that count."""
    try:
        return said(columns, live=live)
    except InputError as error:
        raise InputError(f"transition.{name}: {error}") from None


def _tokens(arc: Arc, columns: Array, name: str, live: Any = True) -> Any:
    """Return how many tokens pass an arc: a number, or one a marking that counts."""
    if not isinstance(arc.weight, Formula):
        return arc.weight
    tokens = _value(arc.weight, columns, name, live)
    whole = tokens.astype(np.int32)
    wrong = ((whole != tokens) | (tokens < 0)) & live
    if np.any(wrong):
        got = np.broadcast_to(tokens, np.shape(wrong))[wrong].flat[0]
        raise InputError(f"transition.{name}: an arc needs a whole number of tokens, got {got:g}")
    return whole
