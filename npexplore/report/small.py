"""A figure as a thumbnail for a card: lines, dots and bars without axes, as a small SVG of the same data, and a key."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite, log10
from typing import Any

import numpy as np

from npexplore.plot.theme import COLORWAY, GREY

WIDTH, HEIGHT, EDGE = 360, 120, 8
NAMES = 4  # of a key, on one line
MAX_POINTS = 400  # points of a line that a picture of this size can show
Point = tuple[float, float]


def small(figure: Mapping[str, Any], label: str) -> str:
    """Return the SVG and what its colours mean, empty if the figure (given as JSON) has no trace with x and y."""
    layout = figure.get("layout", {})
    logs = [layout.get(f"{of}axis", {}).get("type") == "log" for of in "xy"]
    places = [{str(name): k for k, name in enumerate(layout.get(f"{of}axis", {}).get("categoryarray") or [])}
              for of in "xy"]  # fmt: skip
    shapes = []
    for trace in figure.get("data", []):
        if trace.get("type", "scatter") not in ("scatter", "scattergl", "bar") or trace.get("fill") == "toself":
            continue
        x = _values(trace.get("x", []), places[0], logs[0], 1.0)
        y = _values(trace.get("y", []), places[1], logs[1], -1.0)  # names stand downwards, as a reader reads
        x = x or [float(k) for k in range(len(y))]
        known = [(a, b) for a, b in zip(x, y, strict=False) if isfinite(a) and isfinite(b)][:MAX_POINTS]
        if known:
            shapes.append((trace, known))
    if not shapes:
        return ""
    every = [point for _, known in shapes for point in known]
    low, high = [min(p[k] for p in every) for k in (0, 1)], [max(p[k] for p in every) for k in (0, 1)]
    bars = [(trace, known) for trace, known in shapes if trace.get("type") == "bar"]
    across = 1 if any(trace.get("orientation") == "h" for trace, _ in bars) else 0  # the axis along which bars stand
    places_of_bars = {point[across] for _, known in bars for point in known}
    thick = (HEIGHT if across else WIDTH) / (1.5 * max(len(places_of_bars), 1))
    if bars:
        low[1 - across] = min(low[1 - across], 0.0)
        room = (high[across] - low[across] or 1.0) / max(2 * len(places_of_bars) - 2, 1)  # half a bar at either end
        low[across], high[across] = low[across] - room, high[across] + room

    def at(point: Point) -> Point:
        share = [(p - a) / (b - a) if b > a else 0.5 for p, a, b in zip(point, low, high, strict=True)]
        return EDGE + share[0] * (WIDTH - 2 * EDGE), HEIGHT - EDGE - share[1] * (HEIGHT - 2 * EDGE)

    parts = "".join(_shape(trace, [at(p) for p in known], k, thick) for k, (trace, known) in enumerate(shapes))
    return (
        f'<div class="small"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">'
        f'<path d="M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}" fill="none" stroke="{GREY}"/>{parts}</svg>'
        f"{_key(enumerate(trace for trace, _ in shapes))}</div>"
    )


def _key(traces: Iterable[tuple[int, Mapping[str, Any]]]) -> str:
    """Return the names of the traces that the figure's legend names, each behind a dot of its colour."""
    named = {escape(str(trace["name"])): _colour(trace, k) for k, trace in traces
             if trace.get("name") and trace.get("showlegend") is not False}  # fmt: skip
    dots = [f'<span><i style="background:{colour}"></i>{name}</span>' for name, colour in named.items()]
    return f"<p>{''.join(dots[:NAMES])}{' …' * (len(dots) > NAMES)}</p>" if len(dots) > 1 else ""


def _colour(trace: Mapping[str, Any], k: int) -> str:
    line, marker = trace.get("line") or {}, trace.get("marker") or {}
    colours = (line.get("color"), marker.get("color"), (marker.get("line") or {}).get("color"))
    return escape(next((c for c in colours if isinstance(c, str)), COLORWAY[k % len(COLORWAY)]), quote=True)


def _shape(trace: Mapping[str, Any], points: Sequence[Point], k: int, thick: float) -> str:
    colour = _colour(trace, k)
    if trace.get("type") == "bar" and trace.get("orientation") == "h":
        return "".join(
            f'<rect x="{EDGE}" y="{y - thick / 2:.1f}" width="{max(x - EDGE, 0):.1f}" height="{thick:.1f}" '
            f'fill="{colour}"/>' for x, y in points
        )  # fmt: skip
    if trace.get("type") == "bar":
        return "".join(
            f'<rect x="{x - thick / 2:.1f}" y="{y:.1f}" width="{thick:.1f}" height="{max(HEIGHT - EDGE - y, 0):.1f}" '
            f'fill="{colour}"/>' for x, y in points
        )  # fmt: skip
    drawn = ""
    mode = trace.get("mode", "lines")
    if "lines" in mode and len(points) > 1:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn = f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>'
    if "markers" in mode and len(points) <= MAX_POINTS // 4:
        drawn += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
    return drawn


def _values(encoded: Any, places: dict[str, int], log: bool, direction: float) -> list[float]:
    """Return an axis' values as numbers; names stand in the order in which they come, in a direction."""
    values: Iterable[Any] = encoded
    if isinstance(encoded, dict):
        values = np.frombuffer(base64.b64decode(encoded["bdata"]), dtype=np.dtype(encoded["dtype"]))
    numbers = []
    for value in values:
        if isinstance(value, str):
            numbers.append(direction * places.setdefault(value, len(places)))
        elif value is None or (log and value <= 0):
            numbers.append(float("nan"))
        else:
            numbers.append(log10(value) if log else float(value))
    return numbers
