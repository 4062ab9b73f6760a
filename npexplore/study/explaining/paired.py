"""Ratio of the throughputs of two similar machines, with its 95 % interval where both are simulated.

    ratio = ln X(b) / X(a)        X = sum of packets / sum of seconds over the batches, times bits of a packet

Both simulations use the same seed, so that the effects of random packets and choices mostly cancel, batch by batch. The
interval is that of the jackknife over pairs of batches: n ln(ratio) - (n - 1) ln(ratio without one pair), Student's t
over these n values (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11). If the two runs are
hardly correlated, the interval of two independent answers may be narrower and is used: its half width is the root of
the sum of squares of their relative half widths. X counts packet bits without padding, so that a larger cell alone is
no gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import exp
from typing import NamedTuple

import numpy as np

from npexplore.designs import Design
from npexplore.engine.intervals import interval
from npexplore.errors import ModelError, NpexploreError, RefusedError
from npexplore.machine.workload import Workload
from npexplore.solve.batch_structure import offered
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import BATCHES
from npexplore.study.sweeping.answers import Answer, Refusal, answer_all, own_points
from npexplore.study.sweeping.grid import SweepPoint

FEWEST, MAX_PACKETS, EVENTS = 800, 2400, 150_000  # limits of packets and events per simulation: pairs need few
FILLED = 8  # minimal packets per thread: the first eighth of a run fills the machine and is not measured
BOUNDED = Refusal("bounds allow no more than the machine forwards as it is")  # answer of a point that is not simulated
MOST_FILLED = 1 << 17  # cap on packets by FILLED; a machine with more than 16,384 threads is measured while filling


def packets_for(design: Design, workload: Workload | None) -> int:
    """Return how many packets to simulate at each point: about EVENTS events, between FEWEST and MAX_PACKETS packets.

    A machine with many threads needs more, because the first packets only fill it.
    """
    machine = design.machine(workload)
    if design.workload(workload).arrivals == "timestamps" or machine.window_s is not None:
        return MAX_PACKETS  # the capture or the window ends these runs
    filled = min(FILLED * machine.threads, MOST_FILLED)
    try:
        about = design.simulate(workload, packets=BATCHES, breakdown=False).about
    except NpexploreError:
        return max(MAX_PACKETS, filled)
    events = float(about["events"]) / max(1.0, float(about["packets"]))
    return max(round(min(MAX_PACKETS, max(FEWEST, EVENTS / events))), filled)


class Forwarded(NamedTuple):
    """A machine's throughput: packets/s, mean bits per packet, and (packets, seconds) of each batch.

    half: half width of the 95 % interval as a share of the rate (None: unknown). ceilings: packets/s that each
    resource alone allows (None: not requested, or the machine has no demands).
    """

    rate_pps: float
    packet_bits: float
    batches: tuple[tuple[int, float], ...]
    half: float | None = None
    ceilings: Mapping[str, float] | None = None

    @property
    def bps(self) -> float:
        """Bits of packets a second."""
        return self.rate_pps * self.packet_bits


class Ratio(NamedTuple):
    """The natural logarithm of a ratio and the half width of its 95 % interval (None: not simulated, or one batch)."""

    log: float
    half: float | None

    @property
    def gain(self) -> tuple[float, float | None, float | None]:
        """The relative gain, ratio - 1, and the ends of its interval (None: unknown)."""
        ends = (None, None) if self.half is None else (self.log - self.half, self.log + self.half)
        low, high = (None if end is None else exp(end) - 1 for end in ends)
        return exp(self.log) - 1, low, high


def answers_and_rates(
    points: Sequence[SweepPoint], packets: int, ceilings: bool = False, enough_bps: float = 0.0
) -> list[tuple[Forwarded | None, Answer]]:
    """Return each point's throughput (None: no answer) and answer. Runs in the worker, which holds the packets.

    ceilings: also compute each resource's ceiling, which walks the programs of each machine.
    enough_bps: points whose bound is at most this (bit/s of packets) are answered by bounds and not simulated.
    """
    if enough_bps:
        return [_bounded(point, packets, ceilings, enough_bps) for point in own_points(points)]
    answers = answer_all(points, packets, line=False)
    return [(forwarded(point, answer, ceilings), answer) for point, answer in zip(points, answers, strict=True)]


def _bounded(point: SweepPoint, packets: int, ceilings: bool, enough_bps: float) -> tuple[Forwarded | None, Answer]:
    """Return a point's bound and BOUNDED if the bound is at most `enough_bps`, else its solver's answer."""
    with suppress(NpexploreError):  # the solver reports the same error
        demands = point.design.demands(point.workload)
        limits = demands.ceilings()
        rate_pps = min([offered(demands), *limits.values()])
        limit = Forwarded(rate_pps, 8 * demands.workload.mean_packet_bytes, (), None, limits)
        if 0 < limit.bps <= enough_bps:
            return limit, BOUNDED
    return answers_and_rates([point], packets, ceilings)[0]


def forwarded(point: SweepPoint, answer: Answer, ceilings: bool = False) -> Forwarded | None:
    """Return the rate that an answer predicts; None if there is no answer or no packet gets through."""
    if not isinstance(answer, Prediction) or not answer.rate_pps > 0:
        return None
    bits = 8 * point.design.workload(point.workload).mean_packet_bytes
    low, high = answer.ci95.get("rate_pps", (None, None))
    half = None if low is None or high is None else (high - low) / 2 / answer.rate_pps
    # batches of a run in the most common mode do not cover the other modes; the interval does
    batches = () if "modes" in answer.about else answer.batches
    return Forwarded(answer.rate_pps, bits, batches, half, _ceilings(point) if ceilings else None)


def _ceilings(point: SweepPoint) -> Mapping[str, float] | None:
    """Return packets/s that each resource of a point's machine allows; None without demands or without the engine."""
    if not point.design.by_engine:
        return None
    with suppress(RefusedError, ModelError):
        return point.design.demands(point.workload).ceilings()
    return None


def ratio(a: Forwarded, b: Forwarded) -> Ratio:
    """Return the log of b's throughput over a's, with the narrower of the paired and the independent interval."""
    halves = [half for half in (_paired_half(a, b), _independent_half(a, b)) if half is not None]
    return Ratio(float(np.log(b.bps / a.bps)), min(halves, default=None))


def _independent_half(a: Forwarded, b: Forwarded) -> float | None:
    """Return the half width of the log ratio of two independent answers; None without their intervals."""
    return None if a.half is None or b.half is None else float(np.hypot(a.half, b.half))


def _paired_half(a: Forwarded, b: Forwarded) -> float | None:
    """Return the half width of the log ratio by the jackknife over pairs of batches; None without pairs."""
    if len(a.batches) != len(b.batches) or len(a.batches) < 2:
        return None
    batches_a, batches_b = (np.array(run.batches, dtype=np.float64) for run in (a, b))  # rows of (packets, seconds)
    sums_without = [batches.sum(axis=0) - batches for batches in (batches_a, batches_b)]  # sums without each batch
    if any((sums[:, 0] <= 0).any() for sums in sums_without):
        return None
    without = np.log(sums_without[1][:, 0] / sums_without[1][:, 1]) - np.log(
        sums_without[0][:, 0] / sums_without[0][:, 1]
    )
    n, log_ratio = len(without), float(np.log(b.rate_pps / a.rate_pps))
    low, high = interval(n * log_ratio - (n - 1) * without)
    return (high - low) / 2
