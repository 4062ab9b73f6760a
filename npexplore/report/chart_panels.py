"""Places the panels of an SVG chart: side by side if there is room, otherwise one below another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from npexplore.report.chart_axes import Axis
from npexplore.report.chart_marks import label_width

EDGES = {"l": 70, "r": 24, "t": 64, "b": 60}  # pixels around a figure
PANEL_GAP, PANEL_SPACE = 90, 16  # pixels between panels: vertically, horizontally
MIN_PLOT, MIN_HEIGHT = 110, 140  # least width and height of a panel's plot, pixels
WIDEST_LABELS = 0.42  # of the figure's width


def place_panels(
    axes: Mapping[str, Axis], panels: Sequence[tuple[str, str]], layout: Mapping[str, Any], size: tuple[float, float],
    narrow: bool,
) -> float:  # fmt: skip
    """Set each axis' start and length in pixels; return the lower end of all panels, with labels and titles.

    panels: names of the horizontal and the vertical axis of each panel. size: width of the figure, and top of the
    panels. Panels of a row share the width that their labels leave; if that is too little, and on narrow screens, they
    are placed one below another.
    """
    (width, top), ends = size, {panel: (domain(axes[panel[0]]), domain(axes[panel[1]])) for panel in panels}
    height = float(layout.get("height", 440)) - EDGES["t"] - EDGES["b"]
    order = sorted(panels, key=lambda panel: (-ends[panel][1][1], ends[panel][0][0]))
    rows = [[panel for panel in order if ends[panel][1] == up] for up in dict.fromkeys(ends[p][1] for p in order)]
    right_end, next_top, is_stacked = width - EDGES["r"], top, False
    for row in rows:
        margins = [_margin(axes[y], width) for _, y in row]
        parts = [ends[panel][0][1] - ends[panel][0][0] for panel in row]
        room = right_end - sum(margins) - PANEL_SPACE * (len(row) - 1)
        is_stacked = len(row) > 1 and (narrow or min(parts) / sum(parts) * room < MIN_PLOT)
        left = 0.0
        for (x, y), margin, part in zip(row, margins, parts, strict=True):
            across, up = axes[x], axes[y]
            low, high = domain(up)
            across.margin, across.start, across.length = margin, left + margin, room * part / sum(parts)
            up.start, up.length = top + height * (1 - high), height * (high - low)
            left += margin + across.length + PANEL_SPACE
            if is_stacked:
                across.start, across.length = margin, right_end - margin
                up.start, up.length = next_top, max(float(MIN_HEIGHT), height * (high - low))
                next_top = up.start + up.length + PANEL_GAP
    return (next_top - PANEL_GAP if is_stacked else top + height) + EDGES["b"] - 8


def domain(axis: Axis) -> tuple[float, float]:
    """Return the part of the figure that an axis covers: its ends, 0 to 1."""
    low, high = axis.spec.get("domain", (0.0, 1.0))
    return float(low), float(high)


def _margin(axis: Axis, width: float) -> float:
    """Return the width for the labels of a panel's vertical axis, left of the panel."""
    if not axis.spec.get("showticklabels", True):
        return 0.0
    words = max((label_width(name) for name in axis.categories), default=0.0)
    return min(max(EDGES["l"], words + 14), WIDEST_LABELS * width)
