"""Makes one offline page of a curve of latency and loss: a sentence, a figure, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from npexplore.display import significant
from npexplore.plot.load import load_figure
from npexplore.plot.tables import table
from npexplore.report.shell import draw, figure_page

if TYPE_CHECKING:
    from npexplore.study.loading.curve import LoadCurve


def load_page(
    curve: LoadCurve, said: str, rows: Sequence[Mapping[str, Any]], beside: Path | None = None
) -> str:  # fmt: skip
    """Return the page of a curve as HTML; it needs no network. said: the summary; rows: the rows of the table.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    half_widths = {"mean ns": "+- ns"}  # half widths of intervals, by column
    cells = [
        {name: significant(value, row.get(half_widths.get(name, ""))) if isinstance(value, float) else value
         for name, value in row.items()}
        for row in rows
    ]  # fmt: skip
    table_html = table(pd.DataFrame(cells), left=("by",), height=560)._repr_html_()
    heading = f"{curve.design} over the load of {curve.workload}"
    figure = draw(load_figure(curve))
    return figure_page(
        "load.html.j2", beside, heading=heading, command="load", said=said, table=table_html, figure=figure
    )
