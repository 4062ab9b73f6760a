"""Functions and files of the package stay short: what is longer is a kernel, or counted here."""

import ast
from pathlib import Path

import npexplore

ROOT = Path(npexplore.__file__).parent
MAX_BODY_LINES = 60  # of a function, without its signature and docstring
MAX_FILE_LINES, MAX_LONG_FILES = 350, 3


def body_lines(function):
    """Return the lines of a function's body without its docstring."""
    first = function.body[1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0]
    return function.end_lineno - first.lineno + 1


def test_only_kernels_have_functions_over_sixty_lines():
    long = {
        f"{path.relative_to(ROOT)}:{node.name}": body_lines(node)
        for path in ROOT.rglob("*.py")
        if "_kernels" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in long.items() if lines > MAX_BODY_LINES} == {}


def test_few_files_are_long():
    lines = {str(path.relative_to(ROOT)): path.read_bytes().count(b"\n") for path in ROOT.rglob("*.py")}
    assert len([name for name, count in lines.items() if count > MAX_FILE_LINES]) <= MAX_LONG_FILES
