"""The theme of all figures: a plotly template with colours for colour-blind readers, and settings of shown figures.

Colours: Okabe and Ito, "Color Universal Design" (2008), without its yellow, which is too faint on white.
"""

from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#222222",
)
GREY, PALE = "#8A8F98", "#E5E7EB"
COLORWAY = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
# One colour for each origin of a number, the same in every figure.
ORIGIN_COLOURS = {
    "published": BLACK, "bounds": GREY, "queueing": BLUE, "simulation": VERMILION, "simulated": VERMILION,
    "estimate": GREEN,
}  # fmt: skip

# Without showSendToCloud plotly.js offers to upload the figure; nothing in a report may leave the machine.
CONFIG: dict[str, Any] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d"],  # a short bar leaves room for titles
    "responsive": True,
    "toImageButtonOptions": {"format": "svg"},
}

_AXIS = {
    "showline": True,
    "linecolor": GREY,
    "ticks": "outside",
    "tickcolor": GREY,
    "gridcolor": PALE,
    "zerolinecolor": GREY,
    "zerolinewidth": 1,
    "automargin": True,
    "minorloglabels": "complete",
    "title": {"standoff": 10},
}

TEMPLATE = go.layout.Template(
    layout={
        "colorway": COLORWAY,
        "colorscale": {"sequential": "Cividis", "sequentialminus": "Cividis", "diverging": "RdBu"},
        "font": {"family": "system-ui, Segoe UI, Helvetica, Arial, sans-serif", "size": 14, "color": BLACK},
        "title": {"font": {"size": 17}, "x": 0.0, "xref": "paper", "xanchor": "left"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "height": 440,
        "margin": {"l": 70, "r": 30, "t": 64, "b": 60},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"bgcolor": "rgba(255,255,255,0.8)", "title": {"font": {"size": 13}}},
        "hoverlabel": {"bgcolor": "white", "font": {"size": 13}},
    },
    data={
        "scatter": [{"line": {"width": 2.2}, "marker": {"size": 8}}],
        "bar": [{"marker": {"line": {"width": 0}}}],
    },
)

pio.templates["npexplore"] = TEMPLATE


def use_theme() -> None:
    """Make template and CONFIG the defaults of all figures of this session (call it in a notebook's first cell), and
    show all pandas tables in the style of `tables.table`, without a numeric index.
    """
    pio.templates.default = "npexplore"
    _show_tables()
    for name in ("plotly_mimetype", "jupyterlab", "vscode"):
        pio.renderers[name].config = CONFIG


def _show_tables() -> None:
    """Make notebooks show pandas tables in our style; outside of a notebook this does nothing."""
    import sys

    if "IPython" not in sys.modules:
        return
    import pandas as pd
    from IPython import get_ipython

    from npexplore.plot.tables import framed

    shell = get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(
            pd.DataFrame, lambda frame: framed(frame)._repr_html_()
        )
