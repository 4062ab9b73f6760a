"""The firing rule of a net for many markings (rows of integers) at once: enabled transitions and successors.

Of the enabled transitions only those with the highest priority fire; in a race, immediate ones come before timed ones
(Ajmone Marsan et al., Modelling with Generalized Stochastic Petri Nets, 1995, 3.3). Durations are neglected here: a
firing takes and gives its tokens at once.
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
        levels = [(race and not transition.timed, transition.priority) for transition in net.transitions]
        order = {level: k for k, level in enumerate(sorted(set(levels)))}
        self.level = np.array([order[level] for level in levels], dtype=np.int8 if len(order) < 100 else np.int32)
        self.capacity = [(p, place.capacity) for p, place in enumerate(net.places) if place.capacity is not None]
        self.reads = [
            bool(each.formulas)
            or each.servers != 1
            or isinstance(each.rate, Formula)
            or isinstance(each.weight, Formula)
            for each in net.transitions
        ]
        self.instant = np.array([race and not transition.timed for transition in net.transitions], dtype=bool)

    def enabled(self, columns: Array) -> Array:
        """Return (T, m): which transitions may fire in m markings, given as tokens by place (P, m)."""
        is_enabled = np.empty((len(self.net.transitions), columns.shape[1]), dtype=bool)
        for t, transition in enumerate(self.net.transitions):
            is_enabled[t] = self._able(transition, columns)
        if len(set(self.level.tolist())) > 1:
            best = np.max(np.where(is_enabled, self.level[:, None], -1), axis=0)
            is_enabled &= self.level[:, None] == best
        return is_enabled

    def firings(self, states: Array) -> tuple[Array, Array, Floats, Array]:
        """Return (origin, following marking, strength, transition) of all firings in markings (m, P)."""
        columns = np.ascontiguousarray(states.T)
        is_enabled = self.enabled(columns)
        origins, rows, strengths, which = [], [], [], []
        for t, transition in enumerate(self.net.transitions):
            at = np.flatnonzero(is_enabled[t])
            if not len(at):
                continue
            following = states[at]
            columns_here = columns[:, at] if self.reads[t] else columns[:, :0]
            for arcs, sign in ((transition.take, -1), (transition.give, 1)):
                for arc in arcs:
                    following[:, arc.place] += sign * _tokens(arc, columns_here, transition.name)
            origins.append(at)
            rows.append(following)
            strengths.append(self.strength(transition, columns_here, len(at)))
            which.append(np.full(len(at), t, dtype=np.int32))
        if not origins:
            return np.zeros(0, np.int64), states[:0], np.zeros(0), np.zeros(0, np.int32)
        return np.concatenate(origins), np.concatenate(rows), np.concatenate(strengths), np.concatenate(which)

    def strength(self, one: Transition, columns: Array, count: int) -> Floats:
        """Return the rate (count,) of a transition in markings that enable it, or the weight of an immediate one."""
        rate_or_weight = one.weight if one.rate is None else one.rate
        rate = _value(rate_or_weight, columns, one.name) if isinstance(rate_or_weight, Formula) else rate_or_weight
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

    def _able(self, transition: Transition, columns: Array) -> Array:
        enabled = np.ones(columns.shape[1], dtype=bool)
        for with_formula in (False, True):  # formulas are evaluated only where numbers do not decide
            for arcs, fewer in (((*transition.take, *transition.test), False), (transition.inhibit, True)):
                for arc in arcs:
                    if isinstance(arc.weight, Formula) == with_formula:
                        enabled &= (columns[arc.place] >= _tokens(arc, columns, transition.name, enabled)) != fewer
        for guard in transition.guards:
            enabled &= np.asarray(_value(guard, columns, transition.name, enabled), dtype=bool)
        for place, capacity in self.capacity:
            gives = [arc for arc in transition.give if arc.place == place]
            if gives:
                takes = [arc for arc in transition.take if arc.place == place]
                change = sum(_tokens(a, columns, transition.name, enabled) for a in gives) - sum(
                    (_tokens(a, columns, transition.name, enabled) for a in takes), 0
                )
                enabled &= (columns[place] + change <= capacity) | np.asarray(change <= 0)
        if isinstance(transition.rate, Formula) or isinstance(transition.weight, Formula):
            at = np.flatnonzero(enabled)
            enabled[at] = self.strength(transition, columns[:, at], len(at)) > 0  # at rate 0 it does not fire
        return enabled


def refuse_data(net: Net) -> None:
    """Raise RefusedError for a net in which token data decides what fires, since a marking only counts tokens."""
    for transition in net.transitions:
        if transition.by_data:
            raise RefusedError(f"transition {transition.name!r} looks at what tokens carry; only simulation does")


def _value(said: Formula, columns: Array, name: str, live: Any = True) -> Array:
    """Return the value of a formula in markings; live: flags of the markings that count."""
    try:
        return said(columns, live=live)
    except InputError as error:
        raise InputError(f"transition.{name}: {error}") from None


def _tokens(arc: Arc, columns: Array, name: str, live: Any = True) -> Any:
    """Return the number of tokens that pass an arc: one number, or one per marking; live: markings that count."""
    if not isinstance(arc.weight, Formula):
        return arc.weight
    tokens = _value(arc.weight, columns, name, live)
    integers = tokens.astype(np.int32)
    wrong = ((integers != tokens) | (tokens < 0)) & live
    if np.any(wrong):
        got = np.broadcast_to(tokens, np.shape(wrong))[wrong].flat[0]
        raise InputError(f"transition.{name}: an arc needs a whole number of tokens, got {got:g}")
    return integers
