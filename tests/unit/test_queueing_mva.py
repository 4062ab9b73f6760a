"""Single-class MVA against an independent reference: the normalizing constant in exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from npexplore.errors import InputError, RefusedError
from npexplore.solve.queueing.mva import flow_equivalent, multiserver_rates, mva, stack_rates


def buzen(demands, population, think=0, rates=None):
    """X and queue lengths from G(n) = sum of products f_k(n_k), convolved in fractions: no rounding at all."""

    def factors(k):
        row, alpha = [Fraction(1)], rates[k] if rates is not None else [1]
        for j in range(1, population + 1):
            row.append(row[-1] * Fraction(demands[k]) / Fraction(alpha[min(j, len(alpha)) - 1]))
        return row

    def convolve(a, b):
        return [sum(a[i] * b[n - i] for i in range(n + 1)) for n in range(population + 1)]

    away = [Fraction(1)]
    for j in range(1, population + 1):
        away.append(away[-1] * Fraction(think) / j)
    count = len(demands)
    total = away
    for k in range(count):
        total = convolve(total, factors(k))
    queues = []
    for k in range(count):
        rest = away
        for other in range(count):
            if other != k:
                rest = convolve(rest, factors(other))
        own = factors(k)
        queues.append(float(sum(j * own[j] * rest[population - j] for j in range(population + 1)) / total[population]))
    return float(total[population - 1] / total[population]), queues


@pytest.mark.parametrize("population", [1, 2, 5, 17])
@pytest.mark.parametrize("think", [0.0, 3.5])
def test_load_independent(population, think):
    demands = [0.5, 1.25, 0.0, 2.0]
    x, queues = buzen(demands, population, think)
    got = mva(demands, population, think)
    np.testing.assert_allclose(got.throughput, [x], rtol=1e-13)
    np.testing.assert_allclose(got.queue_length, [queues], rtol=1e-12, atol=1e-15)
    assert got.approximation is None


@pytest.mark.parametrize("stations", [9, 20])
def test_a_point_alone_is_bit_equal_to_the_same_point_in_a_batch(stations):
    r = np.random.default_rng(stations)
    demands, think, people = r.uniform(1e-9, 1e-6, (30, stations)), r.uniform(0, 1e-6, 30), r.integers(1, 6, 30)
    delay = np.arange(stations) % 3 == 0
    for rates in (None, multiserver_rates(1 + np.arange(stations) % 2, 5)):
        together = mva(demands, people, think, rates, delay=delay)
        curves = flow_equivalent(demands, 5, rates, think, delay=delay)
        for p in range(30):
            alone = mva(demands[p], people[p], think[p], rates, delay=delay)
            for part in ("throughput", "queue_length", "residence_time", "utilization", "response_time"):
                np.testing.assert_array_equal(getattr(together, part)[p], getattr(alone, part)[0])
            np.testing.assert_array_equal(curves[p], flow_equivalent(demands[p], 5, rates, think[p], delay=delay)[0])


RATES = [
    [1, 1, 1, 1],  # a single server
    [1, 2, 3, 3],  # three servers
    [1, 1.5, 1.25, 0.5],  # a resource that thrashes
    [1, 2, 3, 4],
]


@pytest.mark.parametrize("population", [1, 2, 3, 4, 5, 6, 13, 40])
@pytest.mark.parametrize("think", [0.0, 2.0])
def test_load_dependent(population, think):
    demands = [0.5, 1.25, 0.25, 2.0]
    x, queues = buzen(demands, population, think, RATES)
    got = mva(demands, population, think, RATES)
    np.testing.assert_allclose(got.throughput, [x], rtol=1e-12)
    np.testing.assert_allclose(got.queue_length, [queues], rtol=1e-12)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_load_dependent_only_and_in_any_order(order):
    demands, rates = np.array([0.5, 3.0, 1.0])[order], np.array([[1, 2.0], [1, 1.75], [2, 1.0]])[order]
    x, queues = buzen(demands, 9, 0, rates)
    got = mva(demands, 9, 0.0, rates)
    np.testing.assert_allclose(got.throughput, [x], rtol=1e-13)
    np.testing.assert_allclose(got.queue_length, [queues], rtol=1e-13)


def subtracting_mva(demand, servers, think, population):
    """The textbook form with p(0|n) = 1 - sum p(j|n), for one multi-server station and a think time."""
    p = np.zeros(population + 1)
    p[0] = 1.0
    levels = np.minimum(np.arange(1, population + 1), servers)
    for n in range(1, population + 1):
        residence = demand * (np.arange(1, n + 1) / levels[:n] * p[:n]).sum()
        x = n / (think + residence)
        p[1 : n + 1] = x * demand / levels[:n] * p[:n]
        p[0] = 1 - p[1 : n + 1].sum()
    return x


def test_stays_exact_near_saturation_where_the_textbook_form_breaks():
    demand, servers, think, population = 1.0, 12, 4.0, 120
    rates = multiserver_rates(servers, population)
    x, queues = buzen([demand], population, think, rates)
    assert abs(subtracting_mva(demand, servers, think, population) / x - 1) > 1e-6
    got = mva([demand], population, think, rates)
    np.testing.assert_allclose(got.throughput, [x], rtol=1e-13)
    np.testing.assert_allclose(got.queue_length, [queues], rtol=1e-13)


def test_large_multiserver_population():
    demands, population = [1.0, 0.03125], 150
    rates = np.ones((2, 32))
    rates[0] = multiserver_rates(32, population)
    x, queues = buzen(demands, population, 8, rates)
    got = mva(demands, population, 8.0, rates)
    np.testing.assert_allclose(got.throughput, [x], rtol=1e-12)
    np.testing.assert_allclose(got.queue_length, [queues], rtol=1e-11)


def test_points_of_different_populations_are_independent():
    rng = np.random.default_rng(5)
    demands, population, think = rng.uniform(0, 2, (53, 3)), rng.integers(1, 23, 53), rng.uniform(0, 3, 53)
    rates = rng.uniform(0.5, 3, (53, 3, 4))
    rates[:, 1] = 1.0
    together, plain = mva(demands, population, think, rates), mva(demands, population, think)
    for p in range(53):
        alone = mva(demands[p], population[p], think[p], rates[p])
        np.testing.assert_allclose(alone.throughput[0], together.throughput[p], rtol=1e-13)
        np.testing.assert_allclose(alone.queue_length[0], together.queue_length[p], rtol=1e-12)
        x, queues = buzen(demands[p], int(population[p]), think[p])
        np.testing.assert_allclose(plain.throughput[p], x, rtol=1e-12)
        np.testing.assert_allclose(plain.queue_length[p], queues, rtol=1e-12)


def test_shared_rates_equal_rates_per_point():
    demands, rates = np.random.default_rng(1).uniform(0.1, 2, (20, 4)), np.array(RATES, float)
    shared, own = mva(demands, 9, 1.0, rates), mva(demands, 9, 1.0, np.repeat(rates[None], 20, axis=0))
    np.testing.assert_allclose(shared.queue_length, own.queue_length, rtol=1e-13)


def test_delay_station_is_think_time():
    got = mva([1.0, 2.0, 0.5], 7, 1.0, delay=[False, True, False])
    same = mva([1.0, 0.5], 7, 3.0)
    np.testing.assert_allclose(got.throughput, same.throughput)
    np.testing.assert_allclose(got.queue_length[:, [0, 2]], same.queue_length)
    np.testing.assert_allclose(got.queue_length[:, 1], got.throughput * 2.0)
    np.testing.assert_allclose(got.residence_time[:, 1], 2.0)
    mixed = mva([1.0, 2.0, 0.5], 7, 1.0, [[1, 2], [1, 1], [1, 1]], delay=[False, True, False])
    x, _ = buzen([1.0, 0.5], 7, 3, [[1, 2], [1, 1]])
    np.testing.assert_allclose(mixed.throughput, [x], rtol=1e-13)


def test_utilization_is_of_the_largest_capacity():
    got = mva([1.0, 0.5], 50, 0.0, [[1, 2, 3], [1, 1, 1]])
    np.testing.assert_allclose(got.utilization, got.throughput[:, None] * [[1 / 3, 0.5]])
    assert got.utilization.argmax() == 1
    assert got.utilization.max() < 1


def test_flow_equivalent_station_replaces_its_group_exactly():
    inner, rates = [0.5, 1.5], [[1, 2], [1, 1]]
    whole = mva([*inner, 0.75], 11, 2.0, [*rates, [1, 1]])
    curve = flow_equivalent(inner, 11, rates)
    assert curve.shape == (1, 11)
    np.testing.assert_allclose(curve[0, 4], buzen(inner, 5, 0, rates)[0])
    collapsed = mva([1.0, 0.75], 11, 2.0, np.concatenate([curve, np.ones((1, 11))])[None])
    np.testing.assert_allclose(collapsed.throughput, whole.throughput, rtol=1e-13)
    np.testing.assert_allclose(collapsed.queue_length[0, 0], whole.queue_length[0, :2].sum(), rtol=1e-12)


def test_flow_equivalent_takes_points_with_rates_of_their_own():
    demands, rates = [[1.0, 2.0], [0.5, 0.5]], np.array([[[1, 2.0], [1, 1]], [[1, 1], [1, 1.5]]])
    curve = flow_equivalent(demands, 6, rates)
    for p in range(2):
        np.testing.assert_allclose(curve[p, 5], buzen(demands[p], 6, 0, rates[p])[0])


def test_stack_rates_continues_the_last_capacity():
    got = stack_rates([1, 2], [[1, 1.5, 3], [2, 2, 2]], 1.0)
    np.testing.assert_array_equal(got, [[1, 2, 2], [1, 1.5, 3], [2, 2, 2], [1, 1, 1]])
    points = np.arange(1.0, 5).reshape(2, 1, 2)
    np.testing.assert_array_equal(stack_rates(points, [7.0]), [[[1, 2], [7, 7]], [[3, 4], [7, 7]]])
    with pytest.raises(InputError, match="same points"):
        stack_rates(points, np.ones((3, 1, 2)))


def test_residual_time_with_scv_1_is_exact_and_named_otherwise():
    exact, same = mva([1.0, 2.0], 6, 1.0), mva([1.0, 2.0], 6, 1.0, scv=[1, 1])
    np.testing.assert_array_equal(exact.queue_length, same.queue_length)
    assert same.approximation is None
    assert mva([1.0, 2.0], 6, 1.0, scv=[0, 0]).approximation == "residual-time MVA"


def test_residual_time_at_two_customers_by_hand():
    # n = 1: R = D, X = 1 / (1 + 2 + 3) = 1/6, Q = U = (1/6, 2/6); n = 2 with constant service: who is met in service
    # has half of it left: R = (1 + 1/6 - 1/12, 2 (1 + 2/6 - 1/6))
    got = mva([1.0, 2.0], 2, 3.0, scv=[0.0, 0.0])
    residence = np.array([13 / 12, 7 / 3])
    np.testing.assert_allclose(got.residence_time, [residence])
    np.testing.assert_allclose(got.throughput, [2 / (3 + residence.sum())])


def test_residual_time_never_exceeds_the_bottleneck():
    demands = np.tile([1.0, 0.25], (39, 1))
    got = mva(demands, np.arange(1, 40), 0.0, scv=[0.0, 0.0])
    assert got.throughput.max() <= 1.0
    np.testing.assert_allclose(got.queue_length.sum(axis=1), np.arange(1, 40))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, -2.0], 3), ["demand", "'bus'", "-2.0"]),
        (([np.nan, 2.0], 3), ["demand", "'cpu'", "nan"]),
        (([1.0, 2.0], 0), ["population", "at least 1", "0"]),
        (([1.0, 2.0], 2.5), ["population", "2.5"]),
        (([0.0, 0.0], 3), ["sum of demands", "above", "got 0.0"]),
        (([1.0, 2.0], 3, -1.0), ["think time", "-1.0"]),
        (([1.0, 2.0], 3, 0.0, [[1, 0], [1, 1]]), ["rate", "'cpu'", "customers 1", "0.0"]),
        (([1.0, 2.0], 3, 0.0, [[1, 2]]), ["rates", "(1, 2)"]),
        (([1.0, "x"], 3), ["demand", "numbers"]),
    ],
)
def test_wrong_input_is_named(arguments, words):
    with pytest.raises(InputError) as error:
        mva(*arguments, names=["cpu", "bus"])
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("rates", [None, [[1, 2], [1, 1]]])
def test_no_points_give_no_results(rates):
    got = mva(np.empty((0, 2)), 3, 0.0, rates)
    assert got.throughput.shape == (0,)
    assert got.queue_length.shape == (0, 2)


def test_refuses_by_name():
    with pytest.raises(RefusedError, match="coefficient of variation"):
        mva([1.0, 2.0], 3, 0.0, [[1, 2], [1, 1]], scv=[0, 0])
    wide = np.arange(1.0, 2001)[None]
    with pytest.raises(RefusedError, match=r"'pool'.*2000 customers"):
        mva([1.0, 2.0], 2000, 0.0, np.concatenate([np.ones_like(wide), wide]), names=["cpu", "pool"])
