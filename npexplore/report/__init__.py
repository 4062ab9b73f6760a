"""Notebooks and tables to offline HTML: run, figures as divs over one shared plotly.js, one index page.

Names are imported on first use, so that a report in which nothing changed loads no plotting library.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.report.first_screens import first_screen as first_screen
    from npexplore.report.first_screens import how_close as how_close
    from npexplore.report.first_screens import paper_screen as paper_screen
    from npexplore.report.first_screens import told_of as told_of
    from npexplore.report.key_numbers import headline as headline
    from npexplore.report.shown_scores import scores as scores

# public name -> the module that holds it; no module has the name of what it holds, or it would be found instead
_HOMES = {
    "first_screen": "npexplore.report.first_screens",
    "headline": "npexplore.report.key_numbers",
    "how_close": "npexplore.report.first_screens",
    "paper_screen": "npexplore.report.first_screens",
    "scores": "npexplore.report.shown_scores",
    "told_of": "npexplore.report.first_screens",
}

__all__ = [*_HOMES]
__getattr__, __dir__ = on_demand(__name__, _HOMES)
