"""Adding is small: the examples of CONTRIBUTING are one file, function or row, named in one line of a list at most."""

import inspect
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import npexplore
from npexplore.golden.schedule.ranked import RANKED
from npexplore.ledger import load
from npexplore.machine import KINDS

ROOT = Path(npexplore.__file__).parents[1]
RESOURCES, LEDGER = "npexplore/machine/resources", "data/published/ixp2400_buffering.csv"
RECIPES = {  # recipe -> the files that its example adds lines to, with the most lines: what it adds must all be listed
    "A kind of resource": {f"{RESOURCES}/shared_bus.py": 60, f"{RESOURCES}/__init__.py": 1},
    "A machine": {"models/machines/netfpga.toml": 250},
    "A published number": {LEDGER: 1},
    "A scheduler": {"npexplore/golden/schedule/ranked.py": 15},
}
EXAMPLES = re.findall(
    r'^\*\*(.+?)\*\*[^*]*?commit\s"(.+?)"', (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
)


@cache
def texts():
    """What the package, tests, the site and the Makefile say, but for this file: pages may speak of an example."""
    files = [path for folder in ("npexplore", "tests", "docs/_site") for path in ROOT.glob(f"{folder}/**/*.py")]
    return {path: path.read_text(encoding="utf-8") for path in [ROOT / "Makefile", *files] if path != Path(__file__)}


def named_in(word, own=None):
    """The lines outside a file of its own that name a word."""
    found = re.compile(rf"\b{word}\b")
    files = [text for path, text in texts().items() if path != own]
    return [line for text in files if word in text for line in text.splitlines() if found.search(line)]


def code_lines(source):
    """The lines of a class or function that are neither empty nor of a docstring."""
    bare = re.sub(r'"""(?s:.*?)"""', "", source)
    return [line for line in bare.splitlines() if line.strip()]


def git(*words):
    """What git prints; nothing outside a repository."""
    asked = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return asked.stdout if asked.returncode == 0 else ""


def changes(log):
    """The files of each commit that `git log --format=%x01%s --numstat` shows, with lines added and removed."""
    commits = [text.partition("\n") for text in log.split("\1")[1:]]
    return [
        (subject, {path: (int(plus), int(minus)) for plus, minus, path in re.findall(r"(\d+)\t(\d+)\t(.+)", files)})
        for subject, _, files in commits
    ]


def grown(added, most):
    """Whether just these files have grown, by so many lines at most, and none lost any."""
    return added.keys() == most.keys() and all(
        0 < plus <= most[path] and not minus for path, (plus, minus) in added.items()
    )


def test_each_recipe_names_its_example():
    assert dict(EXAMPLES).keys() == RECIPES.keys()


@pytest.mark.parametrize(("recipe", "subject"), EXAMPLES)
def test_the_commit_of_an_example_touches_nothing_else(recipe, subject):
    """Where the whole history is; other tests here look at the files themselves."""
    log = git("log", "--fixed-strings", f"--grep={subject}", "--format=%x01%s", "--numstat")
    found = [files for title, files in changes(log) if title == subject]
    assert len(found) == 1 or git("rev-parse", "--is-shallow-repository").strip() != "false"
    assert all(grown(files, RECIPES[recipe]) for files in found)


def test_a_commit_that_touches_more_is_no_example():
    one, two = changes("\1One\n\n3\t0\ta.py\n\1Two\n\n3\t0\ta.py\n1\t1\tb.py\n")
    assert (one, two[0]) == (("One", {"a.py": (3, 0)}), "Two")
    assert grown(one[1], {"a.py": 3})
    assert not grown(one[1], {"a.py": 2})
    assert not grown(two[1], {"a.py": 3})
    assert not grown(two[1], {"a.py": 3, "b.py": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_one_file_and_one_line(kind):
    own = KINDS[kind]
    named = named_in(own.__name__, Path(inspect.getsourcefile(own)))
    listing = [line for line in named if line.endswith(f" as {own.__name__}")]
    assert listing == [f"from {own.__module__} import {own.__name__} as {own.__name__}"]


def test_a_simple_kind_has_at_most_thirty_lines_and_stands_nowhere_else():
    own = KINDS["shared_bus"]
    assert len(code_lines(inspect.getsource(own))) <= 30
    assert len(named_in("shared_bus", Path(inspect.getsourcefile(own)))) == 1
    assert len(named_in("SharedBus", Path(inspect.getsourcefile(own)))) == 1


def test_a_machine_is_one_file_that_stands_nowhere_else():
    assert npexplore.design("netfpga").parameters.file.parameter
    assert named_in("netfpga") == []


def test_a_published_number_is_one_row_that_stands_nowhere_else():
    key = "ixp2400.claim.real_bus"
    assert load()[key].kind == "number"
    rows = [line for path in ROOT.glob("data/**/*.csv") for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(line.startswith(f"{key},") for line in rows) == 1
    assert named_in(key) == []


@pytest.mark.parametrize("name", RANKED)
def test_a_rank_is_a_function_of_at_most_fifteen_lines_named_nowhere_else(name):
    rank = RANKED[name].rank
    assert len(inspect.getsource(rank).splitlines()) <= 15
    assert named_in(name, Path(inspect.getsourcefile(rank))) == []
