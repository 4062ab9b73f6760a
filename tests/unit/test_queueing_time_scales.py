"""How much of what varies over time a queue meets: limits, and the exact waits behind on-off arrivals (GI/M/1)."""

import numpy as np
import pytest
from scipy.optimize import brentq

from npexplore.rows.distributions import OnOff
from npexplore.solve.queueing.time_scales import dispersion_met

ONE = np.ones(1)


@pytest.mark.parametrize("spread", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("load", [0.1, 0.6, 0.95])
def test_one_dispersion_for_all_times_is_met_at_every_load(spread, load):
    assert dispersion_met(lambda t: np.full_like(t, spread), ONE * load, ONE) == pytest.approx(spread, rel=1e-3)


def test_a_queue_near_saturation_meets_the_long_run_and_an_idle_one_poisson():
    arrivals = OnOff(rate=1.0, on=100.0, off=100.0)
    met = dispersion_met(arrivals.dispersion_over, np.array([0.02, 0.999]), np.ones(2))
    assert met == pytest.approx([1.0, arrivals.dispersion()], rel=0.05)
    assert arrivals.dispersion_over(np.array([1e-9, 1e9])) == pytest.approx([1.0, arrivals.dispersion()])


@pytest.mark.parametrize("load", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("span", [20.0, 100.0])
def test_waits_are_near_the_exact_ones_of_exponential_services(span, load):
    """A wait of x / (1 - x), x the root of E[e^-(1 - x)A] = x; the long-run dispersion is up to 18 % above."""
    arrivals = OnOff(rate=load, on=span, off=span)
    times = arrivals.interval()
    chances = (times.probability, 1 - times.probability)
    root = brentq(
        lambda x: sum(p / (1 + (1 - x) * m) for p, m in zip(chances, times.means, strict=True)) - x, 1e-9, 1 - 1e-9
    )
    met = dispersion_met(arrivals.dispersion_over, ONE * load, ONE)[0]
    assert load / (1 - load) * (met + 1) / 2 == pytest.approx(root / (1 - root), rel=0.1)
