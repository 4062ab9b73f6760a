"""Parameters of a resource by name: `precharge="60 ns"` for `precharge_s`, with defaults, units and ranges.

A parameter goes by its own name, or by that name without the unit at its end if the value is a text with a unit.
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

POSITIVE = 1e-18  # the least rate
AMOUNTS = ("bytes", "bits", "words")  # operands of which a visit has at least one


def names() -> list[str]:
    """Return the names that a resource goes by: those that people use, then kinds and parts of the shelf."""
    return [*NAMED, *KINDS, *PARTS]


def kind_named(name: str) -> str:
    """Return the kind or part behind a name; raises UnknownNameError."""
    one_of("resource", name, names())
    return kind_behind(name)


def named(name: str) -> tuple[Named, Example]:
    """Return what a name has for itself, and its kind's defaults; raises UnknownNameError."""
    own = NAMED.get(name, Named(kind_named(name), about(kind_named(name))))
    return own, DEFAULTS[own.kind]


def about(kind: str) -> str:
    """Return the line that says what a kind or part is."""
    return shelf_part(kind).title if kind in PARTS else (KINDS[kind].__doc__ or "").splitlines()[0].replace("`", "")


def listed(name: str) -> list[dict[str, Any]]:
    """Return the parameters of a resource: name, unit, default, range, and what it is where its file says so."""
    own, default = named(name)
    defaults = {**default.parameters, **own.parameters}
    if own.kind in PARTS:
        return [
            {
                "name": key, "unit": one.unit or unit_of(key) or "", "default": defaults.get(key, one.default),
                "min": one.min, "max": one.max, "choices": one.choices or None, "about": one.about, "whole": one.whole,
            }
            for key, one in shelf_part(own.kind).parameters.items()
        ]  # fmt: skip
    rows = []
    for key, (hint, needed) in operands(KINDS[own.kind], without={"name": None}).items():
        unit, usual = unit_of(key) or "", None if needed else _default(own.kind, key)
        rows.append({
            "name": key, "unit": unit, "default": defaults.get(key, usual), "min": _least(own.kind, key, hint, unit),
            "max": None, "choices": words(get_args(hint)) or None, "about": "", "whole": hint is int,
        })  # fmt: skip
    return rows


def built(name: str, called: str, values: Mapping[str, Any]) -> tuple[Resource, dict[str, Any]]:
    """Return a resource under a name of its own, and all parameters that were set.

    Raises InputError, which names kind, parameter, unit, value and range.
    """
    own, default = named(name)
    subject = f"{name} ({own.kind})" if name != own.kind else name
    table = {**default.parameters, **own.parameters}
    rows = {row["name"]: row for row in listed(name)}
    for key, value in (own_names(shelf_part(own.kind), values) if own.kind in PARTS else values).items():
        full = full_key(subject, key, value, rows)
        if full not in rows:
            raise UnknownNameError(f"parameter of {subject}", key, rows)
        table[full] = _checked(f"{subject}: {full}", value, rows[full])
    if name == "crossing":
        table["paths"] = paths_of(subject, table["paths"])
    tables = ResourceTables({called: {"type": own.kind, **table}}, Formulas({}), Parts())
    try:
        return tables.one(called), table
    except FaultsError:
        raise
    except NpexploreError as error:
        said = str(error).removeprefix(f"{called}: ").removeprefix(f"resource {called!r}: ")
        raise InputError(f"{subject}: {said}") from None


def _checked(subject: str, value: Any, row: Mapping[str, Any]) -> Any:
    """Return a value of a parameter in its unit; raises InputError out of range. What is no number is left as it is."""
    unit, whole = str(row["unit"]), bool(row.get("whole") or isinstance(value, int))
    if isinstance(value, str) and (split(value) is None or not unit) and (not whole or "=" in value):
        return value
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return value
    if words(row["choices"] or []):
        checked(subject, value, False, None, None, row["choices"], unit)
        return value
    return checked(subject, value, whole, row["min"], row["max"], row["choices"] or [], unit if unit in UNITS else "")


def _least(kind: str, key: str, hint: Any, unit: str) -> float | None:
    """Return the least value of a number of this type and unit; of a whole one that its kind refuses to be 0, 1."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if int not in kinds and float not in kinds:
        return None
    if float in kinds:
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
    """Return the visit that packets make; raises UnknownNameError."""
    return one_of(f"visit of {resource.name}", visit or default.visit, resource.VISITS)


def operand(subject: str, name: str, value: Any) -> OperandValue:
    """Return the value of an operand, a text that is a number as one; raises InputError for no number or text."""
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
    least = 1 if name in AMOUNTS else 0
    if not least <= number < float("inf"):
        raise InputError(f"{subject} must be a number of at least {least}, got {value!r}")
    return number


def _check_formula(subject: str, text: str) -> None:
    """Raise InputError for a text that no formula of the packet can be."""
    try:
        syntax.expression(text)
    except (SyntaxError, ValueError):
        raise InputError(
            f"{subject} must be a number without a unit, a formula of the packet (packet.packet_bytes), "
            f"or {', '.join(DRAWN[:-1])} or hot:SHARE, got {text!r}"
        ) from None


def operands_of(resource: Resource, visit: str, *parts: Mapping[str, OperandValue]) -> dict[str, OperandValue]:
    """Return values of a visit's operands; those that it does not have are left out."""
    return {key: value for part in parts for key, value in part.items() if key in resource.VISITS[visit]}
