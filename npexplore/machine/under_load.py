"""What a machine's programs ask of its servers under a workload: where bounds, queueing and checks of runs begin."""

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
ONCE = 1e-9  # visits of a packet, more or less than 1
KINDS = 16  # times without contention that are told apart
LARGE_ARRAYS = 1000  # distinct packets, whose arrays the C library takes from the kernel, and gives back, one by one
REUSED_BYTES = 31 << 20  # at most 32 MB: larger arrays say nothing about smaller ones


@dataclass(frozen=True)
class UnderLoad:
    """A machine's demands by one workload: what bounds and queueing start from."""

    machine: Machine
    workload: Workload
    servers: Mapping[str, Server]
    demands: Demands
    counted_bits: float  # per finished packet
    packet_bits: float
    residence: Mapping[str, float]  # by pool, the seconds of its threads per packet of the workload
    by_pool: Mapping[str, Demands]
    finished: float = 1.0  # packets per packet of the workload
    longest: float = 0.0  # seconds without contention of the packet that takes the longest, over all its pools
    scv: float = 0.0  # of the seconds without contention, from packet to packet
    between_pools: Mapping[str, float] = field(default_factory=dict)  # by server, unit-seconds (flows.py)
    times: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))  # those seconds, at most KINDS of them, and their shares

    def ceilings(self) -> dict[str, float]:
        """Return the packets a second that each server alone, and the threads alone, would allow."""
        return ceilings(self.machine, self.servers, self.largest(), self.residence)

    def largest(self) -> dict[str, float]:
        """Return the seconds per packet at the most loaded member of each server.

        What is kept from one pool to another counts as spread evenly: at least so much is there.
        """
        by_server = {name: demand.largest(self.servers[name].members) for name, demand in self.demands.servers.items()}
        for name, seconds in self.between_pools.items():
            by_server[name] = by_server.get(name, 0.0) + seconds / self.servers[name].members
        return by_server

    def spread(self, name: str) -> float:
        """Return the squared coefficient of variation of a packet's time at a server, or as a whole ("threads").

        Where each packet comes once, that of a visit. Elsewhere packets differ as their whole times do; what chance
        adds is that server's own.
        """
        servers = self.demands.servers
        one, share = servers.get(name), self.demands.share or 1.0
        if one is not None and abs(one.visits - share) < ONCE:
            return one.scv
        if one is None:
            own = self.demands
            return self.scv + (own.chance * share / own.latency**2 if own.latency else 0.0)
        more = one.visits / share % 1.0  # the share of packets that come once more than the others, at least
        variance = one.variance + share * more * (1.0 - more) * (one.seconds / one.visits) ** 2 if one.visits else 0.0
        return self.scv + (variance * share / one.seconds**2 if one.seconds else 0.0)

    def check_freed(self) -> None:
        """Raise ModelError if programs free more or less of the receive buffer than packets that arrive take."""
        ingress, freed = self.machine.ingress, self.demands.freed
        columns, shares = self.workload.distinct()
        taken = float(shares @ (np.ceil(columns["packet_bytes"] / ingress.cell_bytes) * ingress.cell_bytes))
        if freed and abs(freed - taken) > 1e-9 * taken:  # nan, what depends on chance, is not
            raise ModelError(
                f"{self.machine.name}: packets of {self.workload.name} take {taken:.6g} bytes of {ingress.name!r} in "
                f"the mean (in cells of {ingress.cell_bytes}), the program frees {freed:.6g}"
            )


def ceilings(
    machine: Machine, servers: Mapping[str, Server], largest: Mapping[str, V], residence: Mapping[str, V]
) -> dict[str, V]:
    """Return units / D for each server, D its seconds at the most loaded member, and threads / seconds for each pool.

    One point or an array of them; what takes no time at any of them has no ceiling.
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
    """Record the machine's programs (but for `pools`: recorded already) and take their demands.

    They are those of the workload's distinct packets with their shares.
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
    """Let glibc keep the memory of freed arrays for the next ones, which else takes a fifth of the time.

    It keeps arrays up to the size of the largest that was freed (mallopt(3), M_MMAP_THRESHOLD), so one is.
    """
    np.empty(REUSED_BYTES, dtype=np.uint8)


def _kinds(seconds: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return at most KINDS times and their shares: of more, the means of as many parts of equal shares."""
    order = np.argsort(seconds, kind="stable")
    values, shares = seconds[order], weights[order]
    first = np.concatenate([[True], np.diff(values) > 1e-9 * values[-1]])
    if np.count_nonzero(first) > KINDS:
        part = np.minimum((KINDS * (np.cumsum(shares) - shares / 2)).astype(np.int64), KINDS - 1)
    else:
        part = np.cumsum(first) - 1
    whole: Floats = np.bincount(part, shares).astype(np.float64)
    present = whole > 0
    return np.bincount(part, shares * values)[present] / whole[present], whole[present]
