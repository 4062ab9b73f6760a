"""Unfolds a net: each place or transition with indexes becomes one for each combination of index values.

An index is a finite colour 0..n - 1; `Fork[i + 1]` wraps around at n (the successor of coloured nets: Jensen, Coloured
Petri Nets, 1992, 2.2). A transition is unfolded over the indexes in its arcs, for values that its guards allow.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from npexplore.dimensions import Quantity, value_of
from npexplore.errors import Faults, InputError, one_of, positive, told_at
from npexplore.machine.petri.delays import read_delay
from npexplore.machine.petri.formulas import Evaluator, indexed
from npexplore.machine.petri.guards import check_guard
from npexplore.machine.petri.lines import Line, Term, read_line
from npexplore.machine.petri.measured import NetUnits
from npexplore.machine.petri.places import Colours, Families, Types, check_value, read_colours, read_places, read_types
from npexplore.machine.petri.tables import NetFile
from npexplore.machine.petri.unfolded import Arc, Formula, Net, Target, Timing, Transition
from npexplore.machine.petri.values import MAX_UNFOLDED, check_name, names_in, number, quantity, whole
from npexplore.rows.distributions import Distribution, Exponential


def unfold(name: str, read: NetFile, constant: Mapping[str, float | str], machine: Mapping[str, Any]) -> Net:
    """Return the net that tables describe; raises InputError with place, rule and value.

    constant: replaces the constants of the tables. machine: names that only constants may use, such as `p`, the
    machine's parameters.
    """
    values: dict[str, float] = {}
    units = NetUnits()
    for key, value in constant.items():
        with told_at(f"constant.{key}"):
            check_name(key, machine)
            measured = quantity(value, {**values, **machine}, units)
            values[key] = float(value_of(measured))
            if isinstance(measured, Quantity):
                units.of[key] = measured.unit
    colours = read_colours(read.index, values)
    types = read_types(read.token, values, colours)
    families = read_places(read.place, values, colours, types)
    tokens_at_first = np.array([[place.tokens] for place in families.places])
    row: dict[str, float] = {}
    for key, value in read.feed.items():
        with told_at(f"feed.{key}"):
            row[key] = number(value, values)
    lookup = _Unfolding(read.timing, values, colours, types, families, tokens_at_first, row, units)
    transitions: list[Transition] = []
    faults = Faults()
    used: set[int] = set()
    for key, text in read.transition.items():
        with faults.one(), told_at(f"transition.{key}"):
            check_name(key)
            line = read_line(text)
            instances = list(lookup.transitions(key, line, MAX_UNFOLDED - len(transitions)))
            transitions += instances
            if line.using:
                shared = {term.place for term in line.using}
                used |= {k for k, place in enumerate(families.places) if place.name.partition("[")[0] in shared}
    faults.tell()
    places = tuple(
        place._replace(resource=True) if k in used and place.tokens else place
        for k, place in enumerate(families.places)
    )
    columns = {key: np.array([value]) for key, value in row.items()}
    return Net(
        name, read.timing, places, tuple(transitions), types.carries, types.fields, values, read.measure,
        read.utilization, columns,
    )  # fmt: skip


@dataclass(frozen=True)
class _Unfolding:
    """Unfolds transitions; holds the names that their lines may use."""

    timing: Timing
    constants: dict[str, float]
    colours: Colours
    types: Types
    families: Families
    tokens: Any  # initial marking, shape (P, 1)
    row: dict[str, float]  # first row of the feed
    units: NetUnits

    def transitions(self, name: str, line: Line, most: int) -> Iterator[Transition]:
        """Yield a transition for each choice of the indexes that its line allows."""
        for term in line.terms:
            one_of("place", term.place, self.families.index)
        taken = self.carried(line)
        bound = self.bound(line, taken)
        for text in (*line.guards, *(formula for _, formula in line.sets), *line.clauses.values()):
            check_guard(text, bound, [*taken, *(key for key, _ in line.sets)], self.colours, self.types)
        if prod(self.colours.size[index] for index in bound) > most:
            raise InputError(f"a net must unfold to {MAX_UNFOLDED} transitions at most, got more")
        for choice in product(*(range(self.colours.size[index]) for index in bound)):
            names = {**self.constants, **dict(zip(bound, choice, strict=True))}
            guards = [self.formula(text, names, taken) for text in line.guards]
            if all(guard for guard in guards if not isinstance(guard, Formula)):
                yield self.transition(indexed(name, choice), line, names, [g for g in guards if isinstance(g, Formula)])

    def carried(self, line: Line) -> list[str]:
        """Return the fields of the tokens that a line takes; raises InputError if tokens that it gives lack a field."""
        types, of = self.types, self.families.of
        carried = dict.fromkeys(key for term in line.take if term.place in of for key in types.carries[of[term.place]])
        for key, _ in line.sets:
            one_of("field", key, types.fields)
        known = {*carried, *(key for key, _ in line.sets)}
        for term in line.give:
            missing = [key for key in types.carries[of[term.place]] if key not in known] if term.place in of else []
            if missing:
                raise InputError(f"tokens of {term.place!r} carry {', '.join(missing)}, which is not set ('set')")
        for term in line.using:
            if term.place in of:
                raise InputError(f"'using' is for places whose tokens carry nothing, got {term.place!r}")
        return list(carried)

    def bound(self, line: Line, taken: list[str]) -> list[str]:
        """Return the indexes in a line's arcs, in the order of the table; raises InputError for a wrong index."""
        used_indexes: set[str] = set()
        known_keys = [*taken, *(key for key, _ in line.sets)]
        for term in line.terms:
            declared_indexes = self.families.index[term.place]
            if len(declared_indexes) != len(term.index):
                raise InputError(f"place {term.place!r} has {len(declared_indexes)} indexes, got {len(term.index)}")
            for text, declared in zip(term.index, declared_indexes, strict=True):
                named, size = names_in(text), self.colours.size[declared]
                used = {key for key in named if key in self.colours.size}
                for key in used:
                    if self.colours.colour[key] != self.colours.colour[declared]:
                        raise InputError(
                            f"index of place {term.place!r} must be of the colour {declared!r}, got {key!r} in {text!r}"
                        )
                data = [key for key in named if key in self.types.fields]
                for key in data:
                    self.check_target(term, key, declared, known_keys if term in line.give else taken)
                if not used and not data and not 0 <= number(text, self.constants) < size:
                    raise InputError(f"index of place {term.place!r} must be in 0..{size - 1}, got {text}")
                used_indexes |= used
        return [index for index in self.colours.size if index in used_indexes]

    def check_target(self, term: Term, name: str, declared: str, carried: list[str]) -> None:
        """Raise InputError if an index is a field that no taken token carries, or of another colour or size."""
        field = self.types.fields[name]
        if name not in carried:
            raise InputError(f"index of place {term.place!r}: nothing that the transition takes carries {name!r}")
        if (
            (field.colour or self.colours.colour[declared]) != self.colours.colour[declared]
            or field.high is None
            or (field.high >= self.colours.size[declared])
        ):
            raise InputError(f"index of place {term.place!r} must be of the colour {declared!r}, got field {name!r}")
        if term.place in self.families.limited:
            raise InputError(f"place {term.place!r} has a capacity, so a token cannot choose among its members")

    def formula(
        self, text: str, names: Mapping[str, float], carried: list[str], *, chance: bool = False
    ) -> Formula | float:
        """Return a formula's value, or the formula itself if it depends on the marking, a token, the feed or chance."""
        lookup = self.families.lookup
        token = dict.fromkeys(carried, 1)  # any value: it is not used
        random = (lambda: 0.5) if chance else None
        evaluator = Evaluator(names, lookup, self.tokens, token, random, row=self.row, probing=True)
        value = evaluator.text(text)
        if evaluator.reads or evaluator.fields or evaluator.drawn or evaluator.fed:
            reads, fields = frozenset(evaluator.reads), frozenset(evaluator.fields)
            return Formula(text, names, lookup, reads, fields, evaluator.drawn, evaluator.fed)
        if isinstance(value, str | tuple):
            raise InputError(f"{text!r} must be a number, got {value!r}")
        return float(value)

    def arcs(self, terms: list[Term], names: Mapping[str, float], carried: list[str]) -> tuple[Arc, ...]:
        """Return arcs with numbers of places instead of names; arcs of weight 0 are left out."""
        arcs_by_place: dict[Any, Arc] = {}
        for term in terms:
            weight = self.formula(term.weight, names, carried)
            if not isinstance(weight, Formula):
                weight = whole(f"tokens of {term.place!r}", weight)
            if any(name in self.types.fields for text in term.index for name in names_in(text)):
                values = tuple(self.formula(text, names, carried) for text in term.index)
                sizes = self.families.lookup.sizes[term.place]
                index = tuple(value if isinstance(value, Formula) else int(value) for value in values)
                first = self.families.lookup.number(term.place, [0] * len(sizes))
                arcs_by_place[term] = Arc(first, weight, Target(index, sizes))
                continue
            place = self.families.lookup.number(term.place, [int(number(text, names)) for text in term.index])
            earlier = arcs_by_place.get(place)
            if earlier is not None:
                if isinstance(weight, Formula) or isinstance(earlier.weight, Formula):
                    raise InputError(f"an arc whose tokens a formula says must be the only arc of {term.place!r}")
                weight += earlier.weight
            if weight != 0:
                arcs_by_place[place] = Arc(place, weight)
        return tuple(arcs_by_place.values())

    def transition(self, name: str, line: Line, names: Mapping[str, float], guards: list[Formula]) -> Transition:
        """Return a transition for one choice of the indexes."""
        clauses, taken = line.clauses, self.carried(line)
        carried = [*taken, *(key for key, _ in line.sets)]
        delay, rate = self.delay(clauses, names, carried)
        timed = delay is not None or rate is not None
        if self.timing == "race" and timed and ("priority" in clauses or "weight" in clauses):
            raise InputError("in a race, timed transitions have no priority and no weight, got one")
        if "servers" in clauses and (self.timing == "duration" or not timed):
            raise InputError("servers are of timed transitions in a race; else limit them by a place ('using')")
        weight = self.formula(clauses.get("weight", "1"), names, taken)
        if not isinstance(weight, Formula):
            positive("weight", weight)
        servers: int | None = 1 if self.timing == "race" else None
        if "servers" in clauses:
            limit = clauses["servers"]
            servers = None if limit == "all" else whole("servers", number(limit, names), least=1)
        return Transition(
            name,
            take=self.arcs([*line.take, *line.using], names, taken),
            give=self.arcs([*line.give, *line.using], names, carried),
            test=self.arcs(line.tests, names, taken),
            inhibit=self.arcs(line.unless, names, taken),
            guards=tuple(guards),
            sets=tuple(self.setting(key, text, names, carried) for key, text in line.sets),
            delay=delay,
            rate=rate,
            priority=whole("priority", number(clauses.get("priority", 0), names)),
            weight=weight,
            servers=servers,
        )

    def setting(self, key: str, text: str, names: Mapping[str, float], carried: list[str]) -> tuple[str, int | Formula]:
        """Return a field and the value or formula that it is set to."""
        value = self.formula(text, names, carried, chance=True)
        if isinstance(value, Formula):
            return key, value
        check_value(key, value, self.types.fields[key])
        return key, int(value)

    def delay(
        self, said: Mapping[str, str], names: Mapping[str, float], carried: list[str]
    ) -> tuple[Distribution | Formula | None, float | Formula | None]:
        """Return the delay of firing, and the rate of an exponential delay."""
        if "for" in said and "rate" in said:
            raise InputError("a transition has a delay ('for') or a rate, got both")
        if "for" in said and any(name in carried or name in self.families.index for name in names_in(said["for"])):
            if self.timing == "race":
                raise InputError("in a race, what depends on tokens is a rate, got a delay ('for')")
            formula = self.formula(said["for"], names, carried)
            assert isinstance(formula, Formula)
            return formula, None
        if "for" in said:
            return read_delay(said["for"], names, self.units, zero=self.timing == "duration"), None
        if "rate" not in said:
            return None, None
        rate = self.formula(said["rate"], names, carried)
        if not isinstance(rate, Formula):
            self.units.checked(quantity(said["rate"], names, self.units), "the rate", -1)
            return Exponential(1.0 / positive("rate", rate)), rate
        if self.timing == "duration":
            raise InputError("a rate that depends on the marking needs timing 'race', got 'duration'")
        return None, rate
