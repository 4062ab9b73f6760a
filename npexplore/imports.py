"""Imports that take longer than all that follows, made without what nobody here asks them for."""

import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any


@cache
def load_jsonschema() -> None:
    """Import jsonschema, which nbformat needs and so whatever shows a figure, without its grammar of IRIs.

    `rfc3987_syntax` builds a parser when it is imported: a second in each process. It comes with JupyterLab and checks
    the format "iri" alone, which no schema of notebooks has; jsonschema does without it where it is not installed.
    """
    name = "rfc3987_syntax"
    if name in sys.modules:
        return
    modules: dict[str, Any] = sys.modules
    modules[name] = None  # an import of it fails
    try:
        with suppress(ImportError):
            import_module("jsonschema")
    finally:
        del modules[name]
