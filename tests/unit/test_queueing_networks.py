"""Open, mixed, multi-class and approximate networks, traffic equations and job bounds: each rule by hand."""

import numpy as np
import pytest

from npexplore.errors import InputError, RefusedError, UnknownNameError
from npexplore.solve.queueing import (
    approximate_mva,
    asymptotic_bounds,
    balanced_job_bounds,
    closed_visits,
    mg1,
    mixed_network,
    mm1,
    mmc,
    multiclass_asymptotic_bounds,
    multiclass_balanced_bounds,
    multiclass_mva,
    multiserver_rates,
    mva,
    open_network,
    open_rates,
)
from npexplore.solve.queueing.approximate import METHODS

ROUTING = [[0.0, 0.7, 0.3], [0.4, 0.0, 0.0], [0.5, 0.25, 0.25]]


def test_open_rates_balance_at_every_station():
    rates = open_rates(ROUTING, [0.0, 1.5, 0.0])
    np.testing.assert_allclose(rates, [0.0, 1.5, 0.0] + rates @ np.array(ROUTING))
    np.testing.assert_allclose(open_rates([[0.25]], [3.0]), [4.0])  # a loop taken with probability 1/4
    np.testing.assert_allclose(open_rates([[0, 0], [1, 0]], [2.0, 0.0]), [2.0, 0.0])


def test_closed_visits_are_relative_to_the_reference():
    routing = [[0.1, 0.6, 0.3], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]
    visits = closed_visits(routing, 2)
    np.testing.assert_allclose(visits @ np.array(routing), visits)
    assert visits[2] == 1.0
    np.testing.assert_allclose(closed_visits([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), [1, 1, 0])


def test_jackson_network():
    # a tandem of M/M/1 and M/M/3 with feedback: each station as if alone (Jackson)
    rates = open_rates([[0.0, 1.0], [0.2, 0.0]], [0.6, 0.0])
    demands = np.array([1.0, 2.5]) * rates / 0.6
    got = open_network(demands[:, None], 0.6, np.array([[1, 1, 1], [1, 2, 3.0]]))
    alone = [mm1(rates[0], 1.0).mean_number, mmc(rates[1], 2.5, 3).mean_number]
    np.testing.assert_allclose(got.queue_length[0, :, 0], alone)
    np.testing.assert_allclose(got.response_time, [[sum(alone) / 0.6]])
    np.testing.assert_allclose(got.utilization[0, :, 0], [rates[0], rates[1] * 2.5 / 3])


@pytest.mark.parametrize(("load", "servers"), [(0.01, 64), (30.0, 64), (63.9, 64), (0.999999, 1), (1e-9, 2), (0.0, 4)])
def test_open_multiserver_at_extreme_loads(load, servers):
    demands, rates = np.array([[load, 0.0], [0.1, 0.5]]), multiserver_rates([servers, 1], 64)
    got = open_network(demands, [1.0, 0.5], rates)
    expected = mmc(load, 1.0, servers).mean_number if load else 0.0
    np.testing.assert_allclose(got.queue_length[0, 0].sum(), expected, rtol=1e-6)


def test_open_classes_share_a_station_by_load_and_delays_never_queue():
    got = open_network([[0.2, 0.1], [3.0, 5.0]], [2.0, 4.0], delay=[False, True])
    np.testing.assert_allclose(got.queue_length[0], [[0.4 / 0.2, 0.4 / 0.2], [6.0, 20.0]])
    np.testing.assert_allclose(got.response_time[0], [1.0 + 3.0, 0.5 + 5.0])


def test_mixed_single_server_slows_the_closed_class():
    got = mixed_network([[0.5, 0.4], [0.0, 1.0]], [0.8, 0], [0, 4], [0, 2.0])
    slowed = mva([0.4 / 0.6, 1.0], 4, 2.0)
    np.testing.assert_allclose(got.throughput, [[0.8, slowed.throughput[0]]])
    np.testing.assert_allclose(got.queue_length[0, :, 1], slowed.queue_length[0])
    np.testing.assert_allclose(got.residence_time[0, 0, 0], 0.5 * (1 + slowed.queue_length[0, 0]) / 0.6)


def test_mixed_points_are_independent():
    rng = np.random.default_rng(2)
    demands, rates = rng.uniform(0.05, 0.3, (6, 3, 3)), np.array([[1, 2.0], [1, 1], [1, 1.5]])
    arrivals, population = [0.7, 0, 0], np.array([[0, a, 3 - a] for a in (0, 1, 2, 3, 1)] + [[0, 0, 0]])
    together = mixed_network(demands, arrivals, population, [0, 1.0, 0.5], rates)
    for p in range(6):
        alone = mixed_network(demands[p], arrivals, population[p], [0, 1.0, 0.5], rates)
        np.testing.assert_allclose(together.queue_length[p], alone.queue_length[0], rtol=1e-10)


def test_a_class_without_customers_changes_nothing():
    two = multiclass_mva([[0.5, 9.0], [1.0, 9.0]], [5, 0], [1.0, 0.0], [[1, 2], [1, 1]])
    one = mva([0.5, 1.0], 5, 1.0, [[1, 2], [1, 1]])
    np.testing.assert_allclose(two.queue_length[0, :, 0], one.queue_length[0])
    assert two.throughput[0, 1] == two.response_time[0, 1] == 0.0


def test_multiclass_points_are_independent():
    rng = np.random.default_rng(3)
    demands, population = rng.uniform(0, 1, (9, 4, 2)), np.array([1, 0]) + rng.integers(0, 5, (9, 2))
    for rates in (None, rng.uniform(0.5, 2, (9, 4, 3))):
        together = multiclass_mva(demands, population, [1.0, 0.5], rates)
        for p in range(9):
            alone = multiclass_mva(demands[p], population[p], [1.0, 0.5], None if rates is None else rates[p])
            np.testing.assert_allclose(together.queue_length[p], alone.queue_length[0], rtol=1e-12)


def test_multiclass_load_dependent_with_hundreds_of_customers():
    rates = multiserver_rates([16, 1], 300)
    two = multiclass_mva([[1.0, 1.0], [0.06, 0.06]], [280, 3], [40.0, 40.0], rates)
    one = mva([1.0, 0.06], 283, 40.0, rates)
    np.testing.assert_allclose(two.throughput.sum(), one.throughput[0], rtol=1e-10)
    np.testing.assert_allclose(two.queue_length.sum(axis=2), one.queue_length, rtol=1e-10)


def schweitzer_by_hand(demands, population, think):
    """One class: the fixed point R_k = D_k (1 + (N - 1) / N Q_k), iterated plainly."""
    queue = np.full(len(demands), population / len(demands))
    for _ in range(100_000):
        residence = demands * (1 + (population - 1) / population * queue)
        queue = population / (think + residence.sum()) * residence
    return queue


def test_schweitzer_is_its_fixed_point():
    demands = np.array([0.5, 1.0, 0.25])
    got = approximate_mva(demands[:, None], 7, 2.0, "Schweitzer")
    np.testing.assert_allclose(got.queue_length[0, :, 0], schweitzer_by_hand(demands, 7, 2.0), rtol=1e-7)
    assert got.approximation == "Schweitzer"


@pytest.mark.parametrize("method", METHODS)
def test_approximations_are_exact_for_one_customer_and_near_for_many(method):
    demands, think = [[0.7, 0.2], [0.4, 0.9], [0.3, 0.25]], [1.5, 0.5]
    one = approximate_mva(demands, [1, 0], think, method)
    np.testing.assert_allclose(one.throughput, [[1 / 2.9, 0]])
    many, exact = approximate_mva(demands, [40, 30], think, method), multiclass_mva(demands, [40, 30], think)
    np.testing.assert_allclose(many.throughput, exact.throughput, rtol=0.03)


@pytest.mark.parametrize("method", METHODS)
def test_stations_that_are_nearly_alike_with_a_million_customers(method):
    """Plain steps would take about a million rounds."""
    demands = np.array([1.0, 1 - 1e-5, 1 - 2e-5, 0.5])
    got, exact = approximate_mva(demands[:, None], 1_000_000, 1.0, method), mva(demands, 1_000_000, 1.0)
    np.testing.assert_allclose(got.throughput[0], exact.throughput, rtol=1e-6)
    np.testing.assert_allclose(got.queue_length[0].sum() + got.throughput[0, 0], 1_000_000, rtol=1e-9)
    np.testing.assert_allclose(got.queue_length[0, :, 0], exact.queue_length[0], rtol=0.15)


def test_load_dependent_stations_and_too_many_customers_for_their_tables():
    with pytest.raises(RefusedError, match="exact MVA: load-dependent stations with 9000000 customers need"):
        mva([1.0, 0.5], 9_000_000, 0.0, [[1, 2], [1, 1]])


def test_linearizer_is_closer_than_schweitzer():
    rng = np.random.default_rng(0)
    demands, population = rng.uniform(0.1, 1, (40, 3, 2)), rng.integers(2, 8, (40, 2))
    exact = multiclass_mva(demands, population, 1.0).throughput
    errors = [abs(approximate_mva(demands, population, 1.0, m).throughput / exact - 1).max() for m in METHODS]
    assert errors[1] < 0.02 < errors[0] < 0.15


def test_seidmann_is_named_and_near():
    exact = multiclass_mva([[2.0], [0.5]], 12, 1.0, multiserver_rates([4, 1], 12))
    got = approximate_mva([[2.0], [0.5]], 12, 1.0, servers=[4, 1])
    assert got.approximation == "Linearizer, Seidmann"
    np.testing.assert_allclose(got.throughput, exact.throughput, rtol=0.05)
    np.testing.assert_allclose(got.utilization[0, 0, 0], got.throughput[0, 0] * 2.0 / 4)
    np.testing.assert_allclose(got.queue_length.sum() + got.throughput[0, 0] * 1.0, 12, rtol=1e-8)


def test_fifo_residual_time_keeps_exponential_equal_service_as_it_is():
    arguments = ([[0.5, 0.5], [1.0, 1.0]], [4, 3], 1.0, "Schweitzer")
    plain, fifo = approximate_mva(*arguments), approximate_mva(*arguments, fifo=[True, True])
    np.testing.assert_allclose(plain.throughput, fifo.throughput, rtol=1e-8)
    assert fifo.approximation == "Schweitzer, FIFO residual time"


def test_fifo_residual_time_tends_to_mg1_when_customers_are_many_and_far():
    # 100000 customers that think 200000 s are a Poisson stream of 0.5 a second
    for scv in (0.0, 4.0):
        got = approximate_mva([[1.0]], 100_000, 200_000.0, "Schweitzer", fifo=[True], scv=scv)
        x = got.throughput[0, 0]
        np.testing.assert_allclose(got.residence_time[0, 0, 0], mg1(x, 1.0, scv).mean_response, rtol=1e-4)


def test_fifo_waits_for_the_service_of_those_it_meets():
    # many rare customers: waits of both classes are those of M/G/1 with the mixed service 0.2 or 1.8 seconds
    demands, think = [[0.2, 1.8]], [400_000.0, 400_000.0]
    got = approximate_mva(demands, [100_000, 100_000], think, "Schweitzer", fifo=[True])
    wait = got.residence_time[0, 0] - demands[0]
    load = 0.25 * 2.0
    expected = 0.25 * (0.2**2 + 1.8**2) / (1 - load)
    np.testing.assert_allclose(wait, expected, rtol=1e-3)


def test_fifo_residual_time_never_exceeds_capacity():
    got = approximate_mva([[1.0, 1.0], [0.25, 0.5]], [30, 20], 0.0, fifo=[True, True], scv=0.0)
    assert got.utilization.sum(axis=2).max() <= 1 + 1e-12
    np.testing.assert_allclose(got.queue_length.sum(axis=1), [[30, 20]], rtol=1e-6)


def test_bounds_by_hand():
    got = asymptotic_bounds([[2.0, 4.0, 1.0]], 3, 5.0, [1, 4, 1])
    np.testing.assert_allclose([got.upper[0], got.lower[0], got.knee[0]], [3 / 12, 3 / 26, 6.0])
    assert got.bottleneck[0] == 0
    tight = balanced_job_bounds([[2.0, 4.0]], 5)
    np.testing.assert_allclose([tight.lower[0], tight.upper[0]], [5 / 22, 0.25])
    assert tight.bottleneck[0] == 1
    several = multiclass_asymptotic_bounds([[1.0, 0.5], [0.25, 3.0]], [4, 1], [1.0, 0.0])
    np.testing.assert_allclose(several.upper, [[1.0, 1 / 3.5]])
    np.testing.assert_allclose(several.lower, [[4 / (2.25 + 4 * 1.0), 1 / (3.5 + 4 * 3.0)]])
    np.testing.assert_array_equal(several.bottleneck, [[0, 1]])
    # class 0 cannot be thinking more than 1 / 2.25 of its time: 4 (1 - 1 / 2.25) others are queued before class 1
    balanced = multiclass_balanced_bounds([[1.0, 0.5], [0.25, 3.0]], [4, 1], [1.0, 0.0])
    np.testing.assert_allclose(balanced.upper[0, 1], 1 / (3.5 + 0.5 * 4 * (1.25 / 2.25)))


NAMES = ["cpu", "bus"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: open_network([[0.5], [1.2]], 1.0, names=NAMES), ["offered load", "'bus'", "capacity of 1", "1.2"]),
        (lambda: open_network([[3.0], [0.2]], 1.0, [[1, 2, 2.5], [1] * 3], names=NAMES), ["'cpu'", "2.5", "3.0"]),
        (lambda: open_network([[0.5], [0.2]], 0.0), ["population or an arrival rate"]),
        (lambda: mixed_network([[0.5], [0.2]], 1.0, 2), ["arrival rate", "class 0"]),
        (lambda: multiclass_mva([[0.5, 1.0], [0.2, -1.0]], [1, 1], names=NAMES), ["'bus'", "class 1", "-1.0"]),
        (lambda: multiclass_mva([[0.5, 1.0], [0.2, np.nan]], [1, 1], names=NAMES), ["'bus'", "nan"]),
        (lambda: multiclass_mva([[0.5, 1.0], [0.2, 1.0]], [0, 0]), ["population", "at least 1"]),
        (lambda: multiclass_mva([[0.5, 1.0], [0.2, 1.0]], [1, 1.5]), ["population", "class 1", "1.5"]),
        (lambda: multiclass_mva([[0.5, 0.0], [0.2, 0.0]], [1, 1]), ["sum of demands", "class 1"]),
        (lambda: multiclass_mva([0.5, 0.0], [1, 1]), ["axes", "(2,)"]),
        (lambda: multiclass_mva([[0.5, 0.1]], [1, 1, 1]), ["population", "(3,)"]),
        (lambda: approximate_mva([[0.5, 0.1]], [1, 1], scv=[1.0, 2.0, 3.0]), ["scv", "(3,)"]),
        (lambda: open_rates([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0], NAMES), ["'cpu'", "no way out"]),
        (lambda: open_rates([[0.5, 0.6], [0.0, 0.0]], [1.0, 0.0], NAMES), ["'cpu'", "add up to 1", "1.1"]),
        (lambda: open_rates([[0.5, -0.6], [0.0, 0.0]], [1.0, 0.0], NAMES), ["routing", "'cpu'", "-0.6"]),
        (lambda: open_rates([[0.5, 0.5]], [1.0]), ["square", "(1, 2)"]),
        (lambda: closed_visits([[0.0, 0.9], [1.0, 0.0]], names=NAMES), ["'cpu'", "closed", "0.9"]),
        (lambda: closed_visits([[0.0, 1.0], [0.0, 1.0]], names=NAMES), ["'bus'", "back to station 'cpu'"]),
        (lambda: closed_visits([[0.0, 1.0], [1.0, 0.0]], 2), ["reference", "0..1", "2"]),
        (lambda: asymptotic_bounds([[0.0, 0.0]], 2), ["sum of demands"]),
        (lambda: asymptotic_bounds([[1.0, 0.5]], 2, servers=0), ["servers", "at least 1"]),
    ],
)
def test_wrong_input_is_named(call, words):
    with pytest.raises(InputError) as error:
        call()
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: multiclass_mva(np.ones((1, 2, 4)), [99] * 4), "population vectors.*approximate_mva"),
        (lambda: multiclass_mva(np.ones((2, 1)), 3000, 1e9, [[1, 2], [1, 1]]), "double precision"),
        (lambda: approximate_mva(np.ones((2, 1)), 3, rates=[[1, 1.5], [1, 1]]), "Linearizer: load-dependent"),
        (lambda: approximate_mva(np.ones((2, 1)), 3, servers=2, fifo=[1, 0]), "FIFO.*several servers"),
        (lambda: balanced_job_bounds([[1.0, 0.5]], 2, servers=2), "balanced-job.*several servers"),
    ],
)
def test_refusals_name_the_feature(call, words):
    with pytest.raises(RefusedError, match=words):
        call()


def test_unknown_method():
    with pytest.raises(UnknownNameError, match="Schweitzer"):
        approximate_mva([[1.0]], 3, method="Schweizer")
