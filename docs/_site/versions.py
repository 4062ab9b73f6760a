"""The version switcher: a list of the versions that stand beside one another, which every page's side bar offers."""

import json
import re
from pathlib import Path

from sphinx.application import Sphinx

VERSION = re.compile(r"\d+(?:\.\d+)+")


def versions(folder: Path) -> list[str]:
    """Return the versions with a site in a folder, newest first."""
    names = [path.parent.name for path in folder.glob("*/index.html") if VERSION.fullmatch(path.parent.name)]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write versions.json beside the folders of the versions; a site in another folder has no others beside it."""
    site = Path(app.outdir)
    if failure is None and VERSION.fullmatch(site.name):
        (site.parent / "versions.json").write_text(json.dumps(versions(site.parent)) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build, after the last page."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
