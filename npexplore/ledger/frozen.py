"""Frozen predictions (data/published/frozen.csv) of blind rows, made before the values of the rows were known.

Each blind row must have exactly one frozen prediction and each prediction a blind row, so that a value that was known
when it was predicted cannot become blind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from npexplore import units
from npexplore.errors import InputError, one_of
from npexplore.ledger.records import Frozen, Row, finite

FILE = "frozen.csv"
COLUMNS = ("key", *Frozen.__struct_fields__)
SOLVERS = ("bounds", "queueing", "simulated")
LABELS = ("predicted", "post_hoc", "arithmetic")  # labels of a row that no parameter was fitted to

_COMMIT = re.compile(r"[0-9a-f]{7,40}")


def joined(rows: Iterable[Row], lines: Iterable[tuple[str, int, Mapping[str, str]]]) -> Iterator[Row]:
    """Yield the rows, blind rows with their frozen predictions; raises InputError naming file and line.

    lines: (place, number, cells by column) of the frozen predictions.
    """
    all_rows = list(rows)
    blind = {row.key: row for row in all_rows if row.role == "blind"}
    other_roles = {row.key: row.role for row in all_rows if row.role != "blind"}
    predictions: dict[str, Frozen] = {}
    for place, _, cells in lines:
        key = cells["key"]
        if key in other_roles:
            raise InputError(f"{place}: column 'key' must name a blind row, got {key!r} with role {other_roles[key]!r}")
        one_of(f"{place}: column 'key'", key, blind)
        if key in predictions:
            raise InputError(f"{place}: column 'key' must be unique, got {key!r} twice")
        predictions[key] = _frozen(place, cells, blind[key])
    for row in all_rows:
        if row.role == "blind" and row.key not in predictions:
            rule = f"a blind row must have a frozen prediction in {FILE}, got none"
            raise InputError(f"{row.paper}.csv:{row.line}: {rule} (row {row.key!r})")
        yield msgspec.structs.replace(row, frozen=predictions[row.key]) if row.role == "blind" else row


def _frozen(place: str, cells: Mapping[str, str], row: Row) -> Frozen:
    unit = one_of(f"{place}: column 'unit'", cells["unit"], units.UNITS)
    if units.UNITS[unit][0] != units.UNITS[row.unit][0]:
        raise InputError(
            f"{place}: column 'unit' must measure what {row.unit} measures, got {unit!r} (row {row.key!r})"
        )
    if not _COMMIT.fullmatch(cells["commit"]):
        raise InputError(f"{place}: column 'commit' must be 7 to 40 hexadecimal digits, got {cells['commit']!r}")
    return Frozen(
        predicted=finite(cells["predicted"], f"{place}: column 'predicted'"),
        unit=unit,
        solver=one_of(f"{place}: column 'solver'", cells["solver"], SOLVERS),
        label=one_of(f"{place}: column 'label'", cells["label"], LABELS),
        commit=cells["commit"],
    )
