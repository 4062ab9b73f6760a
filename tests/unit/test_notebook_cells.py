"""A key number is shown only where it is the last expression of its cell; anywhere else it is lost without a word."""

import ast
from pathlib import Path

import jupytext
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))
LOST = "headline('rows', 3)\ntable"


def lost_headlines(source):
    """Return the lines of a cell where `headline` is called and its number goes nowhere."""
    body = ast.parse(source).body
    inner = [node for statement in body[:-1] for node in ast.walk(statement)]
    return [
        node.lineno
        for node in inner
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "headline"
    ]


def test_the_rule_finds_a_lost_number():
    assert lost_headlines(LOST) == [1]
    assert lost_headlines("rows = 3\nheadline('rows', rows)") == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_headline_is_the_last_expression_of_its_cell(path):
    cells = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
    assert cells
    for cell in cells:
        assert not lost_headlines(cell), cell
