"""A machine's demands evaluated at as few chosen points as possible: one evaluation gives many numbers.

    a point tells f at x if it is x in every knob that touches f, whatever it is in all others

A knob touches a number if changing it alone changes that number. Points that are wanted for numbers with other knobs
are asked for together, as columns of a sparse Jacobian are (Curtis, Powell and Reid 1974).
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

FACTORS = (2.0, 0.5, 3.0, 1.5, 5.0)  # of a knob, where it is asked for
SAME = 1e-13  # relative: what is no change
Point = frozenset[tuple[str, float]]
Numbers = dict[str, float]
Want = tuple[str, Mapping[str, float]]  # a number, and the knobs that are changed for it


def numbers(u: UnderLoad) -> Numbers:
    """Return the numbers to find formulas for: rational functions of the knobs, each of only a few."""
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
    """Return the demands of packets, by their names in formulas."""
    counts = {name: float(amount) for name, amount in u.demands.counts.items()}
    counts |= {f"visits({name})": float(demand.visits) for name, demand in u.demands.servers.items()}
    return {**counts, "packet.bytes": float(u.workload.mean_packet_bytes)}


@dataclass
class Together:
    """Numbers wanted that one point can give: the knobs it changes, and those it must leave."""

    point: dict[str, float] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    wants: list[Want] = field(default_factory=list)

    def takes(self, changes: Mapping[str, float], others: frozenset[str]) -> bool:
        """Say whether a want may join."""
        return (
            self.left.isdisjoint(changes)
            and others.isdisjoint(self.point)
            and all(self.point.get(knob, value) == value for knob, value in changes.items())
        )


class Asked:
    """Asks a machine, and remembers what it said.

    today, features: numbers, and what packets ask for, as the machine stands. at: the knobs and their values. first: of
    each knob one other value at which there is a machine. touched: by number, the knobs that change it. more: by knob,
    what packets ask more or less for if it is changed.
    """

    def __init__(self, design: Design, workload: Workload | None, progress: Callable[[int], None] | None) -> None:
        self.design, self.workload, self.progress = design, workload, progress
        self.answers: dict[Point, tuple[Numbers, Numbers] | None] = {}
        self.under_load = design.demands(workload)
        self.today, self.features = numbers(self.under_load), asked_for(self.under_load)
        self.parameters = design.parameters.file.parameter
        read = design.depends_on(workload)
        self.at: Numbers = {}
        for name in self.parameters:
            value = design.parameters[name]
            if name in read and not isinstance(value, str) and value > 0:
                self.at[name] = float(value)
        self.choices = {n: design.parameters[n] for n in self.parameters if n in read and n not in self.at}
        self.known: dict[tuple[str, Point], float | None] = {}
        self.touched: dict[str, set[str]] = {}
        self.more: dict[str, set[str]] = {}
        self.first: Numbers = {}
        for name in self.at:
            self._touch(name)

    def _touch(self, knob: str) -> None:
        """Find what a knob touches, at the first of its values at which there is a machine."""
        for value in self.values(knob):
            answer = self.ask({knob: value})
            if answer is None:
                continue
            self.first[knob], (numbers, features) = value, answer
            for name in numbers:
                if name.startswith("way "):  # takes time at some other value of a knob alone
                    self.today.setdefault(name, 0.0)
            for name, here in self.today.items():
                there = numbers.get(name, 0.0 if name.startswith("way ") else nan)
                if not abs(there - here) <= SAME * max(abs(here), abs(there)):
                    self.touched.setdefault(name, set()).add(knob)
                    self.known[name, frozenset({(knob, value)})] = None if isnan(there) else there
            self.more[knob] = {name for name, here in self.features.items() if features.get(name) != here}
            return

    def values(self, knob: str) -> Iterator[float]:
        """Yield values of a knob, other than its own, that its bounds allow."""
        p, here = self.parameters[knob], self.at[knob]
        tried = [float(one) for one in p.choices] or [here * factor for factor in FACTORS]
        if isinstance(p.value, int) and not p.choices:  # no multiples: what goes in steps would look smooth
            tried = [float(floor(value) + 1) for value in tried] + [here + 1, here + 2, here - 1, here - 2]
        yield from (value for value in dict.fromkeys(tried) if p.allows(value) and value > 0 and value != here)

    def ask(self, changes: Mapping[str, float]) -> tuple[Numbers, Numbers] | None:
        """Return numbers, and what packets ask for, with some knobs changed; None where no such machine can be."""
        point = frozenset(changes.items())
        if point in self.answers:
            return self.answers[point]
        whole = {name: int(v) if isinstance(self.parameters[name].value, int) else v for name, v in changes.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitWarning)  # values that nobody chose
                u = self.design.with_(**whole).demands(self.workload)
            self.answers[point] = numbers(u), asked_for(u)
        except NpexploreError:
            self.answers[point] = None
        if self.progress is not None:
            self.progress(len(self.answers))
        return self.answers[point]

    def gather(self, wants: Iterable[Want]) -> None:
        """Learn numbers at points: each changes knobs that touch the number, and leaves all others that do."""
        for together in self.packed((n, c) for n, c in wants if c and (n, frozenset(c.items())) not in self.known):
            answer = self.ask(together.point)
            for name, changes in together.wants:  # where no machine is, each for itself
                alone = self.ask(changes) if answer is None and len(changes) < len(together.point) else answer
                nothing = 0.0 if name.startswith("way ") else None
                self.known[name, frozenset(changes.items())] = None if alone is None else alone[0].get(name, nothing)

    def packed(self, wants: Iterable[Want]) -> list[Together]:
        """Return wants in as few points as a greedy search finds."""
        points: list[Together] = []
        alike: dict[tuple[Point, frozenset[str]], Together] = {}
        for name, changes in wants:
            others = frozenset(self.touched.get(name, ())).difference(changes)
            key = frozenset(changes.items()), others
            place = alike.get(key) or next((one for one in points if one.takes(changes, others)), None)
            if place is None:
                place = Together()
                points.append(place)
            alike[key] = place
            place.point.update(changes)
            place.left |= others
            place.wants.append((name, changes))
        return points

    def value(self, name: str, changes: Mapping[str, float]) -> float | None:
        """Return a number that was gathered; None where there is no such machine, or no such number."""
        return self.known[name, frozenset(changes.items())] if changes else self.today[name]

    def touches(self, name: str, knob: str) -> None:
        """Note that a knob touches a number: what was gathered before may have been moved by it."""
        self.touched.setdefault(name, set()).add(knob)
        self.known = {key: value for key, value in self.known.items() if key[0] != name}
