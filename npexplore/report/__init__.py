"""Notebooks and tables to offline HTML: run, figures as divs over one shared plotly.js, one index page."""

from npexplore.report.first_screen import first_screen, how_close, paper_screen, told_of
from npexplore.report.headline import headline
from npexplore.report.scores import scores

__all__ = ["first_screen", "headline", "how_close", "paper_screen", "scores", "told_of"]
