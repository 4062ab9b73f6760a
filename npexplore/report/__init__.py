"""Makes offline HTML pages from notebooks and tables: figures are divs that one shared plotly.js draws; one index page.

Names are imported on first use, so that a report in which nothing changed loads no plotting library.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.report.conformance_page import write_conformance_page as write_conformance_page
    from npexplore.report.first_screens import agreement_sentence as agreement_sentence
    from npexplore.report.first_screens import first_screen as first_screen
    from npexplore.report.first_screens import paper_screen as paper_screen
    from npexplore.report.first_screens import row_sentences as row_sentences
    from npexplore.report.key_numbers import headline as headline
    from npexplore.report.playground import Playground as Playground
    from npexplore.report.playground import solve_landscape as solve_landscape
    from npexplore.report.precomputing import precomputed as precomputed
    from npexplore.report.shown_scores import scores as scores
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
