"""Evaluates a machine's demands at as few points as possible: one evaluation gives many numbers.

    an evaluation at point p gives f at x if p equals x in every knob that touches f, whatever the other knobs are

A knob touches a number if changing the knob alone changes the number. Requests for numbers that are touched by
different knobs share one evaluation, like columns of a sparse Jacobian (Curtis, Powell and Reid 1974).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor, isnan, nan

from npexplore.designs import Design
from npexplore.errors import NpexploreError
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.rows.server import place_of
from npexplore.units import UnitWarning

FACTORS = (2.0, 0.5, 3.0, 1.5, 5.0)  # multiples of a knob's value at which it is evaluated
SAME = 1e-13  # smaller relative differences count as no change
Point = frozenset[tuple[str, float]]
Numbers = dict[str, float]
Want = tuple[str, Mapping[str, float]]  # request: the name of a number, and the changed knobs


def numbers(u: UnderLoad) -> Numbers:
    """Return the numbers to find formulas for; each is a rational function of a few knobs."""
    values: Numbers = {}
    largest = u.largest()
    for name in u.ceilings():
        if name in u.servers:
            values[f"units {name}"] = float(u.servers[name].units)
            values[f"seconds {name}"] = float(largest[name])
    for resource, seconds in u.demands.latency_parts.items():
        name = f"way {place_of(u.servers[resource]) if resource in u.servers else resource}"
        values[name] = values.get(name, 0.0) + float(seconds)
    for pool in u.machine.pools:
        values[f"count {pool.name}"] = float(pool.count)
        for resource, seconds in u.by_pool[pool.name].latency_parts.items() if len(u.by_pool) > 1 else ():
            values[f"way of {pool.name} {resource}"] = float(seconds)
    return values


def asked_for(u: UnderLoad) -> Numbers:
    """Return what packets request: counts, visits by server, and bytes, by their names in formulas."""
    counts = {name: float(amount) for name, amount in u.demands.counts.items()}
    counts |= {f"visits({name})": float(demand.visits) for name, demand in u.demands.servers.items()}
    return {**counts, "packet.bytes": float(u.workload.mean_packet_bytes)}


@dataclass
class Together:
    """Requests that one evaluation can answer: the knobs that it changes, and knobs that must keep their values."""

    point: dict[str, float] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    wants: list[Want] = field(default_factory=list)

    def takes(self, changes: Mapping[str, float], others: frozenset[str]) -> bool:
        """Return whether a request can join; changes: its changed knobs; others: knobs that touch its number too."""
        return (
            self.left.isdisjoint(changes)
            and others.isdisjoint(self.point)
            and all(self.point.get(knob, value) == value for knob, value in changes.items())
        )


class Asked:
    """Evaluates a machine and caches the results.

    today, features: numbers and packets' requests of the unchanged machine. at: the knobs and their values. first: for
    each knob another value at which the machine can be evaluated. touched: by number, the knobs that change it. more:
    by knob, the requests that change with it.
    """

    def __init__(self, design: Design, workload: Workload | None, progress: Callable[[int], None] | None) -> None:
        self.design, self.workload, self.progress = design, workload, progress
        self.answers: dict[Point, tuple[Numbers, Numbers] | None] = {}
        self.under_load = design.demands(workload)
        self.today, self.features = numbers(self.under_load), asked_for(self.under_load)
        self.parameters = design.parameters.file.parameter
        names_read = design.depends_on(workload)
        self.at: Numbers = {}
        for name in self.parameters:
            value = design.parameters[name]
            if name in names_read and not isinstance(value, str) and value > 0:
                self.at[name] = float(value)
        self.choices = {n: design.parameters[n] for n in self.parameters if n in names_read and n not in self.at}
        self.known: dict[tuple[str, Point], float | None] = {}
        self.touched: dict[str, set[str]] = {}
        self.more: dict[str, set[str]] = {}
        self.first: Numbers = {}
        for name in self.at:
            self._touch(name)

    def _touch(self, knob: str) -> None:
        """Record the numbers that a knob touches, at its first value at which the machine can be evaluated."""
        for value in self.values(knob):
            answer = self.ask({knob: value})
            if answer is None:
                continue
            self.first[knob], (numbers, features) = value, answer
            for name in numbers:
                if name.startswith("way "):  # a time that is 0 unless the knob changes
                    self.today.setdefault(name, 0.0)
            for name, present in self.today.items():
                changed_value = numbers.get(name, 0.0 if name.startswith("way ") else nan)
                if not abs(changed_value - present) <= SAME * max(abs(present), abs(changed_value)):
                    self.touched.setdefault(name, set()).add(knob)
                    self.known[name, frozenset({(knob, value)})] = None if isnan(changed_value) else changed_value
            self.more[knob] = {name for name, present in self.features.items() if features.get(name) != present}
            return

    def values(self, knob: str) -> Iterator[float]:
        """Yield the allowed values of a knob at which it is evaluated, without its present value."""
        p, present = self.parameters[knob], self.at[knob]
        tried = [float(choice) for choice in p.choices] or [present * factor for factor in FACTORS]
        if isinstance(p.value, int) and not p.choices:  # not multiples, at which a step function would look smooth
            tried = [float(floor(value) + 1) for value in tried] + [present + 1, present + 2, present - 1, present - 2]
        yield from (value for value in dict.fromkeys(tried) if p.allows(value) and value > 0 and value != present)

    def ask(self, changes: Mapping[str, float]) -> tuple[Numbers, Numbers] | None:
        """Return (numbers, packets' requests) with some knobs changed; None if that machine is impossible."""
        point = frozenset(changes.items())
        if point in self.answers:
            return self.answers[point]
        settings = {name: int(v) if isinstance(self.parameters[name].value, int) else v for name, v in changes.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitWarning)  # the user did not choose these values
                u = self.design.with_(**settings).demands(self.workload)
            self.answers[point] = numbers(u), asked_for(u)
        except NpexploreError:
            self.answers[point] = None
        if self.progress is not None:
            self.progress(len(self.answers))
        return self.answers[point]

    def gather(self, wants: Iterable[Want]) -> None:
        """Evaluate requests and store their numbers."""
        for together in self.packed((n, c) for n, c in wants if c and (n, frozenset(c.items())) not in self.known):
            answer = self.ask(together.point)
            for name, changes in together.wants:  # if the shared point is impossible, each request is evaluated alone
                alone = self.ask(changes) if answer is None and len(changes) < len(together.point) else answer
                nothing = 0.0 if name.startswith("way ") else None
                self.known[name, frozenset(changes.items())] = None if alone is None else alone[0].get(name, nothing)

    def packed(self, wants: Iterable[Want]) -> list[Together]:
        """Return the requests, grouped by a greedy search into few shared points."""
        groups: list[Together] = []
        groups_by_key: dict[tuple[Point, frozenset[str]], Together] = {}
        for name, changes in wants:
            others = frozenset(self.touched.get(name, ())).difference(changes)
            key = frozenset(changes.items()), others
            group = groups_by_key.get(key) or next((g for g in groups if g.takes(changes, others)), None)
            if group is None:
                group = Together()
                groups.append(group)
            groups_by_key[key] = group
            group.point.update(changes)
            group.left |= others
            group.wants.append((name, changes))
        return groups

    def value(self, name: str, changes: Mapping[str, float]) -> float | None:
        """Return a stored number; None if the machine is impossible there or has no such number."""
        return self.known[name, frozenset(changes.items())] if changes else self.today[name]

    def touches(self, name: str, knob: str) -> None:
        """Record that a knob touches a number, and discard the number's stored values, which it may have changed."""
        self.touched.setdefault(name, set()).add(knob)
        self.known = {key: value for key, value in self.known.items() if key[0] != name}
