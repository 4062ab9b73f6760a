"""Single queues and birth-death chains against Markov chains, transforms worked by hand, and textbook numbers."""

import inspect

import numpy as np
import pytest
from reference.markov import stationary
from scipy.integrate import quad

from npexplore import queueing
from npexplore.errors import InputError, RefusedError, UnknownNameError
from npexplore.solve.queueing import (
    erlang_b,
    ggc,
    machine_repairman,
    md1,
    mg1,
    mg1_priority,
    mg1_ps,
    mm1,
    mmc,
    mmck,
    steady_state,
    transient,
)


def chain(birth, death):
    """Stationary probabilities of births and deaths."""
    return stationary(np.diag(np.asarray(birth, float), 1) + np.diag(np.asarray(death, float), -1))


def truncated(rate, service, servers, room):
    states = np.arange(1, room + 1)
    p = chain(np.full(room, rate), np.minimum(states, servers) / service)
    number = p @ np.arange(room + 1)
    wait = p @ np.maximum(np.arange(room + 1) - servers, 0)
    return p, number, wait


@pytest.mark.parametrize(("rate", "service", "servers"), [(0.8, 1.0, 1), (3.0, 0.9, 4), (0.05, 2.0, 3), (9.0, 0.8, 8)])
def test_mmc(rate, service, servers):
    _, number, wait = truncated(rate, service, servers, 600)
    got = mmc(rate, service, servers)
    np.testing.assert_allclose([got.mean_number, got.mean_wait], [number, wait / rate], rtol=1e-6)
    np.testing.assert_allclose(got.utilization, rate * service / servers)


def test_mm1_by_hand():
    got = mm1(np.array([0.5, 0.9]), 1.0)
    np.testing.assert_allclose(got.mean_number, [1.0, 9.0])
    np.testing.assert_allclose(got.mean_wait, [1.0, 9.0])
    np.testing.assert_allclose(got.mean_response, [2.0, 10.0])


def test_erlang_b_by_its_definition():
    # a = 2 erlangs on 3 lines: (8 / 6) / (1 + 2 + 2 + 8 / 6) = 4 / 19
    np.testing.assert_allclose(erlang_b(2.0, [1, 2, 3]), [2 / 3, 2 / 5, 4 / 19])


@pytest.mark.parametrize(
    ("rate", "service", "servers", "room"), [(0.8, 1.0, 1, 5), (3.0, 1.0, 2, 2), (5.0, 1.0, 3, 9), (2.0, 1.0, 4, 3)]
)
def test_mmck(rate, service, servers, room):
    p, number, waiting = truncated(rate, service, servers, room)
    got = mmck(rate, service, servers, room)
    passed = rate * (1 - p[-1])
    np.testing.assert_allclose(
        [got.loss, got.mean_number, got.throughput, got.mean_wait], [p[-1], number, passed, waiting / passed], rtol=1e-9
    )


def test_mmck_batch_equals_one_by_one():
    rates, rooms = np.array([0.5, 1.0, 3.0]), np.array([4, 1, 7])
    got = mmck(rates, 1.0, 2, rooms)
    for i in range(3):
        one = mmck(rates[i], 1.0, 2, rooms[i])
        np.testing.assert_allclose([got.loss[i], got.mean_wait[i]], [one.loss, one.mean_wait], atol=1e-15)


@pytest.mark.parametrize(("machines", "servers"), [(1, 1), (6, 1), (9, 3), (4, 8)])
def test_machine_repairman(machines, servers):
    states = np.arange(machines)
    p = chain((machines - states) / 5.0, np.minimum(states + 1, servers) / 2.0)
    got = machine_repairman(machines, 5.0, 2.0, servers)
    np.testing.assert_allclose(got.mean_number, p @ np.arange(machines + 1))
    np.testing.assert_allclose(got.throughput, (machines - got.mean_number) / 5.0)
    np.testing.assert_allclose(got.loss, 0.0)


def erlang_service_chain(rate, service, stages, room):
    """Mean number in M/E_k/1 from its Markov chain of stages left to serve (k per customer)."""
    size = room * stages + 1
    generator = np.zeros((size, size))
    for left in range(size):
        if left + stages < size:
            generator[left, left + stages] += rate
        if left:
            generator[left, left - 1] += stages / service
    return stationary(generator) @ np.ceil(np.arange(size) / stages)


@pytest.mark.parametrize("stages", [1, 2, 5])
def test_mg1_against_the_chain_of_erlang_service(stages):
    got = mg1(0.6, 1.0, 1 / stages)
    np.testing.assert_allclose(got.mean_number, erlang_service_chain(0.6, 1.0, stages, 120), rtol=1e-6)


def test_md1_is_half_the_wait_of_mm1():
    np.testing.assert_allclose(md1([0.3, 0.8], 1.0).mean_wait, mm1([0.3, 0.8], 1.0).mean_wait / 2)
    # from the embedded chain: L = rho + rho^2 / (2 (1 - rho)) = 0.8 + 1.6
    np.testing.assert_allclose(md1(0.8, 1.0).mean_number, 2.4)


def test_processor_sharing_is_insensitive():
    np.testing.assert_allclose(mg1_ps(0.75, 2 / 3).mean_response, 4 / 3)


def priority_chain(rates, services, room):
    """Mean numbers of two exponential classes with non-preemptive priority: states (class in service, n0, n1)."""
    states = [(0, 0, 0)] + [
        (c, a, b) for c in (1, 2) for a in range(room + 1) for b in range(room + 1) if (a if c == 1 else b)
    ]
    index = {s: i for i, s in enumerate(states)}
    rows = np.zeros((len(states), len(states)))
    for (c, a, b), i in index.items():
        for more, rate in (((a + 1, b), rates[0]), ((a, b + 1), rates[1])):
            serving = c or (1 if more[0] else 2)
            if max(more) <= room:
                rows[i, index[serving, *more]] += rate
        if c:
            a2, b2 = (a - 1, b) if c == 1 else (a, b - 1)
            after = (1, a2, b2) if a2 else (2, a2, b2) if b2 else (0, 0, 0)
            rows[i, index[after]] += 1 / services[c - 1]
    return stationary(rows) @ np.array([s[1:] for s in states])


def test_non_preemptive_priority_against_its_chain():
    rates, services = [0.25, 0.2], [0.8, 1.1]
    got = mg1_priority(rates, services, 1.0)
    np.testing.assert_allclose(got.mean_number, priority_chain(rates, services, 26), rtol=1e-6)


def test_priority_conserves_work():
    # the load-weighted mean wait does not depend on the order of priorities (Kleinrock's conservation law)
    rates, services, scvs = np.array([0.2, 0.3, 0.1]), np.array([1.0, 0.5, 2.0]), np.array([0.0, 1.0, 4.0])
    weighted = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        got = mg1_priority(rates[order], services[order], scvs[order])
        weighted.append((got.utilization * got.mean_wait).sum())
    np.testing.assert_allclose(weighted, weighted[0])
    load = rates * services
    residual = (load * services * (1 + scvs) / 2).sum()
    np.testing.assert_allclose(weighted[0], load.sum() * residual / (1 - load.sum()))


def test_ggc_names_itself_and_is_exact_for_poisson():
    exact = ggc(0.8, 1.0, 1.0, 0.25)
    assert exact.approximation is None
    np.testing.assert_allclose(exact.mean_wait, mg1(0.8, 1.0, 0.25).mean_wait)
    assert ggc(3.2, 1.0, 1.0, 1.0, 4).approximation is None
    named = ggc(3.2, 1.0, 0.5, 0.25, 4)
    assert named.approximation == "Allen-Cunneen"
    np.testing.assert_allclose(named.mean_wait, mmc(3.2, 1.0, 4).mean_wait * 0.375)


def dm1_wait(rate, service):
    """Exact D/M/1: sigma solves sigma = exp(-(1 - sigma) / rho); W = s sigma / (1 - sigma)."""
    sigma = 0.5
    for _ in range(2000):
        sigma = np.exp(-(1 - sigma) / (rate * service))
    return service * sigma / (1 - sigma)


def test_kraemer_langenbach_belz_corrects_regular_arrivals():
    exact, plain = dm1_wait(0.7, 1.0), ggc(0.7, 1.0, 0.0, 1.0).mean_wait
    better = ggc(0.7, 1.0, 0.0, 1.0, approximation="Kraemer-Langenbach-Belz")
    assert better.approximation == "Kraemer-Langenbach-Belz"
    assert abs(better.mean_wait / exact - 1) < 0.02 < abs(plain / exact - 1)


def test_steady_state_of_a_chain_that_ends_early_and_of_many_at_once():
    birth, death = np.array([[1.0, 2.0, 0.0, 5.0], [3.0, 3.0, 3.0, 3.0]]), np.full((2, 4), 2.0)
    got = steady_state(birth, death)
    for row in range(2):
        np.testing.assert_allclose(got[row], chain(birth[row], death[row]), atol=1e-12)
    np.testing.assert_allclose(got[0, 3:], 0.0)


def test_steady_state_beyond_the_range_of_a_double():
    got = steady_state(np.full(2000, 5.0), np.ones(2000))
    np.testing.assert_allclose(got[-3:], [0.8 / 25, 0.8 / 5, 0.8])


def uniformized(birth, death, start, t):
    """p(t) and the integral of p over [0, t] by uniformization: sums of Poisson-weighted powers."""
    n = len(birth) + 1
    generator = np.diag(birth, 1) + np.diag(death, -1)
    generator -= np.diag(generator.sum(axis=1))
    rate = -generator.diagonal().min()
    step = np.eye(n) + generator / rate
    p, integral, state = np.zeros(n), np.zeros(n), np.asarray(start, float)
    weight, seen = np.exp(-rate * t), 0.0
    for k in range(int(rate * t * 2 + 80)):
        p += weight * state
        seen += weight
        integral += (1 - seen) / rate * state
        state = state @ step
        weight *= rate * t / (k + 1)
    return p, integral


def test_transient_against_uniformization():
    birth, death = np.array([3.0, 2.0, 1.0]), np.array([0.5, 1.0, 1.5])
    got = transient(birth, death, 0, [0.0, 0.3, 4.0])
    np.testing.assert_allclose(got.probability[0], [1, 0, 0, 0])
    np.testing.assert_allclose(got.average[0], [1, 0, 0, 0])
    for row, t in ((1, 0.3), (2, 4.0)):
        p, integral = uniformized(birth, death, [1, 0, 0, 0], t)
        np.testing.assert_allclose(got.probability[row], p, rtol=1e-9)
        np.testing.assert_allclose(got.average[row], integral / t, rtol=1e-9)


def test_transient_of_two_states_by_hand():
    # up at rate 2, down at rate 1: p1(t) = 2/3 + (p1(0) - 2/3) exp(-3 t)
    got = transient([2.0], [1.0], [0.25, 0.75], [0.7])
    np.testing.assert_allclose(got.mean(), 2 / 3 + (0.75 - 2 / 3) * np.exp(-2.1))
    area = quad(lambda t: 2 / 3 + (0.75 - 2 / 3) * np.exp(-3 * t), 0, 0.7)[0]
    np.testing.assert_allclose(got.average[0, 1], area / 0.7)


def test_transient_ends_in_the_steady_state():
    birth, death = np.full(30, 0.9), np.ones(30)
    got = transient(birth, death, 30, [1e5])
    np.testing.assert_allclose(got.probability[0], steady_state(birth, death), rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mm1(1.0, 1.0), ["utilization", "below 1", "got 1"]),
        (lambda: mmc(8.0, 1.0, 4), ["unstable", "got 2"]),
        (lambda: mmc(0.5, 1.0, 0), ["servers", "at least 1", "got 0"]),
        (lambda: mmc(0.5, 1.0, 1.5), ["servers", "whole number", "1.5"]),
        (lambda: mg1(np.nan, 1.0, 1.0), ["arrival rate", "nan"]),
        (lambda: mg1([0.1, 0.2], 1.0, [1.0, -2.0]), ["scv", "-2.0"]),
        (lambda: mg1([0.1, 0.2], [1.0, 1.0, 1.0], 1.0), ["shapes", "(2,)", "(3,)"]),
        (lambda: mmck(1.0, 1.0, 1, 0), ["capacity", "got 0"]),
        (lambda: mg1_priority([0.6, 0.5], 1.0, 1.0), ["unstable", "1.1"]),
        (lambda: mg1_priority(0.6, 1.0, 1.0), ["row"]),
        (lambda: mm1("fast", 1.0), ["arrival rate", "fast"]),
        (lambda: steady_state([1.0], [0.0]), ["death rate", "greater than 0"]),
        (lambda: transient([1.0], [1.0], 2, [1.0]), ["initial state", "0..1", "got 2"]),
        (lambda: transient([1.0], [1.0], [0.5, 0.6], [1.0]), ["add up to 1", "1.1"]),
        (lambda: transient([1.0], [1.0], 0, [-1.0]), ["time", "-1.0"]),
    ],
)
def test_wrong_input_is_named(call, words):
    with pytest.raises(InputError) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_refusals_and_unknown_names():
    with pytest.raises(RefusedError, match="5001 states"):
        transient(np.ones(5000), np.ones(5000), 0, [1.0])
    with pytest.raises(UnknownNameError, match="Allen-Cunneen"):
        ggc(0.5, 1.0, 1.0, 1.0, approximation="Allen")


@pytest.mark.parametrize("name", [name for name in queueing.__all__ if inspect.isfunction(getattr(queueing, name))])
def test_signatures_can_be_read(name):
    """An alias of numpy that is spelled out fills a screen in a notebook's help."""
    assert "numpy._typing" not in str(inspect.signature(getattr(queueing, name)))
