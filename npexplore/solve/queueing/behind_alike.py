"""Waiting behind a server at which all were served as long as here: long packets are long everywhere.

    E(W) = int_0^inf (1 - P(x)) dx - E(S),   P(x) = (1 - r) H(x) F(x) (1 - G(x)) / (1 - F(x))
    G(x) = E(e^(-l S (1 - G(x))); S <= x),   H(x) = exp(-l int_x^inf (1 - G(y)) dy)

Poisson arrivals of l a second, services S of distribution F, load r = l E(S); G: no longest service of a busy period is
above x (Boxma, Advances in Applied Probability 11, 1979; here for services of a few lengths). Whoever is served behind
others at the first server comes to the second one no sooner than its own service after them, so that it stays there as
long as the longest before it, the more waits there the rarer the first is idle. Constant services: nobody waits at all
(Friedman 1965). Exact for two equal servers; of two that differ the slower one has the wait of M/G/1 and the quicker
one that behind services like its own, nearly, whichever comes first.
"""

from __future__ import annotations

import numpy as np

from npexplore.solve.queueing.inputs import Floats

ROUNDS = 40  # of Newton's method, from below: the smallest root of a convex function
FULL = 1 - 1e-9
NEAR, ALL = 1e-14, 1e-12


def behind_alike(load: Floats, shares: Floats, services: Floats) -> Floats:
    """Return the mean wait (P,) at the second of two equal servers, in parts of that of M/G/1 of the same load.

    load: of each server (P,), below 1. shares, services: of K lengths each (P, K); the shares add up to 1.
    """
    order = np.argsort(services, axis=1, kind="stable")
    x, p = np.take_along_axis(services, order, 1), np.take_along_axis(shares, order, 1)
    mean, r = (p * x).sum(axis=1), np.clip(load, 1e-6, FULL)
    rate = (r / mean)[:, None]
    below = np.cumsum(p, axis=1)[:, :-1]
    upto = np.arange(x.shape[1] - 1)[:, None] >= np.arange(x.shape[1])
    none = np.zeros_like(below)  # G, while no service is longer than each of x but the last
    for _ in range(ROUNDS):
        each = np.where(upto, p[:, None, :] * np.exp(-(rate * x)[:, None, :] * (1.0 - none)[:, :, None]), 0.0)
        misses = each.sum(axis=2) - none
        step = misses / (1.0 - (each * (rate * x)[:, None, :]).sum(axis=2))
        none = none + step
        if np.all(np.abs(step) < NEAR):
            break
    fall = rate * (1.0 - none)
    falls = fall * np.diff(x, axis=1)
    later = np.cumsum(falls[:, ::-1], axis=1)[:, ::-1] - falls
    share = (1.0 - r)[:, None] * below * (1.0 - none) / np.maximum(1.0 - below, NEAR)
    area = share * np.exp(-later) * -np.expm1(-falls) / np.maximum(fall, NEAR * rate)
    area = np.where(below < 1.0 - ALL, area, np.diff(x, axis=1))  # beyond the longest that there is
    stays = x[:, 0] + (np.diff(x, axis=1) - area).sum(axis=1)
    alone = rate[:, 0] * (p * x**2).sum(axis=1) / 2 / (1.0 - r)
    return np.asarray(np.maximum(stays - mean, 0.0) / alone, dtype=np.float64)
