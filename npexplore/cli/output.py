"""What commands print: one JSON document or a table on stdout; progress, notes and warnings on stderr."""

import dataclasses
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def json_option(function: F) -> F:
    """Give a command the switch `--json`; its value arrives as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document on standard output.")(
        function
    )


def emit(document: Any, text: str | Callable[[], str], *, as_json: bool) -> None:
    """Print `document` as JSON if asked, else the text for people (called only then, if it is a function)."""
    if as_json:
        print(json.dumps(jsonable(document), indent=2, allow_nan=False))
    else:
        said = text() if callable(text) else text
        print(wrapped(said, shutil.get_terminal_size().columns) if sys.stdout.isatty() else said)


def wrapped(text: str, width: int) -> str:
    """Return text with its long sentences broken at blanks; lines with columns stay as they are."""
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        if len(line) > width and "  " not in line
        else line
        for line in text.split("\n")
    )


def jsonable(value: Any) -> Any:
    """Return `value` in JSON's own types: NaN and infinities become null, arrays lists, records objects, keys text."""
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(jsonable(key)): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, pandas columns
        return jsonable(value.tolist())
    if hasattr(value, "__struct_fields__"):  # msgspec records
        return {name: jsonable(getattr(value, name)) for name in value.__struct_fields__}
    if dataclasses.is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | Mapping[str, str] | None = None) -> str:
    """Return rows as aligned columns under a heading; numbers stand right, missing values as a dash.

    `columns` selects and orders the keys; as a mapping it also gives each key its heading.
    """
    records = list(rows)
    if columns is None:
        columns = list(dict.fromkeys(key for row in records for key in row))
    headings = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    cells = [[cell(row.get(key)) for key in headings] for row in records]
    numeric = [all(_is_number(row.get(key)) for row in records) for key in headings]
    lines = [list(headings.values()), *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def facts(values: Mapping[str, Any]) -> str:
    """Return named values, one a line, the values in one column."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name.ljust(width)}  {cell(value)}".rstrip() for name, value in values.items())


def cell(value: Any) -> str:
    """Return one value as people read it: four significant digits, thousands apart, a dash for none."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        size = abs(value)
        return f"{value:,.0f}" if 1000 <= size < 1e15 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value)) or "-"
    return one_line(str(value))


def _is_number(value: Any) -> bool:
    if hasattr(value, "item"):
        value = value.item()
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def one_line(text: str) -> str:
    """Return text with every run of blanks and line ends as one blank."""
    return " ".join(text.split())


def warn(text: str) -> None:
    """Tell the user on standard error what may surprise him."""
    print(f"npexplore: warning: {one_line(text)}", file=sys.stderr)


def note(text: str) -> None:
    """Tell the user on standard error what is going on."""
    print(text, file=sys.stderr)


def progress(
    items: Iterable[T], *, total: int | None = None, unit: str = "point", label: str | None = None
) -> Iterable[T]:
    """Yield the items under a progress bar on standard error (none where that is no terminal)."""
    from tqdm import tqdm

    return tqdm(items, total=total, unit=unit, desc=label, disable=None, file=sys.stderr)  # type: ignore[no-any-return]
