"""Checks that every value at a row's design points has a source: the row's conditions, a scoring rule, a readable
ledger row, or counted work of a program (`work`: a record that states where the work was counted).

A knob set to any other value would be a number without a source and is refused.
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
        row_points = points(row)
    sources = [*row.conditions.values(), *_read(reads)]
    for point in row_points:
        parameters = design(point.design).parameters.file.parameter
        for name, value in point.knobs:
            if value != parameters[name].value and not any(_gives(source, value) for source in sources):
                raise InputError(f"row {row.key}: {name} = {value!r} at its design point stands in none of its "
                                 "conditions, in no rule of scoring and in no ledger row that was read")  # fmt: skip
    return row_points


def _read(reads: Reads) -> Iterator[object]:
    """Yield the recorded values of rules, ledger rows and program work."""
    for read in reads.values():
        if read.kind in ("rule", "work") or read.kind.startswith("row"):
            yield from read.value if isinstance(read.value, tuple) else (read.value,)


def _gives(stated: object, value: object) -> bool:
    """Return whether a condition or rule states a value: equal number or word, one of `a|b`, or within `a..b`."""
    if isinstance(stated, str):
        low, dots, high = stated.partition("..")
        if dots and isinstance(value, int | float):
            return float(low) <= value <= float(high)
        parts: Iterable[str] = [*stated.split("|"), *stated.split("-")]  # 16-6-4: clusters, engines, threads
        return any(part == str(value) or _same(part, value) for part in parts)
    return _same(stated, value)


def _same(one: object, other: object) -> bool:
    try:
        return float(str(one)) == float(str(other))
    except ValueError:
        return False
