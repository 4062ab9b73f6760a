"""Line drawings as SVG: boxes, text and arrows; a table holds the numbers shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from npexplore.plot import theme

if TYPE_CHECKING:
    import pandas as pd

FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


class Drawing:
    """An SVG of a fixed size, built up call by call; `data` is the table of the numbers it shows."""

    def __init__(self, width: float, height: float, data: pd.DataFrame, *, label: str) -> None:
        self.data = data
        self._size, self._label, self._parts = (width, height), label, list[str]()

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str = "white", stroke: str = theme.GREY,
        dash: str = "", radius: float = 6, tip: str = "", stroke_width: float = 1.3,
    ) -> None:  # fmt: skip
        """Add a rectangle; hovering shows `tip`."""
        title = f"<title>{escape(tip)}</title>" if tip else ""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" fill="{fill}" '
            f'stroke="{stroke}" stroke-width="{stroke_width:g}"{dashed}>{title}</rect>'
        )

    def text(
        self, x: float, y: float, words: str, *, size: float = 13, bold: bool = False, anchor: str = "middle",
        colour: str = theme.BLACK,
    ) -> None:  # fmt: skip
        """Add a line of text, centred on a point (middle) or starting there (start)."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{weight} text-anchor="{anchor}" fill="{colour}">'
            f"{escape(words)}</text>"
        )

    def arrow(
        self, *points: tuple[float, float], colour: str = theme.GREY, width: float = 1.6, both: bool = False
    ) -> None:
        """Add a line through points with an arrowhead at its end (and, with `both`, at its start)."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        heads = f' marker-end="url(#head{colour[1:]})"' + (f' marker-start="url(#tail{colour[1:]})"' if both else "")
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{heads}/>')

    def block(
        self, x: float, y: float, width: float, height: float, lines: Sequence[str], *, load: float | None = None,
        tip: str = "",
    ) -> None:  # fmt: skip
        """Add a box with a heading and lines below; its shade and a bar at its foot show the load (0 to 1)."""
        self.box(x, y, width, height, fill=shade(load or 0.0), tip=tip)
        top = y + height / 2 - 8.5 * (len(lines) - 1) + 4.5 - (4 if load is not None else 0)
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + 17 * number, line, bold=number == 0, size=13 if number == 0 else 12)
        if load is not None:
            self.box(x + 8, y + height - 10, width - 16, 5, fill="white", stroke=theme.GREY, radius=2, stroke_width=0.6)
            self.box(
                x + 8, y + height - 10, (width - 16) * min(load, 1.0), 5, fill=theme.VERMILION, stroke="none", radius=2
            )

    def svg(self) -> str:
        """Return the drawing as SVG."""
        width, height = self._size
        heads = "".join(
            f'<marker id="{name}{colour[1:]}" viewBox="0 0 8 8" refX="{at}" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="{orient}" markerUnits="userSpaceOnUse"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
            for colour in (theme.GREY, theme.BLUE, theme.BLACK, theme.VERMILION)
            for name, at, orient in (("head", 7, "auto"), ("tail", 7, "auto-start-reverse"))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" aria-label="{escape(self._label)}" font-family="{escape(FONT)}">'
            f"<defs>{heads}</defs>{''.join(self._parts)}</svg>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": self._label}


def shade(load: float) -> str:
    """Return a fill from white (idle) to a light vermilion (full)."""
    share = min(max(load, 0.0), 1.0)
    white, full = (255, 255, 255), (251, 209, 180)
    return "#" + "".join(f"{round(w + (f - w) * share):02x}" for w, f in zip(white, full, strict=True))
