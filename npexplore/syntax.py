"""Python text as a syntax tree, one thread at a time: CPython before 3.12 counts the depth of all threads together.

Formulas, filters, identities and programs as text are read here. A text is read once and its tree kept; nobody changes
a tree.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from threading import Lock

_reading = Lock()


@lru_cache(maxsize=4096)
def statements(text: str | bytes) -> tuple[ast.stmt, ...]:
    """Return the statements of a text; raises SyntaxError or ValueError as `ast.parse` does."""
    with _reading:
        return tuple(ast.parse(text).body)


@lru_cache(maxsize=4096)
def expression(text: str) -> ast.expr:
    """Return the one expression that a text is, blanks around it aside; raises SyntaxError or ValueError."""
    with _reading:
        return ast.parse(text.strip(), mode="eval").body
