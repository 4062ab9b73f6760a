"""A notebook's run as a page is made of it, without running anything: first screen, figures, tables, hostile names."""

from pathlib import Path

import nbformat.v4 as nb
import pandas as pd
import plotly.graph_objects as go

from npexplore.plot import tables, theme
from npexplore.report.execute import Run
from npexplore.report.first_screens import Foot, Words, score_line
from npexplore.report.notebooks import Notebook
from npexplore.report.shown_scores import MIME

HOSTILE = "</script><img src=x onerror=alert(1)>"
LINE = {
    "paper": "mine", "group": "all", "claims": False, "rows": 3, "rms": 5.0, "rms_predicted": 5.0,
    "rms_post_hoc": None, "baseline": "constant", "baseline_error": 6.0, "skill": 0.25, "compared": 3,
    "nearer": 1, "unit": "%", "low": None, "high": None, "free_parameters": 4, "off": [], "predicted": 2,
    "scored": 3, "near": 3, "far": [], "post_hoc": 1, "calibrated": 0, "arithmetic": 0, "blind": 0,
}  # fmt: skip


def run_of(*cells, name="10_thing", error=None):
    cells = nb.new_notebook(cells=list(cells))
    return Run(Notebook(Path(f"{name}.py"), cells), cells, "2026-01-02 03:04:05", 1.5, error)


def shown(*things):
    """A code cell that showed some things, each a figure, a record, or what makes its own mime bundle."""
    data = [{"application/vnd.plotly.v1+json": _json(one)} if isinstance(one, go.Figure) else
            {"text/html": one._repr_html_()} if isinstance(one, tables.Table) else
            one if isinstance(one, dict) else one._repr_mimebundle_() for one in things]  # fmt: skip
    return nb.new_code_cell("draw()", outputs=[nb.new_output("display_data", data=one) for one in data])


def _json(figure):
    import json

    return json.loads(figure.to_json())


def first_layer(*more):
    """The run: a question, a first screen, two chapters."""
    theme.use_theme()
    answers = {"How fast?": "3 Gb/s.", "What binds?": f"1 bus {HOSTILE}.", "How close?": "2 %."}
    words = Words(answers, score_line([LINE]), {"the table": "#The-table"})
    figure = go.Figure(go.Scatter(y=[1, 3, 2], name=HOSTILE), layout={"title": f"Up {HOSTILE}", "height": 430})
    rows = pd.DataFrame({"name": [f"row {k}" for k in range(30)], "size": [(7 * k) % 30 for k in range(30)]})
    wide = pd.DataFrame({f"a long column number {k}": [k, k + 1] for k in range(20)})
    return run_of(
        nb.new_markdown_cell("# Banks & buses\n\nHow fast?"),
        shown(words, figure, Foot(words)),
        nb.new_markdown_cell(f"## The table\n\n`{HOSTILE}`"),
        shown(tables.table(rows), tables.table(wide), {MIME: [LINE], "text/plain": "scores"}),
        nb.new_markdown_cell("## Another figure"),
        shown(go.Figure(go.Bar(y=[3, 1, 2]), layout={"title": "Bars"})),
        *more,
    )
