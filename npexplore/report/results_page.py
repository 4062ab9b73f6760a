"""Makes one offline page of a user's numbers next to predicted and, if there are any, published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout
from npexplore.plot.tables import Table, number
from npexplore.report.shell import draw, figure_page


def results_page(rows: Sequence[Mapping[str, Any]], what: str, beside: Path | None = None) -> str:
    """Return the page as HTML; it needs no network. rows: `Check.results`; what: the source of the numbers, in words.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    names = [_name(row) for row in rows]
    cells = [
        {"number": name, "unit": escape(row["unit"]), "yours": number(row["value"]),
         "ours": number(row["predicted"]), "yours to ours": _share(row["difference"]),
         "published": number(row["published"]), "yours to published": _share(row["error"])}
        for name, row in zip(names, rows, strict=True)
    ]  # fmt: skip
    frame = pd.DataFrame(cells)
    body = Table(frame, frame, left=("number", "unit"))._repr_html_()
    figure = draw(_figure(rows, names))
    return figure_page("changed.html.j2", beside, what=what, told=said(rows), body=body, figure=figure)


def said(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the differences between the user's numbers and the predictions."""
    errors = np.array([row["difference"] for row in rows if row["difference"] is not None])
    if not len(errors):
        return f"None of {len(rows)} numbers has a prediction."
    near = int((np.abs(errors) <= 0.05).sum())
    rms = np.sqrt((errors**2).mean())
    return (
        f"{near} of {len(rows)} numbers are within 5 % of the prediction; median {100 * np.median(errors):+.1f} %, "
        f"the root mean square {100 * rms:.1f} %; {len(rows) - len(errors)} have no prediction."
    )


def _name(row: Mapping[str, Any]) -> str:
    conditions = ", ".join(f"{name}={value}" for name, value in row["conditions"].items())
    return escape(row["key"] or f"{row['design']}, {row['quantity']}, {conditions}")


def _share(value: float | None) -> str:
    return "&ndash;" if value is None else f"{100 * value:+.1f} %"


def _figure(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> go.Figure:
    percent = [
        (name, 100 * row["difference"]) for name, row in zip(names, rows, strict=True) if row["difference"] is not None
    ]
    bars = go.Bar(
        x=[share for _, share in percent], y=[name for name, _ in percent], orientation="h",
        marker={"color": theme.ORIGIN_COLOURS["simulated"]}, hovertemplate="%{y}: %{x:+.1f} %<extra></extra>",
    )  # fmt: skip
    figure = go.Figure(bars)
    figure.update_xaxes(title_text="yours above ours (%)", zeroline=True)
    figure.update_yaxes(categoryorder="array", categoryarray=[name for name, _ in percent][::-1], automargin=True)
    return with_layout(figure, "Your numbers against the predictions", 140 + 26 * len(percent))
