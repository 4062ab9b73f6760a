"""Output of commands: one JSON document or a table on stdout; progress, notes and warnings on stderr."""

import dataclasses
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import zip_longest
from typing import Any, TypeVar

import click

from npexplore.errors import shown
from npexplore.progress import Task, printing, written
from npexplore.results import plain

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def json_option(function: F) -> F:
    """Give a command the switch `--json`; its value arrives as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document on standard output.")(
        function
    )


def library_option(function: F) -> F:
    """Give a command that writes a page the switch `--shared-library`; it arrives as the argument `shared_library`."""
    about = (
        "Put plotly.js (5 MB) in a file beside the page, shared by all pages there; figures can be zoomed and saved."
    )
    return click.option("--shared-library", is_flag=True, help=about)(function)


def emit(document: Any, text: str | Callable[[], str], *, as_json: bool) -> None:
    """Print `document` as JSON if `as_json`, otherwise `text` (a function is only called if its text is needed)."""
    if as_json:
        with printing():
            print(json.dumps(plain(document), indent=2, allow_nan=False))
    else:
        say(text() if callable(text) else text)


def say(text: str) -> None:
    """Print text immediately, wrapped to the width of a terminal."""
    printable = shown(text)
    with printing():
        print(wrapped(printable, shutil.get_terminal_size().columns) if sys.stdout.isatty() else printable, flush=True)


def wrapped(text: str, width: int) -> str:
    """Return text with long lines wrapped at spaces and too long words broken; tables are unchanged."""
    return "\n".join(
        textwrap.fill(line, width, break_on_hyphens=False) if len(line) > width and "  " not in line else line
        for line in text.split("\n")
    )


def table(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] | Mapping[str, str] | None = None,
    width: int | None = None,
) -> str:
    """Return rows as aligned columns under a heading; numbers are right-aligned, missing values are dashes.

    `columns` selects and orders the keys; as a mapping it also gives each key its heading. `width`: characters of a
    line (None: those of the terminal, no limit elsewhere); texts are wrapped at blanks to fit, and columns that still
    do not fit are moved to a further table, which repeats the first column.
    """
    records = list(rows)
    if columns is None:
        columns = list(dict.fromkeys(key for row in records for key in row))
    headings = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    parts = [
        _Column(heading, [cell(row.get(key)) for row in records], all(_is_number(row.get(key)) for row in records))
        for key, heading in headings.items()
    ]
    if width is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    return "\n\n".join(_aligned(group, width) for group in _groups(parts, width))


GAP = 2  # blanks between two columns
LONGEST_WORD = 24  # longer words may be broken


@dataclasses.dataclass(frozen=True)
class _Column:
    """A column of a table: its heading, its cells, whether they are numbers."""

    heading: str
    cells: list[str]
    right: bool

    @property
    def widest(self) -> int:
        """The width of the longest line."""
        return max(map(len, [self.heading, *self.cells]))

    @property
    def narrowest(self) -> int:
        """The smallest width that breaks no number, and no word unless it is very long."""
        words = self.heading.split() + [
            word for text in self.cells for word in ([text] if self.right else text.split())
        ]
        longest = max(map(len, words), default=1)
        return longest if self.right else min(longest, max(LONGEST_WORD, len(self.heading)))


def _groups(columns: list[_Column], width: int) -> list[list[_Column]]:
    """Return the columns in tables that fit side by side, each beginning with the first column."""
    if not columns or sum(member.widest + GAP for member in columns) - GAP <= width:
        return [columns]
    groups = [columns[:1]]
    for column in columns[1:]:
        if len(groups[-1]) > 1 and sum(member.narrowest + GAP for member in [*groups[-1], column]) - GAP > width:
            groups.append(columns[:1])
        groups[-1].append(column)
    return groups


def _aligned(columns: list[_Column], width: int) -> str:
    """Return columns side by side; if they are too wide together, the widest texts take several lines."""
    widths = [column.widest for column in columns]
    while sum(widths) + GAP * (len(widths) - 1) > width:
        shrinkable = [index for index, column in enumerate(columns) if widths[index] > column.narrowest]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda index: widths[index])] -= 1
    lines = [
        *_broken([column.heading for column in columns], columns, widths),
        "  ".join("-" * size for size in widths),
        *(line for row in zip(*(col.cells for col in columns), strict=True) for line in _broken(row, columns, widths)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _broken(texts: Sequence[str], columns: list[_Column], widths: list[int]) -> list[str]:
    """Return the lines of one row of a table."""
    cells = [
        [text] if len(text) <= width else textwrap.wrap(text, width, break_on_hyphens=False)
        for text, width in zip(texts, widths, strict=True)
    ]
    return [
        "  ".join(
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(line, widths, columns, strict=True)
        )
        for line in zip_longest(*cells, fillvalue="")
    ]


def facts(values: Mapping[str, Any]) -> str:
    """Return named values, one per line, the values in one column."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name.ljust(width)}  {cell(value)}".rstrip() for name, value in values.items())


def cell(value: Any) -> str:
    """Return one value as text: four significant digits, commas between thousands, a dash for None."""
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
    """Return text in one line: every run of spaces and line ends becomes one space."""
    return shown(" ".join(text.split()))


def warn(text: str) -> None:
    """Print a warning on standard error: something that may surprise the user."""
    _print_aside(f"npexplore: warning: {one_line(text)}")


def note(text: str) -> None:
    """Print a note on standard error: the progress of a command."""
    _print_aside(shown(text))


def _print_aside(text: str) -> None:
    with printing():
        print(text, file=sys.stderr, flush=True)
    written()


def progress(
    items: Iterable[T], *, total: int | None = None, unit: str = "point", label: str = "working"
) -> Iterator[T]:
    """Yield the items, counting those that are done in a task."""
    sized = len(items) if total is None and isinstance(items, Sized) else total
    with Task(label, unit=unit, total=sized, keep_bar=True) as task:
        for item in items:
            yield item
            task.advance()


def bytes_read(scan: Any, label: str) -> Callable[[Iterable[T]], Iterator[T]]:
    """Return a callback for a scan's progress, counted in bytes in a task."""

    def counted(tables: Iterable[T]) -> Iterator[T]:
        with Task(label, unit="B", total=scan.bytes_total or None, keep_bar=True) as task:
            for table in tables:
                task.reach(scan.bytes_read, task.total)
                yield table

    return counted
