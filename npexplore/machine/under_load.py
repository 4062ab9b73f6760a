"""What a machine's programs ask of its servers under a workload: where bounds, queueing and checks of runs begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.demands import Demands
from npexplore.machine.flows import flows
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Values
from npexplore.rows.server import Server

Floats = npt.NDArray[np.float64]
V = TypeVar("V", float, Floats)


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
    finished: float = 1.0  # packets per packet of the workload
    longest: float = 0.0  # seconds without contention of the packet that takes the longest, over all its pools

    def ceilings(self) -> dict[str, float]:
        """Return the packets a second that each server alone, and the threads alone, would allow."""
        servers = self.demands.servers
        largest = {name: demand.largest(self.servers[name].members) for name, demand in servers.items()}
        return ceilings(self.machine, self.servers, largest, self.residence)

    def check_freed(self) -> None:
        """Raise ModelError if programs free more or less of the receive buffer than packets take (none: it stalls)."""
        ingress, freed = self.machine.ingress, self.demands.freed
        cells = -(-self.workload.packet_bytes // ingress.cell_bytes)
        taken = float(np.mean(cells * ingress.cell_bytes))
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
    found = {
        name: server.units / largest[name]
        for name, server in servers.items()
        if name in largest and np.all(largest[name] > 0)
    }
    for pool in machine.pools:
        if np.all(residence[pool.name] > 0):
            name = "threads" if len(machine.pools) == 1 else f"threads.{pool.name}"
            found[name] = pool.count / residence[pool.name]
    return found


def under_load(machine: Machine, workload: Workload, pools: list[Recorded] | None = None) -> UnderLoad:
    """Record the machine's programs (but for `pools`: recorded already) and take their demands.

    They are those of the workload's distinct packets with their shares.
    """
    machine.ingress.arrivals = workload.arrivals
    columns, weights = workload.distinct()
    flow = flows(machine, columns, weights, pools)
    finished = sum(float(np.sum(shares)) for shares, _ in flow.finished) if len(machine.pools) > 1 else 1.0

    def bits(count: Callable[[Values], Values]) -> float:
        total = sum(float(np.sum(shares * count(sizes))) for shares, sizes in flow.finished)
        return 8 * total / finished if finished else 0.0

    return UnderLoad(
        machine, workload, machine.servers(), flow.demands, counted_bits=bits(machine.counted_bytes),
        packet_bits=bits(lambda sizes: sizes), residence=flow.residence, finished=finished,
        longest=float(np.max(flow.clock / weights)),
    )  # fmt: skip


def offered_rate(workload: Workload) -> float:
    """Return the mean packets a second of a capture's time stamps (infinite if they are all the same)."""
    assert workload.t_ns is not None
    span = float(workload.t_ns.max() - workload.t_ns.min()) * 1e-9
    return (len(workload.t_ns) - 1) / span if span > 0 else float("inf")
