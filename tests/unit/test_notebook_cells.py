"""Cells of notebooks: a key number is the last expression of its cell, and only predictions are called so."""

import ast
import re
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


PAPER_PAGES = [path for path in NOTEBOOKS if "paper_screen(" in path.read_text()]
HONEST = re.compile(r"\blabel|`predicted`|withheld|blind|before (?:it|they|the value) w|--sets", re.IGNORECASE)
KEYS = {"predicted", "predictions"}  # columns and attributes, which a page renames where it shows them


def claimed_predictions(path):
    """Return the sentences and shown texts of a page that call something predicted, not only what has that label."""
    texts = []
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "markdown":
            texts += re.split(r"(?<=[.?]) ", cell.source.replace("\n", " "))
        else:
            nodes = ast.walk(ast.parse(cell.source))
            texts += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if re.search(r"\bpredict", text) and not HONEST.search(text) and text not in KEYS]


def test_ten_texts_that_call_too_much_predicted_are_seen(tmp_path):
    page = tmp_path / "page.py"
    prose = ["One host is fitted, the others are predicted.", "Every number is predicted.", "A run predicts Fig. 9.",
             "These predictions are within 5 %.", "Nothing was fitted: all is predicted here."]  # fmt: skip
    shown = ["predicted_gbps", "predicted Gb/s", "lines: predicted", "predicted rates", "as the model predicts"]
    page.write_text("".join(f"# %% [markdown]\n# {text}\n" for text in prose) + f"# %%\ntitles = {shown!r}\n")
    assert len(claimed_predictions(page)) == 10
    page.write_text("# %% [markdown]\n# The withheld numbers are predicted.\n# %%\nrows[rows.label == 'predicted']\n")
    assert claimed_predictions(page) == []


@pytest.mark.parametrize("path", PAPER_PAGES, ids=lambda path: path.stem)
def test_a_page_says_predicted_only_of_what_has_that_label(path):
    assert claimed_predictions(path) == []
