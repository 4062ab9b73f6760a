"""Notebooks and tables to offline HTML: run, figures as divs over one shared plotly.js, one index page."""

from npexplore.report.headline import headline
from npexplore.report.scores import scores

__all__ = ["headline", "scores"]
