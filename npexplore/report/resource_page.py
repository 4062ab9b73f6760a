"""One resource explored alone, as one offline page: its figure and its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.plot.tables import table
from npexplore.report.shell import draw, figure_page

if TYPE_CHECKING:
    from npexplore.study.laboratory.points import Exploration
    from npexplore.study.laboratory.resource import SingleResource


def resource_page(lone: SingleResource, exploration: Exploration, beside: Path | None = None) -> str:
    """Return the page of a resource with the answers that were asked for; it needs no network.

    beside: the page's file, to put plotly.js in a file next to it (shared by pages); None draws figures as pictures.
    """
    theory = (
        "no exact result"
        if exploration.theory is None
        else f"{exploration.theory['name']}, {exploration.theory['source']}"
    )
    said = f"{exploration.heading()}. Theory: {theory}."
    shown = table(exploration.to_frame().dropna(axis=1, how="all"), digits=4, height=560)._repr_html_()
    heading, figure = f"{lone.kind} alone", draw(lone.plot())
    return figure_page(
        "load.html.j2", beside, heading=heading, command="resource", said=said, table=shown, figure=figure
    )
