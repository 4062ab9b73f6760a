"""The documentation site: every page of docs/, the reference made from the package itself, and the glossary linked."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent)]

import elsewhere  # noqa: E402

import npexplore  # noqa: E402

project = "npexplore"
author = "The npexplore authors"
release = npexplore.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.intersphinx",
    "sphinx_click",
    "versions",
    "made_pages",
    "glossary_links",
    "navigation",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "_site"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = ["myst.xref_missing"]  # links to files outside docs/; a test of the documents follows them all

intersphinx_mapping = elsewhere.mapping(HERE / "_build" / "inventories")
napoleon_numpy_docstring = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# What a class has from others of this project is its own; what tuples and exceptions have is not listed.
foreign = "object, int, tuple, dict, Struct, Exception, BaseException"
autodoc_default_options = {"members": True, "inherited-members": foreign}

html_theme = "furo"
html_title = f"npexplore {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_site/static"]
html_css_files = ["wide.css"]
html_js_files = ["versions.js"]
templates_path = ["_site/templates"]
side_bar = ("brand", "search", "scroll-start", "navigation", "scroll-end", "variant-selector")
html_sidebars = {"**": [f"sidebar/{part}.html" for part in side_bar]}
html_sidebars["**"].insert(1, "versions.html")
pygments_style = "friendly"
pygments_dark_style = "monokai"
