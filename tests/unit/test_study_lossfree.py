"""Loss-free rate: bisection between a load that loses nothing and one that does; any design; errors."""

from types import SimpleNamespace

import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.machine.workload import workload
from npexplore.study.sweeping.lossfree import bisect, loss_free, lost

ONE = {"receivers": 1, "receiver_engines": 1}


def cliff(at):
    """A prediction that loses beyond a load."""
    return lambda load: SimpleNamespace(solver="simulation", drops={"a": int(load > at)}, bottleneck="x")


@pytest.mark.parametrize("at", [0.1, 0.37, 0.999])
def test_the_search_closes_in_on_the_edge(at):
    found = bisect(cliff(at), 0.01, 1.0, 0.01)
    assert found.load <= at < found.loses_at
    assert found.loses_at - found.load <= 0.01 * found.loses_at
    assert found.tried[found.load] == 0


def test_nothing_is_searched_where_the_highest_load_loses_nothing():
    found = bisect(cliff(2.0), 0.1, 1.0)
    assert (found.load, found.loses_at, found.tried) == (1.0, None, {1.0: 0})


@pytest.mark.parametrize(("low", "high", "said"), [(0.0, 1.0, "0 < low < high"), (1.0, 0.5, "0 < low < high")])
def test_ends_must_be_in_order(low, high, said):
    with pytest.raises(InputError, match=said):
        bisect(cliff(0.5), low, high)


def test_a_lowest_load_that_loses_is_refused():
    with pytest.raises(InputError, match=r"lowest load of the search, 0\.5, must lose nothing, got 1"):
        bisect(cliff(0.1), 0.5, 1.0)


def test_a_solver_without_drops_loses_where_arrivals_do_not_limit_it():
    assert lost(design("ixp1200").with_(load=0.05, **ONE).bounds()) == 0
    assert lost(design("ixp1200").with_(rules=512, **ONE).bounds()) == 1


def test_of_a_design_with_its_own_traffic():
    made = design("ixp1200").with_(rules=512, **ONE)
    found = loss_free(made, tolerance=0.05)
    assert found.answer.throughput_bps == pytest.approx(made.simulate().throughput_bps, rel=0.06)
    assert sum(found.answer.drops.values()) == 0 < found.tried[found.loses_at]


def test_of_a_workload():
    made = design("ixp2400")
    found = loss_free(made, workload(packet_bytes=64), tolerance=0.05, packets=2000, high=1.2)
    saturated = made.simulate(workload(packet_bytes=64)).rate_pps
    assert 0.7 * saturated < found.answer.rate_pps <= 1.02 * saturated


def test_a_design_without_the_knob_is_refused():
    with pytest.raises(InputError, match="no knob 'load'"):
        loss_free(design("ixp2400_dram"), low=0.1)
