"""The variability of streams between the nodes of an open network: the excess G of arrivals before an arrival.

    G(t) = integral of (h(u) - rate) exp(-t u) du         h(u): arrivals per second at time u before an arrival
    renewal arrivals with transform f:                    G = f(t) / (1 - f(t)) - rate / t
    a random share q of a stream: q G                     departures: w*(tau) G + (1 - w*) G of the services

G is 0 for Poisson arrivals and (scv - 1) / 2 for t -> 0; it acts as the squared coefficient of variation at the time
scale 1 / t of a queue. w*: heavy-traffic weight of departures, by the time scale of the later node in units of that of
the earlier one (Whitt and You, Queueing Systems 90, 2018).
"""

import numpy as np

from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats

LEAST_SCV = 0.005  # a smaller scv of renewal intervals is treated as this one


def renewal_excess(mean: float, scv: float, discount: Floats) -> Floats:
    """Return G of renewal arrivals with this mean interval (seconds) and scv, by phases of `phase_queue.two_moments`.

    discount: t, per second.
    """
    if scv > 1.0:
        p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
        transform = sum(share / (1 + discount * mean / (2 * share)) for share in (p, 1 - p))
        wait = sum(share * mean / (2 * share) / (1 + discount * mean / (2 * share)) for share in (p, 1 - p))
        return np.asarray((transform - wait / mean) / (discount * wait))
    scv = max(scv, LEAST_SCV)
    stages = max(int(np.ceil(1 / scv - 1e-9)), 1)
    fewer = (stages * scv - np.sqrt(max(stages * (1 + scv) - stages**2 * scv, 0.0))) / (1 + scv) if stages > 1 else 0.0
    step = np.log1p(discount * mean / (stages - fewer))
    transform = np.exp(-stages * step) * (1 - fewer + fewer * np.exp(step))
    return excess_of(transform, mean, discount)


def excess_of(transform: Floats, mean: float, discount: Floats) -> Floats:
    """Return G of renewal arrivals; transform: of the interval at each discount, mean: of the interval, in seconds."""
    return np.asarray(transform / (1 - transform) - 1 / (discount * mean))


def phase_excess(quiet: Floats, arrive: Floats, discount: Floats) -> Floats:
    """Return G of arrivals by a Markov chain; quiet, arrive: rates between phases without and with an arrival."""
    n = len(quiet)
    generator = quiet + arrive
    arrival_rates = long_run(generator) @ arrive
    rate, rate_by_phase = float(arrival_rates.sum()), arrive.sum(axis=1)
    excess = np.linalg.solve(discount[:, None, None] * np.eye(n) - generator, (rate_by_phase - rate)[:, None])[..., 0]
    return np.asarray(excess @ arrival_rates / rate)


def departure_weight(tau: Floats) -> Floats:
    """Return w*(tau): the weight with which departures vary like the arrivals, at a time scale (0: none, 1: full)."""
    from scipy.special import ndtr  # imported here: only networks need it

    t = np.clip(tau, 1e-12, 1e6)
    root = np.sqrt(t)
    above, density = 1.0 - ndtr(root), np.exp(-t / 2) / np.sqrt(2 * np.pi)
    weight = ((t**2 + 2 * t - 1) * (1 - 2 * above) + 2 * density * root * (1 + t) - t**2) / (2 * t)
    return np.asarray(np.clip(weight, 0.0, 1.0))
