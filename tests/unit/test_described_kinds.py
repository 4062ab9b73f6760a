"""The table of kinds in docs/resources.md is what the code says; every kind with faces of its own says why."""

from pathlib import Path

import pytest

from npexplore.errors import InputError
from npexplore.machine.described.kinds import BEGIN, END, SHOWN, table, write
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import OwnFaces

PAGE = Path(__file__).parents[2] / "docs" / "resources.md"


def test_the_page_has_the_table_of_the_code():
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == table(), f"python -m npexplore.machine.described.kinds {PAGE.relative_to(PAGE.parents[1])}"


def test_every_listed_kind_is_shown():
    assert SHOWN.keys() == KINDS.keys()
    rows = [line for line in table().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(KINDS)


def test_a_page_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    write(page)
    assert page.read_text() == f"above\n{BEGIN}\n{table()}\n{END}\nbelow\n"


def test_a_kind_without_an_example_is_told_where_to_put_one(monkeypatch):
    monkeypatch.delitem(SHOWN, "matrix")
    with pytest.raises(InputError, match="kind 'matrix' needs an example in SHOWN of npexplore/machine/described/"):
        table()


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if issubclass(kind, OwnFaces)])
def test_a_kind_with_faces_of_its_own_says_why(kind):
    assert len(kind.WHY) > 10
    assert f"no: {kind.WHY}" in table()
