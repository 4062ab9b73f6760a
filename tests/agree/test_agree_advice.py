"""Advice does what it promises: changes of random machines beside long runs of them (reference/advice_truths.py)."""

import pytest
from reference.advice_truths import NARROW, judged

pytestmark = pytest.mark.slow
MACHINES = range(14)  # all 200: docs/explain.md; every fifth machine has two servers that bind together


def test_the_first_change_gains_what_is_promised():
    rows, without = judged(MACHINES)
    assert len(rows) >= 11, f"advice without a truth: {without}; make it (reference/advice_truths.py)"
    assert sum(row.joint for row in rows) >= 2
    assert sum(row.holds() for row in rows) >= 0.9 * len(rows), rows
    assert sum(row.binds for row in rows) >= 0.9 * len(rows), rows
    assert sum(row.half <= NARROW for row in rows) >= 0.8 * len(rows), rows
    assert sum(row.holds(widen=0.01) for row in rows) < 0.9 * len(rows)  # intervals that are too narrow show
