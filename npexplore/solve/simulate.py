"""Simulation of a machine: runs the event engine, cuts the warm-up, gives every number a 95 % interval.

One seed: batch means over equal numbers of packets with Student's t. Several seeds: replications, t over the seeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.errors import InputError, positive
from npexplore.machine.machine import Machine
from npexplore.machine.mixes import SEQUENCE
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import offered_rate
from npexplore.solve.model import EngineModel, build
from npexplore.solve.prediction import Latency, Prediction, Queue, Utilization, bottleneck
from npexplore.solve.run import Run, Snapshot, run

Floats = npt.NDArray[np.float64]
PACKETS = SEQUENCE  # once through a mix: the mean length is then the mix's own, whatever the order
WARM_UP = 2  # batches cut
BATCHES = 16  # batches kept
OFFERED = "offered.packets"


@dataclass(frozen=True)
class Window:
    """Differences between two snapshots, in seconds and per second."""

    seconds: float
    packets: int
    packet_bytes: int
    padded_bytes: int
    latency_s: float

    @staticmethod
    def between(a: Snapshot, b: Snapshot, tick: float) -> Window:
        """Return what happened from snapshot a to snapshot b."""
        done = (b.done - a.done).sum(axis=0)
        packets = int(done[engine.D_COUNT])
        mean = float(done[engine.D_LATENCY]) * tick / packets if packets else float("nan")
        return Window((b.now - a.now) * tick, packets, int(done[engine.D_BYTES]), int(done[engine.D_PADDED]), mean)


def bin_middle(bins: npt.NDArray[np.int64]) -> Floats:
    """Return the latency in ticks that stands for a histogram bin: exact below 32, then the middle of its span."""
    exponent = np.maximum(bins // 32 - 1, 0)
    low = np.where(bins < 32, bins, (bins - 32 * exponent)) * 2.0**exponent
    middle: Floats = low + np.where(bins < 64, 0.0, 2.0**exponent / 2)
    return middle


def quantiles(histogram: npt.NDArray[np.int64], shares: Sequence[float], tick: float) -> list[float | None]:
    """Return latency quantiles in seconds of a histogram (None if it is empty); right within 1.6 %."""
    total = int(histogram.sum())
    if not total:
        return [None for _ in shares]
    at = np.searchsorted(np.cumsum(histogram), np.ceil(np.array(shares) * total).clip(1))
    return [float(x) * tick for x in bin_middle(at)]


def interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a mean by Student's t; raises InputError for fewer than two values."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        raise InputError(f"an interval needs at least 2 values, got {n}")
    half = float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / n**0.5
    mean = float(np.mean(values))
    return mean - half, mean + half


def ratio_interval(amounts: Floats, seconds: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a rate, sum of amounts over sum of times, from batches that may differ in length.

    With r the rate and z = amount - r * time in each batch, the half width is t * s(z) / (mean time * sqrt(n)).
    """
    rate = float(amounts.sum() / seconds.sum())
    low, high = interval(amounts - rate * seconds)
    half = (high - low) / 2 / float(seconds.mean())
    return max(rate - half, 0.0), rate + half


def simulate(
    machine: Machine,
    workload: Workload,
    *,
    seed: int = 1,
    packets: int = PACKETS,
    model: EngineModel | None = None,
    progress: Callable[[int], None] | None = None,
) -> Prediction:
    """Simulate one run.

    packets: finished packets measured after the warm-up (time-stamped arrivals: the whole capture, no cut).
    Raises SimulationError if the run makes no progress.
    """
    packets = int(positive("packets", packets))
    compiled = model or build(machine, workload)
    whole = workload.arrivals == "timestamps"
    batches = BATCHES if whole else BATCHES + WARM_UP
    goal = len(workload.packet_bytes) if whole else max(packets * batches // BATCHES, batches)
    stall = 1.0 if not whole else 10.0 + float(workload.t_ns.max()) * 1e-9 if workload.t_ns is not None else 1.0
    if workload.rate_pps:
        stall = max(stall, 1000.0 / workload.rate_pps)
    result = run(compiled, seed, goal, batches, stall_s=stall, progress=progress)
    return measure(machine, workload, result, 0 if whole else WARM_UP)


def measure(machine: Machine, workload: Workload, result: Run, cut: int) -> Prediction:
    """Turn the snapshots of a run into a prediction, without the first `cut` batches."""
    model, tick = result.model, result.model.tick
    shots = result.snapshots[cut:] if len(result.snapshots) > cut + 1 else result.snapshots
    first, last = shots[0], shots[-1]
    total = Window.between(first, last, tick)
    parts = [Window.between(a, b, tick) for a, b in itertools.pairwise(shots) if b.now > a.now]

    def bits(window: Window) -> float:
        return 8.0 * (window.padded_bytes if machine.padded else window.packet_bytes)

    ticks = last.now - first.now
    utilization, queue, busiest = {}, {}, {}
    for name, (server, number) in model.servers.items():
        members = slice(number, number + server.members)
        if server.units:
            free = (last.integral_free - first.integral_free)[members] / (server.units * ticks)
            blocked = (last.integral_blocked - first.integral_blocked)[members] / (server.units * ticks)
            utilization[name] = Utilization(1.0 - float(free.mean()), float(blocked.mean()))
            busiest[name] = 1.0 - float(free.min())
        line = float((last.integral_line - first.integral_line)[members].sum()) / ticks
        queue[name] = Queue(line, int(result.longest_line[members].max()))
    counts = dict(zip(model.counters, (last.counters - first.counters).tolist(), strict=True))
    histogram = (last.histogram - first.histogram).sum(axis=0)
    p50, p95, p99 = quantiles(histogram, (0.5, 0.95, 0.99), tick)
    ci95 = {}
    if len(parts) > 1:
        times = np.array([part.seconds for part in parts])
        ci95["throughput_bps"] = ratio_interval(np.array([bits(part) for part in parts]), times)
        ci95["rate_pps"] = ratio_interval(np.array([float(part.packets) for part in parts]), times)
        means = np.array([part.latency_s for part in parts if part.packets])
        if len(means) > 1:
            ci95["latency_s"] = interval(means)
    offered = None
    if workload.arrivals != "saturated":
        offered = offered_rate(workload) if workload.arrivals == "timestamps" else workload.rate_pps
    rate = total.packets / total.seconds
    named = bottleneck(machine.servers(), busiest)
    lost = sum(n for place, n in counts.items() if place.startswith("drop."))
    return Prediction(
        solver="simulation",
        throughput_bps=bits(total) / total.seconds,
        rate_pps=rate,
        counted=machine.counted,
        bottleneck="arrivals" if offered is not None and named == "threads" and lost <= 0.01 * total.packets else named,
        utilization=utilization,
        latency_s=Latency(total.latency_s, p50, p95, p99),
        queue=queue,
        drops={place.removeprefix("drop."): int(n) for place, n in counts.items() if place.startswith("drop.")},
        offered_pps=offered,
        rates={
            name: n / total.seconds for name, n in counts.items() if not name.startswith("drop.") and name != OFFERED
        },
        ci95=ci95,
        approximation="simulation; batch means with Student's t",
        seed=result.seed,
        about={
            "packets": total.packets,
            "warm_up_batches": cut,
            "batches": len(parts),
            "simulated_s": total.seconds,
            "events": last.events,
        },
    )


def replicate(
    machine: Machine, workload: Workload, seeds: Sequence[int], *, packets: int = PACKETS,
    progress: Callable[[int], None] | None = None,
) -> Prediction:  # fmt: skip
    """Simulate with several seeds; means over the seeds, intervals by replications."""
    if not seeds:
        raise InputError("a simulation needs at least one seed")
    if len(seeds) == 1:
        return simulate(machine, workload, seed=seeds[0], packets=packets, progress=progress)
    model = build(machine, workload)
    runs = [simulate(machine, workload, seed=seed, packets=packets, model=model, progress=progress) for seed in seeds]
    return combine(machine, runs)


def combine(machine: Machine, runs: Sequence[Prediction]) -> Prediction:
    """Return the mean of several runs with intervals over the runs."""

    def mean(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return float(np.mean(known)) if known else None

    def average(get: Callable[[Prediction], float]) -> float:
        return float(np.mean([get(run) for run in runs]))

    utilization = {
        name: Utilization(average(lambda r: r.utilization[name].busy), average(lambda r: r.utilization[name].blocked))  # noqa: B023
        for name in runs[0].utilization
    }
    queue = {
        name: Queue(average(lambda r: r.queue[name].mean), max(r.queue[name].longest for r in runs))  # noqa: B023
        for name in runs[0].queue
    }
    ci95 = {
        "throughput_bps": interval(np.array([r.throughput_bps for r in runs])),
        "rate_pps": interval(np.array([r.rate_pps for r in runs])),
    }
    for name in utilization:
        ci95[f"utilization.{name}"] = interval(np.array([r.utilization[name].busy for r in runs]))
    for name in runs[0].rates:
        ci95[f"rate.{name}"] = interval(np.array([r.rates[name] for r in runs]))
    names = [r.bottleneck for r in runs]
    return replace(
        runs[0],
        throughput_bps=average(lambda r: r.throughput_bps),
        rate_pps=average(lambda r: r.rate_pps),
        bottleneck=max(set(names), key=names.count),
        utilization=utilization,
        queue=queue,
        latency_s=Latency(*(mean([r.latency_s[k] for r in runs]) for k in range(4))),
        drops={place: round(average(lambda r: float(r.drops[place]))) for place in runs[0].drops},  # noqa: B023
        rates={name: average(lambda r: r.rates[name]) for name in runs[0].rates},  # noqa: B023
        ci95=ci95,
        approximation=f"simulation; {len(runs)} replications with Student's t",
        about={**runs[0].about, "seeds": len(runs)},
    )
