"""An explanation as one offline page: what was asked and when, the lines, pictures, tables."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from npexplore.report.shell import draw, figure_page

SAID = 3  # sentences above the figure: what helps, how fast, what binds

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation


def explanation_page(e: Explanation, command: str | None = None, beside: Path | None = None) -> str:
    """Return the page; it needs no network. command: the command that made it, if one did.

    beside: the page's file, to put plotly.js in a file next to it (shared by pages); None draws figures as pictures.
    """
    from npexplore.plot.breakdown import breakdown

    broken = {name: p.breakdown for name, p in e.predictions.items() if p.breakdown is not None}
    return figure_page(
        "explanation.html.j2", beside,
        name=e.design, load=e.workload.name, body=e._repr_html_(), figure=draw(e.plot()),
        times=draw(breakdown(broken)) if broken else "", knobs=dict(e.knobs), command=command, seed=e.seed,
        said=str(e).split("\n")[:SAID], made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )  # fmt: skip
