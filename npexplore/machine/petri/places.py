"""Reads the places of a net, unfolded over their indexes, and the fields of their tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Literal

import msgspec

from npexplore.errors import InputError, one_of, told_at
from npexplore.machine.petri.formulas import Places, indexed
from npexplore.machine.petri.lines import read_term
from npexplore.machine.petri.unfolded import Field, Place
from npexplore.machine.petri.values import MAX_UNFOLDED, check_name, number, whole
from npexplore.toml import Record

Whole = Annotated[int, msgspec.Meta(ge=0)]
ANY = "number"  # a field that holds any whole number


class PlaceTable(Record, frozen=True):
    """A place: its initial tokens and its capacity, as numbers or formulas over constants and indexes.

    of: the type of its tokens. carried: fields of the initial tokens. resource: whether to report its utilization.
    port: whether tokens enter or leave the net here.
    """

    tokens: Whole | str = 0
    capacity: Whole | str | None = None
    of: str | None = None
    carried: dict[str, int | str] = msgspec.field(default_factory=dict)
    resource: bool = False
    port: Literal["in", "out"] | None = None


@dataclass(frozen=True)
class Colours:
    """Indexes: the size and the colour of each."""

    size: dict[str, int]
    colour: dict[str, str]


@dataclass(frozen=True)
class Types:
    """Types of tokens: the fields of each type, and the values that each field may have."""

    carries: dict[str, tuple[str, ...]]
    fields: dict[str, Field]


@dataclass(frozen=True)
class Families:
    """Places of a table: by number and by name; and by family, the indexes and the type of tokens.

    limited: families with a capacity.
    """

    places: list[Place]
    lookup: Places
    index: dict[str, tuple[str, ...]]
    of: dict[str, str]
    limited: set[str]


def read_colours(index: Mapping[str, int | str], constants: Mapping[str, float]) -> Colours:
    """Return the indexes of a table; raises InputError that names the faulty index."""
    size: dict[str, int] = {}
    colour: dict[str, str] = {}
    for key, text in index.items():
        with told_at(f"index.{key}"):
            check_name(key, constants)
            is_alias = isinstance(text, str) and text in size
            size[key] = size[str(text)] if is_alias else whole("an index", number(text, constants), least=1)
            colour[key] = colour[str(text)] if is_alias else key
    return Colours(size, colour)


def read_types(token: Mapping[str, Mapping[str, int | str]], constants: Mapping[str, float], colours: Colours) -> Types:
    """Return the types of tokens of a table; raises InputError that names the faulty type and field."""
    fields: dict[str, Field] = {}
    for name, entries in token.items():
        for key, values in entries.items():
            with told_at(f"token.{name}.{key}"):
                check_name(key, [*constants, *colours.size])
                if values == ANY:
                    token_field = Field()
                elif isinstance(values, str) and values in colours.size:
                    token_field = Field(0, colours.size[values] - 1, colours.colour[values])
                else:
                    token_field = Field(0, whole("how many values it has", number(values, constants), least=1) - 1)
                if fields.setdefault(key, token_field) != token_field:
                    raise InputError(f"{key!r} must be the same in all types of tokens that carry it")
    return Types({name: tuple(entries) for name, entries in token.items()}, fields)


def read_places(
    place: Mapping[str, int | str | PlaceTable], constants: Mapping[str, float], colours: Colours, types: Types
) -> Families:
    """Return the places of a table; raises InputError that names the faulty place."""
    if not place:
        raise InputError("place: a net needs at least one place, got none")
    with told_at("place"):
        index = {term.place: term.index for term in map(read_term, place)}
        if len(index) < len(place):
            raise InputError(f"a place must be declared once, got {', '.join(place)}")
    places: list[Place] = []
    sizes: dict[str, tuple[int, ...]] = {}
    of: dict[str, str] = {}
    limited: set[str] = set()
    for key, entry in place.items():
        table = entry if isinstance(entry, PlaceTable) else PlaceTable(tokens=entry)
        with told_at(f"place.{key}"):
            term = read_term(key)
            check_name(term.place, [*constants, *colours.size, *types.fields])
            if term.weight != "1":
                raise InputError(f"a place is declared by its name alone, got {key!r}")
            sizes[term.place] = tuple(colours.size[one_of("index", name, colours.size)] for name in term.index)
            if len(places) + prod(sizes[term.place]) > MAX_UNFOLDED:
                raise InputError(f"a net must unfold to {MAX_UNFOLDED} places at most, got more")
            if table.of is not None:
                of[term.place] = one_of("type of tokens", table.of, types.carries)
            if table.capacity is not None:
                limited.add(term.place)
            for choice in product(*map(range, sizes[term.place])):
                names = {**constants, **dict(zip(term.index, choice, strict=True))}
                places.append(_place(indexed(term.place, choice), table, names, types))
    numbers = {unfolded.name: k for k, unfolded in enumerate(places)}
    return Families(places, Places(numbers, sizes), index, of, limited)


def _place(name: str, table: PlaceTable, names: Mapping[str, float], types: Types) -> Place:
    tokens = whole("tokens", number(table.tokens, names))
    capacity = None if table.capacity is None else whole("capacity", number(table.capacity, names))
    if capacity is not None and tokens > capacity:
        raise InputError(f"tokens must be at most the capacity ({capacity}), got {tokens}")
    known = types.carries[table.of] if table.of else ()
    for key in table.carried:
        one_of("field", key, known)
    if tokens and (missing := [key for key in known if key not in table.carried]):
        raise InputError(f"carried: the tokens at first need {', '.join(missing)}")
    carried = []
    for key, value_text in table.carried.items():
        value = number(value_text, names)
        check_value(key, value, types.fields[key])
        carried.append((key, int(value)))
    return Place(name, tokens, capacity, table.of, tuple(carried), table.resource, table.port)


def check_value(name: str, value: float, field: Field) -> None:
    """Raise InputError for a value that a field cannot hold."""
    if not float(value).is_integer() or (field.high is not None and not 0 <= value <= field.high):
        span = "" if field.high is None else f" in 0..{field.high}"
        raise InputError(f"{name!r} must be a whole number{span}, got {value:g}")
