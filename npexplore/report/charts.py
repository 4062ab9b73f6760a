"""Draws figures of lines, marks, bars and bands as SVG, for small pages without plotly.js (4.9 MB).

A figure is drawn twice, for wide and for narrow screens; the page's style shows one of the two, in its theme's colours.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

from npexplore.plot.theme import GREY
from npexplore.report.chart_axes import Axis, unpacked
from npexplore.report.chart_bands import bands
from npexplore.report.chart_marks import (
    colour,
    course,
    cut,
    hatching,
    interval,
    label_width,
    lines,
    marker,
    said,
    text,
    width_of,
)
from npexplore.report.chart_panels import EDGES, domain, place_panels

WIDTHS = {"wide": 880, "narrow": 370}  # pixels
LINE = 22  # height of a line of the legend, pixels
TITLE_LINES = 44  # letters per line of a title on a narrow screen
DASHES = {"dot": "2 4", "dash": "7 5", "dashdot": "7 4 2 4", "longdash": "12 5"}
BAR_SHARE = 0.8  # of a category's width
WIDER = 1.15  # a label may exceed its room by this factor, because its width is an upper estimate
_FIGURE = re.compile(
    r'<div id="([^"]*)" class="plotly-graph-div"[^>]*aria-label="([^"]*)"[^>]*></div>'
    r'<script type="application/json" id="[^"]*-data">(.*?)</script>',
    re.DOTALL,
)


def as_pictures(html: str) -> str:
    """Return HTML in which each figure's div (`shell.figure_div`) is a picture that needs no script."""

    def drawn(match: re.Match[str]) -> str:
        figure = json.loads(match[3])
        pictures = "".join(picture(figure, unescape(match[2]), name) for name in WIDTHS)
        return f'<div id="{match[1]}" class="chart" role="img" aria-label="{match[2]}">{pictures}</div>'

    return _FIGURE.sub(drawn, html)


def picture(figure: dict[str, Any], title: str, size: str) -> str:
    """Return a figure as SVG; size: a key of WIDTHS. Raises KeyError for an unsupported kind of trace."""
    layout, width = figure["layout"], WIDTHS[size]
    traces = [
        {**trace, **{name: unpacked(trace[name]) for name in ("x", "y") if name in trace}} for trace in figure["data"]
    ]
    title_lines = lines(title, TITLE_LINES) if size == "narrow" else [title]
    top = EDGES["t"] - 22 + 20 * len(title_lines)
    if traces and traces[0]["type"] == "sankey":
        height = float(layout.get("height", 450))
        body = bands(figure["data"][0], width, top, height - 16)
    else:
        body, height = Plot(traces, layout, width, top, size == "narrow").drawn()
    heading = "".join(text(0, 24 + 20 * number, line, cls="title") for number, line in enumerate(title_lines))
    return f'<svg class="{size}" viewBox="0 0 {width} {height:.0f}" aria-hidden="true">{heading}{body}</svg>'


def ends_of(trace: dict[str, Any], letter: str) -> list[tuple[float, float]]:
    """Return the ends of the interval at each value of a trace along an axis; an empty list without intervals."""
    spec = trace.get(f"error_{letter}", {})
    if spec.get("array") is None:
        return []
    up = unpacked(spec["array"])
    down = up if spec.get("arrayminus") is None else unpacked(spec["arrayminus"])
    rows = zip(trace[letter], down, up, strict=True)
    return [(math.nan, math.nan) if value is None else (value - low, value + high) for value, low, high in rows]


class Plot:
    """The panels of a figure with axes: their places, their content, and the legend below them."""

    def __init__(
        self, traces: Sequence[dict[str, Any]], layout: dict[str, Any], width: int, top: float, narrow: bool
    ) -> None:
        self.traces, self.layout, self.width, self.narrow = traces, layout, width, narrow
        names = [name for name in layout if re.fullmatch(r"[xy]axis\d*", name)]
        names += [name for name in ("xaxis", "yaxis") if name not in names]
        self.axes = {name: Axis(name, layout.get(name, {})) for name in names}
        self.panels = [(self._other(name), name) for name in names if name[0] == "y"]
        self.stacked = layout.get("barmode") == "stack"
        for name, axis in self.axes.items():
            along = [trace for trace in traces if self._axis(trace, name[0]) == name or self._matches(trace, name)]
            values = [value for trace in along for value in trace[name[0]]]
            values += [end for trace in along for pair in ends_of(trace, name[0]) for end in pair]
            bar_traces = [trace for trace in along if trace["type"] == "bar"]
            values += self._sums(bar_traces, name[0]) if self.stacked else []
            shapes = [shape for shape in layout.get("shapes", ()) if shape.get(f"{name[0]}ref") == name[0] + name[5:]]
            values += [shape[name[0] + end] for shape in shapes for end in "01"]
            axis.fit(values, from_zero=bool(bar_traces) or any(trace.get("fill") for trace in along if name[0] == "y"))
        self.height = place_panels(self.axes, self.panels, layout, (width, top), narrow)

    def drawn(self) -> tuple[str, float]:
        """Return the SVG elements and the height of the picture."""
        parts = [self._frame(*panel) for panel in self.panels]
        parts += [self._shape(shape) for shape in self.layout.get("shapes", ())]
        for number, trace in enumerate(self.traces):
            parts += {"scatter": self._curve, "bar": self._bars}[trace["type"]](trace, colour(trace, number))
            parts += [self._intervals(trace, letter) for letter in "xy"]
        parts += [self._note(note) for note in self.layout.get("annotations", ())]
        legend, rows = self._legend(self.height + 8)
        return "".join([*parts, legend]), self.height + (rows * LINE + 16 if rows else 4)

    def _axis(self, trace: dict[str, Any], letter: str) -> str:
        return f"{letter}axis{str(trace.get(letter + 'axis', letter))[1:]}"

    def _matches(self, trace: dict[str, Any], name: str) -> bool:
        """Return whether a trace's axis shares its range with the named axis."""
        trace_axis = self._axis(trace, name[0])
        ids = [f"{axis[0]}{axis[5:]}" for axis in (name, trace_axis)]
        return ids[0] == self.axes[trace_axis].spec.get("matches") or ids[1] == self.axes[name].spec.get("matches")

    def _other(self, name: str) -> str:
        return f"xaxis{str(self.axes[name].spec.get('anchor', 'x'))[1:]}"

    def _sums(self, bars: Sequence[dict[str, Any]], letter: str) -> list[float]:
        """Return the heights of stacked bars along this axis."""
        sums: dict[str, float] = {}
        for trace in bars:
            if (trace.get("orientation") == "h") == (letter == "x"):
                for name, value in zip(trace["y" if letter == "x" else "x"], trace[letter], strict=True):
                    sums[str(name)] = sums.get(str(name), 0.0) + (value or 0.0)
        return list(sums.values())

    def _frame(self, x: str, y: str) -> str:
        """Return the grid, ticks, labels and titles of a panel."""
        x_axis, y_axis = self.axes[x], self.axes[y]
        left, right, upper, lower = x_axis.start, x_axis.pixel(1), y_axis.start, y_axis.start + y_axis.length
        parts = [f'<path class="axis" d="M{left:.1f} {upper:.1f}V{lower:.1f}H{right:.1f}"/>']
        for share, words in x_axis.ticks():
            pixel = x_axis.pixel(share)
            parts.append(f'<path class="grid" d="M{pixel:.1f} {upper:.1f}V{lower:.1f}"/>')
            if x_axis.spec.get("showticklabels", True):
                parts.append(text(pixel, lower + 18, words, anchor="middle"))
        if x_axis.crosses_zero:
            parts.append(f'<path class="axis" d="M{x_axis.at(0):.1f} {upper:.1f}V{lower:.1f}"/>')
        for share, words in y_axis.ticks():
            pixel = y_axis.pixel(share)
            max_letters = max(6, int((x_axis.margin - 7) * len(words) / max(label_width(words), 1.0)))
            parts.append("" if y_axis.categories else f'<path class="grid" d="M{left:.1f} {pixel:.1f}H{right:.1f}"/>')
            label_lines = [words]
            if self.narrow:
                wrapped = lines(words, max_letters + 2)
                label_lines = [
                    part if label_width(part) < WIDER * x_axis.margin else cut(part, max_letters) for part in wrapped
                ]
            parts += [
                text(left - 7, pixel + 4.5 + 14 * (number - (len(label_lines) - 1) / 2), line, anchor="end")
                for number, line in enumerate(label_lines)
            ]
        for axis in (x_axis, y_axis):
            words = axis.spec.get("title", {}).get("text", "")
            if words and axis is x_axis:
                parts.append(text((left + right) / 2, lower + 38, words, anchor="middle"))
            elif words:
                parts.append(text(left - 57, (upper + lower) / 2, words, anchor="middle", turn=-90))
        return "".join(parts)

    def _curve(self, trace: dict[str, Any], ink: str) -> Iterator[str]:
        """Yield a trace's line or filled area, and its marks."""
        x, y = self.axes[self._axis(trace, "x")], self.axes[self._axis(trace, "y")]
        points = [(x.at(x_value), y.at(y_value)) for x_value, y_value in zip(trace["x"], trace["y"], strict=True)]
        line, mode = trace.get("line", {}), trace.get("mode", "lines")
        if "lines" in mode and points:
            path = course(points, stepped=line.get("shape") == "hv")
            if trace.get("fill") == "toself":
                yield f'<path d="{path}Z" fill="{trace.get("fillcolor", ink)}"/>'
                return
            if trace.get("fill") and path:
                base = y.at(0)
                yield f'<path d="{path}V{base:.1f}H{points[0][0]:.1f}Z" fill="{ink}" fill-opacity=".3"/>'
            dash = DASHES.get(line.get("dash", ""))
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            yield (f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="{line.get("width", 2.2)}"{dashed}/>')
        if "markers" in mode:
            for (a, b), over, value in zip(points, trace["x"], trace["y"], strict=True):
                if math.isfinite(a + b):
                    yield marker(trace, a, b, ink, said(trace, over, value))

    def _intervals(self, trace: dict[str, Any], letter: str) -> str:
        """Return the intervals around a trace's points or at the ends of its bars."""
        axis = self.axes[self._axis(trace, letter)]
        other_letter = "y" if letter == "x" else "x"
        positions = [self.axes[self._axis(trace, other_letter)].at(value) for value in trace[other_letter]]
        path = ""
        for position, (low, high) in zip(positions, ends_of(trace, letter), strict=False):
            low_end, high_end = axis.at(low), axis.at(high)
            path += (
                interval((low_end, position), (high_end, position))
                if letter == "x"
                else interval((position, low_end), (position, high_end))
            )
        ink = trace.get(f"error_{letter}", {}).get("color", colour(trace, self.traces.index(trace)))
        return f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.3"/>' if path else ""

    def _bars(self, trace: dict[str, Any], ink: str) -> Iterator[str]:
        """Yield bars, grouped or stacked, with the text in them."""
        x, y = self.axes[self._axis(trace, "x")], self.axes[self._axis(trace, "y")]
        flat = trace.get("orientation") == "h"
        names, sizes, along, across = (trace["y"], trace["x"], x, y) if flat else (trace["x"], trace["y"], y, x)
        group = [t for t in self.traces if t["type"] == "bar" and self._axis(t, "y") == self._axis(trace, "y")]
        place, bars = (0, 1) if self.stacked else (next(k for k, t in enumerate(group) if t is trace), len(group))
        width = across.step(names) * BAR_SHARE * (0.8 if self.stacked else 1) / bars
        inside = trace.get("text") or [""] * len(names)
        style = trace.get("marker", {})
        opacity = f' fill-opacity="{style["opacity"]:g}"' if "opacity" in style else ""
        colours = style.get("color") if isinstance(style.get("color"), list) else [ink] * len(names)
        for name, size, words, ink in zip(names, sizes, inside, colours, strict=True):
            if size is None or not math.isfinite(size):
                continue
            base = trace.setdefault("ends", {}).get(str(name), 0.0)
            for stacked_trace in self.traces if self.stacked else ():
                stacked_trace.setdefault("ends", {})[str(name)] = base + size
            ends = sorted(
                (along.at(base) if base else along.pixel(0) if along.log else along.at(0), along.at(base + size))
            )
            middle = across.at(name) + (place - (bars - 1) / 2) * width
            box = (ends[0], middle - width / 2, ends[1] - ends[0], width)
            box = box if flat else (box[1], box[0], box[3], box[2])
            yield (
                f'<rect x="{box[0]:.1f}" y="{box[1]:.1f}" width="{box[2]:.1f}" height="{box[3]:.1f}" fill="{ink}"'
                f"{opacity}>{said(trace, name, size)}</rect>{hatching(*box, style.get('pattern', {}).get('shape', ''))}"
            )
            if words and width_of(str(words)) < box[2]:
                yield text(box[0] + box[2] / 2, box[1] + box[3] / 2 + 5, str(words), cls="inside", anchor="middle")

    def _point(self, thing: dict[str, Any], letter: str, key: str) -> float:
        """Return the pixel of a shape's or a note's coordinate."""
        ref = str(thing.get(f"{letter}ref", letter))
        if ref == "paper":
            starts = [self.axes[name] for name in self.axes if name[0] == letter]
            lower = min(axis.start for axis in starts)
            upper = max(axis.start + axis.length for axis in starts)
            share = float(thing[key])
            return upper - share * (upper - lower) if letter == "y" else lower + share * (upper - lower)
        axis = self.axes[f"{letter}axis{ref.split()[0][1:]}"]
        return axis.pixel(float(thing[key])) if ref.endswith("domain") else axis.at(thing[key])

    def _shape(self, shape: dict[str, Any]) -> str:
        line = shape.get("line", {})
        x0, x1, y0, y1 = (self._point(shape, key[0], key) for key in ("x0", "x1", "y0", "y1"))
        dash = DASHES.get(line.get("dash", ""), "none")
        return (
            f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{line.get("color", GREY)}" '
            f'stroke-width="{line.get("width", 1.5)}" stroke-dasharray="{dash}" fill="none"/>'
        )

    def _note(self, note: dict[str, Any]) -> str:
        """Return a note; the name of a panel is placed above its panel."""
        if note.get("xref") == note.get("yref") == "paper":
            for x, y in self.panels:
                low, high = domain(self.axes[x])
                if low <= note["x"] <= high and abs(note["y"] - domain(self.axes[y])[1]) < 0.02:
                    x_axis, y_axis = self.axes[x], self.axes[y]
                    return text(x_axis.pixel(0.5), y_axis.start - 8, note["text"], anchor="middle")
        anchor = {"left": "start", "right": "end"}.get(note.get("xanchor", ""), "middle")
        return text(self._point(note, "x", "x"), self._point(note, "y", "y") - 5, note["text"], anchor=anchor)

    def _legend(self, top: float) -> tuple[str, int]:
        """Return the legend and its number of rows; empty if there is at most one named trace."""
        legend_traces: dict[str, dict[str, Any]] = {}
        for number, trace in enumerate(self.traces):
            if trace.get("name") and trace.get("showlegend", True):
                legend_traces.setdefault(str(trace["name"]), {**trace, "ink": colour(trace, number)})
        if self.layout.get("showlegend") is False or (
            len(legend_traces) < 2 and not any(trace.get("showlegend") for trace in legend_traces.values())
        ):
            return "", 0
        parts, x, row = [], 0.0, 0
        for name, trace in legend_traces.items():
            size = 48 + width_of(name)
            if x and x + size > self.width:
                x, row = 0.0, row + 1
            middle, thick = top + row * LINE + 5, 9 if trace["type"] == "bar" else 2.4
            dash = DASHES.get(trace.get("line", {}).get("dash", ""), "none")
            stroke = f'stroke="{trace["ink"]}" stroke-width="{thick}" stroke-dasharray="{dash}"'
            style = trace.get("marker", {})
            opacity = f' stroke-opacity="{style["opacity"]:g}"' if isinstance(style.get("opacity"), float) else ""
            if trace.get("mode") == "markers":
                parts.append(marker(trace, x + 11, middle, trace["ink"], ""))
            else:
                parts.append(f'<path d="M{x:.0f} {middle:.1f}h22" {stroke}{opacity}/>')
                parts.append(hatching(x, middle - 4.5, 22, 9, style.get("pattern", {}).get("shape", "")))
            parts.append(text(x + 28, top + row * LINE + 9.5, name))
            x += size
        return "".join(parts), row + 1
