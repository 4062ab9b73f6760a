"""What all pages are made with: the page templates, and a figure as a div that the page's one plotly.js draws."""

from collections.abc import Mapping
from html import escape
from typing import Any

import jinja2
import plotly.io

from npexplore import __version__
from npexplore.paths import PACKAGE
from npexplore.plot.tables import number
from npexplore.plot.theme import CONFIG

TEMPLATES = PACKAGE / "report" / "templates"


def environment() -> jinja2.Environment:
    """Return the page templates; what every page shares is a global of theirs."""
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True)
    made.globals.update(version=__version__, style=(TEMPLATES / "style.css").read_text())
    return made


def figure_div(figure: dict[str, Any], div_id: str) -> str:
    """Return the div of a figure in its JSON form; equal figures give equal divs."""
    layout = figure.get("layout", {})
    themed = layout.get("template", {}).get("layout", {}).get("height")
    height = int(layout.get("height") or themed or 450)
    html = plotly.io.to_html(
        figure, config=CONFIG, full_html=False, include_plotlyjs=False, validate=False,
        default_height=f"{height}px", div_id=div_id,
    )  # fmt: skip
    return str(html)


def draw(figure: Any) -> str:
    """Return a figure as a div."""
    made = figure.to_plotly_json()
    return figure_div(made, "figure-" + "-".join(figure.layout.title.text.lower().split()[:4]).strip(","))


def listing(lines: Mapping[str, str]) -> str:
    """Return named values as a table of two columns."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in lines.items())
    return f'<table class="plain"><tbody>{rows}</tbody></table>'


def si(value: float, unit: str) -> str:
    """Return a number with three significant digits and the prefix that fits: 0.00052 s is 520 µs."""
    if value == 0:
        return f"0 {unit}"
    prefixes = {1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1.0: "", 1e-3: "m", 1e-6: "µ", 1e-9: "n"}
    if unit == "s":
        prefixes = {size: prefix for size, prefix in prefixes.items() if size <= 1}
    size = next((size for size in prefixes if abs(value) >= size), min(prefixes))
    return f"{number(value / size, 3)} {prefixes[size]}{unit}"
