"""Python text as a syntax tree, one thread at a time: CPython before 3.12 counts the depth of all threads together.

Formulas, filters, identities and programs as text are read here. A text is read once and its tree kept; nobody changes
a tree.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from threading import Lock
from typing import TypeVar

_reading = Lock()
Tree = TypeVar("Tree", bound=ast.mod)


@lru_cache(maxsize=4096)
def statements(text: str | bytes) -> tuple[ast.stmt, ...]:
    """Return the statements of a text; raises SyntaxError or ValueError as `ast.parse` does."""
    with _reading:
        return tuple(_checked(ast.parse(text)).body)


@lru_cache(maxsize=4096)
def expression(text: str) -> ast.expr:
    """Return the one expression that a text is, blanks around it aside; raises SyntaxError or ValueError."""
    with _reading:
        return _checked(ast.parse(text.strip(), mode="eval")).body


def _checked(tree: Tree) -> Tree:
    """Return a tree; raises SyntaxError for an operand that a call names twice, which only Python's compiler sees."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = [word.arg for word in node.keywords if word.arg]
        for name in named:
            if named.count(name) > 1:
                raise SyntaxError(f"operand {name!r} is given twice", ("", node.lineno, node.col_offset, None))
    return tree
