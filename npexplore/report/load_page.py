"""A curve of latency and loss as one offline page: its sentence, its figure, its table."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.plot.load import load_figure
from npexplore.report.shell import draw, environment, library

if TYPE_CHECKING:
    from npexplore.study.loading.curve import LoadCurve


def load_page(curve: LoadCurve, said: str, table: str, beside: Path | None = None) -> str:
    """Return the page of a curve, with its summary and its table as text; it needs no network.

    beside: the page's file, to put plotly.js in a file next to it (shared by pages); None puts it into the page.
    """
    template = environment().get_template("load.html.j2")
    return template.render(name=curve.design, load=curve.workload, said=said, table=escape(table),
                           figure=draw(load_figure(curve)), **library(beside))  # fmt: skip
