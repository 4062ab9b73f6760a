"""Queues behind packets in batches, and behind packets that come for a while and stay away for a while.

    batches:   p_n m_n = l sum_(j < n) p_j P(X >= n - j)                    (what goes up over a cut comes down)
    on, off:   p_n = p_(n-1)(on) (r_on, r_off)_n,   r_n = l (1, 0) (-B_n - m_(n+1) [r_(n+1); 0])^-1   (Neuts 1981)

m_n: packets a second that are served with n inside, l: batches, or packets while on, a second. Both chains have
exponential services, of c^2 = 1. Others: behind batches what single packets wait differs by as much as without batches,
(c^2 - 1) / 2 of it, and what a batch's own packets make each other wait does not, as in M^X/G/1 (Burke, Operations
Research 23, 1975). Behind on-off spans packets are taken for grains of (1 + c^2) / 2 of them, which leaves what bursts
fill and services work off as it is; how much shorter all wait is taken from one server.

    kth of a batch, alone:   d_k = max over stations of  floor(k / c) S + (k mod c) e,   e the largest S of one server

A batch meets itself at the first stations in a row, which a rate by packets inside, wherever these are, does not know:
through stations of constant times its packets follow each other at the slowest one's pace (Friedman 1965).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npexplore.rows.distributions import OnOff
from npexplore.solve.queueing.finite_queue import finite_queues
from npexplore.solve.queueing.inputs import Floats

BEYOND = 1e-14  # of all: levels that hold less are left out
LONG = 30  # means: no geometric batch is longer
HUGE = 1e200  # unnormalised chances are scaled down beyond
LEAST = 1 / 16  # of a packet: the smallest grain
HALVES = 52  # of an interval with a root
Answer = tuple[Floats, Floats, Floats]


def in_a_row(stations: Sequence[tuple[Floats, Floats]], size: int, geometric: bool) -> Floats:
    """Return how long packets of a batch wait for others of it (P,), in the mean, in a machine that is empty before.

    stations: of each its servers c and the seconds S of a packet there, (P,) each; all times are constant.
    """
    most = size if not geometric else size * LONG
    k = np.arange(most, dtype=np.float64)[:, None]
    serial = np.max([np.where(servers < 2, seconds, 0.0) for servers, seconds in stations], axis=0)
    behind = np.max([
        np.floor(k / servers) * seconds + np.fmod(k, servers) * np.minimum(serial, seconds)
        for servers, seconds in stations
    ], axis=0)  # fmt: skip
    return np.asarray(_shares(most, size, geometric) @ behind)


def _shares(most: int, size: int, geometric: bool) -> Floats:
    """Return the shares of packets that stand behind 0.. others of their batch."""
    return (1 - 1 / size) ** np.arange(most) / size if geometric else np.full(most, 1 / size)


def batch_queues(
    arrival_rate: Floats, curve: Floats, places: int, size: int, geometric: bool, scv: Floats, row: Floats | None = None
) -> Answer:
    """Return (throughput, mean time in the system, share lost), each (P,), of packets that come in batches.

    arrival_rate: packets a second (P,). curve: packets a second with 1.. inside (P, n). places: of packets in all; a
    batch loses what finds none. size: packets of a batch, geometric: in the mean. scv: of services (P,). row: what
    packets of a batch wait for others of it, alone, at least (`in_a_row`).
    """
    inside, batches = min(curve.shape[1], places), arrival_rate / size
    found = np.zeros((len(curve), places + 1))
    found[:, 0] = 1.0
    come = np.zeros(len(curve))  # chances of levels below, each times that of a batch that reaches this one
    for n in range(1, places + 1):
        come = come * (1 - 1 / size if geometric else 1.0) + found[:, n - 1]
        if not geometric and n > size:
            come = np.maximum(come - found[:, n - 1 - size], 0.0)
        found[:, n] = batches * come / curve[:, min(n, inside) - 1]
        if (most := found[:, n].max()) > HUGE:
            found[:, : n + 1] /= most
            come /= most
        if n > inside and n % 64 == 0 and np.all(found[:, n] < BEYOND * found.max(axis=1)):
            break
    throughput, mean, loss = _means(found, curve[:, :inside], arrival_rate)
    ones, alone = np.ones(len(curve)), 1.0 / curve[:, 0]
    usual = finite_queues(arrival_rate, curve, places, ones, alone)[1]
    varied = finite_queues(arrival_rate, curve, places, np.maximum((1 + scv) / 2, LEAST), alone)[1]
    if row is not None:
        most = size if not geometric else size * LONG
        rates = curve[:, np.minimum(np.arange(most), inside - 1)]
        mean += np.maximum(row - (np.arange(1.0, most + 1) / rates) @ _shares(most, size, geometric) + alone, 0.0)
    return throughput, np.maximum(mean + varied - usual, alone), loss


def on_off_queues(arrival_rate: Floats, curve: Floats, places: int, on: float, off: float, scv: Floats) -> Answer:
    """Return (throughput, mean time in the system, share lost), each (P,), of packets that come in on-off spans.

    arrival_rate: packets a second in the long run (P,). on, off: mean exponential spans in seconds.
    """
    throughput, mean, loss = _exponential(arrival_rate, curve, places, on, off)
    grain = np.maximum((1 + scv) / 2, LEAST)
    server = curve[:, -1:]
    coarse = _exponential(arrival_rate, server, places, on, off)[1] * server[:, 0] - 1
    fine = _exponential(arrival_rate / grain, server / grain[:, None], round(places / grain.min()), on, off)[1]
    shorter = (fine * server[:, 0] - grain) / np.maximum(coarse, BEYOND)
    alone = 1.0 / curve[:, 0]
    return throughput, alone + (mean - alone) * np.clip(shorter, LEAST, np.maximum(grain, 1.0)), loss


def on_off_wait(process: OnOff, shares: Floats, times: Floats) -> float:
    """Return the mean wait for one server behind on-off spans, for services of some lengths (n,) with their shares.

    Exact: intervals are hyperexponential, A(s) = (a b + c s) / ((a + s) (b + s)), so that the wait's transform has one
    root d > 0 of (a - s) (b - s) = (a b - c s) E(e^(-s S)) (Cohen, The Single Server Queue, 1982, II.5.10). Infinite
    for a load of 1 or more.
    """
    gap = process.interval()
    (a, b), c = (1 / mean for mean in gap.means), process.rate * (process.on + process.off) / process.on
    first, second = float(shares @ times), float(shares @ times**2)
    left = a + b - c - a * b * first
    if left <= 0:
        return float("inf")

    def over(s: float) -> float:
        return (a - s) * (b - s) - (a * b - c * s) * float(shares @ np.exp(-s * times))

    low = high = a + b + c
    while over(low) >= 0:
        low, high = low / 2, low
    for _ in range(HALVES):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) < 0 else (low, middle)
    return max(1 / high + (a * b * second / 2 + c * first - 1) / left, 0.0)


def _exponential(arrival_rate: Floats, curve: Floats, places: int, on: float, off: float) -> Answer:
    come, leave, back = arrival_rate * (on + off) / on, 1 / on, 1 / off
    last, points = min(curve.shape[1], places), len(curve)
    end = curve[:, last - 1]
    stay, away = np.empty((2, points, places + 1))  # r of each level
    stay[:, places] = come * (back + end) / (end * (leave + back + end))
    away[:, places] = come * leave / (end * (leave + back + end))
    n = places - 1
    while n > 0:
        here, above = curve[:, min(n, last) - 1], curve[:, min(n + 1, last) - 1]
        up = leave + above * away[:, n + 1]
        whole = (come + leave + here - above * stay[:, n + 1]) * (back + here) - back * up
        stay[:, n], away[:, n] = come * (back + here) / whole, come * up / whole
        if n > last and np.allclose(stay[:, n], stay[:, n + 1], rtol=1e-13, atol=0.0):
            stay[:, last:n], away[:, last:n] = stay[:, n, None], away[:, n, None]  # it is the same for all below
            n = last
        n -= 1
    logs = np.concatenate([np.zeros((points, 1)), np.cumsum(np.log(stay[:, 1:]), axis=1)], axis=1)
    there = np.exp(logs - logs.max(axis=1, keepdims=True))  # while on
    gone = np.empty_like(there)
    gone[:, 0] = there[:, 0] * (leave + curve[:, 0] * away[:, 1]) / back
    gone[:, 1:] = there[:, :-1] * away[:, 1:]
    return _means(there + gone, curve[:, :last], arrival_rate)


def _means(found: Floats, curve: Floats, arrival_rate: Floats) -> Answer:
    """Return (throughput, mean time, share lost) of chances (P, places + 1) that need not add up to 1."""
    p, inside = found / found.sum(axis=1, keepdims=True), curve.shape[1]
    busy = (p[:, 1 : inside + 1] * curve).sum(axis=1) + p[:, inside + 1 :].sum(axis=1) * curve[:, -1]
    throughput = np.minimum(busy, arrival_rate)
    return throughput, p @ np.arange(p.shape[1]) / throughput, 1.0 - throughput / arrival_rate
