"""Parts that all pages share: the page templates, and figures as data that the page's plotly.js draws."""

import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import jinja2
from plotly.io.json import to_json_plotly

from npexplore import __version__
from npexplore.paths import PACKAGE
from npexplore.plot.tables import number
from npexplore.plot.theme import CONFIG, TEMPLATE
from npexplore.report.charts import as_pictures
from npexplore.report.lean import lean_trace

TEMPLATES = PACKAGE / "report" / "templates"
PLOTLY_JS, SEARCH_JS = "plotly.min.js", "search.js"
DAY_S = 86_400
# Links and styles in a figure's text, which plotly.js would interpret; our figures have none, so they are escaped.
_LINKS = re.compile(r"(?:<|\\u003[cC])(?=(?:/|\\u002[fF])?(?:a|span)\b)", re.IGNORECASE)

_PLAIN = {r"\u003e": ">", r"\u002f": "/"}
_ESCAPED = re.compile(r"\\\\|\\u003e|\\u002f")  # first an escaped backslash, so that the text after it stays


def environment() -> jinja2.Environment:
    """Return the page templates; their globals are the parts that all pages share."""
    jinja = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True)
    scripts = {f"{name}_js": _short(TEMPLATES / f"{name}.js") for name in ("page", "tables", "figures", "play")}
    figures = as_json({"config": CONFIG, "template": _template()})
    jinja.globals.update(version=__version__, style=_short(TEMPLATES / "style.css"), figures=figures, **scripts)
    return jinja


def _short(path: Path) -> str:
    """Return a script or style without indentation, empty lines and comment lines, because every page contains it."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element; of the escapes of plotly's encoder (<, > and /) only < stays.

    The escape of < is enough to keep the element open; the others would be 2 % of a page.
    """
    return _ESCAPED.sub(lambda escape_match: _PLAIN.get(escape_match[0], escape_match[0]), str(to_json_plotly(value)))


@cache
def _template() -> dict[str, Any]:
    return dict(json.loads(to_json_plotly(TEMPLATE)))


def figure_div(figure: dict[str, Any], div_id: str) -> str:
    """Return the div of a figure (JSON) with its data; the page's script draws it when it scrolls into view.

    Equal figures give equal divs. The theme that all figures share is not repeated in each div.
    """
    encoded = str(to_json_plotly({"data": figure.get("data", []), "layout": figure.get("layout", {})}))
    spec = json.loads(_LINKS.sub("&lt;", encoded))
    spec["data"] = lean_trace(spec["data"])
    layout = spec["layout"]
    template = layout.get("template", {})
    height = int(layout.get("height") or template.get("layout", {}).get("height") or 450)
    if template == _template():
        layout["template"] = "npexplore"
    title = layout.get("title", {})
    text = title.get("text") if isinstance(title, dict) else title
    label = escape(re.sub("<[^>]*>", " ", text or "figure"), quote=True)
    return (
        f'<div id="{escape(div_id)}" class="plotly-graph-div" data-figure role="figure" aria-label="{label}" '
        f'style="height:{height}px; width:100%;"></div>'
        f'<script type="application/json" id="{escape(div_id)}-data">{as_json(spec)}</script>'
    )


def figure_page(template: str, beside: Path | None, *, drawn: bool = True, **values: Any) -> str:
    """Return a page that a command writes; without `beside` its figures are static pictures (about 0.1 MB).

    template: file of the template. beside: the page's path: a plotly.js next to it, which all pages there share, draws
    zoomable figures. drawn: whether the page has figures. values: the variables of the template.
    """
    scripts = library(beside) if beside is not None and drawn else {}
    html = environment().get_template(template).render(**values, **scripts)
    return html if scripts else as_pictures(html)


def library(beside: Path | None) -> dict[str, str]:
    """Return the template variable by which a page loads plotly.js.

    beside: the page's path, to store plotly.js next to it, shared by pages (written if it is missing); None puts the
    script into the page (5 MB).
    """
    from plotly.offline import get_plotlyjs

    if beside is None:
        return {"plotly_js": get_plotlyjs()}
    place = beside.parent / PLOTLY_JS
    if not place.exists() or place.stat().st_size != len(get_plotlyjs().encode()):
        place.write_text(get_plotlyjs(), encoding="utf-8")
    return {"plotly_file": PLOTLY_JS}


def draw(figure: Any) -> str:
    """Return a figure as a div."""
    name = "-".join(figure.layout.title.text.lower().split()[:4]).strip(",")
    return figure_div(figure.to_plotly_json(), f"figure-{name}")


def listing(lines: Mapping[str, str]) -> str:
    """Return named values as a table of two columns."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in lines.items())
    return f'<table class="plain"><tbody>{rows}</tbody></table>'


def si(value: float, unit: str) -> str:
    """Return a number with three significant digits and its SI prefix: 0.00052 s is 520 µs.

    Only seconds get prefixes below 1, because readers misread mb/s; times of two days or more are in days.
    """
    if unit == "s" and value >= 2 * DAY_S:
        return f"{number(value / DAY_S, 3)} days"
    if value == 0:
        return f"0 {unit}"
    prefixes = {1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1.0: "", 1e-3: "m", 1e-6: "µ", 1e-9: "n"}
    prefixes = {size: prefix for size, prefix in prefixes.items() if (size <= 1 if unit == "s" else size >= 1)}
    size = next((size for size in prefixes if abs(value) >= size), min(prefixes))
    return f"{number(value / size, 3)} {prefixes[size]}{unit}"
