"""Laws that every run of a machine must keep: what breaks one is a fault of a description or of the engine, not chance.

    Little        integral of packets inside = sum of latencies + age at the end - age at the beginning   (to the tick)
    utilization   busy time of a server >= packets x demand, but for chance and for packets under way

with the age the sum over packets inside of the time since they came. Demands are times without contention: a server
that is held while its holder waits is busy for longer. Little, Operations Research 9 (1961); Denning and Buzen (1978).
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

DEVIATIONS = 8.0  # of the sum over batches: further is not chance
UNDER_WAY = 4.0  # packets of each token whose work is done and that are not finished, or the other way round
MIN_PACKETS_FOR_MEAN = 200  # packets: fewer say nothing of a mean
ROUNDING = 1e-3  # of the counts of rare choices


def check(
    machine: Machine, workload: Workload, model: EngineModel, shots: Sequence[Snapshot]
) -> dict[str, float | int | str]:
    """Return what the laws say of a run, for its `about`; raises SimulationError where one is broken.

    little_gap: share of the time in the system that is not accounted for (absent: packets are not told apart).
    least_busy: the smallest busy time over packets x demand, and least_busy_at: the server (absent: too few packets).
    """
    laws: dict[str, float | int | str] = {}
    gap = little_gap(model, shots[0], shots[-1])
    if gap is not None:
        laws["little_gap"] = gap
    least = least_busy(machine, workload, model, shots)
    if least is not None:
        laws["least_busy"], laws["least_busy_at"] = least
    return laws


def little_gap(model: EngineModel, first: Snapshot, last: Snapshot) -> float | None:
    """Return 1 - (latencies + change of age) / integral of packets inside; raises SimulationError if it is not 0.

    None where nobody counts the packets inside: several pools, threads that poll. Packets that a program loses have no
    latency: the gap is their share of the time.
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
    """Return the smallest busy time over packets x demand and the server; raises SimulationError if it is too small."""
    if len(machine.pools) > 1 or len(shots) < 5 or not stands_for(workload, model, shots):
        return None
    if model.under_load is None:  # demands that depend on chance or on who comes first
        return None
    return shortfall(model, model.under_load, shots)


def stands_for(workload: Workload, model: EngineModel, shots: Sequence[Snapshot]) -> bool:
    """Say whether the packets finished are like those of the workload.

    All alike; or none lost (a full buffer prefers short ones), and all rows equally often or in random order.
    """
    packets, rows = int((shots[-1].done - shots[0].done)[:, engine.D_COUNT].sum()), len(workload.packet_bytes)
    counts = dict(zip(model.counters, (shots[-1].counters - shots[0].counters).tolist(), strict=True))
    lost = any(amount for name, amount in counts.items() if name.startswith("drop."))
    whole = packets >= rows and abs(packets / rows - round(packets / rows)) * rows <= 0.01 * packets
    return packets >= MIN_PACKETS_FOR_MEAN and (rows == 1 or (not lost and (whole or not workload.ordered)))


def shortfall(model: EngineModel, d: UnderLoad, shots: Sequence[Snapshot]) -> tuple[float, str] | None:
    """Compare busy times batch by batch with packets x demand."""
    batches = [(a, b) for a, b in itertools.pairwise(shots) if b.now > a.now]
    packets = np.array([float((b.done - a.done)[:, engine.D_COUNT].sum()) for a, b in batches])
    lasts = np.array([b.now - a.now for a, b in batches])
    free = np.array([b.integral_free - a.integral_free for a, b in batches])
    worst: tuple[float, str] | None = None
    for name, demand in d.demands.servers.items():
        server, number = model.servers[name]
        each = float(demand.seconds)
        if server.role == "hidden" or server.kept_waiting or not each > 0 or not server.units:
            continue  # which links a random target needs is known on average only
        free_here = free[:, number : number + server.members].sum(axis=1)
        busy = (server.members * server.units * lasts - free_here) * model.tick
        needed = packets * each
        chance = DEVIATIONS * float(np.std(busy - needed, ddof=1)) * len(packets) ** 0.5
        whole_ticks = model.tick / 2 * demand.visits * float(packets.sum())
        slack = chance + each * UNDER_WAY * shots[-1].live + ROUNDING * float(needed.sum()) + whole_ticks
        if busy.sum() < needed.sum() - slack:
            raise SimulationError(
                "law", f"the utilization law is broken: {name} was busy for {busy.sum():.4g} s, "
                f"{packets.sum():.0f} packets need it for {needed.sum():.4g} s",
            )  # fmt: skip
        ratio = float(busy.sum() / needed.sum())
        worst = min(worst or (ratio, name), (ratio, name))
    return worst
