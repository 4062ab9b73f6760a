"""How irregularly customers come to each node of an open network, by what leaves the nodes before.

    c_d^2 = 1 + (1 - rho^2) (c_a^2 - 1) + rho^2 / sqrt(m) (max(c_s^2, 0.2) - 1)     departures of m servers
    c^2 = 1 + q (c_d^2 - 1)                                                         of a share q of them
    c_a^2 = 1 + w sum of p (c^2 - 1)                                                of several, each a part p

(Whitt, The Queueing Network Analyzer, Bell System Technical Journal 62, 1983). To a node that is busier than the one
before, bursts come as they came to that one: with c_d^2 + w*(tau) (c_a^2 - c_d^2) instead, tau the time
scale of the later node's waits in those of the earlier one (Whitt and You, Queueing Systems 90, 2018, heavy-traffic
weight w* of departures). A delay mixes what comes as far as its times vary: c_d^2 = c_a^2 + min(1, 2 (rate sd)^2)
(1 - c_a^2). Poisson arrivals and exponential times stay Poisson everywhere.
"""

from __future__ import annotations

import numpy as np

from npexplore.solve.queueing.inputs import Booleans, Floats

LEAST_SCV = 0.2  # of service, as if it were no less: what leaves a queue is never so regular
MOST_ROUNDS, TOLERANCE, TINY = 500, 1e-12, 1e-300


def arrival_scv(
    flow: Floats, external: Floats, external_scv: Floats, load: Floats, servers: Floats, scv: Floats, sd: Floats,
    delay: Booleans,
) -> Floats:  # fmt: skip
    """Return the squared coefficients of variation (N,) of the times between customers who come to each of N nodes.

    flow: customers a second from node to node (N, N). external, external_scv: of those who come from outside (N,).
    load: busy share of each server (N,), 0 of nodes that take no time. servers, scv, sd: how many there are, squared
    coefficient of variation and standard deviation of service (N,). delay: nodes without a line (N,).
    """
    rate = flow.sum(axis=0) + external
    there = np.maximum(rate, TINY)
    parts, first, leaves = flow / there, external / there, flow / np.maximum(rate, TINY)[:, None]
    streams = 1.0 / np.maximum((parts**2).sum(axis=0) + first**2, TINY)
    weight = 1.0 / (1.0 + 4.0 * (1.0 - load) ** 2 * (streams - 1.0))
    mixed = np.where(delay, np.minimum(1.0, 2.0 * (rate * sd) ** 2), 0.0)
    busy, spread = np.where(delay, 0.0, load), np.maximum(scv, LEAST_SCV)
    c = np.ones(len(rate))
    for _ in range(MOST_ROUNDS):
        carried = passed_on(rate, load, servers, c, scv, delay)
        leave = 1.0 + (1.0 - busy**2) * (c - 1.0) + busy**2 / np.sqrt(servers) * (spread - 1.0)
        leave = np.where(delay, c + mixed * (1.0 - c), leave)
        between = leave[:, None] + np.where(delay[:, None], 0.0, carried) * (c - leave)[:, None]
        come = (parts * leaves * (between - 1.0)).sum(axis=0) + first * (external_scv - 1.0)
        new = np.maximum(1.0 + weight * come, 0.0)
        change, c = float(np.max(np.abs(new - c), initial=0.0)), (c + new) / 2
        if change < TOLERANCE:
            break
    return c


def passed_on(
    rate: Floats, load: Floats, servers: Floats, arrival: Floats, scv: Floats, delay: Booleans
) -> Floats:  # fmt: skip
    """Return how much of what leaves each of N nodes varies, for the waits at each, like what came to it (N, N).

    rate: customers a second (N,). arrival: squared coefficient of variation between them (N,). Others as above.
    """
    busy = np.where(delay, 0.0, load)
    both = np.maximum(arrival + scv, LEAST_SCV)
    lasts = busy * both / (2.0 * np.maximum((1.0 - busy) ** 2, TINY) * np.maximum(rate, TINY))  # of changes of waits
    scale = (1.0 - busy) ** 2 * rate / np.maximum(busy * both, TINY)
    return departure_weight(scale[:, None] * lasts[None, :])


def departure_weight(tau: Floats) -> Floats:
    """Return w*(tau): how much of what leaves a queue varies like what came, at a time scale (0: nothing, 1: all)."""
    from scipy.special import ndtr  # as regularity.in_order: networks alone need it

    t = np.clip(tau, 1e-12, 1e6)
    root = np.sqrt(t)
    above, density = 1.0 - ndtr(root), np.exp(-t / 2) / np.sqrt(2 * np.pi)
    weight = ((t**2 + 2 * t - 1) * (1 - 2 * above) + 2 * density * root * (1 + t) - t**2) / (2 * t)
    return np.asarray(np.clip(weight, 0.0, 1.0))
