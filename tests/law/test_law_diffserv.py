"""Laws of the functional DiffServ router: the kernel equals the reference; links and queues keep their rules."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from npexplore.golden.diffserv import Fate, simulate_diffserv
from npexplore.golden.diffserv.reference import simulate_plainly
from npexplore.golden.schedule import SCHEDULERS
from tests.reference.diffserv_cases import routers

COLUMNS = ["ready_ns", "departure_ns", "fate", "colour", "dscp"]


def same(one, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@settings(deadline=None, max_examples=30)
@given(routers())
def test_columns_equal_the_reference(case):
    router, arrivals = case
    same(simulate_diffserv(router, arrivals, seed=3), simulate_plainly(router, arrivals, seed=3))
    smaller = np.maximum(arrivals.length_bytes - 18, 1)  # IP packets for policers, shorter frames for queues
    counted = replace(arrivals, policed_bytes=smaller, queued_bytes=(arrivals.length_bytes + smaller) // 2)
    same(simulate_diffserv(router, counted, seed=3), simulate_plainly(router, counted, seed=3))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(routers())
def test_columns_equal_the_reference_in_many_cases(case):
    router, arrivals = case
    same(simulate_diffserv(router, arrivals, seed=4), simulate_plainly(router, arrivals, seed=4))


@settings(deadline=None, max_examples=40)
@given(routers(list(SCHEDULERS)))
def test_a_packet_is_sent_or_dropped_for_a_reason(case):
    router, arrivals = case
    outcome = simulate_diffserv(router, arrivals)
    assert ((outcome.departure_ns >= 0) == (outcome.fate == Fate.SENT)).all()
    assert ((outcome.ready_ns < 0) == (outcome.fate == Fate.BUFFER_FULL)).all()
    table = outcome.by_class()
    assert (table[[fate.name.lower() for fate in Fate]].sum(axis=1) == table["offered"]).all()
    assert table["offered"].sum() == len(arrivals) == outcome.by_rule()["offered"].sum()
    assert table["offered_bytes"].sum() == arrivals.length_bytes.sum()
    for row in np.flatnonzero(outcome.fate == Fate.POLICED):
        treatment = router.treatments[arrivals.rule[row]]
        assert treatment.drop_from is not None
        assert outcome.colour[row] >= treatment.drop_from


@settings(deadline=None, max_examples=40)
@given(routers(list(SCHEDULERS)))
def test_links_send_one_packet_at_a_time_and_no_class_overtakes_itself(case):
    router, arrivals = case
    outcome = simulate_diffserv(router, arrivals)
    for number, port in enumerate(router.ports):
        rows = np.flatnonzero(outcome.sent & (arrivals.port == number))
        rows = rows[np.argsort(outcome.departure_ns[rows], kind="stable")]
        gap = Fraction(port.gap_bytes + port.preamble_bytes)
        for before, after in pairwise(rows):
            apart = int(outcome.departure_ns[after] - outcome.departure_ns[before])
            assert apart + 1 > (gap + int(arrivals.length_bytes[after])) / port.rate.fraction
        for row in rows:
            alone = (port.preamble_bytes + int(arrivals.length_bytes[row])) / port.rate.fraction
            assert outcome.departure_ns[row] - outcome.ready_ns[row] >= alone
        for kind in range(len(router.classes)):
            mine = rows[outcome.class_number[rows] == kind]
            order = np.lexsort((mine, outcome.ready_ns[mine]))
            assert (np.diff(outcome.departure_ns[mine[order]]) >= 0).all()


@settings(deadline=None, max_examples=40)
@given(routers(list(SCHEDULERS)))
def test_queues_never_hold_more_than_their_limits(case):
    """A packet that joins finds fewer waiting than the queue may hold: those that joined before and start later."""
    router, arrivals = case
    outcome = simulate_diffserv(router, arrivals)
    for row in np.flatnonzero(outcome.sent).tolist():
        port, kind = int(arrivals.port[row]), int(outcome.class_number[row])
        limits, now = router.ports[port].queues[kind].limits, int(outcome.ready_ns[row])
        held = []
        for other in np.flatnonzero(outcome.sent & (arrivals.port == port) & (outcome.class_number == kind)).tolist():
            size = router.ports[port].preamble_bytes + int(arrivals.length_bytes[other])
            started_after = int(outcome.departure_ns[other]) - 1 - size / router.ports[port].rate.fraction
            if (outcome.ready_ns[other], other) < (now, row) and started_after >= now:
                held.append(int(arrivals.length_bytes[other]))
        assert limits.packets is None or len(held) < limits.packets
        assert limits.bytes is None or sum(held) + int(arrivals.length_bytes[row]) <= limits.bytes
