"""SVG elements of charts: texts and their widths, paths, colours, markers, and hover texts."""

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
)  # widest letter, capital and digit of 13-pixel text, in pixels; "m", "w" and "%" count as capitals
HATCH_PIXELS = 9  # distance of two stripes of a bar
CAP_PIXELS = 3  # half the length of the line at an end of an interval


def width_of(words: str) -> float:
    """Return the width of a text in pixels."""
    capitals = sum(letter.isupper() or letter in "mw%" for letter in words)
    return LETTER * (len(words) - capitals) + CAPITAL * capitals


def label_width(words: str) -> float:
    """Return the width of an axis label in pixels; addresses are mostly digits, which are wider than letters."""
    return width_of(words) + (DIGIT - LETTER) * sum(letter.isdigit() for letter in words)


def cut(words: str, most: int) -> str:
    """Return words of at most `most` letters; longer words lose their middle."""
    half = (most - 1) // 2
    return words if len(words) <= most else f"{words[: most - 1 - half]}…{words[-half:]}"


def lines(words: str, room: int) -> list[str]:
    """Return a text in lines of at most `room` letters; long names are divided after underscores."""
    parts = [""]
    for word in re.findall(r"[^\s_]+_*|_+", words):
        separator = "" if parts[-1][-1:] in ("", "_") else " "
        if parts[-1] and len(parts[-1] + separator + word) > room:
            parts.append("")
            separator = ""
        parts[-1] += separator + word
    return parts


def text(x: float, y: float, words: str, *, cls: str = "", anchor: str = "start", turn: int = 0) -> str:
    """Return an SVG text."""
    rotation = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    class_attribute = f' class="{cls}"' if cls else ""
    plain = escape(unescape(re.sub("<[^>]*>", " ", words)), quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{class_attribute}{rotation}>{plain}</text>'


def colour(trace: dict[str, Any], number: int) -> str:
    """Return a trace's colour; without one, the theme's colour for its number."""
    marks = trace.get("marker", {})
    trace_colour = trace.get("line", {}).get("color") or marks.get("color") or marks.get("line", {}).get("color")
    return trace_colour if isinstance(trace_colour, str) else COLORWAY[number % len(COLORWAY)]


def course(points: Sequence[tuple[float, float]], *, stepped: bool) -> str:
    """Return an SVG path through points, interrupted at points that are not finite."""
    path, pen_is_down = "", False
    for x, y in points:
        if not math.isfinite(x + y):
            pen_is_down = False
            continue
        step = f"H{x:.1f}V{y:.1f}" if stepped else f"L{x:.1f} {y:.1f}"
        path += step if pen_is_down else f"M{x:.1f} {y:.1f}"
        pen_is_down = True
    return path


def said(trace: dict[str, Any], over: Any, value: Any) -> str:
    """Return the hover text of a mark or bar."""
    values = [number if isinstance(number, str) else f"{number:.5g}" for number in (over, value)]
    name = f"{trace['name']}: " if trace.get("name") else ""
    return f"<title>{escape(unescape(name + ', '.join(values)))}</title>"


def marker(trace: dict[str, Any], x: float, y: float, ink: str, hover_text: str) -> str:
    """Return a mark as SVG: a circle, a square or a short upright line; open for `-open` symbols."""
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
    for mirrored in {"/": (False,), "x": (False, True)}.get(shape, ()):
        for number in range(1, int((width + height) / HATCH_PIXELS) + 1):
            offset = number * HATCH_PIXELS  # along the edge from the upper left corner
            left, right = max(0.0, offset - height), min(width, offset)
            ends = [(left, offset - left), (right, offset - right)]
            xs = [x + width - u if mirrored else x + u for u, _ in ends]
            path += f"M{xs[0]:.1f} {y + ends[0][1]:.1f}L{xs[1]:.1f} {y + ends[1][1]:.1f}"
    return f'<path class="hatch" d="{path}"/>' if path else ""


def interval(a: tuple[float, float], b: tuple[float, float]) -> str:
    """Return the path of an interval between two points along an axis, with a short line at each end."""
    if not math.isfinite(sum(a) + sum(b)) or a == b:
        return ""
    cap = (0, CAP_PIXELS) if abs(a[1] - b[1]) < abs(a[0] - b[0]) else (CAP_PIXELS, 0)
    caps = "".join(f"M{x - cap[0]:.1f} {y - cap[1]:.1f}L{x + cap[0]:.1f} {y + cap[1]:.1f}" for x, y in (a, b))
    return f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}{caps}"
