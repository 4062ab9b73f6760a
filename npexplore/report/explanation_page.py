"""An explanation as one offline page: the paragraph, its picture, its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plotly.offline import get_plotlyjs

from npexplore.report.shell import draw, environment

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation


def explanation_page(e: Explanation) -> str:
    """Return the page; it needs no network."""
    template = environment().get_template("explanation.html.j2")
    return template.render(name=e.design, load=e.workload.name, body=e._repr_html_(), figure=draw(e.plot()),
                           plotly_js=get_plotlyjs())  # fmt: skip
