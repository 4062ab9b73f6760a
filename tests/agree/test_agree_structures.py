"""What is fitted of the IXP2400's packet buffer was found from calibration rows: searching again finds it."""

import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.study.checking.calibrate import SLACK, calibrate

SPACE = {"dram_slots": (4, 6, 7, 8, 16), "placement": ("access", "first_cell", "cell", "packet")}
ROWS = ["ixp2400.fig15.throughput.w128_b4", "ixp2400.fig15.hash.w128_b4"]
SHIPPED = design("ixp2400").parameters


def searched(space, packets, rows=ROWS):
    """Scores of all structures by their values."""
    fits = calibrate(space, rows, starts=1, packets=packets, profiles=False).fits
    return {tuple(fit.values[name] for name in space): fit.score for fit in fits}


def test_the_shipped_structure_is_admissible():
    scores = searched(SPACE, 3000)
    assert len(scores) == 20
    shipped = scores[tuple(SHIPPED[name] for name in SPACE)]
    assert shipped <= min(scores.values()) + SLACK
    assert max(scores.values()) > 0.04  # the rows do tell structures apart


def test_a_search_may_not_read_a_check():
    with pytest.raises(InputError, match="role 'check'"):
        searched({"dram_slots": (8,)}, 500, ["ixp2400.fig13.throughput.amp"])
