"""Skips imports in our own processes that take longer than the work that follows."""

import sys
from typing import Any


def spare_iri_grammar() -> None:
    """Make `rfc3987_syntax` appear uninstalled in this process; importing it builds a parser, which takes a second.

    JupyterLab installs it. Showing a figure imports nbformat, which imports jsonschema, which uses it to check the
    format "iri". No schema of notebooks has this format, and jsonschema works without the module. Only for processes of
    our own: the command, and the kernels in which a report runs its notebooks.
    """
    modules: dict[str, Any] = sys.modules
    modules.setdefault("rfc3987_syntax", None)  # its import now fails
