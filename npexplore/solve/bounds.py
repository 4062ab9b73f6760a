"""Asymptotic bounds: no machine forwards faster than its most demanded server, nor than its threads without contention.

    X <= min( min_k units_k / D_k ,  N / (Z + sum of latencies) )        (Denning and Buzen 1978)

with D_k the demand at the most loaded member of server k and N the threads; where there are several pools, D_k is that
of all together and each pool limits X by its own threads and latencies. A roofline: never exceeded by a simulation
beyond its interval and one packet a window. No lower bound is given: the machines hold resources together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.demands import Demands
from npexplore.machine.expressions import Values
from npexplore.machine.flows import flows
from npexplore.machine.machine import Machine, Recorded
from npexplore.machine.resources.base import Server
from npexplore.machine.workload import Workload
from npexplore.solve.prediction import Latency, Prediction, Utilization


@dataclass(frozen=True)
class Demanded:
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
        found = {
            name: server.units / self.demands.largest(name, server.members)
            for name, server in self.servers.items()
            if name in self.demands.servers and self.demands.servers[name].seconds > 0
        }
        for pool in self.machine.pools:
            if self.residence[pool.name] > 0:
                name = "threads" if len(self.machine.pools) == 1 else f"threads.{pool.name}"
                found[name] = pool.count / self.residence[pool.name]
        return found

    def busiest(self, rate_pps: float) -> dict[str, float]:
        """Return the utilization law's share of the most loaded member of each server."""
        return {
            name: rate_pps * self.demands.largest(name, self.servers[name].members) / max(self.servers[name].units, 1)
            for name in self.demands.servers
        }

    def utilization(self, rate_pps: float) -> dict[str, Utilization]:
        """Return the utilization law's shares at a packet rate, mean over members."""
        return {
            name: Utilization(
                rate_pps * demand.seconds / (self.servers[name].members * max(self.servers[name].units, 1))
            )
            for name, demand in self.demands.servers.items()
        }

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

    def rates(self, rate_pps: float) -> dict[str, float]:
        """Return what the program counts, per second at a packet rate."""
        return {name: rate_pps * amount for name, amount in self.demands.counts.items()}


def demanded(machine: Machine, workload: Workload, pools: list[Recorded] | None = None) -> Demanded:
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

    return Demanded(
        machine, workload, machine.servers(), flow.demands, counted_bits=bits(machine.counted_bytes),
        packet_bits=bits(lambda sizes: sizes), residence=flow.residence, finished=finished,
        longest=float(np.max(flow.clock / weights)),
    )  # fmt: skip


def bounds(machine: Machine, workload: Workload, given: Demanded | None = None) -> Prediction:
    """Return the upper bound of a machine under a workload, naming the server that sets it."""
    d = given or demanded(machine, workload)
    ceilings = d.ceilings()
    if not ceilings:
        raise ModelError(f"{machine.name}: the program takes no time at any resource")
    name, rate = min(ceilings.items(), key=lambda item: item[1])
    if workload.rate_pps is not None and workload.rate_pps < rate:
        name, rate = "arrivals", workload.rate_pps
    if workload.arrivals == "timestamps" and workload.t_ns is not None:
        offered = offered_rate(workload)
        if offered < rate:
            name, rate = "arrivals", offered
    return Prediction(
        solver="bounds",
        throughput_bps=rate * d.finished * d.counted_bits,
        rate_pps=rate * d.finished,
        counted=machine.counted,
        bottleneck=name,
        utilization=d.utilization(rate),
        latency_s=Latency(mean=d.demands.latency),
        rates=d.rates(rate),
        offered_pps=workload.rate_pps,
        approximation="upper bound; latency without contention",
        about={"ceiling_pps." + key: value for key, value in ceilings.items()},
    )


def offered_rate(workload: Workload) -> float:
    """Return the mean packets a second of a capture's time stamps (infinite if they are all the same)."""
    assert workload.t_ns is not None
    span = float(workload.t_ns.max() - workload.t_ns.min()) * 1e-9
    return (len(workload.t_ns) - 1) / span if span > 0 else float("inf")
