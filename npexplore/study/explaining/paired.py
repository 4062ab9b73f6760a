"""Two answers to nearly one question: the ratio of what they forward, with its 95 % interval where both are simulated.

    ratio = ln X(b) / X(a)        X = sum of packets / sum of seconds over the batches, times bits of a packet

Both simulations see the same seed, so that packets and choices cancel out, batch by batch. The interval is that of the
jackknife over pairs of batches: n ln(ratio) - (n - 1) ln(ratio without one pair), Student's t over these n values
(Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11). Where the packets of both have little in
common, pairs of batches are as far apart as any: the interval is then that of two independent answers, the root of the
sum of squares of their relative half widths, if this is narrower. X is counted in packet bits, without padding, so that
a larger cell is no gain by itself.
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

FEWEST, MAX_PACKETS, EVENTS = 800, 2400, 150_000  # packets and events of each simulation: pairs need few
FILLED = 8  # times as many packets as threads, since an eighth of a run fills the machine and is not measured
BOUNDED = Refusal("bounds allow no more than the machine forwards as it is")  # of a point that was not simulated
MOST_FILLED = 1 << 17  # packets of a run for that: machines with more than 16,384 threads are still filling


def packets_for(design: Design, workload: Workload | None) -> int:
    """Return how many packets to simulate of each point: as many as EVENTS make, between FEWEST and MAX_PACKETS.

    More where threads are so many that the first packets only fill the machine.
    """
    machine = design.machine(workload)
    if design.workload(workload).arrivals == "timestamps" or machine.window_s is not None:
        return MAX_PACKETS  # these end by themselves
    filled = min(FILLED * machine.threads, MOST_FILLED)
    try:
        about = design.simulate(workload, packets=BATCHES, breakdown=False).about
    except NpexploreError:
        return max(MAX_PACKETS, filled)
    events = float(about["events"]) / max(1.0, float(about["packets"]))
    return max(round(min(MAX_PACKETS, max(FEWEST, EVENTS / events))), filled)


class Forwarded(NamedTuple):
    """What a machine forwards: packets a second, bits of a packet, and (packets, seconds) of each batch.

    half: half width of the 95 % interval as a share of the rate (None: unknown). ceilings: packets a second that each
    resource alone allows (None: nobody asked for them, or there are no demands).
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
    """The logarithm of a ratio, and the half width of its 95 % interval (None: not simulated, or a single batch)."""

    log: float
    half: float | None

    @property
    def gain(self) -> tuple[float, float | None, float | None]:
        """The share that is gained, and the ends of its interval (None: unknown)."""
        ends = (None, None) if self.half is None else (self.log - self.half, self.log + self.half)
        low, high = (None if end is None else exp(end) - 1 for end in ends)
        return exp(self.log) - 1, low, high


def answers_and_rates(
    points: Sequence[SweepPoint], packets: int, ceilings: bool = False, enough_bps: float = 0.0
) -> list[tuple[Forwarded | None, Answer]]:
    """Return the answers of one task with their rates: a worker that has made the packets knows their lengths.

    ceilings: whether these are asked for too, which takes a walk through the programs of each machine.
    enough_bps: where bounds allow no more bits of packets a second, they answer, and nothing is simulated.
    """
    if enough_bps:
        return [_bounded(point, packets, ceilings, enough_bps) for point in own_points(points)]
    answers = answer_all(points, packets, line=False)
    return [(forwarded(point, answer, ceilings), answer) for point, answer in zip(points, answers, strict=True)]


def _bounded(point: SweepPoint, packets: int, ceilings: bool, enough_bps: float) -> tuple[Forwarded | None, Answer]:
    """Return what bounds allow a point and BOUNDED if that is no more than `enough_bps`, else its solver's answer."""
    with suppress(NpexploreError):  # which the solver itself reports
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
    # runs in the commonest of several modes say nothing of the others, which the interval spans
    batches = () if "modes" in answer.about else answer.batches
    return Forwarded(answer.rate_pps, bits, batches, half, _ceilings(point) if ceilings else None)


def _ceilings(point: SweepPoint) -> Mapping[str, float] | None:
    """Return what each resource of a point's machine allows; None where only a run can tell, or without an engine."""
    if not point.design.by_engine:
        return None
    with suppress(RefusedError, ModelError):
        return point.design.demands(point.workload).ceilings()
    return None


def ratio(a: Forwarded, b: Forwarded) -> Ratio:
    """Return the log ratio of what b forwards to what a forwards, with the narrower of its two intervals."""
    halves = [half for half in (_paired_half(a, b), _independent_half(a, b)) if half is not None]
    return Ratio(float(np.log(b.bps / a.bps)), min(halves, default=None))


def _independent_half(a: Forwarded, b: Forwarded) -> float | None:
    """Return the half width of the log ratio of two independent answers; None without their intervals."""
    return None if a.half is None or b.half is None else float(np.hypot(a.half, b.half))


def _paired_half(a: Forwarded, b: Forwarded) -> float | None:
    """Return the half width of the log ratio by the jackknife over pairs of batches; None without pairs."""
    if len(a.batches) != len(b.batches) or len(a.batches) < 2:
        return None
    first, last = (np.array(one.batches, dtype=np.float64) for one in (a, b))
    left = [one.sum(axis=0) - one for one in (first, last)]  # without each batch
    if any((one[:, 0] <= 0).any() for one in left):
        return None
    without = np.log(left[1][:, 0] / left[1][:, 1]) - np.log(left[0][:, 0] / left[0][:, 1])
    n, whole = len(without), float(np.log(b.rate_pps / a.rate_pps))
    low, high = interval(n * whole - (n - 1) * without)
    return (high - low) / 2
