"""Builds the index of the pages' search box: an entry for each section of each notebook, as JSON."""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from npexplore.report.chapters import chapters, split_cells
from npexplore.report.notebooks import Notebook
from npexplore.report.pages import prose
from npexplore.report.shell import as_json


def search_js(lines: Iterable[dict[str, str]]) -> str:
    """Return the script with the index; text from notebooks is escaped, so that it never becomes HTML or code."""
    return f"window.NPEXPLORE_PAGES = {as_json(list(lines))};\n"


def search_lines(notebook: Notebook) -> list[dict[str, str]]:
    """Return a notebook's entries: its page, section, the section's anchor, and its text."""
    return list(_lines(notebook))


def _lines(notebook: Notebook) -> Iterator[dict[str, str]]:
    body = "".join(f'<section class="cell prose">{prose(cell.source)}</section>'
                   for cell in split_cells(notebook.cells).cells if cell.cell_type == "markdown")  # fmt: skip
    introduction, chapter_list = chapters(body)
    page = {"file": f"{notebook.name}.html", "page": notebook.title}
    yield {**page, "anchor": "", "section": "", "text": _text(introduction)}
    for chapter in chapter_list:
        yield {**page, "anchor": chapter.anchor, "section": _text(chapter.heading), "text": _text(chapter.body)}


def _text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
