"""The side bar of pages that hang in no tree is worked out once a folder: for each it is the same, and slow.

The reference has 550 such pages and the sources 310; the tree of one takes 70 ms.
"""

from functools import cache
from pathlib import PurePosixPath
from typing import Any

from sphinx.application import Sphinx

UNHUNG = ("made/api/", "_modules/")  # folders of pages that no tree has, but for the first one's index
HUNG = ("made/api/index",)


def share_tree(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Let a page without a place in the tree take the tree of another page of its folder."""
    if not page.startswith(UNHUNG) or page in HUNG or "toctree" not in context:
        return
    trees, work_out = _trees(app), context["toctree"]
    folder = str(PurePosixPath(page).parent)

    def toctree(**options: Any) -> str:
        key = (folder, *sorted(options.items()))
        if key not in trees:
            trees[key] = work_out(**options)
        return trees[key]

    context["toctree"] = toctree


@cache
def _trees(app: Sphinx) -> dict[tuple[object, ...], str]:
    return {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build before the theme, which asks for the tree of each page."""
    app.connect("html-page-context", share_tree, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
