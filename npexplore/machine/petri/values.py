"""Reads and checks the numbers and names in the tables of a net."""

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from npexplore import syntax
from npexplore.dimensions import value_of
from npexplore.errors import InputError
from npexplore.machine.described.formula import plain
from npexplore.machine.petri.formulas import FEED, FUNCTIONS, RANDOM
from npexplore.machine.petri.lines import CLAUSES
from npexplore.machine.petri.measured import NetUnits

MAX_UNFOLDED = 1_000_000  # places, or transitions, of an unfolded net
MOST_TOKENS = 1_000_000_000  # largest whole number in a net


def names_in(text: str) -> list[str]:
    """Return the names in a formula; none if the text is not a formula."""
    try:
        return [node.id for node in ast.walk(syntax.expression(text)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError):
        return []


def number(said: float | str, names: Mapping[str, float]) -> float:
    """Return a number, or the value of a formula over constants and indexes."""
    return float(value_of(quantity(said, names, NetUnits())))


def quantity(said: float | str, names: Mapping[str, float], units: NetUnits) -> Any:
    """Return a number with its unit, if it has one: of a number, a text with a unit, or a formula over constants."""
    measured = units.quantity(said, names)
    value = plain(value_of(measured))
    if isinstance(value, str | tuple) or not _finite(value):
        raise InputError(f"must be a number, got {said!r}")
    return measured


def _finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def whole(subject: str, value: float, least: int = 0) -> int:
    """Return a whole number of at least `least`; raises InputError for anything else."""
    if not float(value).is_integer() or not least <= value <= MOST_TOKENS:
        raise InputError(f"{subject} must be a whole number in {least}..{MOST_TOKENS}, got {value:g}")
    return int(value)


def check_name(name: str, taken: Any = ()) -> None:
    """Raise InputError for a name that formulas cannot use, or that has another meaning."""
    if not name.isidentifier() or name in (*CLAUSES, *FUNCTIONS, *RANDOM, FEED, "and", "or", "not", "all"):
        raise InputError(f"a name must be a word without another meaning, got {name!r}")
    if name in taken:
        raise InputError(f"{name!r} is a constant or an index already")
