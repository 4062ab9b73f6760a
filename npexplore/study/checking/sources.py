"""Where the values at a row's design points come from: its conditions, a rule of scoring, a readable ledger row, or
what a program does (`work`: a record that says where it was counted).

A knob set to anything else would be a number without a source, and is refused when rows are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.ledger import Row
from npexplore.reads import Reads, reading
from npexplore.study.sweeping.points import Point


def check_sources(row: Row, points: Callable[[Row], list[Point]]) -> list[Point]:
    """Return a row's points; raises InputError, naming row and knob, for a value without a source."""
    with reading() as reads:
        knobs = points(row)
    stated = [*row.conditions.values(), *_read(reads)]
    for point in knobs:
        known = design(point.design).parameters.file.parameter
        for name, value in point.knobs:
            if value != known[name].value and not any(_gives(one, value) for one in stated):
                raise InputError(f"row {row.key}: {name} = {value!r} at its design point stands in none of its "
                                 "conditions, in no rule of scoring and in no ledger row that was read")  # fmt: skip
    return knobs


def _read(reads: Reads) -> Iterator[object]:
    """Yield the values of rules, ledger rows and work of programs that were read."""
    for read in reads.values():
        if read.kind in ("rule", "work") or read.kind.startswith("row"):
            yield from read.value if isinstance(read.value, tuple) else (read.value,)


def _gives(stated: object, value: object) -> bool:
    """Whether a condition or a rule gives a value: the same number or word, one of `a|b`, one within `a..b`."""
    if isinstance(stated, str):
        low, between, high = stated.partition("..")
        if between and isinstance(value, int | float):
            return float(low) <= value <= float(high)
        parts: Iterable[str] = [*stated.split("|"), *stated.split("-")]  # 16-6-4: clusters, engines, threads
        return any(part == str(value) or _same(part, value) for part in parts)
    return _same(stated, value)


def _same(one: object, other: object) -> bool:
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return False
