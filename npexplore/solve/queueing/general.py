"""Single queues with general service: M/G/1, M/D/1, processor sharing, priorities, and the named G/G/c approximations.

Pollaczek and Khinchine: W = rho s (1 + scv) / (2 (1 - rho)). Head-of-line priorities (Cobham, Operations Research 2,
1954): W_r = W_0 / ((1 - sigma_(r-1)) (1 - sigma_r)), sigma_r the load of classes 0..r, W_0 the mean residual service;
preemptive resume: T_r = s_r / (1 - sigma_(r-1)) + W_r with W_0 of classes 0..r alone (Kleinrock, Queueing Systems II,
1976, 3.4).
Allen and Cunneen: W(GI/G/c) = W(M/M/c) (ca2 + cs2) / 2, for one server Kingman's heavy-traffic formula; Kraemer and
Langenbach-Belz (ITC 8, 1976) multiply by exp(-2 (1 - rho) (1 - ca2)^2 / (3 rho (ca2 + cs2))) where ca2 < 1, else by
exp(-(1 - rho) (ca2 - 1) / (ca2 + 4 cs2)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError, one_of
from npexplore.solve.queueing.inputs import numbers, stable, whole
from npexplore.solve.queueing.markovian import QueueMeans, mmc, without_loss

GG_APPROXIMATIONS = ("Allen-Cunneen", "Kraemer-Langenbach-Belz")


def mg1(arrival_rate: ArrayLike, service_time: ArrayLike, scv: ArrayLike) -> QueueMeans:
    """Return the means of M/G/1 with FIFO; raises InputError.

    arrival_rate: per second. service_time: mean, in seconds. scv: squared coefficient of variation of service. All have
    one shape, or shapes that broadcast.
    """
    rate, service, variation = numbers(arrival_rate=arrival_rate, service_time=service_time, scv=scv)
    load = np.asarray(rate * service)
    stable(load)
    return without_loss(rate, service, np.asarray(load * service * (1 + variation) / (2 * (1 - load))))


def md1(arrival_rate: ArrayLike, service_time: ArrayLike) -> QueueMeans:
    """Return the means of M/D/1, constant service. Raises InputError."""
    return mg1(arrival_rate, service_time, 0.0)


def mg1_ps(arrival_rate: ArrayLike, service_time: ArrayLike) -> QueueMeans:
    """Return the means of M/G/1 with processor sharing, the same for every distribution of service. Raises InputError.

    mean_wait is the time that sharing adds to the service time.
    """
    return mg1(arrival_rate, service_time, 1.0)


def mg1_priority(
    arrival_rates: ArrayLike, service_times: ArrayLike, scvs: ArrayLike, *, preemptive: bool = False
) -> QueueMeans:
    """Return the means (..., R) of the classes of an M/G/1 with priorities; class 0 goes first.

    arrival_rates: (..., R), per second. service_times: (..., R), means in seconds. scvs: (..., R) or one number:
    squared coefficients of variation of service. preemptive: whether a class interrupts the service of later ones,
    which then resumes; mean_wait is then all time without service.

    Raises InputError if all classes together are unstable.
    """
    rate, service, variation = numbers(arrival_rates=arrival_rates, service_times=service_times, scvs=scvs)
    if rate.ndim == 0:
        raise InputError("priority classes must be given as a row of arrival rates, got one number")
    load = rate * service
    stable(load.sum(axis=-1))
    residual = np.cumsum(load * service * (1 + variation) / 2, axis=-1)
    upto = np.cumsum(load, axis=-1)
    above = upto - load
    if preemptive:
        return without_loss(rate, service, residual / ((1 - above) * (1 - upto)) + service * above / (1 - above))
    return without_loss(rate, service, residual[..., -1:] / ((1 - above) * (1 - upto)))


def ggc(
    arrival_rate: ArrayLike,
    service_time: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
    servers: ArrayLike = 1,
    approximation: str = "Allen-Cunneen",
) -> QueueMeans:
    """Return the approximate means of GI/G/c with FIFO.

    arrival_rate: per second. service_time: mean, in seconds. arrival_scv, service_scv: squared coefficients of
    variation of the times between arrivals and of service. servers: c. All these have one shape, or shapes that
    broadcast. approximation: one of GG_APPROXIMATIONS.

    Exact, and then without a named approximation, if all arrivals are Poisson (assumed for scv 1) and service is
    exponential or there is one server. Raises InputError, UnknownNameError.
    """
    one_of("approximation", approximation, GG_APPROXIMATIONS)
    rate, service, ca2, cs2 = numbers(
        arrival_rate=arrival_rate, service_time=service_time, arrival_scv=arrival_scv, service_scv=service_scv
    )
    rate, service, ca2, cs2, c = np.broadcast_arrays(rate, service, ca2, cs2, *whole(servers=servers))
    wait = mmc(rate, service, c).mean_wait * (ca2 + cs2) / 2
    if approximation == "Kraemer-Langenbach-Belz":
        load = rate * service / c
        with np.errstate(divide="ignore", invalid="ignore"):
            even = np.exp(-2 * (1 - load) * (1 - ca2) ** 2 / (3 * load * (ca2 + cs2)))
            uneven = np.exp(-(1 - load) * (ca2 - 1) / (ca2 + 4 * cs2))
        wait = np.where(wait > 0, wait * np.nan_to_num(np.where(ca2 < 1, even, uneven)), wait)
    exact = bool(((ca2 == 1) & ((cs2 == 1) | (c == 1))).all())
    return without_loss(rate, service, np.asarray(wait), c, None if exact else approximation)
