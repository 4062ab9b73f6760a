"""JSON Schema of a machine file; the keys of a resource are the operands of its kind's class."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from npexplore.machine.described.resources import TYPE, operands
from npexplore.machine.parameters import MachineFile
from npexplore.machine.resources import KINDS, DramTiming, Processor
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.machine.tree import Visit
from npexplore.rows.distributions import Time

FORMULA = {"type": "string", "pattern": "^\\s*="}
TIMES = "#/$defs/{name}"
SCALARS = {bool: "boolean", int: "integer", float: "number", str: "string"}
VISIT = {
    "type": "object",
    "properties": {"visit": {"type": "string", "pattern": "^\\w+\\.\\w+$"}},
    "required": ["visit"],
    "additionalProperties": {"anyOf": [{"type": "number"}, FORMULA]},
}


def machine_schema() -> dict[str, Any]:
    """Return the JSON Schema of models/machines/*.toml and of a user's own machine files."""
    schema = msgspec.json.schema(MachineFile)
    named = {"properties": {TYPE: {"enum": list(KINDS)}}, "required": [TYPE]}
    kinds = [
        {
            "if": {"properties": {TYPE: {"const": name}}},
            "then": table(operands(kind, without={"name": None}), {TYPE: {"const": name}}),
        }
        for name, kind in KINDS.items()
    ]
    entry = {"type": "object", **named, "allOf": kinds}
    schema["$defs"] |= msgspec.json.schema_components([Time], ref_template=TIMES)[1]
    schema["$defs"]["MachineFile"]["properties"]["resource"] = {"type": "object", "additionalProperties": entry}
    return schema


def table(keys: Mapping[str, tuple[Any, bool]], fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a table with the operands of a class as keys."""
    return {
        "type": "object",
        "properties": {**{key: value(hint) for key, (hint, _) in keys.items()}, **(fixed or {})},
        "required": [*(fixed or {}), *(key for key, (_, required) in keys.items() if required)],
        "additionalProperties": False,
    }


def value(hint: Any) -> dict[str, Any]:
    """Return the schema of a value of a type, or a formula for it."""
    parts = [part for part in _alternatives(hint) if part is not type(None)]
    return {"anyOf": [*(_one(part) for part in parts), FORMULA]}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _one(hint: Any) -> dict[str, Any]:
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if hint is Visit:
        return VISIT
    if hint in get_args(Time):
        return {"$ref": TIMES.format(name=hint.__name__)}
    if hint is Processor:
        return {"type": "string"}
    if is_dataclass(hint) and isinstance(hint, type):
        own = table(operands(hint))
        return {"anyOf": [{"enum": list(dram_parts())}, own]} if hint is DramTiming else own
    return {"type": "array", "items": value(get_args(hint)[0])}  # the only other operands are sequences
