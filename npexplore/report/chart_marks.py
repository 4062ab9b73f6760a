"""What drawn charts are made of: texts and their widths, paths, colours, and the words of a mark that is pointed at."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

from npexplore.plot.theme import COLORWAY

LETTER, CAPITAL, DIGIT = (
    7.2,
    11.0,
    8.3,
)  # pixels at most, of a letter of 13 pixels; "m", "w" and "%" are as wide as capitals
HATCH_PIXELS = 9  # between two lines of a striped bar
CAP_PIXELS = 3  # half of the line that ends an interval


def width_of(words: str) -> float:
    """Return how wide a text is, in pixels."""
    capitals = sum(letter.isupper() or letter in "mw%" for letter in words)
    return LETTER * (len(words) - capitals) + CAPITAL * capitals


def label_width(words: str) -> float:
    """Return how wide the label of an axis is, in pixels: addresses are mostly digits, which are wider than letters."""
    return width_of(words) + (DIGIT - LETTER) * sum(letter.isdigit() for letter in words)


def cut(words: str, most: int) -> str:
    """Return words of at most so many letters, without their middle where they are longer."""
    half = (most - 1) // 2
    return words if len(words) <= most else f"{words[: most - 1 - half]}…{words[-half:]}"


def lines(words: str, room: int) -> list[str]:
    """Return a text in lines of at most `room` letters; long names are cut behind underscores."""
    parts = [""]
    for word in re.findall(r"[^\s_]+_*|_+", words):
        glue = "" if parts[-1][-1:] in ("", "_") else " "
        if parts[-1] and len(parts[-1] + glue + word) > room:
            parts.append("")
            glue = ""
        parts[-1] += glue + word
    return parts


def text(x: float, y: float, words: str, *, cls: str = "", anchor: str = "start", turn: int = 0) -> str:
    """Return an SVG text."""
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    named = f' class="{cls}"' if cls else ""
    plain = escape(unescape(re.sub("<[^>]*>", " ", words)), quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{turned}>{plain}</text>'


def colour(trace: dict[str, Any], number: int) -> str:
    """Return a trace's colour, the theme's next one where it has none of its own."""
    marks = trace.get("marker", {})
    own = trace.get("line", {}).get("color") or marks.get("color") or marks.get("line", {}).get("color")
    return own if isinstance(own, str) else COLORWAY[number % len(COLORWAY)]


def course(points: Sequence[tuple[float, float]], *, stepped: bool) -> str:
    """Return an SVG path through points, broken where one cannot be shown."""
    path, down = "", False
    for x, y in points:
        if not math.isfinite(x + y):
            down = False
            continue
        step = f"H{x:.1f}V{y:.1f}" if stepped else f"L{x:.1f} {y:.1f}"
        path += step if down else f"M{x:.1f} {y:.1f}"
        down = True
    return path


def said(trace: dict[str, Any], over: Any, value: Any) -> str:
    """Return what a mark or bar says when it is pointed at."""
    values = [one if isinstance(one, str) else f"{one:.5g}" for one in (over, value)]
    name = f"{trace['name']}: " if trace.get("name") else ""
    return f"<title>{escape(unescape(name + ', '.join(values)))}</title>"


def marker(trace: dict[str, Any], x: float, y: float, ink: str, hover_text: str) -> str:
    """Return a mark as SVG: a circle, a square or a short upright line, open where plotly's name of the symbol is."""
    style = trace.get("marker", {})
    symbol, radius = str(style.get("symbol", "circle")), float(style.get("size", 8)) / 2
    if symbol == "line-ns":
        width = style.get("line", {}).get("width", 2)
        line = f'd="M{x:.1f} {y - radius:.1f}v{2 * radius:g}" stroke="{ink}" stroke-width="{width}"'
        return f"<path {line}>{hover_text}</path>"
    paint = f'fill="none" stroke="{ink}" stroke-width="2"' if symbol.endswith("-open") else f'fill="{ink}"'
    if symbol.startswith("square"):
        corner = f'x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius:g}" height="{2 * radius:g}"'
        return f"<rect {corner} {paint}>{hover_text}</rect>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {paint}>{hover_text}</circle>'


def hatching(x: float, y: float, width: float, height: float, shape: str) -> str:
    """Return the stripes of a bar as SVG, in the colour of the paper. shape: plotly's "/" or "x"; "" for none."""
    path = ""
    for turn in {"/": (False,), "x": (False, True)}.get(shape, ()):
        for k in range(1, int((width + height) / HATCH_PIXELS) + 1):
            reach = k * HATCH_PIXELS  # from the upper left corner along the edge
            a, b = max(0.0, reach - height), min(width, reach)
            ends = [(a, reach - a), (b, reach - b)]
            across = [x + width - u if turn else x + u for u, _ in ends]
            path += f"M{across[0]:.1f} {y + ends[0][1]:.1f}L{across[1]:.1f} {y + ends[1][1]:.1f}"
    return f'<path class="hatch" d="{path}"/>' if path else ""


def interval(a: tuple[float, float], b: tuple[float, float]) -> str:
    """Return the path of an interval between two points on a line along an axis, with a short line at each end."""
    if not math.isfinite(sum(a) + sum(b)) or a == b:
        return ""
    across = (0, CAP_PIXELS) if abs(a[1] - b[1]) < abs(a[0] - b[0]) else (CAP_PIXELS, 0)
    caps = "".join(
        f"M{x - across[0]:.1f} {y - across[1]:.1f}L{x + across[0]:.1f} {y + across[1]:.1f}" for x, y in (a, b)
    )
    return f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}{caps}"
