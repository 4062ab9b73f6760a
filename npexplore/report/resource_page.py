"""Makes one offline page of a single resource's exploration: a figure and a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.plot.tables import table
from npexplore.report.shell import draw, figure_page

if TYPE_CHECKING:
    from npexplore.study.laboratory.points import Exploration
    from npexplore.study.laboratory.resource import SingleResource


def resource_page(lone: SingleResource, exploration: Exploration, beside: Path | None = None) -> str:
    """Return the page of a resource with the results of its exploration as HTML; it needs no network.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    theory = (
        "no exact result"
        if exploration.theory is None
        else f"{exploration.theory['name']}, {exploration.theory['source']}"
    )
    summary = f"{exploration.heading()}. Theory: {theory}."
    table_html = table(exploration.to_frame().dropna(axis=1, how="all"), digits=4, height=560)._repr_html_()
    heading, figure = f"{lone.kind} alone", draw(lone.plot())
    return figure_page(
        "load.html.j2", beside, heading=heading, command="resource", said=summary, table=table_html, figure=figure
    )
