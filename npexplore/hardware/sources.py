"""Syntax trees of functions, with line numbers of their files."""

from __future__ import annotations

import ast
import linecache
from functools import cache
from types import CodeType, FunctionType

from npexplore.hardware.values import RefusedError

Function = ast.FunctionDef | ast.Lambda


@cache
def _functions(file: str) -> dict[tuple[str, int], list[Function]]:
    """Return the functions of a file, by name and first line (that of the first decorator)."""
    functions: dict[tuple[str, int], list[Function]] = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            functions.setdefault((node.name, line), []).append(node)
        elif isinstance(node, ast.Lambda):
            functions.setdefault(("<lambda>", node.lineno), []).append(node)
    return functions


def tree_of(code: CodeType) -> Function:
    """Return the syntax tree of a function; raises RefusedError unless its text is found exactly once."""
    candidates = _functions(code.co_filename).get((code.co_name, code.co_firstlineno), [])
    if len(candidates) != 1:
        raise RefusedError(
            f"the text of {code.co_name!r} is not found, line {code.co_firstlineno} of {code.co_filename}"
        )
    return candidates[0]


def names_of(function: FunctionType) -> dict[str, object]:
    """Return the names that a function's body reads beside its own variables: module globals and closure variables."""
    names = dict(function.__globals__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        names[name] = cell.cell_contents
    return names
