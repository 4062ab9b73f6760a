"""The compiled recursion by residual times equals the plain one, for any networks."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.plain_residual import residual_curve

from npexplore.solve.queueing import residual as module
from npexplore.solve.queueing.residual import Home, residual


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), points=st.integers(1, 3), stations=st.integers(0, 4), customers=st.integers(1, 9))
def test_the_kernel_equals_the_plain_recursion(seed, points, stations, customers):
    r = np.random.default_rng(seed)
    demands = r.choice([0.0, 1e-9, 3e-8, 5e-7], (points, stations)) * r.uniform(0.5, 2, (points, stations))
    rates = np.ones((r.choice([1, points]), stations, r.integers(1, 5)))
    varying = r.random(stations) < 0.5
    rates[:, varying] = r.uniform(0.3, 3.0, rates[:, varying].shape)
    scv, think = r.uniform(0, 2, (points, stations)), r.choice([-1e-8, 1e-8, 4e-7], points)
    all_of = customers + int(r.integers(3))
    fewer = ["part", "in_turn", "any"]
    homes = [Home(2, all_of, r.choice(fewer)) if not varying[k] and r.random() < 0.4 else None for k in range(stations)]
    waits = r.uniform(0, 1, (points, stations)) if r.random() < 0.5 else None
    if not demands.sum(axis=1).all():
        think = np.abs(think)
    chances = r.dirichlet(np.ones(customers + 1))
    arguments = demands, customers, think, rates, scv, homes
    compiled, last = residual(*arguments, chances, waits), residual(*arguments, np.eye(customers + 1)[-1], waits)
    with patch.object(module, "residual_curve", residual_curve):
        plain = residual(*arguments, chances, waits)
    assert compiled.throughput == pytest.approx(plain.throughput, rel=1e-9)
    assert compiled.queue_length == pytest.approx(plain.queue_length, rel=1e-9, abs=1e-13)
    mean, of_plain = compiled.occupancy, plain.occupancy
    assert mean.throughput == pytest.approx(of_plain.throughput, rel=1e-9)
    assert mean.queue_length == pytest.approx(of_plain.queue_length, rel=1e-9, abs=1e-13)
    assert last.occupancy.queue_length == pytest.approx(compiled.queue_length[0], rel=1e-12)
    assert 0 < mean.throughput <= chances[1:] @ compiled.throughput[0] * (1 + 1e-12)  # where the curve may not fall
    for station, here in mean.chances.items():
        assert here.sum() == pytest.approx(1.0)
        assert here == pytest.approx(of_plain.chances[station], rel=1e-9, abs=1e-13)
    assert residual(*arguments, None, waits).occupancy is None


def test_customers_in_turn_may_be_more_than_belong_to_servers():
    """Banks that recover count as customers more: four of three in turn are two on one server, one on each other."""
    numbers = Home(3, 3, "in_turn").shared(7)
    for n, row in enumerate(numbers, 1):
        assert row[:, 1].sum() == 3
        assert row[:, 0] @ row[:, 1] == n
