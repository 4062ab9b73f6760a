"""The IXP1200 against the published rows that it was calibrated with, and its solvers against one another.

Check and withheld rows are judged by `npexplore check`; nothing here reads them.
"""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.ixp1200.design import measured
from npexplore.errors import ModelError
from npexplore.ledger import facts
from npexplore.study.checking.quantities import quantity_of
from npexplore.study.checking.quantities.ixp1200 import TICKS, fits
from npexplore.study.papers.ixp1200 import diffserv

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
    assert named[1:] == ["me0", "me2"]
    full = IXP1200.with_(rules=1).simulate().utilization
    assert full["sram"].busy > 0.97 < full["me2"].busy
    assert IXP1200.with_(rules=1, vector_reading="whole").simulate().bottleneck == "sram"


def test_shapes_against_the_number_of_rules():
    for name, shape in (("rm", "log"), ("ls", "hyperbola")):
        rates = [IXP1200.with_(classifier=name, rules=n, **ONE).bounds().rate_pps for n in TICKS.value]
        found = fits(TICKS.value, rates)
        assert max(found, key=found.__getitem__) == shape
        assert found[shape] > 0.93


# ---- classes: the machine with its threads and memories beside the functional router


def by_class(**knobs):
    """Packets a second and mean latency of EF, AF1, AF2, AF3 from four ports to one."""
    found = diffserv.machine(IXP1200).with_(**knobs).simulate()
    return np.array([(one.rate_pps, one.latency_s.mean or np.nan) for one in found.classes.values()]).T, found


def test_the_machine_shares_a_port_as_the_functional_router_does():
    """Microcode twice as quick, so that receivers bring more than the policer lets pass: rates and waits are its."""
    (rates, waits), found = by_class(scale_diffserv=1.0)
    functional = diffserv.at_load(diffserv.bench(IXP1200), 1.0)
    np.testing.assert_allclose(rates, functional["sent_pps"][list(diffserv.FLOWS)], rtol=0.02)
    assert found.drops["policer"] > 0 < found.drops["out_fe"]
    queued = functional["delay_mean_ns"][["AF1", "AF2", "AF3"]] * 1e-9
    np.testing.assert_allclose(waits[1:], queued, atol=100e-6)  # besides receiving, and four packets in the MAC
    assert waits[0] < 0.15 * waits[1]


def test_receivers_of_the_machine_bring_expedited_packets_to_their_limit():
    """Assured classes share what EF leaves 4:2:1. Slower ones, which read vectors whole, bring less than the limit."""
    (rates, waits), _ = by_class()
    np.testing.assert_allclose(rates[1:-1] / rates[2:], 2, rtol=0.02)
    limit = KNOWN["ixp1200.fig7.ef_limit"].point
    assert rates[0] == pytest.approx(limit, rel=0.002)
    assert by_class(vector_reading="whole")[0][0][0] < 0.98 * limit
    assert np.all(np.diff(waits) > 0)


@pytest.mark.parametrize("name", ["strict_priority", "drr", "wrr", "scfq"])
def test_a_discipline_changes_what_classes_wait_in_the_machine(name):
    (rates, waits), (usual, before) = by_class(discipline=name)[0], by_class()[0]
    assert rates.sum() == pytest.approx(usual.sum(), rel=0.005)  # the link is full
    if name == "strict_priority":
        assert rates[3] == 0
        assert waits[1] < 0.2 * waits[2]
    else:
        np.testing.assert_allclose(rates[1:], usual[1:], rtol=0.02)
        assert np.abs(waits / before - 1).max() > 0.02
        assert (waits[0] > 1.5 * before[0]) == (name != "scfq")  # EF waits for a round, or for its tag


def test_four_flows_need_four_receivers_and_rules():
    with pytest.raises(ModelError, match="traffic by classes needs 4 receivers and at least as many rules, got 8 and"):
        IXP1200.with_(traffic="classes", receivers=8, receiver_engines=2).bounds()
