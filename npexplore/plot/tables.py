"""Tables for readers: the columns that matter, sensible digits, misses in red with their reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

BAD, SOFT = "#b42318", "#57606a"


class Table:
    """A DataFrame (`data`) and its cells as HTML, in a box that scrolls where `height` (pixels) is given."""

    def __init__(
        self, data: pd.DataFrame, cells: pd.DataFrame, *, left: Sequence[str] = (), height: int | None = None
    ) -> None:
        self.data = data
        self._cells, self._left, self._height = cells, set(left), height

    def _repr_html_(self) -> str:
        align = {name: "left" if name in self._left else "right" for name in self._cells.columns}
        head = "".join(
            f'<th style="text-align:{align[name]};white-space:normal;position:sticky;top:0;background:#fff">'
            f"{escape(name)}</th>"
            for name in self._cells.columns
        )
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align:{align[name]}">{row[name]}</td>' for name in row) + "</tr>"
            for row in self._cells.to_dict("records")
        )
        box = f"max-height:{self._height}px;overflow:auto" if self._height else "overflow-x:auto"
        return (
            f'<div style="{box}"><table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def __repr__(self) -> str:
        return repr(self.data)


def number(value: Any, digits: int = 4) -> str:
    """Return a number with so many significant digits (none lost before the point), a claim as holds or fails."""
    if value is None or value != value:
        return "&ndash;"
    if isinstance(value, bool):
        return "holds" if value else "fails"
    if not isinstance(value, int | float):
        return escape(str(value))
    before = len(str(int(abs(value)))) if abs(value) >= 1 else 1
    return f"{value:,.{max(digits - before, 0)}f}"


def table(
    data: pd.DataFrame, *, digits: int = 3, left: Sequence[str] | None = None, height: int | None = None
) -> Table:
    """Return any table with numbers of so many significant digits; text stands left."""
    text = [name for name in data.columns if not _numeric(data[name])]
    cells = data.astype(object).map(lambda value: number(value, digits))
    return Table(data, cells, left=text if left is None else left, height=height)


def cross_check(frame: pd.DataFrame, where: Mapping[str, str], *, height: int | None = 720) -> Table:
    """Return the cross-check: one line a published number, three solvers, error, label, verdict, spread, reason.

    frame: `Check.frame()`. where: place in the paper by key. The spread is that of the structure alternatives.
    """
    import pandas as pd

    others = [name for name in frame.columns if name.startswith("alternative: ")]
    rows = [_line(row, where, others) for row in frame.to_dict("records")]
    left = ("where", "what", "label", "verdict")
    return Table(frame, pd.DataFrame(rows), left=left, height=height)


def _line(row: Mapping[str, Any], where: Mapping[str, str], others: Sequence[str]) -> dict[str, str]:
    unit = "" if row["unit"] in (None, "1") or row["unit"] != row["unit"] else f" {row['unit']}"
    plus = row["ci95"]
    half = f" &plusmn;&thinsp;{number((plus[1] - plus[0]) / 2, 2)}" if isinstance(plus, tuple | list) else ""
    spread = [float(row[name]) for name in others if _known(row[name])]
    off = row["verdict"] in ("off", "not_predictable", "not_modelled")
    verdict = f'<b style="color:{BAD}">{row["verdict"].replace("_", " ")}</b>' if off else escape(str(row["verdict"]))
    if row["reason"]:
        verdict += (
            f'<br><small style="color:{BAD};display:inline-block;min-width:15rem">{escape(row["reason"])}</small>'
        )
    error = row["error"]
    colour = f' style="color:{BAD}"' if off else ""
    return {
        "where": escape(where[row["key"]]),
        "what": f'{escape(row["quantity"])}<br><small style="color:{SOFT}">{escape(row["key"])}</small>',
        "published": "withheld" if row["role"] == "withheld" else f"{escape(str(row['published']))}{unit}",
        "bounds": number(row["bounds"]),
        "queueing": number(row["queueing"]),
        "simulated": number(row["simulated"]) + half if _known(row["simulated"]) else "&ndash;",
        "error": f"<span{colour}>{100 * error:+.1f} %</span>" if _known(error) else "&ndash;",
        "other structures": f"{number(min(spread))} to {number(max(spread))}" if spread else "&ndash;",
        "label": str(row["label"] or "&ndash;").replace("_", " "),
        "hints": number(int(row["prototype_hints"])) if _known(row["prototype_hints"]) else "&ndash;",
        "verdict": verdict,
    }


def _known(value: Any) -> bool:
    return value is not None and value == value


def _numeric(column: pd.Series[Any]) -> bool:
    return all(isinstance(value, int | float) for value in column if value is not None)
