"""Simulation of a machine: runs the event engine, cuts the warm-up, and gives every number a 95 % interval.

One seed: batch means over equal numbers of packets with Student's t, with a warning if the run is short compared with
the relaxation time of a queue. Over whole passes through a mix, the bytes of a batch are a control variate. A window
measures from boot_s to boot_s + window_s instead, without a cut. A machine's own window is short compared with its slow
changes, so that a single seed has no interval there. Several seeds: seeds.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine import laws
from npexplore.engine.intervals import growth, interval, quantiles, ratio_interval
from npexplore.engine.model import EngineModel, build, threads_of
from npexplore.engine.run import FOREVER, Run, run
from npexplore.engine.state import Snapshot
from npexplore.errors import InputError, SimulationError, positive
from npexplore.machine.line_rates import line_cards, line_rate
from npexplore.machine.machine import Machine
from npexplore.machine.mixes import SEQUENCE
from npexplore.machine.resources.ingress import OFFERED
from npexplore.machine.resources.lock import Lock
from npexplore.machine.workload import CLASS, Workload, offered_rate
from npexplore.rows.distributions import Arrivals
from npexplore.solve.bounds import busy_shares
from npexplore.solve.breakdown import of_tally
from npexplore.solve.prediction import ClassOfPackets, Latency, Prediction, Queue, Utilization, bottleneck

PACKETS = SEQUENCE  # one pass through a mix: the mean length is then exactly that of the mix
WARM_UP = 2  # batches cut
BATCHES = 16  # measured batches
ONE_WINDOW = "simulation of one window; how far others differ takes several seeds, or an estimate"
ONE_ORDER = "; of the order in which this run's threads met at locks, beside which an estimate looks for others"
GREW = "latency grew by {:.0f} % while it was measured, for queues were filling: take more packets"
SHORT = "; at {:.0f} % of utilization a queue forgets its state in {:,.0f} packets: take more, or an estimate"
FORGETFUL = 25.0  # relaxation times of a queue: intervals of shorter runs contain the mean too rarely
FOREVER_S = float(FOREVER)  # longer than any run: no packet needs to finish within a window
NORMAL = 1.96  # quantile of a normal distribution at 97.5 %
NEARLY_ALL = 0.95  # share of a pool's threads that have a packet, above which the pool counts as full


@dataclass(frozen=True)
class Stretch:
    """Changes between two snapshots: seconds, and per class packets, bytes, padded bytes, latencies in ticks."""

    seconds: float
    done: npt.NDArray[np.int64]

    @staticmethod
    def between(a: Snapshot, b: Snapshot, tick: float) -> Stretch:
        """Return the changes from snapshot a to snapshot b; tick: its seconds."""
        return Stretch((b.now - a.now) * tick, b.done - a.done)

    def of(self, column: int, number: int | None = None) -> int:
        """Return the sum of a column, of one class or of all."""
        return int(self.done[:, column].sum() if number is None else self.done[number, column])

    def latency_s(self, tick: float, number: int | None = None) -> float | None:
        """Return the mean latency, of one class or of all (None: no packet)."""
        packets = self.of(engine.D_COUNT, number)
        return self.of(engine.D_LATENCY, number) * tick / packets if packets else None


def simulate(
    machine: Machine, workload: Workload, *, seed: int = 1, packets: int | None = None, warm_up: int | None = None,
    window_s: float | None = None, boot_s: float | None = None, model: EngineModel | None = None,
    breakdown: bool = False, progress: Callable[[int], None] | None = None, line: bool = True,
) -> Prediction:  # fmt: skip
    """Simulate one run; raises SimulationError if it makes no progress.

    machine: what to run. workload: its packets. seed: of the random numbers. packets: finished packets measured after
    the warm-up (None: enough to represent a mix; with time-stamped arrivals all that remain). warm_up: packets finished
    before, rounded up to whole batches (None: two batches of the size of the 16 measured ones; none with time-stamped
    arrivals). window_s: measure boot_s <= time < boot_s + window_s instead (None: the machine's own window, if any).
    boot_s: start of the window. model: the arrays of the machine (None: built here). breakdown: include the latency
    breakdown. progress: called with the number of finished packets. line: include the rate that the wires allow, which
    needs the programs' demands.
    """
    if packets is not None:
        packets = int(positive("packets", packets))
    compiled = model or build(machine, workload)
    window = machine.window_s if window_s is None else positive("window", window_s)
    boot = machine.boot_s if boot_s is None else positive("boot time", boot_s, zero=True)
    if window is not None:
        run_ = run(
            compiled, seed, 0, BATCHES, from_s=boot, until_s=boot + window, stall_s=FOREVER_S, accounts=breakdown,
            progress=progress,
        )  # fmt: skip
        answer = measure(machine, workload, run_, 0, line)
        return answer if window_s is not None else replace(answer, ci95={}, approximation=ONE_WINDOW)
    if boot_s:
        raise InputError(f"a boot time needs a window, got boot time {boot_s!r} without one")
    packets, cut = _length(workload, packets, warm_up)
    batches = BATCHES + cut
    goal = max(packets * batches // BATCHES, batches)
    if workload.arrivals == "timestamps":
        goal = min(goal, len(workload.packet_bytes))
    result = run(compiled, seed, goal, batches, accounts=breakdown, cut=cut, progress=progress)
    return measure(machine, workload, result, cut, line)


def _at_least(share: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval, widened so that its half width is at least a share of its middle."""
    middle = sum(ends) / 2
    half = max((ends[1] - ends[0]) / 2, share * middle)
    return max(middle - half, 0.0), middle + half


def _length(workload: Workload, packets: int | None, warm_up: int | None) -> tuple[int, int]:
    """Return the number of measured packets and of warm-up batches; raises InputError if a capture has too few."""
    if workload.arrivals != "timestamps":
        packets = packets or PACKETS
        return packets, WARM_UP if warm_up is None else math.ceil(BATCHES * warm_up / packets)
    before, there = warm_up or 0, len(workload.packet_bytes)
    if before + (packets or 1) > there:
        raise InputError(
            f"{workload.name!r} has {there} packets with time stamps, not {packets or 1} after a warm-up of {before}"
        )
    packets = packets or there - before
    return packets, math.ceil(BATCHES * before / packets)


def _intervals(
    workload: Workload, parts: Sequence[Stretch], counted: int, tick: float
) -> tuple[dict[str, tuple[float, float]], float]:
    """Return 95 % intervals of rates and mean latency, and the relative growth of latency during the run."""
    if len(parts) < 2:
        return {}, 0.0
    times, mix = np.array([part.seconds for part in parts]), _mix(workload, parts)
    ci95 = {
        "throughput_bps": ratio_interval(np.array([8.0 * part.of(counted) for part in parts]), times, mix),
        "rate_pps": ratio_interval(np.array([float(part.of(engine.D_COUNT)) for part in parts]), times, mix),
    }
    means = np.array([mean for part in parts if (mean := part.latency_s(tick)) is not None])
    if len(means) > 1:
        ci95["latency_s"] = interval(means, mix if len(means) == len(parts) else None)
    # for example, queues between pools may still be filling
    grown = growth(means) if workload.arrivals != "timestamps" and len(means) >= BATCHES else 0.0
    return ci95, grown


def _takes_all(named: str, packets: int, offered: float, utilization: Mapping[str, Utilization]) -> bool:
    """Return whether threads or arrivals limit the rate, although one member may always be full.

    This happens where packets ask the same members first.
    """
    return named.startswith("threads") or (packets >= 0.99 * offered and utilization[named].busy < NEARLY_ALL)


def _about(machine: Machine, total: Stretch, events: int, cut: int, batches: int, grown: float) -> dict[str, Any]:
    """Return the facts of a run: packets, batches, seconds, events, bytes."""
    return {
        "packets": total.of(engine.D_COUNT),
        "warm_up_batches": cut,
        "batches": batches,
        "simulated_s": total.seconds,
        **({"latency_grew": grown} if grown else {}),
        "events": events,
        "packet_bytes": total.of(engine.D_BYTES),
        "padded_cells": total.of(engine.D_PADDED) // machine.cell_bytes,
    }


def _shortness(process: Arrivals, load: float, packets: int) -> str:
    """Return a warning if a run is short compared with the relaxation time of a queue at this load, else ""."""
    relaxation = 2 * max(process.dispersion(), 1.0) / max(1 - load, 1 / packets) ** 2  # packets, as in estimate/plan.py
    return SHORT.format(100 * load, relaxation) if packets < FORGETFUL * relaxation else ""


def _latency(total: Stretch, histogram: npt.NDArray[np.int64], tick: float, number: int | None = None) -> Latency:
    """Return the latency of the packets of one class, or of all packets."""
    bins = histogram.sum(axis=0) if number is None else histogram[number]
    ticks = float(total.of(engine.D_LATENCY, number))
    return Latency(total.latency_s(tick, number), *quantiles(bins, (0.5, 0.95, 0.99, 0.999), tick, ticks))


def _classes(
    total: Stretch, numbers: Iterable[int], counted: int, latency: Callable[[int], Latency]
) -> dict[str, ClassOfPackets]:
    """Return rates and latency of each class, by class number."""
    return {
        str(number): ClassOfPackets(
            8.0 * total.of(counted, number) / total.seconds, total.of(engine.D_COUNT, number) / total.seconds,
            latency(number),
        )
        for number in numbers
    }  # fmt: skip


def measure(machine: Machine, workload: Workload, result: Run, cut: int, line: bool = True) -> Prediction:
    """Return the prediction from a run's snapshots without the first `cut` batches; line: with the wires' rate."""
    model, tick = result.model, result.model.tick
    is_short_run = len(result.snapshots) <= cut + 1
    shots = result.snapshots if is_short_run else result.snapshots[cut:]
    first, last = shots[0], shots[-1]
    total = Stretch.between(first, last, tick)
    packets = total.of(engine.D_COUNT)
    if not total.seconds:
        raise SimulationError(
            "endless instant", f"{machine.name}: {packets} packets went through in no time, since no step takes time"
        )
    parts = [Stretch.between(a, b, tick) for a, b in itertools.pairwise(shots) if b.now > a.now]
    counted = engine.D_PADDED if machine.padded else engine.D_BYTES
    utilization, busiest = _utilization(model, first, last)
    counts = dict(zip(model.counters, (last.counters - first.counters).tolist(), strict=True))
    ci95, grown = _intervals(workload, parts, counted, tick)
    offered = offered_rate(workload) if workload.arrivals == "timestamps" else workload.rate_pps
    limiting = _named(machine, _without_looks(machine, model, busiest, packets / total.seconds), utilization)
    drops = {place: n for place, n in counts.items() if place.startswith("drop.")}
    lost = sum(drops.values())
    waits_for_packets = offered is not None and lost <= 0.01 * packets and (
        _takes_all(limiting, packets, offered * total.seconds, utilization)
    )  # fmt: skip
    short = ""
    if waits_for_packets and (process := workload.process()) is not None:
        if packets and ci95:  # batch means do not show variations of arrivals that are longer than a batch
            least = NORMAL * (process.dispersion() / packets) ** 0.5
            ci95 |= {name: _at_least(least, ci95[name]) for name in ("rate_pps", "throughput_bps")}
        if "latency_s" in ci95:
            short = _shortness(process, max(share.busy for share in utilization.values()), packets)
    latency = partial(_latency, total, last.histogram - first.histogram, tick)
    allowed = model.under_load if line and line_cards(machine) else None
    line_of_wires = None if allowed is None else line_rate(machine, allowed.ceilings())
    tally = result.tally
    if tally is not None and result.tally_before is not None and not is_short_run:
        tally = tally.since(result.tally_before)
    return Prediction(
        solver="simulation",
        throughput_bps=8.0 * total.of(counted) / total.seconds,
        rate_pps=packets / total.seconds,
        counted=machine.counted,
        bottleneck="arrivals" if waits_for_packets else limiting,
        utilization=utilization,
        latency_s=latency(),
        queue=_queues(result, first, last),
        drops={place.removeprefix("drop."): int(n) for place, n in drops.items()},
        offered_pps=offered,
        loss=lost / counts[OFFERED] if counts.get(OFFERED) else None,
        rates={name: n / total.seconds for name, n in counts.items() if not (name in drops or name == OFFERED)},
        ci95=ci95,
        approximation="simulation; batch means with Student's t" + (f"; {GREW.format(100 * grown)}" if grown else "")
        + short + (ONE_ORDER if meet_at_locks(machine) else ""),
        seed=result.seed,
        about=_about(machine, total, last.events, cut, len(parts), grown)
        | laws.check(machine, workload, model, shots),
        classes=_classes(total, range(model.classes if CLASS in workload.columns else 0), counted, latency),
        batches=tuple((part.of(engine.D_COUNT), part.seconds) for part in parts),
        line_pps=None if line_of_wires is None else line_of_wires[1],
        breakdown=None if tally is None else of_tally(tally, tick, CLASS in workload.columns),
    )  # fmt: skip


def _mix(workload: Workload, parts: Sequence[Stretch]) -> npt.NDArray[np.float64] | None:
    """Return the bytes of each batch if the run is whole passes through a mix, else None."""
    rows, packets = len(workload.packet_bytes), sum(part.of(engine.D_COUNT) for part in parts)
    passes = round(packets / rows)
    if workload.arrivals != "saturated" or rows == 1 or abs(packets - passes * rows) > 0.01 * packets:
        return None
    return np.array([float(part.of(engine.D_BYTES)) for part in parts])


def _utilization(
    model: EngineModel, first: Snapshot, last: Snapshot
) -> tuple[dict[str, Utilization], dict[str, float]]:
    """Return busy and blocked shares by server, and the busy share of the busiest member of each."""
    ticks = last.now - first.now
    free_ticks, blocked_ticks = (
        last.integral_free - first.integral_free, last.integral_blocked - first.integral_blocked
    )  # fmt: skip
    utilization, busiest = {}, {}
    for name, (server, number) in model.servers.items():
        if not server.units:
            continue
        if server.members == 1:
            free, blocked = (float(sums[number] / (server.units * ticks)) for sums in (free_ticks, blocked_ticks))
            utilization[name], busiest[name] = Utilization(1.0 - free, blocked), 1.0 - free
            continue
        members = slice(number, number + server.members)
        shares = free_ticks[members] / (server.units * ticks)
        blocked = float((blocked_ticks[members] / (server.units * ticks)).mean())
        utilization[name] = Utilization(1.0 - float(shares.mean()), blocked)
        busiest[name] = 1.0 - float(shares.min())
    return utilization, busiest


def _queues(result: Run, first: Snapshot, last: Snapshot) -> dict[str, Queue]:
    """Return the waiting lines of servers, and the packets in the receive buffer and in queues between pools."""
    model, ticks, queue = result.model, last.now - first.now, {}
    lines = last.integral_line - first.integral_line
    for name, (server, number) in model.servers.items():
        if server.members == 1:
            queue[name] = Queue(float(lines[number]) / ticks, int(result.longest_line[number]))
            continue
        members = slice(number, number + server.members)
        queue[name] = Queue(float(lines[members].sum()) / ticks, int(result.longest_line[members].max()))
    for name, (numbers, _) in model.queues.items():
        mean = float((last.integral_free - first.integral_free)[list(numbers)].sum()) / ticks
        queue[name] = Queue(mean, result.longest_queue[name])
    return queue


def _without_looks(
    machine: Machine, model: EngineModel, busiest: Mapping[str, float], rate_pps: float
) -> Mapping[str, float]:
    """Return busy shares without polling: engines on which idle threads poll count only the work of packets."""
    homes = {pool.home for pool in machine.pools if pool.idle == "poll"}
    demands = model.under_load if homes else None
    if demands is None:
        return busiest
    by_law = busy_shares(demands, rate_pps / demands.finished)
    return {name: min(share, by_law.get(name, 0.0)) if name in homes else share for name, share in busiest.items()}


def _named(machine: Machine, busiest: Mapping[str, float], seen: Mapping[str, Utilization]) -> str:
    """Return the bottleneck; without a full server, the last of several pools whose threads always have a packet."""
    name_of_bottleneck = bottleneck(machine.servers(), busiest, seen)
    if name_of_bottleneck != "threads" or len(machine.pools) == 1:
        return name_of_bottleneck
    shares = {name: busiest[name] for name in (threads_of(pool) for pool in machine.pools)}
    full_pools = [name for name, share in shares.items() if share > NEARLY_ALL]
    return full_pools[-1] if full_pools else max(shares, key=lambda name: shares[name])


def meet_at_locks(machine: Machine) -> bool:
    """Return whether several threads share locks, where constant work can preserve the order of the first meeting."""
    return machine.threads > 1 and any(isinstance(resource, Lock) for resource in machine.resources.values())
