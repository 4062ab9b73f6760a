"""Tables of results as HTML: the important columns, sensible digits, misses in red with their reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.ledger.auditing import Finding

# Colours of a page, which also has a dark theme; elsewhere the colours of JupyterLab, or of white paper.
BAD, SOFT = "var(--bad, #b42318)", "var(--soft, #57606a)"
PAPER = "var(--paper, var(--jp-layout-color0, #fff))"
FRAMED, SCROLLS_ABOVE_ROWS = 640, 24  # height in pixels of a pandas table with more rows, which scrolls
PAD = "padding:.3rem .5rem"
SHOWN_DIGITS = 4  # significant digits of a number that is compared with a published one
LONG_RATE = 6  # longest whole number, in digits, that is shown unrounded
ROUNDING = 1e-9  # smaller values, in the units of the published rows, are shown as 0


class Table:
    """A DataFrame (`data`) and its cells as HTML, in a box that scrolls if `height` (pixels) is given.

    Cells of a column `note` are shown in a separate line across the table, below their row.

    Example:
        >>> import pandas as pd
        >>> from npexplore import plot
        >>> len(plot.table(pd.DataFrame({"a": [1, 2]})).data)
        2
    """

    def __init__(
        self, data: pd.DataFrame, cells: pd.DataFrame, *, left: Sequence[str] = (), height: int | None = None
    ) -> None:
        self.data = data
        self._cells, self._left, self._height = cells, set(left), height

    def _repr_html_(self) -> str:
        names = [name for name in self._cells.columns if name != "note"]
        align = {name: f"text-align:{'left' if name in self._left else 'right'}" for name in names}
        top = f"{PAD};white-space:normal;position:sticky;top:0;background:{PAPER}"
        head = "".join(f'<th style="{align[name]};{top}">{escape(name)}</th>' for name in names)
        body = []
        for row in self._cells.to_dict("records"):
            note = row.get("note")
            line = ";border-bottom:0" if note else ""
            body.append("".join(f'<td style="{align[name]};{PAD}{line}">{row[name]}</td>' for name in names))
            if note:
                note_html = f'<div class="note">{note}</div>'
                body.append(f'<td colspan="{len(names)}" style="text-align:left;{PAD};padding-top:0">{note_html}</td>')
        rows = "".join(f"<tr>{cells}</tr>" for cells in body)
        box = f"max-height:{self._height}px;overflow:auto" if self._height else "overflow-x:auto"
        return (
            f'<div class="table" style="{box}"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        )

    def __repr__(self) -> str:
        return repr(self.data)


def number(value: Any, digits: int = SHOWN_DIGITS) -> str:
    """Return a number with `digits` significant digits (all before the point are kept); a claim as holds or fails."""
    if value is None or value != value:
        return "&ndash;"
    if isinstance(value, bool):
        return "holds" if value else "fails"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return escape(str(value))
    if not value:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    return f"{value:,.{max(digits - 1 - floor(log10(abs(value))), 0)}f}"


def printed(row: Mapping[str, Any]) -> str:
    """Return a published number of a cross-check as it is printed; long fractions and rates have four digits."""
    text = str(row["published"])
    digits = text.replace(".", "", 1)
    longest = SHOWN_DIGITS if "." in text else LONG_RATE
    if not digits.isdigit() or len(digits.lstrip("0")) <= longest or row["unit"] == "count":
        return text
    rounded = float(f"{float(text):.{SHOWN_DIGITS - 1}e}")
    return number(rounded) if "." in text else f"{rounded:,.0f}"


def table(
    data: pd.DataFrame, *, digits: int = 3, left: Sequence[str] | None = None, height: int | None = None
) -> Table:
    """Return any table with numbers rounded to `digits` significant digits; text is aligned left.

    data: the rows. digits: significant digits of numbers. left: columns aligned left (None: those of text). height:
    in pixels, scrolled beyond (None: all rows shown).
    """
    text = [name for name in data.columns if not _numeric(data[name])]
    cells = data.astype(object).map(lambda value: number(value, digits))
    return Table(data, cells, left=text if left is None else left, height=height)


def framed(data: pd.DataFrame) -> Table:
    """Return a pandas table in our style: a numeric index is dropped, any other index becomes a column."""
    import pandas as pd

    with_index = (
        data
        if isinstance(data.index, pd.RangeIndex) or (data.index.dtype.kind in "iu" and data.index.name is None)
        else data.reset_index(names=[name or " " * level for level, name in enumerate(data.index.names)])
    )
    flat = with_index.set_axis(
        [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in with_index.columns], axis=1
    )
    return table(flat, digits=4, height=FRAMED if len(flat) > SCROLLS_ABOVE_ROWS else None)


def identity_table(findings: Sequence[Finding], *, height: int | None = 720) -> Table:
    """Return identities between published numbers (`ledger.audit`), failing ones first.

    A failing identity is followed by its assumption and the reason why it fails.
    """
    import pandas as pd

    ranked = sorted(findings, key=lambda finding: finding.verdict != "inconsistent")
    frame = pd.DataFrame(
        {name: [getattr(row, name) for row in ranked] for name in ("id", "formula", "printed", "recomputed", "unit")}
        | {"verdict": [row.verdict for row in ranked]}
        | {"note": ["" if row.verdict == "consistent" else f"{row.reading} {row.explanation or ''}" for row in ranked]}
    ).astype(object)
    return Table(frame, frame.map(number), left=("id", "formula", "unit", "verdict"), height=height)


def cross_check_table(frame: pd.DataFrame, where: Mapping[str, str], *, height: int | None = 720) -> Table:
    """Return the cross-check: one line per published number, three solvers, error, label, verdict, spread, reason.

    frame: `Check.to_frame()`. where: place in the paper by key. The spread is that over alternative structures.
    A column that would be empty (a solver that does not apply, no alternatives, no frozen predictions) is left out.
    A blind row has the error and verdict of its frozen prediction.
    height: in pixels, scrolled beyond (None: all rows shown).
    """
    import pandas as pd

    alternatives = [name for name in frame.columns if name.startswith("alternative: ")]
    rows = [_line(row, where, alternatives) for row in frame.to_dict("records")]
    cells = pd.DataFrame(rows)
    empty = [name for name in ("queueing", "other structures", "frozen") if (cells[name] == "&ndash;").all()]
    left = ("where", "what", "label", "verdict")
    return Table(frame, cells.drop(columns=empty), left=left, height=height)


def verdict_table(frame: pd.DataFrame) -> Table:
    """Return the number of rows of a cross-check by role and verdict."""
    import pandas as pd

    labels = frame["verdict"].str.replace("_", " ")
    return table(
        pd.crosstab(frame["role"], labels, margins=True, margins_name="in all").rename_axis(columns=None).reset_index()
    )


def _line(row: Mapping[str, Any], where: Mapping[str, str], others: Sequence[str]) -> dict[str, str]:
    published = str(row["published"])
    in_words = row["unit"] == "%" and not any(map(str.isdigit, published))
    unit = "" if in_words or row["unit"] in (None, "1") or row["unit"] != row["unit"] else f" {row['unit']}"
    published_html = escape(printed(row))
    if published_html != escape(published):
        published_html = f'<span title="printed: {escape(published)}">{published_html}</span>'
    spread = [float(row[name]) for name in others if _known(row[name])]
    off = row["verdict"] in ("off", "not_predictable", "not_modelled")
    style = f' style="color:{BAD}"' if off else ""
    count = row["prototype_hints"]
    hints = f"<br><small>{count:.0f} hint{'s'[: count != 1]}</small>" if _known(count) else ""
    label = row["label"] if _known(row["label"]) else "&ndash;"
    key = escape(row["key"]).replace(".", ".<wbr>")
    return {
        "where": escape(where[row["key"]]),
        "what": f'{escape(row["quantity"])}<br><small style="color:{SOFT}">{key}</small>',
        "published": "withheld" if row["role"] == "withheld" else f"{published_html}{unit}",
        "bounds": number(_settled(row["bounds"])),
        "queueing": number(_settled(row["queueing"])),
        "simulated": _with_interval(row["simulated"], row["ci95"]),
        "frozen": number(row.get("frozen")),
        "error": f"<span{style}>{100 * row['error']:+z.1f}&nbsp;%</span>" if _known(row["error"]) else "&ndash;",
        "other structures": _span(spread),
        "label": str(label).replace("_", " ") + hints,
        "verdict": f"<b{style}>{escape(str(row['verdict'])).replace('_', ' ')}</b>" if off else escape(row["verdict"]),
        "note": "<br>".join(
            f"<small{colour}>{escape(row[name])}</small>"
            for name, colour in (("reason", style), ("modes", ""))
            if _known(row.get(name))
        ),
    }


def _with_interval(value: Any, ci95: Any) -> str:
    if isinstance(value, bool) or not _known(value) or not isinstance(ci95, tuple | list):
        return number(value)
    half = (ci95[1] - ci95[0]) / 2
    text = number(value)
    places = len(text.partition(".")[2])
    return f"{text}<br><small>&plusmn;&thinsp;{number(half, 2) if 'e' in text else f'{half:.{places}f}'}</small>"


def _settled(value: Any) -> Any:
    """Return a number, with 0 for the rounding error of a difference of equal numbers."""
    return 0.0 if isinstance(value, float) and abs(value) < ROUNDING else value


def _span(values: Sequence[float]) -> str:
    if not values:
        return "&ndash;"
    low, high = number(min(values)), number(max(values))
    return "the same" if low == high else f"{low}&nbsp;to<br>{high}"


def _known(value: Any) -> bool:
    return value is not None and value == value


def _numeric(column: pd.Series[Any]) -> bool:
    return all(isinstance(value, int | float) for value in column if value is not None)
