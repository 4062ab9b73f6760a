"""The gallery: figures of the notebooks that `npexplore report` has run here, each above the notebook that draws it."""

import json
from html import escape
from pathlib import Path
from typing import Any

from npexplore.report.charts import picture
from npexplore.report.execute import stored
from npexplore.report.kept import STORE
from npexplore.report.notebooks import as_ipynb, find_files, read_notebook
from npexplore.report.pages import FIGURE, shown
from npexplore.report.shell import figure_div

FIGURES = 2  # of a notebook
HEAD = """# Gallery

Figures of the notebooks, as the last `npexplore report` here drew them. Each notebook is a file to open in Jupyter;
`npexplore notebooks` writes all of them into a folder.
"""


def gallery_pages(reports: Path, runs: Path | None = None) -> dict[str, str]:
    """Return the gallery and the notebooks to download.

    reports: the folder of `npexplore report`; a notebook that was not run there, or has changed since, has no figure.
    """
    pages, parts = {}, [HEAD]
    for path in find_files(runs):
        notebook = read_notebook(path)
        run = stored(notebook, reports / STORE)
        figures = [] if run is None else pictures(shown(run, FIGURE))[:FIGURES]
        pages[f"gallery/{path.stem}.ipynb"] = as_ipynb(notebook)
        drawn = f'\n<div class="gallery">{"".join(figures)}</div>\n' if figures else ""
        link = f"{{download}}`{path.stem}.ipynb <{path.stem}.ipynb>`"
        parts.append(f"## {notebook.title}\n{drawn}\n{notebook.summary} Notebook: {link}.\n")
    return pages | {"gallery/index.md": "\n".join(parts)}


def pictures(figures: list[dict[str, Any]]) -> list[str]:
    """Return figures in plotly's JSON as narrow pictures, without those of kinds that are not drawn as SVG."""
    drawn = []
    for figure in figures:
        html = figure_div(figure, "figure")
        label, spec = (
            html.partition('aria-label="')[2].partition('"')[0],
            html.partition('-data">')[2].partition("</script>")[0],
        )
        try:
            svg = picture(json.loads(spec), label, "narrow")
        except (KeyError, TypeError, ValueError):
            continue
        drawn.append(f'<div class="chart" role="img" aria-label="{escape(label)}">{svg}</div>')
    return drawn
