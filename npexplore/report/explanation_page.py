"""Makes one offline page of an explanation: the question and its date, the lines, figures, tables."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.report.shell import draw, figure_page

SAID = 3  # sentences above the figure: best change, rate, bottleneck

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation


def explanation_page(e: Explanation, command: str | None = None, beside: Path | None = None) -> str:
    """Return the page as HTML; it needs no network. command: the command that made it, None without one.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    from npexplore.plot.breakdown import breakdown

    breakdowns = {
        name: prediction.breakdown for name, prediction in e.predictions.items() if prediction.breakdown is not None
    }
    return figure_page(
        "explanation.html.j2", beside,
        name=e.design, load=e.workload.name, body=e._repr_html_(), figure=draw(e.plot()),
        times=draw(breakdown(breakdowns)) if breakdowns else "", knobs=dict(e.knobs), command=command, seed=e.seed,
        said=str(e).split("\n")[:SAID], made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )  # fmt: skip
