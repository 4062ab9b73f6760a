"""Divides a notebook's page into the part before the first `##` heading and one chapter per heading.

The page keeps the order of the notebook.
"""

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

HEADING = re.compile(
    r'<section class="cell prose">\s*<h2 id="([^"]+)">(.*?)(?:<a class="anchor-link".*?</a>)?</h2>', re.DOTALL
)


@dataclass(frozen=True)
class Chapter:
    """One chapter as HTML: its anchor, its heading, the content below it."""

    anchor: str
    heading: str
    body: str

    @property
    def holds(self) -> str:
        """The numbers of figures and tables in words, shown while the chapter is closed."""
        return contents(self.body)


def contents(html: str) -> str:
    """Return the numbers of figures and tables of some HTML, in words."""
    counts = {"figure": len(re.findall('data-figure|class="(?:picture|chart)"', html)),
              "table": html.count("<table")}  # fmt: skip
    return ", ".join(f"{count} {name}{'s'[: count != 1]}" for name, count in counts.items() if count)


def split_cells(cells: Any) -> Any:
    """Return a copy of a notebook in which each heading of level two begins a new cell."""
    split = deepcopy(cells)
    split.cells = []
    for cell in cells.cells:
        parts = _parts(cell.source) if cell.cell_type == "markdown" else [None]
        for number, part in enumerate(parts):
            new_cell = deepcopy(cell)
            if part is not None:
                new_cell.source = part
            if number and "id" in new_cell:
                new_cell.id = f"{new_cell.id}-{number}"
            split.cells.append(new_cell)
    return split


def chapters(body: str) -> tuple[str, list[Chapter]]:
    """Return the HTML before the first heading, and the chapters; body: the cells from `split_cells` as HTML."""
    heads = list(HEADING.finditer(body))
    if not heads:
        return body, []
    ends = [*(head.start() for head in heads[1:]), len(body)]
    sections = [
        Chapter(head[1], head[2].strip(), '<section class="cell prose">' + body[head.end() : end])
        for head, end in zip(heads, ends, strict=True)
    ]
    return body[: heads[0].start()], sections


def _parts(source: str) -> list[str]:
    """Return the pieces of a text that begin with a heading of level two, outside of fenced code."""
    parts, fenced = [""], False
    for line in source.splitlines(keepends=True):
        fenced ^= line.lstrip().startswith("```")
        if line.startswith("## ") and not fenced:
            parts.append("")
        parts[-1] += line
    return [part for part in parts if part.strip()] or [source]
