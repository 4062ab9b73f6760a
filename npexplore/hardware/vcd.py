"""Value change dumps (IEEE 1364-2005, clause 18): what signals were, cycle by cycle.

    #TIME      bVALUE ID      vID      a change; a signal keeps its value until the next one

A cycle is what stood before a rising edge of the clock: what the edge takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from npexplore.errors import InputError

UNDEFINED = -1
CHANGE = re.compile(r"([01xzXZ])(\S+)|[bB]([01xzXZ]+)\s+(\S+)")


def read_vcd(file: Path, clock: str = "clk") -> dict[str, list[int]]:
    """Return the values of each signal of a dump before each rising edge of its clock; undefined ones are -1.

    Signals are named without their scopes. Raises InputError for a file without such a clock, and for unknown signals.
    """
    names: dict[str, str] = {}
    now: dict[str, int] = {}
    values_by_signal: dict[str, list[int]] = {}
    lines = file.read_text(encoding="utf-8").splitlines()
    head = next((k for k, line in enumerate(lines) if line.startswith("$enddefinitions")), len(lines))
    for line in lines[:head]:
        words = line.split()
        if words[:1] == ["$var"]:
            names[words[3]] = words[4].removeprefix("\\")
    if clock not in names.values():
        raise InputError(f"{file.name} must have a clock named {clock!r}, got {', '.join(names.values()) or 'nothing'}")
    values_by_signal = {name: [] for name in names.values()}
    for changes in _instants(lines[head + 1 :]):
        rises = any(names.get(of) == clock and value == 1 for of, value in changes.items()) and now.get(clock) == 0
        if rises:
            for name, values in values_by_signal.items():
                values.append(now.get(name, UNDEFINED))
        for of, value in changes.items():
            if of not in names:
                raise InputError(f"{file.name}: a change of {of!r}, which no $var declares")
            now[names[of]] = value
    return values_by_signal


def _instants(lines: Iterable[str]) -> Iterable[Mapping[str, int]]:
    """Return the changes of each instant, by identifier."""
    changes: dict[str, int] = {}
    for line in lines:
        if line.startswith("#"):
            yield changes
            changes = {}
            continue
        match = CHANGE.fullmatch(line.strip())
        if match:
            bits, of = match[1] or match[3], match[2] or match[4]
            changes[of] = int(bits, 2) if set(bits) <= {"0", "1"} else UNDEFINED
    yield changes
