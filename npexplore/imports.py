"""What processes of our own go without, because to import it takes longer than all that follows."""

import sys
from typing import Any


def spare_iri_grammar() -> None:
    """Go without `rfc3987_syntax` in this process: to import it builds a parser, which takes a second.

    It comes with JupyterLab. jsonschema, which whatever shows a figure imports by way of nbformat, checks the format
    "iri" with it, which no schema of notebooks has, and does without it where it is not installed. For processes that
    are ours alone: the command, and the kernels in which a report runs its notebooks.
    """
    modules: dict[str, Any] = sys.modules
    modules.setdefault("rfc3987_syntax", None)  # an import of it fails
