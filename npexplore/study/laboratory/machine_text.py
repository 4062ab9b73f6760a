"""Writes a resource alone as a machine file: its parameters, and threads whose packets only visit this resource."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from npexplore.errors import InputError
from npexplore.machine.resources import Processor
from npexplore.study.laboratory.lone import LoneResource
from npexplore.units import quantity, to_unit, unit_of

NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
DIGITS = 12  # a number that needs more digits in a smaller or larger unit keeps the unit of its key
SIZES = {"s": ("ns", "ps"), "Hz": ("GHz", "MHz", "kHz")}


def machine_text(lone: LoneResource, threads: int) -> str:
    """Return the text of the machine file; raises InputError for a value or a name that TOML cannot represent."""
    name, columns = lone.resource.name, lone.given_by_packets()
    if not NAME.fullmatch(name):
        raise InputError(f"a resource in a machine file needs a name of letters, digits and _, got {name!r}")
    values = {"type": lone.kind, **{key: value for key, value in lone.parameters.items() if value is not None}}
    lines = [
        f"# What `npexplore resource {lone.kind}` explores: threads that visit it and do nothing else.",
        f"# npexplore explain FILE.toml --packet-bytes {lone.packet_bytes}",
        *(f"# Packets need a column {column!r}: the member that each of them visits." for column in columns),
        f'name = "{name}_alone"', "", f"[resource.{name}]",
        *(f"{key} = {_value(f'{lone.kind}: {key}', key, value)}" for key, value in values.items()),
    ]  # fmt: skip
    if lone.held_s is not None:
        lines += ["", "[resource.held]", 'type = "delay"']
    lines += ["", "[[pool]]", 'name = "thread"', f"count = {threads}"]
    lines += [f'home = "{name}"'] if isinstance(lone.resource, Processor) else []
    return "\n".join([*lines, f"steps = {_value('steps', '', lone.steps())}"]) + "\n"


def _value(subject: str, key: str, value: Any) -> str:
    """Return a value in TOML; a time or a frequency becomes a text with a unit if this is exact."""
    if isinstance(value, float):
        unit = unit_of(key) or ""
        texts = [f"{to_unit(value, size):.{DIGITS}g} {size}" for size in SIZES.get(unit, ())]
        exact = [text for text in texts if float(text.split()[0]) >= 1 and quantity(key, text, unit) == value]
        return f'"{exact[0]}"' if exact else repr(value)
    if isinstance(value, Mapping):
        inside = (f"{name} = {_value(subject, name, part)}" for name, part in value.items())
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(subject, '', part) for part in value)}]"
    if not isinstance(value, str | int):
        raise InputError(f"{subject} cannot stand in a machine file, got {value!r}")
    return json.dumps(value)
