"""The IXP2400's structure was found from calibration rows: searching again finds it, and asks for no other row."""

import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.study.checking.structures import IXP2400_SPACE, admissible, search


def shipped(space):
    values = {**design("ixp2400").parameters, **design("ixp2400_dram").parameters}
    return {name: values[name] for name in space}


def test_the_shipped_structure_is_admissible_among_its_neighbours():
    space = {
        "dram_part": ("ddr_200", "ddr_266"),
        "gating": ("before_bus", "with_bus"),
        "dram_slots": (6, 8),
        "window": (6, 8),
    }
    scored = search(space, packets=3000)
    assert len(scored) == 16
    assert shipped(space) in [item.structure for item in admissible(scored)]
    assert scored[0].score < 0.02
    assert scored[-1].score > 0.04  # the rows do tell structures apart


@pytest.mark.slow
def test_the_shipped_structure_is_admissible_in_the_whole_space():
    scored = search(packets=800)
    assert shipped(IXP2400_SPACE) in [item.structure for item in admissible(scored)]


def test_a_search_may_not_read_a_check():
    with pytest.raises(InputError, match="role 'check'"):
        search({"dram_slots": (8,)}, ["ixp2400.fig13.throughput.amp"], packets=500)
