"""Laws that every run of a machine must satisfy; a violation is a fault of the description or the engine, not chance.

    Little        integral of packets in the system = sum of latencies + age at the end - age at the beginning   (exact)
    utilization   busy time of a server >= packets x demand, apart from chance and unfinished packets

The age is the sum, over packets in the system, of the time since their arrival. Demands are times without contention; a
server that is held while its holder waits is busy for longer. Little, Operations Research 9 (1961); Denning and Buzen
(1978).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.model import EngineModel
from npexplore.engine.state import Snapshot
from npexplore.errors import SimulationError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload

DEVIATIONS = 8.0  # standard deviations of the sum over batches that count as chance
UNDER_WAY = 4.0  # packets per token by which finished work and finished packets may differ
MIN_PACKETS_FOR_MEAN = 200  # with fewer packets a mean is not compared
ROUNDING = 1e-3  # relative tolerance for the counts of rare choices


def check(
    machine: Machine, workload: Workload, model: EngineModel, shots: Sequence[Snapshot]
) -> dict[str, float | int | str]:
    """Return the results of the laws, for a run's `about`; raises SimulationError if one is violated.

    little_gap: share of the time in the system that belongs to no packet (absent: packets in the system are not
    counted). least_busy: the smallest ratio of busy time to packets x demand, and least_busy_at: its server (absent:
    too few packets).
    """
    laws: dict[str, float | int | str] = {}
    gap = little_gap(model, shots[0], shots[-1])
    if gap is not None:
        laws["little_gap"] = gap
    smallest = least_busy(machine, workload, model, shots)
    if smallest is not None:
        laws["least_busy"], laws["least_busy_at"] = smallest
    return laws


def little_gap(model: EngineModel, first: Snapshot, last: Snapshot) -> float | None:
    """Return 1 - (latencies + change of age) / integral of packets in the system; raises SimulationError if not 0.

    None if packets in the system are not counted: several pools, threads that poll. Lost packets have no latency; if
    the program may lose packets, the gap is their share of the time.
    """
    census = model.census
    if census is None:
        return None
    inside = census.threads * (last.now - first.now)
    if census.waiting is not None:
        inside += int((last.integral_free - first.integral_free)[census.waiting])
        inside -= int((last.integral_line - first.integral_line)[census.waiting])
    latencies = int((last.done - first.done)[:, engine.D_LATENCY].sum())
    missing = inside - latencies - (last.age - first.age)
    slack = census.start if first.now <= census.start else 0
    if missing < -slack or (missing > slack and not census.loses):
        raise SimulationError(
            "law", f"Little's law is broken: {missing} of {inside} ticks in the system belong to no packet"
        )
    return missing / inside if inside else 0.0


def least_busy(
    machine: Machine, workload: Workload, model: EngineModel, shots: Sequence[Snapshot]
) -> tuple[float, str] | None:
    """Return the least ratio of busy time to packets x demand, and its server; SimulationError if it is too small."""
    if len(machine.pools) > 1 or len(shots) < 5 or not stands_for(workload, model, shots):
        return None
    if model.under_load is None:  # demands that depend on chance or on the order of threads
        return None
    return shortfall(model, model.under_load, shots)


def stands_for(workload: Workload, model: EngineModel, shots: Sequence[Snapshot]) -> bool:
    """Return whether the finished packets are representative of the workload.

    They are if all packets of the workload are alike. Otherwise no packet may be lost (a full buffer accepts short ones
    more often), and rows must be used equally often or in random order.
    """
    packets, rows = int((shots[-1].done - shots[0].done)[:, engine.D_COUNT].sum()), len(workload.packet_bytes)
    counts = dict(zip(model.counters, (shots[-1].counters - shots[0].counters).tolist(), strict=True))
    lost = any(amount for name, amount in counts.items() if name.startswith("drop."))
    whole_passes = packets >= rows and abs(packets / rows - round(packets / rows)) * rows <= 0.01 * packets
    return packets >= MIN_PACKETS_FOR_MEAN and (rows == 1 or (not lost and (whole_passes or not workload.ordered)))


def shortfall(model: EngineModel, d: UnderLoad, shots: Sequence[Snapshot]) -> tuple[float, str] | None:
    """Compare busy time with packets x demand for each server and batch; return the least ratio and its server."""
    batches = [(before, after) for before, after in itertools.pairwise(shots) if after.now > before.now]
    packets = np.array([float((after.done - before.done)[:, engine.D_COUNT].sum()) for before, after in batches])
    durations = np.array([after.now - before.now for before, after in batches])
    free = np.array([after.integral_free - before.integral_free for before, after in batches])
    worst: tuple[float, str] | None = None
    for name, demand in d.demands.servers.items():
        server, number = model.servers[name]
        demand_s = float(demand.seconds)
        if server.role == "hidden" or server.kept_waiting or not demand_s > 0 or not server.units:
            continue  # for random targets, the demand of a link is only an average
        free_here = free[:, number : number + server.members].sum(axis=1)
        busy = (server.members * server.units * durations - free_here) * model.tick
        needed = packets * demand_s
        chance_s = DEVIATIONS * float(np.std(busy - needed, ddof=1)) * len(packets) ** 0.5
        whole_ticks = model.tick / 2 * demand.visits * float(packets.sum())
        slack = chance_s + demand_s * UNDER_WAY * shots[-1].live + ROUNDING * float(needed.sum()) + whole_ticks
        if busy.sum() < needed.sum() - slack:
            raise SimulationError(
                "law", f"the utilization law is broken: {name} was busy for {busy.sum():.4g} s, "
                f"{packets.sum():.0f} packets need it for {needed.sum():.4g} s",
            )  # fmt: skip
        ratio = float(busy.sum() / needed.sum())
        worst = min(worst or (ratio, name), (ratio, name))
    return worst
