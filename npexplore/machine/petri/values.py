"""Numbers and names as the tables of a net say them, checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from npexplore import syntax
from npexplore.errors import InputError
from npexplore.machine.petri.formulas import FEED, FUNCTIONS, RANDOM, Evaluator, Places
from npexplore.machine.petri.lines import CLAUSES

MOST = 1_000_000  # places or transitions that a net unfolds to
MOST_TOKENS = 1_000_000_000
NOWHERE = Places({}, {})
OPEN = frozenset({"p", "t"})  # of a machine: its parameters, its DRAM's times in seconds


def names_in(text: str) -> list[str]:
    """Return the names in a formula; none if the text is not a formula."""
    try:
        return [node.id for node in ast.walk(syntax.expression(text)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError):
        return []


def number(said: float | str, names: Mapping[str, float]) -> float:
    """Return a number, or the value of a formula over constants and indexes."""
    value = Evaluator(names, NOWHERE, open_names=OPEN & set(names)).text(said) if isinstance(said, str) else said
    if isinstance(value, str | tuple) or not np.isfinite(value):
        raise InputError(f"must be a number, got {said!r}")
    return float(value)


def whole(subject: str, value: float, least: int = 0) -> int:
    """Return a whole number of at least `least`; raises InputError for anything else."""
    if not float(value).is_integer() or not least <= value <= MOST_TOKENS:
        raise InputError(f"{subject} must be a whole number in {least}..{MOST_TOKENS}, got {value:g}")
    return int(value)


def check_name(name: str, taken: Any = ()) -> None:
    """Refuse what cannot be named in a formula, and names that mean something else already."""
    if not name.isidentifier() or name in (*CLAUSES, *FUNCTIONS, *RANDOM, FEED, "and", "or", "not", "all"):
        raise InputError(f"a name must be a word without another meaning, got {name!r}")
    if name in taken:
        raise InputError(f"{name!r} is a constant or an index already")
