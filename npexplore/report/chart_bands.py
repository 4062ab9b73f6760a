"""Draws a Sankey diagram as SVG: nodes on two sides and bands between them, sized in proportion to packets."""

from __future__ import annotations

from html import escape
from typing import Any

from npexplore.report.chart_axes import unpacked

PAD, THICKNESS, LETTER = 16, 16, 7.2  # pixels: gap between nodes, width of a node, of a letter


def bands(trace: dict[str, Any], width: int, top: float, bottom: float) -> str:
    """Return the SVG elements of a diagram between two heights in pixels; source nodes are on the left."""
    node, link = trace["node"], trace["link"]
    rows = list(zip(link["source"], link["target"], unpacked(link["value"]), link["color"], strict=True))
    labels, colours = node["label"], node["color"]
    sizes = {
        number: sum(value for source, target, value, _ in rows if number in (source, target))
        for number in range(len(labels))
    }
    left = sorted({s for s, *_ in rows})
    right = [number for number in range(len(labels)) if number not in left]
    nodes_of_side = max(len(left), len(right))
    total = max(sum(sizes[number] for number in left), 1)
    scale = max(1.0, bottom - top - PAD * (nodes_of_side - 1)) / total
    top_of: dict[int, float] = {}
    for side in (left, right):
        y = top
        for number in side:
            top_of[number] = y
            y += scale * sizes[number] + PAD
    parts, offset = [], dict(top_of)
    x0, x1 = float(THICKNESS), float(width - THICKNESS)
    for source, target, value, ink in rows:
        size, middle = scale * value, (x0 + x1) / 2
        y0, y1 = offset[source], offset[target]
        offset[source], offset[target] = y0 + size, y1 + size
        label = escape(f"{labels[source]} → {labels[target]}: {value:,} packets")
        parts.append(
            f'<path d="M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}V{y1 + size:.1f}'
            f'C{middle:.1f} {y1 + size:.1f} {middle:.1f} {y0 + size:.1f} {x0:.1f} {y0 + size:.1f}Z" fill="{ink}">'
            f"<title>{label}</title></path>"
        )
    for number, name in enumerate(labels):
        y, size = top_of[number], max(1.0, scale * sizes[number])
        x, anchor, text_x = (0, "start", x0 + 5) if number in left else (x1, "end", x1 - 5)
        parts.append(f'<rect x="{x}" y="{y:.1f}" width="{THICKNESS}" height="{size:.1f}" fill="{colours[number]}"/>')
        parts.append(f'<text x="{text_x}" y="{y + size / 2 + 5:.1f}" text-anchor="{anchor}">{escape(name)}</text>')
    return "".join(parts)
