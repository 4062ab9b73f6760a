"""Waits behind a server at which the same packets were served as long: against Lindley's recursion of packets."""

import numpy as np
import pytest

from npexplore.solve.queueing.behind_alike import behind_alike

IMIX = np.array([7, 4, 1]) / 12, np.array([64.0, 570.0, 1518.0])
GRID = (np.arange(400) + 0.5) / 400
EXPONENTIAL = np.full(400, 1 / 400), -np.log1p(-GRID)


def second(load, shares, services, slower=1.0, packets=400_000):
    """Return the mean wait at the second of two servers, the first `slower` times as slow, in parts of M/G/1's."""
    rng = np.random.default_rng(3)
    times = rng.choice(services / (shares @ services), packets, p=shares)
    at = np.cumsum(rng.exponential(1 / load, packets))
    for each in (times * slower, times):
        ends = np.maximum.accumulate(at - np.concatenate([[0.0], np.cumsum(each)[:-1]])) + np.cumsum(each)
        waits, at = ends - each - at, ends
    return waits.mean() / (load * np.mean(times**2) / 2 / (1 - load))


@pytest.mark.parametrize("lengths", [IMIX, EXPONENTIAL], ids=["imix", "exponential"])
@pytest.mark.parametrize("load", [0.1, 0.3, 0.6, 0.9])
def test_second_of_two_alike(lengths, load):
    found = behind_alike(np.array([load]), *(one[None, :] for one in lengths))
    assert found[0] == pytest.approx(second(load, *lengths), rel=0.05)


def test_second_of_two_that_differ_by_a_quarter():
    """The model takes them for alike: what that costs."""
    for load in (0.3, 0.6):
        found = behind_alike(np.array([load]), *(one[None, :] for one in IMIX))
        assert found[0] == pytest.approx(second(load, *IMIX, slower=1.25), rel=0.2)


def test_constant_services_never_wait_twice():
    assert behind_alike(np.array([0.2, 0.99]), np.ones((2, 1)), np.full((2, 1), 7.0)).tolist() == [0.0, 0.0]


def test_order_scale_and_lengths_that_nobody_has_change_nothing():
    shares, services = IMIX
    usual = behind_alike(np.array([0.6]), shares[None, :], services[None, :])
    padded = np.array([[1 / 12, 0.0, 7 / 12, 0.0, 4 / 12]]), np.array([[1518.0, 64.0, 64.0, 9000.0, 570.0]]) * 1e-10
    assert behind_alike(np.array([0.6]), *padded) == pytest.approx(usual, rel=1e-9)


def test_light_load_is_what_two_packets_do():
    """Whoever comes while another is served waits for the difference behind it, and a little if it comes just after."""
    shares, services = IMIX
    more = np.maximum(services[:, None] - services[None, :], 0.0)  # of the first over the second
    chance = np.outer(shares, shares)
    expected = np.sum(chance * (services[:, None] * more + more**2 / 2)) / (shares @ services**2 / 2)
    assert behind_alike(np.array([1e-5]), shares[None, :], services[None, :])[0] == pytest.approx(expected, rel=1e-3)
