"""Quantiles of the time in M/M/c and M/M/c/K against the phase-type chain of one customer, and by hand."""

import numpy as np
import pytest
from scipy.linalg import expm

from npexplore.errors import InputError
from npexplore.solve.queueing import mmc_quantiles, mmck, mmck_quantiles

SHARES = (0.05, 0.5, 0.95, 0.99)


def still_there(t, rate, service, servers, room):
    """P(T > t): phases n = n customers ahead must leave first; the last phases are the customer's own service."""
    weights = np.cumprod([1.0, *(rate * service / min(n, servers) for n in range(1, room))])
    start = weights / weights.sum()  # what an admitted customer finds
    most = room - servers
    generator = np.zeros((most + 1, most + 1))  # phase 0: in service; phase m: m departures away from it
    generator[0, 0] = -1 / service
    for m in range(1, most + 1):
        generator[m, m], generator[m, m - 1] = -servers / service, servers / service
    first = np.zeros(most + 1)
    first[0] = start[:servers].sum()
    first[1:] = start[servers:]
    return first @ expm(generator * t) @ np.ones(most + 1)


@pytest.mark.parametrize(
    ("rate", "service", "servers", "room"), [(0.9, 1.0, 1, 5), (3.0, 0.9, 4, 9), (5.0, 2.0, 2, 6), (0.2, 3.0, 3, 3)]
)
def test_limited(rate, service, servers, room):
    for share, t in zip(SHARES, mmck_quantiles(SHARES, rate, service, servers, room), strict=True):
        assert still_there(t, rate, service, servers, room) == pytest.approx(1 - share, rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "service", "servers"), [(0.7, 1.0, 1), (3.0, 0.9, 4), (1.0, 1.0, 2), (2.0, 1.0, 3), (0.05, 2.0, 3)]
)
def test_without_a_limit(rate, service, servers):
    for share, t in zip(SHARES, mmc_quantiles(SHARES, rate, service, servers), strict=True):
        assert still_there(t, rate, service, servers, 150) == pytest.approx(1 - share, rel=1e-6)


@pytest.mark.parametrize(("servers", "load", "room"), [(2, 0.99, 5_000), (3, 0.9, 60_000)])
def test_a_limit_that_nobody_meets_is_none_and_no_factor_overflows(servers, load, room):
    found = mmck_quantiles(SHARES, load * servers, 1.0, servers, room)
    np.testing.assert_allclose(found, mmc_quantiles(SHARES, load * servers, 1.0, servers), rtol=1e-9)


def test_mm1_is_exponential():
    np.testing.assert_allclose(mmc_quantiles(SHARES, 0.8, 1.0), -5 * np.log1p(-np.array(SHARES)), rtol=1e-9)


def test_fewer_places_than_servers_is_service_alone():
    np.testing.assert_allclose(mmck_quantiles([0.5], 3.0, 2.0, 8, 3), [2 * np.log(2)], rtol=1e-9)


def test_the_mean_of_all_quantiles_is_the_mean():
    shares = (np.arange(4000) + 0.5) / 4000
    assert mmck_quantiles(list(shares), 2.5, 1.0, 2, 7).mean() == pytest.approx(
        mmck(2.5, 1.0, 2, 7).mean_response, 1e-3
    )


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, float("nan")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(InputError, match="shares of customers must lie between 0 and 1, got"):
        mmc_quantiles([0.5, share], 0.5, 1.0)


def test_unstable():
    with pytest.raises(InputError, match="unstable"):
        mmc_quantiles([0.5], 2.0, 1.0, 2)
