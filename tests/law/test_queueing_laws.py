"""Laws that closed and open networks keep, on random ones: Little, utilization, monotony, bounds, special cases."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore._kernels import mva as kernels
from npexplore.solve.queueing import (
    METHODS,
    approximate_mva,
    asymptotic_bounds,
    balanced_job_bounds,
    flow_equivalent,
    mixed_network,
    mmc,
    mmck,
    multiclass_asymptotic_bounds,
    multiclass_balanced_bounds,
    multiclass_mva,
    mva,
    open_network,
)

demand = st.floats(0.01, 10) | st.just(0.0)
think = st.floats(0, 20)
level = st.floats(0.2, 6)
ONE = st.just(1)


@st.composite
def networks(draw, classes=ONE):
    """Demands (K, R), population (R,), think time (R,), rates (K, M)."""
    R, K, M = draw(classes), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    demands = np.array(draw(st.lists(st.lists(demand, min_size=R, max_size=R), min_size=K, max_size=K)))
    demands[draw(st.integers(0, K - 1))] += 0.1  # every class visits something
    rates = np.array(draw(st.lists(st.lists(level, min_size=M, max_size=M), min_size=K, max_size=K)))
    plain = draw(st.lists(st.booleans(), min_size=K, max_size=K))
    rates[np.array(plain)] = 1.0
    population = draw(st.lists(st.integers(1, 12 if R == 1 else 4), min_size=R, max_size=R))
    return demands, np.array(population), np.array(draw(st.lists(think, min_size=R, max_size=R))), rates


several = networks(st.integers(2, 3))


@given(networks())
def test_little_and_utilization_laws(network):
    demands, population, away, rates = network
    got = mva(demands[:, 0], population[0], away[0], rates)
    x = got.throughput[0]
    np.testing.assert_allclose(got.queue_length.sum() + x * away[0], population[0], rtol=1e-9)
    np.testing.assert_allclose(x * (got.response_time + away[0]), population, rtol=1e-9)
    np.testing.assert_allclose(got.utilization[0], x * demands[:, 0] / rates.max(axis=1), rtol=1e-12)
    assert got.utilization.max() < 1 + 1e-9
    assert got.queue_length.min() >= 0


@given(several)
def test_little_and_utilization_laws_of_classes(network):
    demands, population, away, rates = network
    got = multiclass_mva(demands, population, away, rates)
    np.testing.assert_allclose(got.queue_length.sum(axis=1) + got.throughput * away, [population], rtol=1e-9)
    np.testing.assert_allclose(got.throughput * (got.response_time + away), [population], rtol=1e-9)
    assert got.utilization.sum(axis=2).max() < 1 + 1e-9


@given(networks())
def test_one_class_is_the_single_class_solver(network):
    demands, population, away, rates = network
    for capacity in (None, rates):
        one = mva(demands[:, 0], population[0], away[0], capacity)
        many = multiclass_mva(demands, population, away, capacity)
        np.testing.assert_allclose(many.throughput[0], one.throughput, rtol=1e-9)
        np.testing.assert_allclose(many.queue_length[0, :, 0], one.queue_length[0], rtol=1e-8, atol=1e-12)


@given(several)
def test_equal_classes_add_up_to_one(network):
    demands, population, away, rates = network
    same = np.repeat(demands[:, :1], len(population), axis=1)
    many = multiclass_mva(same, population, away[0], rates)
    one = mva(demands[:, 0], population.sum(), away[0], rates)
    np.testing.assert_allclose(many.throughput[0], one.throughput[0] * population / population.sum(), rtol=1e-9)
    np.testing.assert_allclose(many.queue_length[0].sum(axis=1), one.queue_length[0], rtol=1e-8, atol=1e-12)


@given(networks())
def test_load_dependent_with_all_ones_is_load_independent(network):
    demands, population, away, _ = network
    table, X, Q = np.ascontiguousarray(demands.T), np.empty(1), np.empty((1, len(demands)))
    kernels.load_dependent(
        np.empty((1, 0)), table, np.ones((1, len(demands), 3)), population, away, X, np.empty((1, 0)), Q
    )
    plain = mva(demands[:, 0], population[0], away[0])
    np.testing.assert_allclose(X, plain.throughput, rtol=1e-12)
    np.testing.assert_allclose(Q, plain.queue_length, rtol=1e-11, atol=1e-15)


def plain_mva(demands, population, away):
    """The recursion of the load-independent kernel for one network, in plain Python."""
    queue = [0.0] * len(demands)
    x = 0.0
    for n in range(1, population + 1):
        residence = [d * (1 + q) for d, q in zip(demands, queue, strict=True)]
        x = n / (away + sum(residence))
        queue = [x * r for r in residence]
    return x, queue


@given(
    st.lists(networks(), min_size=1, max_size=40).map(lambda many: [n for n in many if len(n[0]) == len(many[0][0])])
)
def test_kernel_of_many_points_is_the_plain_recursion(many):
    demands = np.array([n[0][:, 0] for n in many])
    population, away = np.array([n[1][0] for n in many]), np.array([n[2][0] for n in many])
    got = mva(demands, population, away)
    for p in range(len(many)):
        x, queue = plain_mva(demands[p], population[p], away[p])
        np.testing.assert_allclose(got.throughput[p], x, rtol=1e-12)
        np.testing.assert_allclose(got.queue_length[p], queue, rtol=1e-12)


@given(networks(), st.floats(1.01, 3))
def test_monotone_in_population_demand_and_think_time(network, factor):
    demands, population, away, _ = network
    x = mva(demands[:, 0], population[0], away[0]).throughput[0]
    assert mva(demands[:, 0], population[0] + 1, away[0]).throughput[0] >= x * (1 - 1e-12)
    assert mva(demands[:, 0] * factor, population[0], away[0]).throughput[0] <= x * (1 + 1e-12)
    assert mva(demands[:, 0], population[0], away[0] * factor).throughput[0] <= x * (1 + 1e-12)


@given(networks(), st.integers(1, 8))
def test_bounds_bracket_mva(network, servers):
    demands, population, away, _ = network
    x = mva(demands[:, 0], population[0], away[0]).throughput[0]
    wide = asymptotic_bounds(demands[:, 0], population[0], away[0])
    tight = balanced_job_bounds(demands[:, 0], population[0], away[0])
    slack = 1e-12 * x
    assert wide.lower[0] - slack <= tight.lower[0] <= x + slack
    assert x - slack <= tight.upper[0] <= wide.upper[0] + slack
    assert wide.bottleneck[0] == demands[:, 0].argmax()
    rates = np.minimum(np.arange(1.0, servers + 1), servers) * np.ones((len(demands), 1))
    faster = mva(demands[:, 0], population[0], away[0], rates).throughput[0]
    several = asymptotic_bounds(demands[:, 0], population[0], away[0], servers)
    assert several.lower[0] * (1 - 1e-9) <= faster <= several.upper[0] * (1 + 1e-9)


@given(several)
def test_bounds_bracket_multiclass_mva(network):
    demands, population, away, _ = network
    x = multiclass_mva(demands, population, away).throughput
    wide = multiclass_asymptotic_bounds(demands, population, away)
    tight = multiclass_balanced_bounds(demands, population, away)
    assert (tight.lower <= x * (1 + 1e-9)).all()
    assert (x <= tight.upper * (1 + 1e-9)).all()
    assert (tight.upper <= wide.upper * (1 + 1e-12)).all()


@given(several)
def test_mixed_without_open_load_is_closed(network):
    demands, population, away, rates = network
    closed = multiclass_mva(demands, population, away, rates)
    mixed = mixed_network(demands, 0.0, population, away, rates)
    np.testing.assert_allclose(mixed.throughput, closed.throughput, rtol=1e-9)
    np.testing.assert_allclose(mixed.queue_length, closed.queue_length, rtol=1e-8, atol=1e-12)


@given(several, st.floats(0.01, 0.95))
def test_mixed_networks_obey_little(network, share):
    demands, population, away, rates = network
    population, arrivals = population.copy(), np.zeros(len(population))
    population[0] = 0
    arrivals[0] = share * (rates[:, -1] / np.maximum(demands[:, 0], 1e-9)).min()
    got = mixed_network(demands, arrivals, population, away, rates)
    number = got.queue_length.sum(axis=1)
    np.testing.assert_allclose(
        number + got.throughput * np.where(population, away, 0.0),
        [np.where(population, population, arrivals * got.response_time[0])],
        rtol=1e-8,
    )


@given(several, st.floats(0.01, 0.95))
def test_open_load_slows_single_servers(network, share):
    demands, population, away, _ = network
    population, arrivals = population.copy(), np.zeros(len(population))
    population[0], population[1:] = 0, np.maximum(population[1:], 1)
    arrivals[0] = share / demands[:, 0].max()
    one, none = population * (np.arange(len(population)) == 1), np.zeros(len(population))
    # with one closed class more load can only slow it, and the closed class only slows the open one
    got, closed = mixed_network(demands, arrivals, one, away), mixed_network(demands, none, one, away)
    assert got.throughput[0, 1] <= closed.throughput[0, 1] * (1 + 1e-9)
    alone = open_network(demands, arrivals)
    assert (got.queue_length[0, :, 0] >= alone.queue_length[0, :, 0] * (1 - 1e-9)).all()


@given(several)
def test_approximate_mva_keeps_the_laws_and_the_bounds(network):
    demands, population, away, _ = network
    bounds = multiclass_asymptotic_bounds(demands, population, away)
    for method in METHODS:
        got = approximate_mva(demands, population, away, method)
        np.testing.assert_allclose(got.queue_length.sum(axis=1) + got.throughput * away, [population], rtol=1e-7)
        assert (got.throughput <= bounds.upper * (1 + 1e-6)).all()
        exact = multiclass_mva(demands, population, away)
        np.testing.assert_allclose(got.throughput, exact.throughput, rtol=0.35)


def plain_schweitzer(demands, population, away, fifo, scv):
    """The fixed point of several classes in whole arrays, without short cuts: (Q (K, R), X (R,))."""
    R = len(population)
    queue, x = np.outer(np.ones(len(demands)), population / len(demands)), np.zeros(R)
    for _ in range(20_000):
        residence = np.empty_like(demands)
        for r in range(R):
            share = (population - (np.arange(R) == r)) / population
            met, busy = queue * share, x * demands * share
            wait = ((met + busy * (scv - 1) / 2) * demands).sum(axis=1)
            residence[:, r] = demands[:, r] + np.where(fifo, wait, demands[:, r] * met.sum(axis=1))
        x = population / (away + residence.sum(axis=0))
        if np.abs(x * residence - queue).max() < 1e-13 * population.sum():
            break
        queue = x * residence
    return queue, x


@settings(max_examples=40)
@given(several, st.lists(st.booleans(), min_size=4, max_size=4), st.sampled_from((1.0, 2.0)))
def test_schweitzer_is_its_plain_fixed_point(network, flags, scv):
    demands, population, away, _ = network
    fifo = np.array(flags[: len(demands)])
    got = approximate_mva(demands, population, away, "Schweitzer", fifo=fifo, scv=scv)
    queue, x = plain_schweitzer(demands, population, away, fifo, scv)
    np.testing.assert_allclose(got.throughput[0], x, rtol=1e-5)
    np.testing.assert_allclose(got.queue_length[0], queue, rtol=1e-4, atol=1e-5 * population.sum())


@given(networks())
def test_flow_equivalent_station_stands_for_its_group(network):
    demands, population, away, rates = network
    curve = flow_equivalent(demands[:, 0], population[0], rates)
    outside = np.array([0.4, 1.0])
    station = np.concatenate([np.ones((1, population[0])), curve])
    whole = mva(
        np.append(demands[:, 0], 0.4), population[0], away[0], np.append(rates, np.ones((1, rates.shape[1])), 0)
    )
    got = mva(outside, population[0], away[0], station)
    np.testing.assert_allclose(got.throughput, whole.throughput, rtol=1e-9)
    np.testing.assert_allclose(got.queue_length[0, 0], whole.queue_length[0, -1], rtol=1e-8)


@given(st.floats(0.01, 0.97), st.integers(1, 20), st.floats(1e-9, 1e3))
def test_a_large_room_is_no_room_limit(share, servers, service):
    rate = share * servers / service
    free, limited = mmc(rate, service, servers), mmck(rate, service, servers, 1500)
    np.testing.assert_allclose(limited.mean_response, free.mean_response, rtol=1e-6)
    np.testing.assert_allclose(limited.mean_number, limited.throughput * limited.mean_response)
