"""Arrival times in whole nanoseconds: periodic, Poisson, packet trains, on-off sources with a chosen Hurst parameter.

On-off: sources with Pareto on times of shape alpha give a self-similar sum with H = (3 - alpha) / 2 (Willinger, Taqqu,
Sherman, Wilson, IEEE/ACM Trans. Networking 5(1), 1997). Of very many sources that are seldom on, the on times start
as a Poisson process (the M/G/infinity model of Cox, 1984).
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, positive

Times = NDArray[np.int64]


def periodic_arrivals(count: int, rate_pps: float) -> Times:
    """Return `count` times at equal distances of 1 / rate, the first at 0."""
    return np.asarray(np.floor(np.arange(count) * (1e9 / positive("rate", rate_pps))), dtype=np.int64)


def poisson_arrivals(count: int, rate_pps: float, rng: np.random.Generator) -> Times:
    """Return the arrival times of a Poisson process, int64 nanoseconds, shape (count,).

    count: packets. rate_pps: packets a second. rng: the random numbers to use.
    """
    return np.cumsum(rng.exponential(1e9 / positive("rate", rate_pps), count)).astype(np.int64)


def packet_trains(count: int, rate_pps: float, mean_packets: float, gap_s: float, rng: np.random.Generator) -> Times:
    """Return the arrival times of packet trains, int64 nanoseconds, shape (count,).

    count: packets. rate_pps: mean packets a second. mean_packets: mean length of a train, which is geometric. gap_s:
    seconds between the packets of a train. rng: the random numbers to use.

    The times between trains are exponential, with the mean that keeps the rate. Raises InputError where the gaps within
    the trains alone take longer than the rate allows.
    """
    positive("rate", rate_pps)
    positive("gap within a train", gap_s, zero=True)
    if not mean_packets >= 1:
        raise InputError(f"mean packets of a train must be at least 1, got {mean_packets!r}")
    between = mean_packets / rate_pps - (mean_packets - 1) * gap_s
    if between <= 0:
        raise InputError(
            f"trains of {mean_packets} packets {gap_s} s apart cannot come at {rate_pps} packets/s: at most "
            f"{mean_packets / ((mean_packets - 1) * gap_s):.6g}"
        )
    first = rng.random(count) < 1 / mean_packets
    first[:1] = True
    gaps = np.where(first, rng.exponential(between, count), gap_s)
    return np.floor(np.cumsum(gaps) * 1e9).astype(np.int64)


def on_off_arrivals(
    count: int,
    rate_pps: float,
    hurst: float,
    rng: np.random.Generator,
    *,
    active: float = 10.0,
    burst_packets: float = 10.0,
) -> Times:
    """Return the arrival times of many on-off sources together, int64 nanoseconds, shape (count,).

    Args:
        count: packets.
        rate_pps: mean packets a second, of all sources together.
        hurst: the Hurst parameter of the counts over long times, above 0.5 and below 1.
        rng: the random numbers to use.
        active: sources that are on at a time, on average.
        burst_packets: packets that a source sends while it is on, on average, at equal distances.

    A source is on for a Pareto time. The Hurst parameter shows at time scales far above a burst; the nearer it is to
    0.5, the longer they must be.
    """
    positive("rate", rate_pps)
    positive("sources that are on", active)
    positive("packets of a burst", burst_packets)
    if not 0.5 < hurst < 1:
        raise InputError(f"Hurst parameter must be above 0.5 and below 1, got {hurst!r}")
    alpha, peak = 3 - 2 * hurst, rate_pps / active
    least = burst_packets / peak * (alpha - 1) / alpha
    until = 1.1 * count / rate_pps + burst_packets / peak
    while True:
        times = _bursts(until, active * peak / burst_packets, peak, active, least, alpha, rng)
        if len(times) >= count:
            return np.floor(np.sort(times)[:count] * 1e9).astype(np.int64)
        until *= 2


def _bursts(
    until: float, bursts_per_s: float, peak: float, active: float, least: float, alpha: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the packet times up to `until` of a process in equilibrium: some bursts are under way at time 0.

    What is left of those is a uniform part of a length-biased Pareto time, which is Pareto with shape alpha - 1.
    """
    under_way, new = rng.poisson(active), rng.poisson(bursts_per_s * until)
    rest = least * (1 + rng.pareto(alpha - 1, under_way)) * rng.random(under_way)
    start = np.concatenate([np.zeros(under_way), rng.random(new) * until])
    end = np.minimum(start + np.concatenate([rest, least * (1 + rng.pareto(alpha, new))]), until)
    first = start + rng.random(len(start)) / peak
    packets = np.maximum(0, np.ceil((end - first) * peak)).astype(np.int64)
    index = np.arange(packets.sum()) - np.repeat(np.cumsum(packets) - packets, packets)
    return np.asarray(np.repeat(first, packets) + index / peak)
