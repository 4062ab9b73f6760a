"""A curve of latency and loss as one offline page: its sentence, its figure, its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from npexplore.plot.load import load_figure
from npexplore.plot.tables import table
from npexplore.report.shell import draw, environment, library

if TYPE_CHECKING:
    from npexplore.study.loading.curve import LoadCurve


def load_page(
    curve: LoadCurve, said: str, rows: Sequence[Mapping[str, Any]], beside: Path | None = None
) -> str:  # fmt: skip
    """Return the page of a curve, with its summary and the rows of its table; it needs no network.

    beside: the page's file, to put plotly.js in a file next to it (shared by pages); None puts it into the page.
    """
    template = environment().get_template("load.html.j2")
    shown = table(pd.DataFrame(rows), digits=4, height=560)._repr_html_()
    return template.render(heading=f"{curve.design} over the load of {curve.workload}", command="load", said=said,
                           table=shown, figure=draw(load_figure(curve)), **library(beside))  # fmt: skip
