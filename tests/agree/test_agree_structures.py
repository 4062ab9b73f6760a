"""The IXP2400's structure was found from calibration rows: searching again finds it, and asks for no other row."""

import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.study.checking.calibrate import SLACK, calibrate

SPACE = {  # what the search of the packet buffer varied
    "dram_part": ("ddr_200", "ddr_266", "ddr_266a", "ddr_333", "ddr_400"),
    "gating": ("before_bus", "whole", "with_bus"),
    "writes": ("like_reads", "bus_first"),
    "precharge_command": ("free", "on_bus"),
    "dram_slots": (6, 7, 8, 16),
    "window": (5, 6, 7, 8),
}
ROWS = [  # and what judged it
    "ixp2400.fig9.bandwidth.n0", "ixp2400.fig9.bandwidth.n50", "ixp2400.fig15.throughput.w128_b4",
    "ixp2400.fig15.bank.w128_b4", "ixp2400.fig15.bus.w64_b8",
]  # fmt: skip
SHIPPED = {**design("ixp2400").parameters, **design("ixp2400_dram").parameters}


def searched(space, packets, rows=ROWS):
    """Scores of all structures, and that of the shipped one."""
    fits = calibrate(space, rows, starts=1, packets=packets, profiles=False).fits
    scores = [fit.score for fit in fits]
    shipped = next((fit.score for fit in fits if fit.values == {name: SHIPPED[name] for name in space}), None)
    return scores, shipped


def test_the_shipped_structure_is_admissible_among_its_neighbours():
    space = {
        "dram_part": ("ddr_200", "ddr_266"),
        "gating": ("before_bus", "with_bus"),
        "dram_slots": (6, 8),
        "window": (6, 8),
    }
    scores, shipped = searched(space, 3000)
    assert len(scores) == 16
    assert shipped <= min(scores) + SLACK
    assert min(scores) < 0.02
    assert max(scores) > 0.04  # the rows do tell structures apart


@pytest.mark.slow
def test_the_shipped_structure_is_admissible_in_the_whole_space():
    scores, shipped = searched(SPACE, 800)
    assert shipped <= min(scores) + SLACK


def test_a_search_may_not_read_a_check():
    with pytest.raises(InputError, match="role 'check'"):
        searched({"dram_slots": (8,)}, 500, ["ixp2400.fig13.throughput.amp"])
