"""The rules of scoring, models/scoring.toml: constants that define a peak, saturation, a close prediction, and so on.

They are assumptions like others: each has a source, names the rows that were known when it was chosen, and is recorded
as read (npexplore/reads.py). `others` are values that would have been equally justified; `replaced` sets other values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from npexplore.errors import InputError, one_of
from npexplore.paths import content, share
from npexplore.reads import Read, note
from npexplore.toml import decode

Value = int | float | str | list[int | float | str]


class RuleRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule. chosen_after: the check rows that it decides and that were known when it was chosen."""

    value: Value
    about: str
    source: str
    chosen_after: list[str] = []
    others: list[Value] = []


_instead: ContextVar[Mapping[str, Value] | None] = ContextVar("rules", default=None)


@dataclass(frozen=True)
class Rule:
    """A rule by its name in models/scoring.toml."""

    name: str
    record: RuleRecord

    @property
    def value(self) -> Any:
        """The value, recorded as read; a list as a tuple."""
        replacements = _instead.get() or {}
        value = replacements.get(self.name, self.record.value)
        result = tuple(value) if isinstance(value, list) else value
        note(Read(f"rule {self.name}", "rule", result, "scoring.toml", usual=value == self.record.value,
                  chosen_after=tuple(self.record.chosen_after)))  # fmt: skip
        return result


@cache
def rules() -> dict[str, Rule]:
    """Return all rules by name, `SUBJECT.NAME`; raises InputError for a faulty file."""
    path = share("models", "scoring.toml")
    tables: dict[str, dict[str, RuleRecord]] = decode(content(path), dict[str, dict[str, RuleRecord]], path)
    records = {f"{subject}.{name}": record for subject, table in tables.items() for name, record in table.items()}
    for name, record in records.items():
        if not record.source.strip():
            raise InputError(f"{path.name}: rule {name!r} has no source")
        for alternative in record.others:
            if type(alternative) is not type(record.value):
                raise InputError(f"{path.name}: rule {name!r}: others must be like its value, got {alternative!r}")
    return {name: Rule(name, record) for name, record in records.items()}


def rule(name: str) -> Rule:
    """Return a rule; raises UnknownNameError if the file has none. Modules call it when they are imported."""
    return rules()[one_of("rule of scoring (models/scoring.toml)", name, rules())]


@contextmanager
def replaced(values: Mapping[str, Value]) -> Iterator[None]:
    """Replace the values of rules within the block."""
    token = _instead.set({**(_instead.get() or {}), **values})
    try:
        yield
    finally:
        _instead.reset(token)
