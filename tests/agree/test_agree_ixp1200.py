"""The IXP1200 against the published rows that it was calibrated with, and its solvers against one another.

Check and withheld rows are judged by `npexplore check`; nothing here reads them.
"""

import pytest

from npexplore.designs import design
from npexplore.designs.ixp1200.design import measured
from npexplore.ledger import facts
from npexplore.study.checking.quantities import quantity_of
from npexplore.study.checking.quantities.ixp1200 import TICKS, fits

IXP1200 = design("ixp1200")
ONE = {"receivers": 1, "receiver_engines": 1}
KNOWN = facts()


def simulated(key, seed=1):
    """What the simulation says of a row, in its unit."""
    row = KNOWN[key]
    return row.from_si(
        quantity_of(row).value(row, lambda p: design(p.design).with_(**dict(p.knobs)).simulate(seed=seed))
    )


@pytest.mark.parametrize("key", ["ixp1200.fig10.one_thread.512", "ixp1200.table1.ls.sram.utilization"])
def test_calibration_rows_are_reproduced(key):
    assert simulated(key) == pytest.approx(KNOWN[key].point, rel=0.02)


def test_the_ratio_of_the_two_tables_is_reproduced():
    """Linear search over range matching: packet rates behave as the SDRAM's rates."""
    ls, rm = "ixp1200.table1.ls.sdram.rate", "ixp1200.table2.rm.sdram.rate"
    assert simulated(ls) / simulated(rm) == pytest.approx(KNOWN[ls].point / KNOWN[rm].point, rel=0.03)


@pytest.mark.parametrize("rules", [1, 512])
@pytest.mark.parametrize("threads", [ONE, {"receivers": 8, "receiver_engines": 2}, {}])
@pytest.mark.parametrize("name", ["rm", "ls"])
def test_no_simulation_is_above_the_roofline(rules, threads, name):
    """But for a packet a thread that was begun before the window."""
    made = IXP1200.with_(rules=rules, classifier=name, **threads)
    begun = made.parameters.receivers / measured(made.parameters)[1]
    assert made.simulate().rate_pps <= made.bounds().rate_pps + begun


def test_one_silent_engine_takes_the_latency_without_contention():
    """One receiver whose neighbours sleep meets nobody at the engine, and hardly anybody at the SRAM."""
    made = IXP1200.with_(idle="sleep", rules=512, **ONE)
    limit = made.bounds()
    assert limit.bottleneck == "threads.rx0"
    assert made.simulate().rate_pps == pytest.approx(limit.rate_pps, rel=0.02)


def test_polling_costs_one_thread_more_than_a_tenth():
    silent, polling = (IXP1200.with_(idle=how, rules=64, **ONE).simulate().rate_pps for how in ("sleep", "poll"))
    assert 0.75 * silent < polling < 0.9 * silent


def test_the_bottleneck_moves_from_waiting_to_engines_to_sram():
    """The double bottleneck: each step fills the next resource."""
    named = [
        IXP1200.with_(rules=1, **knobs).simulate().bottleneck
        for knobs in (ONE, {"receivers": 4, "receiver_engines": 1}, {})
    ]
    assert named[0].startswith("threads.rx")
    assert named[1:] == ["me0", "sram"]
    assert IXP1200.with_(rules=1, sram_banks=4).simulate().bottleneck.startswith("me")


def test_shapes_against_the_number_of_rules():
    for name, shape in (("rm", "log"), ("ls", "hyperbola")):
        rates = [IXP1200.with_(classifier=name, rules=n, **ONE).bounds().rate_pps for n in TICKS.value]
        found = fits(TICKS.value, rates)
        assert max(found, key=found.__getitem__) == shape
        assert found[shape] > 0.93
