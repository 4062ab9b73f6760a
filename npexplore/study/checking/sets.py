"""Reads and writes sets of parameters that all fit the calibration rows of a design (models/sets/DESIGN.toml).

Assumed parameters are drawn at random and the others fitted; study/papers has the search for each design with sets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from npexplore.designs import design
from npexplore.machine.mixes import MixFile, solve_mix
from npexplore.machine.parameters import Value
from npexplore.paths import share, stems
from npexplore.toml import Record, decode


class ParameterSet(Record, frozen=True, kw_only=True):
    """One set of values, and the rows that it was fitted to; mix: length mixes that replace the published ones.

    Example:
        >>> from npexplore.study import ParameterSet
        >>> ParameterSet(fitted_to=["raw.v4.gain_1500"]).set
        {}
    """

    fitted_to: list[str]
    set: dict[str, Value] = msgspec.field(default_factory=dict)
    mix: list[MixFile] = msgspec.field(default_factory=list)


class SetFile(Record, frozen=True, kw_only=True):
    """Schema of models/sets/*.toml."""

    design: str
    about: str
    set: list[ParameterSet]


def designs_with_sets() -> list[str]:
    """Return the designs that have recorded sets."""
    return stems("models", "sets")


def load_sets(name: str) -> list[ParameterSet]:
    """Return a design's recorded sets; raises InputError, or UnknownNameError for a parameter that it does not have."""
    path = share("models", "sets", f"{name}.toml")
    file: SetFile = decode(path.read_bytes(), SetFile, path)
    for parameter_set in file.set:
        design(file.design).with_(**parameter_set.set)
        for mix in parameter_set.mix:
            solve_mix(mix)
    return file.set


def written(name: str, head: str, about: str, sets: Sequence[ParameterSet]) -> str:
    """Return the text of models/sets/NAME.toml for some sets. head: the comment at the top of the file."""

    def toml_value(value: object) -> str:
        if isinstance(value, Mapping):
            return f"{{ {', '.join(f'{name} = {toml_value(part)}' for name, part in value.items())} }}"
        return json.dumps(value) if isinstance(value, str | list) else str(value)

    def mixed(file: MixFile) -> str:
        parts = [{k: v for k, v in msgspec.to_builtins(c).items() if v is not None} for c in file.component]
        head = {"name": file.name, "title": file.title, "assumption": file.assumption}
        lines = [f"{key} = {toml_value(value)}" for key, value in head.items()]
        target = {} if file.target is None else msgspec.to_builtins(file.target)
        lines += [f"target = {toml_value({k: v for k, v in target.items() if v is not None})}"] if target else []
        return "\n[[set.mix]]\n" + "\n".join([*lines, "component = [", *(f"  {toml_value(c)}," for c in parts), "]\n"])

    entries = [
        f"\n[[set]]\nfitted_to = {toml_value(s.fitted_to)}\n"
        + (f"set = {toml_value(s.set)}\n" if s.set else "")
        + "".join(mixed(file) for file in s.mix)
        for s in sets
    ]
    return f'{head}\ndesign = "{name}"\nabout = "{about}"\n' + "".join(entries)
