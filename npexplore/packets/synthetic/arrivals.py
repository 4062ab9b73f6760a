"""Arrival times in whole nanoseconds: periodic, Poisson, packet trains, on-off sources with a chosen Hurst parameter.

On-off: the sum of sources whose on times are Pareto with shape alpha is self-similar with H = (3 - alpha) / 2
(Willinger, Taqqu, Sherman, Wilson, IEEE/ACM Trans. Networking 5(1), 1997). With very many sources that are rarely on,
the starts of on times are a Poisson process (the M/G/infinity model of Cox, 1984).
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, positive

Times = NDArray[np.int64]


def periodic_arrivals(count: int, rate_pps: float) -> Times:
    """Return `count` times in nanoseconds at equal intervals of 1 / rate_pps, the first at 0."""
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

    The times between trains are exponential; their mean follows from rate_pps. Raises InputError if the gaps within the
    trains alone take longer than the rate allows.
    """
    positive("rate", rate_pps)
    positive("gap within a train", gap_s, zero=True)
    if not mean_packets >= 1:
        raise InputError(f"mean packets of a train must be at least 1, got {mean_packets!r}")
    mean_between_s = mean_packets / rate_pps - (mean_packets - 1) * gap_s
    if mean_between_s <= 0:
        raise InputError(
            f"trains of {mean_packets} packets {gap_s} s apart cannot come at {rate_pps} packets/s: at most "
            f"{mean_packets / ((mean_packets - 1) * gap_s):.6g}"
        )
    starts_train = rng.random(count) < 1 / mean_packets
    starts_train[:1] = True
    gaps = np.where(starts_train, rng.exponential(mean_between_s, count), gap_s)
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
    """Return the arrival times of the sum of many on-off sources, int64 nanoseconds, shape (count,).

    Args:
        count: packets.
        rate_pps: mean packets a second, of all sources together.
        hurst: the Hurst parameter of the counts over long times, above 0.5 and below 1.
        rng: the random numbers to use.
        active: mean number of sources that are on.
        burst_packets: mean number of packets of an on time, sent at equal intervals.

    On times are Pareto. The Hurst parameter shows at time scales far above a burst; the nearer it is to 0.5, the longer
    these scales must be.
    """
    positive("rate", rate_pps)
    positive("sources that are on", active)
    positive("packets of a burst", burst_packets)
    if not 0.5 < hurst < 1:
        raise InputError(f"Hurst parameter must be above 0.5 and below 1, got {hurst!r}")
    alpha, peak_pps = 3 - 2 * hurst, rate_pps / active
    min_on_s = burst_packets / peak_pps * (alpha - 1) / alpha
    until_s = 1.1 * count / rate_pps + burst_packets / peak_pps
    while True:
        times = _bursts(until_s, active * peak_pps / burst_packets, peak_pps, active, min_on_s, alpha, rng)
        if len(times) >= count:
            return np.floor(np.sort(times)[:count] * 1e9).astype(np.int64)
        until_s *= 2


def _bursts(
    until: float, bursts_per_s: float, peak: float, active: float, least: float, alpha: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the packet times up to `until` of a process in equilibrium: some bursts are under way at time 0.

    The residual time of such a burst is a uniform part of a length-biased Pareto time (Pareto with shape alpha - 1).
    """
    under_way, new_bursts = rng.poisson(active), rng.poisson(bursts_per_s * until)
    residual = least * (1 + rng.pareto(alpha - 1, under_way)) * rng.random(under_way)
    start = np.concatenate([np.zeros(under_way), rng.random(new_bursts) * until])
    end = np.minimum(start + np.concatenate([residual, least * (1 + rng.pareto(alpha, new_bursts))]), until)
    first_packet = start + rng.random(len(start)) / peak
    packets = np.maximum(0, np.ceil((end - first_packet) * peak)).astype(np.int64)
    packet_of_burst = np.arange(packets.sum()) - np.repeat(np.cumsum(packets) - packets, packets)
    return np.asarray(np.repeat(first_packet, packets) + packet_of_burst / peak)
