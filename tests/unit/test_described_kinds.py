"""The table of kinds has each with its servers; every kind with faces of its own says why."""

import pytest

from npexplore.errors import ModelError
from npexplore.machine.described.kinds import table
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import OwnFaces


def test_the_table_has_each_kind_with_what_it_is_made_from_and_its_servers():
    lines = {line.split("|")[1].strip(" `"): line for line in table().splitlines()[2:]}
    assert list(lines) == list(KINDS)
    what = "A pool of alike buffers: a packet waits until enough are free, keeps them, and gives them back."
    visits = "count | take(count); give(count) | pool 1 x 16 (pool) | yes |"
    assert lines["pool"] == f"| `pool` | `BufferPool` | {what} | {visits}"
    assert "read(bytes, [address])" in lines["memory"]  # an operand that may be left out
    assert "enter([member]) gives a number" in lines["reorder"]


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
