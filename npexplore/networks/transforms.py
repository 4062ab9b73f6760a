"""Laplace transforms E exp(-s X) and quantiles of random times."""

import itertools
import math
from typing import Any

import numpy as np

from npexplore.errors import InputError
from npexplore.networks.times import AnyTime, Gamma, Lognormal, Pareto, Weibull, phases
from npexplore.rows.distributions import Deterministic, Empirical, Uniform
from npexplore.solve.queueing.inputs import Floats


def transform(time: AnyTime, s: float) -> float:
    """Return the Laplace transform E exp(-s X) of a time."""
    phase_time = phases(time)
    if phase_time is not None:
        m = len(phase_time.first)
        return float(
            phase_time.first @ np.linalg.solve(s * np.eye(m) - phase_time.rates, -phase_time.rates.sum(axis=1))
        )
    if isinstance(time, Deterministic):
        return math.exp(-s * time.mean)
    if isinstance(time, Gamma):
        return float((1 + s * time.mean / time.shape) ** -time.shape)
    if isinstance(time, Uniform):
        low, high = time.low * s, time.high * s
        return (math.exp(-low) - math.exp(-high)) / (high - low) if high - low > 1e-9 else math.exp(-(low + high) / 2)
    if isinstance(time, Empirical):
        return float(np.average(np.exp(-s * np.array(time.values)), weights=time.weights))
    from scipy.integrate import quad

    law = _law(time)
    quantiles = law.ppf([0.0, 0.5, 0.9, 0.99, 0.9999, 1 - 1e-9])
    parts = [
        quad(lambda x: law.pdf(x) * math.exp(-s * x), low_end, high_end, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for low_end, high_end in itertools.pairwise(quantiles)
    ]
    return math.fsum(parts)


def quantile(time: AnyTime, shares: Floats) -> Floats:
    """Return quantiles of a gamma, Pareto, lognormal or Weibull time."""
    return np.asarray(_law(time).ppf(shares))


def _law(time: AnyTime) -> Any:
    from scipy import stats

    match time:
        case Gamma():
            return stats.gamma(time.shape, scale=time.mean / time.shape)
        case Pareto():
            return stats.pareto(time.shape, scale=time.minimum)
        case Lognormal():
            spread = math.log1p(time.scv)
            return stats.lognorm(math.sqrt(spread), scale=time.mean * math.exp(-spread / 2))
        case Weibull():
            return stats.weibull_min(time.shape, scale=time.scale)
        case _:
            raise InputError(f"times: {type(time).__name__} has no continuous law")
