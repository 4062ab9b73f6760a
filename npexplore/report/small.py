"""Draws a figure as a thumbnail for a card: an SVG of its lines, dots and bars without axes, and a key of colours."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite, log10
from typing import Any

import numpy as np

from npexplore.plot.theme import COLORWAY, GREY

WIDTH, HEIGHT, EDGE = 360, 120, 8
NAMES = 4  # names in the key, on one line
MAX_POINTS = 400  # points of a line that a thumbnail can show
Point = tuple[float, float]


def small(figure: Mapping[str, Any], label: str) -> str:
    """Return the SVG and its key; empty if the figure (JSON) has no trace with x and y."""
    layout = figure.get("layout", {})
    logs = [layout.get(f"{letter}axis", {}).get("type") == "log" for letter in "xy"]
    places = [{str(name): k for k, name in enumerate(layout.get(f"{letter}axis", {}).get("categoryarray") or [])}
              for letter in "xy"]  # fmt: skip
    shapes = []
    for trace in figure.get("data", []):
        if trace.get("type", "scatter") not in ("scatter", "scattergl", "bar") or trace.get("fill") == "toself":
            continue
        x = _values(trace.get("x", []), places[0], logs[0], 1.0)
        y = _values(trace.get("y", []), places[1], logs[1], -1.0)  # names are placed from top to bottom
        x = x or [float(number) for number in range(len(y))]
        points = [(a, b) for a, b in zip(x, y, strict=False) if isfinite(a) and isfinite(b)][:MAX_POINTS]
        if points:
            shapes.append((trace, points))
    if not shapes:
        return ""
    all_points = [point for _, points in shapes for point in points]
    low, high = [min(p[k] for p in all_points) for k in (0, 1)], [max(p[k] for p in all_points) for k in (0, 1)]
    bars = [(trace, points) for trace, points in shapes if trace.get("type") == "bar"]
    # the axis along which bars are placed
    bar_axis = 1 if any(trace.get("orientation") == "h" for trace, _ in bars) else 0
    places_of_bars = {point[bar_axis] for _, points in bars for point in points}
    thickness = (HEIGHT if bar_axis else WIDTH) / (1.5 * max(len(places_of_bars), 1))
    if bars:
        low[1 - bar_axis] = min(low[1 - bar_axis], 0.0)
        margin = (high[bar_axis] - low[bar_axis] or 1.0) / max(2 * len(places_of_bars) - 2, 1)  # half a bar
        low[bar_axis], high[bar_axis] = low[bar_axis] - margin, high[bar_axis] + margin

    def at(point: Point) -> Point:
        share = [(p - a) / (b - a) if b > a else 0.5 for p, a, b in zip(point, low, high, strict=True)]
        return EDGE + share[0] * (WIDTH - 2 * EDGE), HEIGHT - EDGE - share[1] * (HEIGHT - 2 * EDGE)

    parts = "".join(_shape(trace, [at(p) for p in points], k, thickness) for k, (trace, points) in enumerate(shapes))
    return (
        f'<div class="small"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">'
        f'<path d="M{EDGE} {EDGE}V{HEIGHT - EDGE}H{WIDTH - EDGE}" fill="none" stroke="{GREY}"/>{parts}</svg>'
        f"{_key(enumerate(trace for trace, _ in shapes))}</div>"
    )


def _key(traces: Iterable[tuple[int, Mapping[str, Any]]]) -> str:
    """Return the names of the traces in the figure's legend, each after a dot in its colour."""
    colours = {escape(str(trace["name"])): _colour(trace, number) for number, trace in traces
             if trace.get("name") and trace.get("showlegend") is not False}  # fmt: skip
    dots = [f'<span><i style="background:{colour}"></i>{name}</span>' for name, colour in colours.items()]
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
        line_points = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn = f'<polyline points="{line_points}" fill="none" stroke="{colour}" stroke-width="2"/>'
    if "markers" in mode and len(points) <= MAX_POINTS // 4:
        drawn += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points)
    return drawn


def _values(encoded: Any, places: dict[str, int], log: bool, direction: float) -> list[float]:
    """Return an axis' values as numbers; names are numbered in order of appearance, times the direction."""
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
