"""A machine's demands under a workload: the input of bounds, queueing and checks of runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.flows import flows
from npexplore.machine.machine import Machine, Recorded, never_frees
from npexplore.machine.sections import Demands
from npexplore.machine.workload import RATED, Workload
from npexplore.rows.expressions import Values
from npexplore.rows.server import Server

Floats = npt.NDArray[np.float64]
V = TypeVar("V", float, Floats)
ONCE = 1e-9  # largest difference from 1 of the visits of a packet that visits once
KINDS = 16  # largest number of different latencies without contention
LARGE_ARRAYS = 1000  # distinct packets; above it the C library maps and unmaps each array in the kernel
REUSED_BYTES = 31 << 20  # below 32 MB, the largest size from which the C library learns


@dataclass(frozen=True)
class UnderLoad:
    """A machine's demands under one workload."""

    machine: Machine
    workload: Workload
    servers: Mapping[str, Server]
    demands: Demands
    counted_bits: float  # per finished packet
    packet_bits: float
    residence: Mapping[str, float]  # by pool, the seconds of its threads per packet of the workload
    by_pool: Mapping[str, Demands]
    finished: float = 1.0  # packets per packet of the workload
    longest: float = 0.0  # latency without contention of the slowest packet, over all its pools, in seconds
    scv: float = 0.0  # squared coefficient of variation of the latency without contention between packets
    between_pools: Mapping[str, float] = field(default_factory=dict)  # by server, unit-seconds (flows.py)
    times: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))  # at most KINDS latencies without contention; shares

    def ceilings(self) -> dict[str, float]:
        """Return the packets per second that each server alone, and the threads alone, would allow."""
        return ceilings(self.machine, self.servers, self.largest(), self.residence)

    def largest(self) -> dict[str, float]:
        """Return the seconds per packet at the most loaded member of each server.

        Units held from one pool to another count as spread evenly over the members, which gives a lower limit.
        """
        by_server = {name: demand.largest(self.servers[name].members) for name, demand in self.demands.servers.items()}
        for name, seconds in self.between_pools.items():
            by_server[name] = by_server.get(name, 0.0) + seconds / self.servers[name].members
        return by_server

    def spread(self, name: str) -> float:
        """Return the squared coefficient of variation of a packet's time at a server, or as a whole ("threads").

        Where each packet visits once, it is that of a visit. Elsewhere it is that of the whole latency between packets
        plus the random variation at the server.
        """
        servers = self.demands.servers
        demand, share = servers.get(name), self.demands.share or 1.0
        if demand is not None and abs(demand.visits - share) < ONCE:
            return demand.scv
        if demand is None:
            total = self.demands
            return self.scv + (total.chance * share / total.latency**2 if total.latency else 0.0)
        extra = demand.visits / share % 1.0  # share of packets with one visit more than the others, at least
        variance = (
            demand.variance + share * extra * (1.0 - extra) * (demand.seconds / demand.visits) ** 2
            if demand.visits
            else 0.0
        )
        return self.scv + (variance * share / demand.seconds**2 if demand.seconds else 0.0)

    def check_freed(self) -> None:
        """Raise ModelError if programs free more or fewer bytes of the receive buffer than arriving packets take."""
        ingress, freed = self.machine.ingress, self.demands.freed
        columns, shares = self.workload.distinct()
        taken = float(shares @ (np.ceil(columns["packet_bytes"] / ingress.cell_bytes) * ingress.cell_bytes))
        if freed and abs(freed - taken) > 1e-9 * taken:  # false for nan, which stands for a random amount
            raise ModelError(
                f"{self.machine.name}: packets of {self.workload.name} take {taken:.6g} bytes of {ingress.name!r} in "
                f"the mean (in cells of {ingress.cell_bytes}), the program frees {freed:.6g}"
            )


def ceilings(
    machine: Machine, servers: Mapping[str, Server], largest: Mapping[str, V], residence: Mapping[str, V]
) -> dict[str, V]:
    """Return the highest rates in packets/s: units / D of each server, threads / residence of each pool.

    D is the server's seconds per packet at its most loaded member. Values are for one design point, or arrays over
    points. A server or pool without time at some point has no ceiling.
    """
    rates = {
        name: server.units / largest[name]
        for name, server in servers.items()
        if name in largest and np.all(largest[name] > 0)
    }
    for pool in machine.pools:
        if np.all(residence[pool.name] > 0):
            name = "threads" if len(machine.pools) == 1 else f"threads.{pool.name}"
            rates[name] = pool.count / residence[pool.name]
    return rates


def under_load(machine: Machine, workload: Workload, pools: list[Recorded] | None = None) -> UnderLoad:
    """Return the demands of the machine's programs for the workload's distinct packets, weighted by their shares.

    pools: programs that are recorded already (None: record them). Raises ModelError for an arrival process if no
    program frees the receive buffer.
    """
    machine.ingress.arrivals = workload.arrivals
    columns, weights = workload.distinct()
    if len(weights) > LARGE_ARRAYS:
        reuse_freed_memory()
    flow = flows(machine, columns, weights, pools, apart=workload.arrivals == "timestamps")
    finished = sum(float(np.sum(shares)) for shares, _ in flow.finished) if len(machine.pools) > 1 else 1.0

    def bits(count: Callable[[Values], Values]) -> float:
        total = sum(float(np.sum(shares * count(sizes))) for shares, sizes in flow.finished)
        return 8 * total / finished if finished else 0.0

    seconds = flow.clock / weights
    mean = float(np.sum(flow.clock))
    load = UnderLoad(
        machine, workload, machine.servers(), flow.demands, counted_bits=bits(machine.counted_bytes),
        packet_bits=bits(lambda sizes: sizes), residence=flow.residence, by_pool=flow.by_pool, finished=finished,
        longest=float(np.max(seconds)), scv=max(float(weights @ seconds**2) / mean**2 - 1.0, 0.0) if mean else 0.0,
        between_pools=flow.between_pools, times=_kinds(seconds, weights),
    )  # fmt: skip
    if workload.arrivals in RATED and not flow.demands.freed:
        raise ModelError(never_frees(machine.name, machine.ingress))
    return load


@cache
def reuse_freed_memory() -> None:
    """Make glibc reuse the memory of freed arrays, which saves a fifth of the time.

    glibc reuses memory up to the size of the largest freed array (mallopt(3), M_MMAP_THRESHOLD), so one is freed here.
    """
    np.empty(REUSED_BYTES, dtype=np.uint8)


def _kinds(seconds: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return at most KINDS times and their shares; more are grouped in KINDS parts of equal shares by their means."""
    order = np.argsort(seconds, kind="stable")
    values, shares = seconds[order], weights[order]
    is_new = np.concatenate([[True], np.diff(values) > 1e-9 * values[-1]])
    if np.count_nonzero(is_new) > KINDS:
        group = np.minimum((KINDS * (np.cumsum(shares) - shares / 2)).astype(np.int64), KINDS - 1)
    else:
        group = np.cumsum(is_new) - 1
    group_shares: Floats = np.bincount(group, shares).astype(np.float64)
    present = group_shares > 0
    return np.bincount(group, shares * values)[present] / group_shares[present], group_shares[present]
