"""Parses Python text one thread at a time, because CPython before 3.12 counts the nesting of all threads together.

Formulas, filters, identities and programs given as text are parsed here. Trees are cached by text and never modified.
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
    """Return the single expression in a text, ignoring surrounding blanks; raises SyntaxError or ValueError."""
    with _reading:
        return _checked(ast.parse(text.strip(), mode="eval")).body


def _checked(tree: Tree) -> Tree:
    """Return a tree; raises SyntaxError for a repeated keyword argument, which only Python's compiler detects."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = [word.arg for word in node.keywords if word.arg]
        for name in named:
            if named.count(name) > 1:
                raise SyntaxError(f"operand {name!r} is given twice", ("", node.lineno, node.col_offset, None))
    return tree
