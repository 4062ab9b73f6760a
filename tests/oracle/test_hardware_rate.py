"""Solver `rtl`: rates of Gorilla's Verilog in Verilator, as a prediction with an interval."""

import pytest

from npexplore.designs import design
from npexplore.designs.gorilla.rate import Rig
from npexplore.study.checking.check import check

CLOCK = 1e8
SMALL = {"clusters": 1, "threads": 2, "rate_mpps": 0}


def machine(**knobs):
    return design("gorilla").with_(**{**SMALL, **knobs})


@pytest.fixture(scope="module")
def one_engine(tmp_path_factory):
    """Build a cluster of one engine, for any offered rate."""
    return Rig(machine(engines=1).parameters, tmp_path_factory.mktemp("one"))


@pytest.mark.slow
def test_saturated_engines_add_up_and_keep_their_threads_busy(one_engine):
    one, two = one_engine.rate(0, 2000), machine(engines=2).rtl(packets=2000)
    assert two.rate_pps == pytest.approx(2 * one.rate_pps, rel=0.02)
    for engines, found in ((1, one), (2, two)):
        low, high = found.ci95["rate_pps"]
        assert low <= found.rate_pps <= high
        assert found.rate_pps < engines * CLOCK / 15  # seven steps in eight pieces: 15 cycles of an engine
        inside = found.rate_pps * found.latency_s.mean
        assert inside >= 2 * engines  # Little's law: all threads have a packet, and some wait before them
        assert found.offered_pps is None


@pytest.mark.slow
def test_what_is_offered_below_that_leaves_as_it_comes(one_engine):
    found = one_engine.rate(4, 2000)
    assert found.rate_pps == pytest.approx(4e6, rel=1e-3)
    assert found.bottleneck == "arrivals"
    assert found.latency_s.mean >= 27 / CLOCK  # 15 cycles of work, 12 of a lookup


@pytest.mark.slow
def test_the_board_has_its_rate_beside_the_simulation():
    row = check(keys=["gorilla.np.board.rate"], rtl=True, seeds=1, packets=6_000).rows[0]
    assert row["rtl"] == pytest.approx(100, rel=0.005)
    assert (row["rtl_label"], row["label"]) == ("predicted", "post_hoc")  # no fitted cycle is read by hardware
    assert row["rtl"] == pytest.approx(row["simulated"], rel=0.005)
