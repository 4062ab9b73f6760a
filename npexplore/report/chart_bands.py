"""A Sankey diagram as SVG: nodes on two sides as high as their packets, bands between them as wide as theirs."""

from __future__ import annotations

from html import escape
from typing import Any

from npexplore.report.chart_axes import unpacked

PAD, THICKNESS, LETTER = 16, 16, 7.2  # pixels: between nodes, of a node, of a letter


def bands(trace: dict[str, Any], width: int, top: float, bottom: float) -> str:
    """Return the elements of a diagram between two heights, in pixels; nodes that are sources stand on the left."""
    node, link = trace["node"], trace["link"]
    rows = list(zip(link["source"], link["target"], unpacked(link["value"]), link["color"], strict=True))
    labels, colours = node["label"], node["color"]
    sizes = {k: sum(v for s, t, v, _ in rows if k in (s, t)) for k in range(len(labels))}
    left = sorted({s for s, *_ in rows})
    right = [k for k in range(len(labels)) if k not in left]
    most = max(len(left), len(right))
    total = max(sum(sizes[k] for k in left), 1)
    scale = max(1.0, bottom - top - PAD * (most - 1)) / total
    place: dict[int, float] = {}
    for side in (left, right):
        at = top
        for k in side:
            place[k] = at
            at += scale * sizes[k] + PAD
    parts, offset = [], dict(place)
    x0, x1 = float(THICKNESS), float(width - THICKNESS)
    for source, target, value, ink in rows:
        high, middle = scale * value, (x0 + x1) / 2
        a, b = offset[source], offset[target]
        offset[source], offset[target] = a + high, b + high
        label = escape(f"{labels[source]} → {labels[target]}: {value:,} packets")
        parts.append(
            f'<path d="M{x0:.1f} {a:.1f}C{middle:.1f} {a:.1f} {middle:.1f} {b:.1f} {x1:.1f} {b:.1f}V{b + high:.1f}'
            f'C{middle:.1f} {b + high:.1f} {middle:.1f} {a + high:.1f} {x0:.1f} {a + high:.1f}Z" fill="{ink}">'
            f"<title>{label}</title></path>"
        )
    for k, name in enumerate(labels):
        at, high = place[k], max(1.0, scale * sizes[k])
        x, anchor, words = (0, "start", x0 + 5) if k in left else (x1, "end", x1 - 5)
        parts.append(f'<rect x="{x}" y="{at:.1f}" width="{THICKNESS}" height="{high:.1f}" fill="{colours[k]}"/>')
        parts.append(f'<text x="{words}" y="{at + high / 2 + 5:.1f}" text-anchor="{anchor}">{escape(name)}</text>')
    return "".join(parts)
