"""Adding is small: the examples of CONTRIBUTING are one file or one function, named in one line of a list at most."""

import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import npexplore
from npexplore.golden.schedule.ranked import RANKED
from npexplore.machine import KINDS

ROOT = Path(npexplore.__file__).parent


@cache
def texts():
    """The Python files of the package and its tests, but for this one."""
    files = [path for folder in (ROOT, ROOT.parent / "tests") for path in folder.rglob("*.py")]
    return {path: path.read_text(encoding="utf-8") for path in files if path != Path(__file__)}


def named_in(word, own):
    """The lines outside a file of its own that name a word."""
    named = [re.findall(rf"^.*\b{word}\b.*$", text, re.MULTILINE) for path, text in texts().items() if path != own]
    return [line for lines in named for line in lines]


def code_lines(source):
    """The lines of a class or function that are neither empty nor of a docstring."""
    bare = re.sub(r'"""(?s:.*?)"""', "", source)
    return [line for line in bare.splitlines() if line.strip()]


@pytest.mark.parametrize("kind", ["tcam", "pool", "matrix"])
def test_a_kind_is_one_file_and_one_line(kind):
    own = KINDS[kind]
    listing = [line for line in named_in(own.__name__, Path(inspect.getsourcefile(own))) if " as " in line]
    assert listing == [f"from {own.__module__} import {own.__name__} as {own.__name__}"]


def test_a_simple_kind_has_at_most_thirty_lines_and_stands_nowhere_else():
    own = KINDS["tcam"]
    assert len(code_lines(inspect.getsource(own))) <= 30
    assert len(named_in("[Tt]cam", Path(inspect.getsourcefile(own)))) == 1


@pytest.mark.parametrize("name", RANKED)
def test_a_rank_is_a_function_of_at_most_fifteen_lines_named_nowhere_else(name):
    rank = RANKED[name].rank
    assert len(inspect.getsource(rank).splitlines()) <= 15
    assert named_in(name, Path(inspect.getsourcefile(rank))) == []
