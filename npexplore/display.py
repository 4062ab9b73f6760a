"""How notebooks and terminals show results: tables as HTML and as text, numbers with few digits."""

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Self

MAX_HEIGHT_PX = 420  # height beyond which a table scrolls: some machines have hundreds of resources
DIGITS = 4  # significant digits of a number in a table
PAGE_DIGITS = 3  # significant digits of a number on a page, unless its interval requires more


def cell(value: object) -> str:
    """Return the text of a table cell for a value: few digits, a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.{DIGITS}g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cell(item)}" for name, item in value.items()) or "-"
    return str(value)


def significant(value: float | None, half: float | None = None) -> str:
    """Return a number with three significant digits, or up to the first digit of its interval if that is more.

    half: half of the interval's width, in the unit of value (None or 0: no interval). Digits before the point are
    kept: 102.84 becomes 103, with half 0.7 it becomes 102.8.

    >>> significant(102.84), significant(102.84, 0.7), significant(51193.0), significant(None)
    ('103', '102.8', '51,193', '-')
    """
    if value is None or not math.isfinite(value):
        return "-" if value is None else str(value)
    if not value:
        return "0"
    first = math.floor(math.log10(abs(value)))
    last = first - PAGE_DIGITS + 1
    if half and math.isfinite(half):
        last = min(last, math.floor(math.log10(half)))
    last = max(last, first - 9)
    return f"{value:,.{max(-last, 0)}f}" if 1e-4 <= abs(value) < 1e15 else f"{value:.{first - last}e}"


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
    """Return rows under a heading as an HTML table that scrolls if it is high; without rows, only the title."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell(value))}</{tag}>" for value in cells) + "</tr>"

    heading = f"<b>{escape(title)}</b>" if title else ""
    body = "".join(line(row, "td") for row in rows)
    if not body:
        return heading
    box = f"max-height:{MAX_HEIGHT_PX}px;overflow:auto"
    header = f"<thead>{line(head, 'th')}</thead>" if head else ""
    return f'{heading}<div class="table" style="{box}"><table>{header}<tbody>{body}</tbody></table></div>'


def html_records(records: Sequence[Mapping[str, Any]], title: str = "") -> str:
    """Return records as an HTML table; the keys are the heading."""
    head = list(dict.fromkeys(key for record in records for key in record))
    return html_table(head, [[record.get(key) for key in head] for record in records], title)


def text_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows under a heading as lines of text with aligned columns."""
    lines = [tuple(head), *(tuple(map(cell, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


class ShownByArguments:
    """Base of classes whose `repr` shows the arguments with which an object was created."""

    _arguments: tuple[tuple[object, ...], dict[str, object]]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Return an object that stores its arguments."""
        instance = super().__new__(cls)
        object.__setattr__(instance, "_arguments", (args, kwargs))
        return instance

    def __repr__(self) -> str:
        args, kwargs = self.__dict__.get("_arguments", ((), {}))
        texts = [*map(_short, args), *(f"{name}={_short(value)}" for name, value in kwargs.items())]
        return f"{type(self).__name__}({', '.join(texts)})"


def _short(value: object) -> str:
    name = getattr(value, "__qualname__", None)
    if name is None and type(value).__repr__ is object.__repr__:
        name = type(value).__name__
    return str(name) if name is not None else " ".join(reprlib.repr(value).split())
