"""The table of kinds in docs/resources.md is what the code says; every kind with faces of its own says why."""

from pathlib import Path

import pytest

from npexplore.errors import ModelError
from npexplore.machine.described.kinds import BEGIN, END, table, write
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import OwnFaces

PAGE = Path(__file__).parents[2] / "docs" / "resources.md"


def test_the_page_has_the_table_of_the_code():
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == table(), f"python -m npexplore.machine.described.kinds {PAGE.relative_to(PAGE.parents[1])}"


def test_a_page_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    write(page)
    assert page.read_text() == f"above\n{BEGIN}\n{table()}\n{END}\nbelow\n"


def test_a_name_is_one_class_s_alone():
    listed = dict(KINDS)
    again = type("SwitchMatrix", (KINDS["matrix"],), {"__module__": KINDS["matrix"].__module__}, kind="matrix")
    assert KINDS["matrix"] is again  # the same class, run again in a notebook
    KINDS.update(listed)
    with pytest.raises(ModelError, match="kind 'matrix' is SwitchMatrix already; give Other another name"):
        type("Other", (KINDS["matrix"],), {}, kind="matrix")
    assert listed == KINDS


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if issubclass(kind, OwnFaces)])
def test_a_kind_with_faces_of_its_own_says_why(kind):
    assert len(kind.WHY) > 10
    assert f"no: {kind.WHY}" in table()
