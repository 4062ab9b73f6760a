"""Resolves parameters of a resource by name, such as `precharge="60 ns"` for `precharge_s`, with units and ranges.

A parameter has its own name, or this name without the unit at its end if the value is a text with a unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from npexplore import syntax
from npexplore.errors import FaultsError, InputError, NpexploreError, UnknownNameError, one_of
from npexplore.machine.described.examples import DEFAULTS
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.named import NAMED, Named, full_key, kind_behind, paths_of
from npexplore.machine.described.part_files import PARTS, own_names, shelf_part
from npexplore.machine.described.parts import Parts
from npexplore.machine.described.resources import ResourceTables, operands
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.ranges import checked, words
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import Example, OperandValue, Resource
from npexplore.units import UNITS, split, unit_of

POSITIVE = 1e-18  # smallest allowed rate
AMOUNTS = ("bytes", "bits", "words")  # operands with values of at least 1


def names() -> list[str]:
    """Return all names of resources: common names, then kinds and shelf parts."""
    return [*NAMED, *KINDS, *PARTS]


def kind_named(name: str) -> str:
    """Return the kind or part of a name; raises UnknownNameError."""
    one_of("resource", name, names())
    return kind_behind(name)


def named(name: str) -> tuple[Named, Example]:
    """Return the settings of a name, and the defaults of its kind; raises UnknownNameError."""
    settings = NAMED.get(name, Named(kind_named(name), about(kind_named(name))))
    return settings, DEFAULTS[settings.kind]


def about(kind: str) -> str:
    """Return a one-line description of a kind or part."""
    return shelf_part(kind).title if kind in PARTS else (KINDS[kind].__doc__ or "").splitlines()[0].replace("`", "")


def listed(name: str) -> list[dict[str, Any]]:
    """Return the parameters of a resource as rows: name, unit, default, range, choices, and a part's description."""
    known, default = named(name)
    defaults = {**default.parameters, **known.parameters}
    if known.kind in PARTS:
        return [
            {
                "name": key, "unit": p.unit or unit_of(key) or "", "default": defaults.get(key, p.default),
                "min": p.min, "max": p.max, "choices": p.choices or None, "about": p.about, "whole": p.whole,
            }
            for key, p in shelf_part(known.kind).parameters.items()
        ]  # fmt: skip
    rows = []
    for key, (hint, needed) in operands(KINDS[known.kind], without={"name": None}).items():
        unit, usual = unit_of(key) or "", None if needed else _default(known.kind, key)
        rows.append({
            "name": key, "unit": unit, "default": defaults.get(key, usual), "min": _least(known.kind, key, hint, unit),
            "max": None, "choices": words(get_args(hint)) or None, "about": "", "whole": hint is int,
        })  # fmt: skip
    return rows


def built(name: str, called: str, values: Mapping[str, Any]) -> tuple[Resource, dict[str, Any]]:
    """Return a resource with the name `called`, and all parameters that were set.

    Raises InputError, which names kind, parameter, unit, value and range.
    """
    settings, default = named(name)
    subject = f"{name} ({settings.kind})" if name != settings.kind else name
    table = {**default.parameters, **settings.parameters}
    rows = {row["name"]: row for row in listed(name)}
    for key, value in (own_names(shelf_part(settings.kind), values) if settings.kind in PARTS else values).items():
        full_name = full_key(subject, key, value, rows)
        if full_name not in rows:
            raise UnknownNameError(f"parameter of {subject}", key, rows)
        table[full_name] = _checked(f"{subject}: {full_name}", value, rows[full_name])
    if name == "crossing":
        table["paths"] = paths_of(subject, table["paths"])
    tables = ResourceTables({called: {"type": settings.kind, **table}}, Formulas({}), Parts())
    try:
        return tables.one(called), table
    except FaultsError:
        raise
    except NpexploreError as error:
        reason = str(error).removeprefix(f"{called}: ").removeprefix(f"resource {called!r}: ")
        raise InputError(f"{subject}: {reason}") from None


def _checked(subject: str, value: Any, row: Mapping[str, Any]) -> Any:
    """Return a parameter's value in its unit, other values unchanged; raises InputError for one out of range."""
    unit, is_integer = str(row["unit"]), bool(row.get("whole") or isinstance(value, int))
    if isinstance(value, str) and (split(value) is None or not unit) and (not is_integer or "=" in value):
        return value
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return value
    if words(row["choices"] or []):
        checked(subject, value, False, None, None, row["choices"], unit)
        return value
    return checked(
        subject, value, is_integer, row["min"], row["max"], row["choices"] or [], unit if unit in UNITS else ""
    )


def _least(kind: str, key: str, hint: Any, unit: str) -> float | None:
    """Return the smallest value of a parameter by type and unit; of an integer 1 if its kind refuses 0, else 0."""
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if int not in types and float not in types:
        return None
    if float in types:
        return POSITIVE if unit in ("Hz", "bytes/s", "packets/s") else 0.0
    try:
        ResourceTables({kind: {"type": kind, **DEFAULTS[kind].parameters, key: 0}}, Formulas({}), Parts()).one(kind)
    except NpexploreError:
        return 1
    return 0


def _default(kind: str, key: str) -> Any:
    import inspect

    return inspect.signature(KINDS[kind]).parameters[key].default


def visit_of(resource: Resource, default: Example, visit: str | None) -> str:
    """Return the name of the visit that packets make (None: the default); raises UnknownNameError."""
    return one_of(f"visit of {resource.name}", visit or default.visit, resource.VISITS)


def operand(subject: str, name: str, value: Any) -> OperandValue:
    """Return an operand's value, numeric texts as numbers; raises InputError for a value that is no number or text."""
    number = value
    if isinstance(value, str):
        try:
            number = float(value) if any(mark in value.lower() for mark in ".en") else int(value)
        except ValueError:
            if value.partition(":")[0] not in DRAWN:
                _check_formula(subject, value)
            return value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InputError(f"{subject} must be a number or a text, got {value!r}")
    smallest = 1 if name in AMOUNTS else 0
    if not smallest <= number < float("inf"):
        raise InputError(f"{subject} must be a number of at least {smallest}, got {value!r}")
    return number


def _check_formula(subject: str, text: str) -> None:
    """Raise InputError for a text that is not a valid formula."""
    try:
        syntax.expression(text)
    except (SyntaxError, ValueError):
        raise InputError(
            f"{subject} must be a number without a unit, a formula of the packet (packet.packet_bytes), "
            f"or {', '.join(DRAWN[:-1])} or hot:SHARE, got {text!r}"
        ) from None


def operands_of(resource: Resource, visit: str, *parts: Mapping[str, OperandValue]) -> dict[str, OperandValue]:
    """Return the values of a visit's operands from several mappings, without names that the visit does not have."""
    return {key: value for part in parts for key, value in part.items() if key in resource.VISITS[visit]}
