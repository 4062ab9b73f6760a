"""Queueing against simulation over the values of knobs: which points are asked, and how a refusal counts."""

import pytest

from npexplore.designs import design
from npexplore.report.accuracy import _solvers
from npexplore.study.checking.solvers import LOADS, MIXES, Distance, corners, distances


def test_corners_are_every_choice_the_half_and_the_double():
    found = dict(corners(design("ixp2400")))
    assert found[""] == {}
    assert {"scheme=hb", "scheme=fcb", "scheme=fcb_tb", "threads=8", "threads=32", "banks=2", "banks=8"} <= set(found)
    assert "scheme=base" not in found
    low = {name for name in dict(corners(design("soclib"))) if name.startswith("processors=")}
    assert low == {"processors=2"}  # half of one would be none


def test_each_point_is_the_ratio_of_two_solvers():
    found = distances(["ixp2400_dram"], packets=160)
    assert {one.load for one in found} == {None}
    refused = [one for one in found if one.distance is None]
    assert all("drains" in one.refused for one in refused)
    base = next(one for one in found if not one.changed)
    made = design("ixp2400_dram")
    assert base.distance == made.queueing().throughput_bps / made.simulate(packets=160).throughput_bps - 1
    assert base.bounds == made.bounds().throughput_bps / made.simulate(packets=160).throughput_bps - 1


@pytest.mark.slow
def test_designs_that_take_packets_are_asked_under_open_load():
    found = [one for one in distances(["ixp2400"], packets=160) if not one.changed]
    assert {(one.packets, one.load) for one in found} == {(mix, load) for mix in MIXES for load in (None, *LOADS)}
    assert all(abs(one.distance) < 0.3 for one in found)


def test_a_refused_point_is_a_miss():
    near = [Distance("d", str(k), "64 bytes", None, 0.01 * k, 0.5, None, -0.1 * k) for k in range(1, 4)]
    near.append(Distance("d", "4", "64 bytes", 0.4, 0.0, 0.5, None))
    lost = Distance("d", "x", "64 bytes", None, None, None, "too many")
    text = "\n".join(_solvers([*near, lost]))
    assert "| d | saturated | 4 | 1 | 2.0 % | 2.8 % | 3.0 % | 20.0 % | 28.0 % |" in text
    assert "| d | 0.4 of it, Poisson | 1 | 0 | 0.0 % | 0.0 % | 0.0 % | - | - |" in text
    assert "Of all 5 points 20 % are refused" in text
    assert "nine of ten: 3.0 %" in text
    assert "The bounds alone, saturated: 20.0 % and 28.0 %." in text
    assert "- too many" in text
