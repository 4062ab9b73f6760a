"""JSON Schema of machine files and of parts; the keys of a resource are its kind's arguments, or a part's parameters.

The unit at the end of a key may be left out if the value is a text with a unit: `word = "10 ns"`.
"""

import types
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from npexplore.machine.described.named import CROSS, NAMED, short_key
from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.parts import ACROSS
from npexplore.machine.described.records import PartFile
from npexplore.machine.described.resources import LIKE, TYPE, operands
from npexplore.machine.parameters import MachineFile
from npexplore.machine.ranges import words
from npexplore.machine.resources import KINDS, DramTiming, Processor
from npexplore.machine.resources.dram_device import DramDevice, dram_devices
from npexplore.machine.resources.dram_timing import dram_parts, dram_parts_schema
from npexplore.machine.tree import Visit
from npexplore.rows.distributions import Time
from npexplore.units import QUANTITY, UNITS, unit_of

FORMULA = {"type": "string", "pattern": "^\\s*="}
WITH_UNIT = {"type": "string", "pattern": QUANTITY}  # "0.625 ns"
SHORT = {
    "anyOf": [WITH_UNIT, {"type": ["array", "object"]}]
}  # value of a key without its unit: also list, distribution
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
    schema["$defs"] |= msgspec.json.schema_components([Time], ref_template=TIMES)[1]
    machine = schema["$defs"]["MachineFile"]["properties"]
    table_schema = {"type": "object", "if": {"required": [TYPE]}, "then": resource(KINDS)}
    machine["resource"] = {"type": "object", "additionalProperties": table_schema}
    del machine["part"]
    return _extending(schema)


def _extending(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of machine files, in which some keys are required only in files that extend no other."""
    machine, parameter = schema["$defs"]["MachineFile"], schema["$defs"]["Parameter"]
    whole = {"additionalProperties": {"required": parameter.pop("required")}}
    typed = {"additionalProperties": {"required": [TYPE]}}
    requirements = {"required": machine.pop("required"), "properties": {"parameter": whole, "resource": typed}}
    machine |= {"if": {"required": ["extends"]}, "else": requirements}
    return schema


def part_schema() -> dict[str, Any]:
    """Return the JSON Schema of models/parts/*.toml: parts, which have visits, or DRAM timings by speed grade."""
    schema, timings = msgspec.json.schema(PartFile), dram_parts_schema()
    times = msgspec.json.schema_components([Time], ref_template=TIMES)[1]
    inner = resource([kind for kind in KINDS if kind not in ACROSS])
    schema["$defs"]["PartFile"]["properties"]["inner"] = {"type": "object", "additionalProperties": inner}
    composed = {"$ref": schema["$ref"]}
    return {
        "if": {"required": ["visits"]},
        "then": composed,
        "else": {key: value for key, value in timings.items() if key != "$defs"},
        "$defs": schema["$defs"] | timings["$defs"] | times,
    }


def resource(kinds: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a resource: of these kinds, of a part of the shelf, or of a part in the file's folder."""
    keys = {name: table(operands(KINDS[name], without={"name": None}), {TYPE: {"const": name}}) for name in kinds}
    keys |= {name: _part(shelf_part(name), name) for name in PARTS}
    keys |= {name: _named(name, keys[named.kind]) for name, named in NAMED.items() if named.kind in keys}
    return {
        "type": "object",
        "properties": {TYPE: {"anyOf": [{"enum": list(keys)}, {"type": "string", "pattern": "^[^/]+\\.toml$"}]}},
        "required": [TYPE],
        "allOf": [{"if": {"properties": {TYPE: {"const": name}}}, "then": schema} for name, schema in keys.items()],
    }


def _named(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a table with a common name: the keys of its kind, none of which is required."""
    keys = {**kind["properties"], TYPE: {"const": name}}
    if name == "crossing":
        keys["paths"] = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": len(CROSS)}, keys["paths"]]}
    return {"type": "object", "properties": keys, "required": [TYPE], "additionalProperties": False}


def _with_short_keys(keys: dict[str, Any], required: Iterable[Iterable[str]]) -> dict[str, Any]:
    """Return the schema of a table with these keys; of each group of names in `required`, one is required."""
    short = {key: short_key(key) for key in keys}
    texts = {name: SHORT for name in short.values() if name and name not in keys}
    groups = [[*names, *(short[name] for name in names if short.get(name) in texts)] for names in required]
    either = [{"anyOf": [{"required": [name]} for name in names]} for names in groups if len(names) > 1]
    plain = [names[0] for names in groups if len(names) == 1]
    table = {"type": "object", "properties": keys | texts, "required": plain, "additionalProperties": False}
    return table | ({"allOf": either} if either else {})


def _part(file: PartFile, name: str) -> dict[str, Any]:
    """Return the schema of a table with the parameters of a part as keys."""
    keys: dict[str, Any] = {TYPE: {"const": name}}
    for key, operand in file.parameters.items():
        number_schema: dict[str, Any] = {"type": "integer" if operand.whole else "number"}
        number_schema |= {
            word: end for word, end in (("minimum", operand.min), ("maximum", operand.max)) if end is not None
        }
        if operand.choices:
            number_schema = {
                "enum": [*operand.choices, *(float(word) for word in words(operand.choices) if word.isdecimal())]
            }  # "100", 100
        plain = [number_schema, *([WITH_UNIT] if operand.unit in UNITS and not words(operand.choices) else [])]
        keys |= {name: {"anyOf": [*plain, FORMULA], "description": operand.about} for name in (key, *operand.also)}
    needed = [[key, *operand.also] for key, operand in file.parameters.items() if operand.default is None]
    return _with_short_keys(keys, [[TYPE], *needed])


def table(keys: Mapping[str, tuple[Any, bool]], fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of a table with the operands of a class as keys."""
    times = {key for key in keys if key.startswith("t_")}  # timings of a DRAM part
    values = {key: value(hint, key in times or unit_of(key) is not None) for key, (hint, _) in keys.items()}
    needed = [*(fixed or {}), *(key for key, (_, required) in keys.items() if required)]
    return _with_short_keys({**values, **(fixed or {})}, [[name] for name in needed])


def value(hint: Any, with_unit: bool = False) -> dict[str, Any]:
    """Return the schema of a value of a type, or of a formula; `with_unit`: also of a text with number and unit."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    parts = [part for part in alternatives if part is not type(None)]
    return {"anyOf": [*(_one(part) for part in parts), *([WITH_UNIT] if with_unit else []), FORMULA]}


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
    if hint is DramDevice:
        names = [field.name for field in msgspec.structs.fields(DramDevice)]
        text = {"type": ["number", "string"]}
        table_schema = dict.fromkeys(names, text) | {LIKE: {"enum": list(dram_devices())}}
        keys = {"type": "object", "properties": table_schema, "additionalProperties": False}
        return {"anyOf": [{"enum": list(dram_devices())}, keys]}
    if is_dataclass(hint) and isinstance(hint, type):
        table_schema = table(operands(hint))
        return {"anyOf": [{"enum": list(dram_parts())}, table_schema]} if hint is DramTiming else table_schema
    return {"type": "array", "items": value(get_args(hint)[0])}  # the only other operands are sequences
