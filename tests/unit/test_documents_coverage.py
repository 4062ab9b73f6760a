"""docs/coverage.md names tests and sections that exist, and leaves no figure of a paper out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "coverage.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:unit|law|agree|oracle|smoke)/\w+\.py)(?:::(\w+))?`", TEXT)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_named_is_there(file, test):
    source = (ROOT / "tests" / file).read_text()
    assert f"def {test}(" in source if test else "def test_" in source


def test_every_section_named_is_on_the_page():
    page = "\n".join(path.read_text() for path in sorted((ROOT / "notebooks").glob("*.py")))
    sections = re.findall(r'"([^"]+)"', TEXT)
    assert len(sections) > 15
    assert [name for name in sections if not re.search(rf"^# #+ {re.escape(name)}", page, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("machine", "last"), [("IXP2400", 15), ("IXP1200", 10), ("SoCLIB", 9), ("RAW", 15), ("Gorilla", 14)]
)
def test_every_figure_of_a_paper_has_a_row(machine, last):
    assert figures(machine) == set(range(1, last + 1))


def figures(machine):
    """The figures that have a row in the part of a machine."""
    (part,) = [part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE) if machine in part.partition("\n")[0]]
    rows = re.findall(r"^\| \[.\] \| (\d+)[abc-]* ", part.partition("### Figures and tables")[2], re.MULTILINE)
    return {int(number) for number in rows}


def test_what_is_not_done_says_why():
    for line in TEXT.splitlines():
        if line.startswith(("| [ ]", "| [~]")):
            assert len(line.split("|")[3].split()) >= 5
