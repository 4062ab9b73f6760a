"""What drawn charts are made of: texts and their widths, paths, colours, and the words of a mark that is pointed at."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

from npexplore.plot.theme import COLORWAY

LETTER, CAPITAL = 7.2, 9.6  # pixels at most, of a letter of 13 pixels


def width_of(words: str) -> float:
    """Return how wide a text is, in pixels."""
    capitals = sum(letter.isupper() for letter in words)
    return LETTER * (len(words) - capitals) + CAPITAL * capitals


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
    own = trace.get("line", {}).get("color") or trace.get("marker", {}).get("color")
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
