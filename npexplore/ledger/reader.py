"""Reads data/published/*.csv and data/measured/*.csv into the ledger: one file per paper or set, and frozen.csv.

Measured files have no columns kind, point and same_as, because every value there is a number. Errors are one line with
file, line, column, rule and value.
"""

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.errors import InputError, one_of
from npexplore.ledger import frozen
from npexplore.ledger.records import COLUMNS, Knobs, Row, parse_row
from npexplore.ledger.table import Facts, Ledger
from npexplore.paths import share, text_content

if TYPE_CHECKING:
    import pandas as pd

MEASURED = tuple(name for name in COLUMNS if name not in ("kind", "point", "same_as"))


def load(folder: Path | None = None) -> Ledger:
    """Return the ledger of every CSV file in `folder` (None: the installed ones, read once); raises InputError."""
    return _installed() if folder is None else _read(folder)


def facts(folder: Path | None = None) -> Facts:
    """Return the rows that models may read, from `folder` or the installed ledger."""
    return load(folder).facts()


def published(folder: Path | None = None) -> "pd.DataFrame":
    """Return the whole ledger as a table with one row for each published number.

    Args:
        folder: a folder of ledger files (None: data/published).

    Raises:
        InputError: a file that breaks a rule of the ledger, with file, line and rule.

    Example:
        >>> import npexplore as npx
        >>> rows = npx.published().set_index("key")
        >>> rows.loc["ixp2400.fig15.throughput.w128_b4", ["value", "unit", "role"]].tolist()
        ['3460', 'Mb/s', 'calibration']
    """
    return load(folder).to_frame()


@cache
def _installed() -> Ledger:
    return _read(share("data", "published"), share("data", "measured"))


def _read(*folders: Path) -> Ledger:
    rows: list[Row] = []
    for folder in folders:
        files = sorted(file for file in folder.glob("*.csv") if file.name != frozen.FILE)
        if not files:
            raise InputError(f"{folder}: a ledger folder must hold CSV files, got none")
        knobs, common_conditions = _knobs(folder / "knobs.toml")
        frozen_file = folder / frozen.FILE
        lines = cells(frozen_file, frozen.COLUMNS) if frozen_file.exists() else ()
        rows += frozen.joined((row for file in files for row in _rows(file, knobs, common_conditions)), lines)
    return Ledger(rows)


def _knobs(file: Path) -> tuple[Mapping[str, Knobs], Mapping[str, str]]:
    """Return the allowed knobs of conditions, by key prefix: name -> allowed words, none for a numeric knob.

    In the file, a knob is a line of text (numeric) or `{about, values}` (words). Also returns, by prefix, the
    conditions that every row has (`knob=value;...`), from knobs with `every`.
    """
    try:
        tables = tomllib.loads(text_content(file))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file.name}: must be a readable TOML file, got {error}") from None
    words = {
        prefix: {name: tuple(knob.get("values", ())) if isinstance(knob, dict) else () for name, knob in table.items()}
        for prefix, table in tables.items()
    }
    common_conditions = {
        prefix: ";".join(
            f"{name}={knob['every']}" for name, knob in table.items() if isinstance(knob, dict) and "every" in knob
        )
        for prefix, table in tables.items()
    }
    return words, common_conditions


def _rows(file: Path, knobs: Mapping[str, Knobs], common_conditions: Mapping[str, str]) -> Iterator[Row]:
    """Yield the records of one file; all its keys must have the same prefix, for which knobs.toml has a table."""
    prefix = None
    for place, line, row in cells(file, COLUMNS, MEASURED):
        if "kind" not in row:
            row |= {"kind": "number", "point": row["value"], "same_as": "", "note": f"{row['note']}; band as measured"}
        head = row["key"].split(".", 1)[0]
        prefix = prefix or one_of(f"{place}: key prefix", head, knobs)
        if head != prefix:
            raise InputError(f"{place}: column 'key' must start with '{prefix}.', got {row['key']!r}")
        row["conditions"] = ";".join(filter(None, (row["conditions"], common_conditions[prefix])))
        yield parse_row(row, knobs[prefix], file.stem, place, line)


def cells(
    file: Path, columns: Sequence[str], others: Sequence[str] | None = None
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield (place, line, cells by column) of a CSV file that must have exactly these columns; raises InputError.

    others: alternative columns, for another kind of file.
    """
    try:
        reader = csv.reader(io.StringIO(text_content(file), newline=""), strict=True)
        lines = [(reader.line_num, cells) for cells in reader]
    except (OSError, csv.Error) as error:
        raise InputError(f"{file.name}: must be a readable UTF-8 CSV file, got {error}") from None
    if not lines:
        raise InputError(f"{file.name}: must start with the column names, got an empty file")
    header = lines[0][1]
    if others is not None and sorted(header) == sorted(others):
        columns = others
    for name in header:
        one_of(f"{file.name}:1: column", name, columns)
    if sorted(header) != sorted(columns):
        missing = [name for name in columns if name not in header] or header
        raise InputError(f"{file.name}:1: must have each of the {len(columns)} columns once, got {missing} wrong")
    for line, row in lines[1:]:
        place = f"{file.name}:{line}"
        if len(row) != len(header):
            raise InputError(f"{place}: must have {len(header)} cells, got {len(row)}")
        yield place, line, dict(zip(header, row, strict=True))
