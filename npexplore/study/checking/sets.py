"""Sets of parameters that the calibration rows of a design admit (models/sets/DESIGN.toml): one fit says little.

What no source states is drawn at random and the rest fitted; study/papers has a search for each design that has sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from npexplore.designs import design
from npexplore.machine.parameters import Value
from npexplore.paths import share
from npexplore.toml import Record, decode


class ParameterSet(Record, frozen=True, kw_only=True):
    """One set, and the rows that it was fitted to."""

    fitted_to: list[str]
    set: dict[str, Value]


class SetFile(Record, frozen=True, kw_only=True):
    """Schema of models/sets/*.toml."""

    design: str
    about: str
    set: list[ParameterSet]


def designs_with_sets() -> list[str]:
    """Return the designs that sets are recorded of."""
    return sorted(path.stem for path in share("models", "sets").glob("*.toml"))


def load_sets(name: str) -> list[ParameterSet]:
    """Return the recorded sets of a design; raises InputError, or UnknownNameError for no parameter of it."""
    path = share("models", "sets", f"{name}.toml")
    file: SetFile = decode(path.read_bytes(), SetFile, path)
    for one in file.set:
        design(file.design).with_(**one.set)
    return file.set


def written(name: str, head: str, about: str, sets: Sequence[ParameterSet]) -> str:
    """Return sets as the text of models/sets/NAME.toml. head: its comment."""

    def told(value: Value) -> str:
        return f'"{value}"' if isinstance(value, str) else str(value)

    entries = [
        f"\n[[set]]\nfitted_to = [{', '.join(told(row) for row in one.fitted_to)}]\n"
        f"set = {{ {', '.join(f'{key} = {told(value)}' for key, value in one.set.items())} }}\n"
        for one in sets
    ]
    return f'{head}\ndesign = "{name}"\nabout = "{about}"\n' + "".join(entries)
