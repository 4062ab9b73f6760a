"""A machine as a closed queueing network: threads are the customers, servers the stations, other waits think time.

Product form is assumed (exponential service, first come first served); resources held together (a DRAM's banks,
commands and bus inside its controller slots) become one flow-equivalent station with the throughput of the sub-network
alone for 1..slots customers. With open arrivals the whole machine becomes one load-dependent server in front of which
packets wait in the receive buffer: a birth-death chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import Demanded, demanded
from npexplore.solve.prediction import Latency, Prediction, Utilization, bottleneck
from npexplore.solve.queueing.mva import flow_equivalent, multiserver_rates, mva

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stations:
    """Stations of one level: names of their servers, seconds per packet, servers (units) of each."""

    names: list[str]
    seconds: list[float]
    units: list[int]

    def rates(self, population: int) -> Floats | None:
        """Return the multi-server capacities, or None if every station is a single server."""
        return None if set(self.units) <= {1} else multiserver_rates(self.units, population)


def queueing(machine: Machine, workload: Workload, given: Demanded | None = None) -> Prediction:
    """Return the queueing model's answer; raises RefusedError for arrivals it cannot describe."""
    if workload.arrivals in ("timestamps", "periodic"):
        raise RefusedError(f"queueing: {workload.arrivals} arrivals; take saturated or poisson")
    d = given or demanded(machine, workload)
    if d.demands.latency <= 0:
        raise ModelError(f"{machine.name}: the program takes no time at any resource")
    threads = machine.pool.count
    curve, groups = throughput_curve(d, threads)
    about: dict[str, float | int | str] = {}
    named = "product form (exponential service)"
    if groups:
        named += f", flow-equivalent station for {', '.join(groups)}"
    if d.demands.side_by_side:
        named += ", side by side work taken one after the other"
    own = {server.name for server in machine.ingress.servers()}
    unseen = [s.name for s in d.servers.values() if s.role == "hidden" and s.name not in {*own, *d.demands.servers}]
    if unseen:
        named += f", no waiting for {', '.join(unseen)}"
    if workload.arrivals == "saturated":
        rate, latency, loss = float(curve[-1]), threads / float(curve[-1]), 0.0
    else:
        assert workload.rate_pps is not None
        cell = machine.ingress.cell_bytes
        places = threads + int(machine.ingress.capacity / float(np.mean(-(-workload.packet_bytes // cell) * cell)))
        rate, latency, loss = finite_queue(workload.rate_pps, curve, places)
        named += "; birth-death chain with the whole machine as one load-dependent server"
        about["loss"] = loss
    utilization = d.utilization(rate)
    for name in groups:
        utilization[name] = Utilization(min(1.0, utilization[name].busy))
    return Prediction(
        solver="queueing",
        throughput_bps=rate * d.counted_bits,
        rate_pps=rate,
        counted=machine.counted,
        bottleneck=_named(d, workload, rate),
        utilization=utilization,
        latency_s=Latency(mean=latency),
        rates=d.rates(rate),
        offered_pps=workload.rate_pps,
        approximation=named,
        about=about,
    )


def _named(d: Demanded, workload: Workload, rate: float) -> str:
    name = bottleneck(d.servers, d.busiest(rate))
    return (
        "arrivals" if name == "threads" and workload.rate_pps is not None and rate > 0.99 * workload.rate_pps else name
    )


def throughput_curve(d: Demanded, threads: int) -> tuple[Floats, list[str]]:
    """Return packets a second with 1..threads busy threads, shape (threads,), and the groups that were replaced."""
    outside, inside = _levels(d)
    names, seconds = list(outside.names), list(outside.seconds)
    rates = outside.rates(threads)
    levels = threads
    cube = np.ones((len(names), levels))
    if rates is not None:
        cube = np.pad(rates, ((0, 0), (0, levels - rates.shape[1])), mode="edge")
    for group, stations in inside.items():
        limit = min(d.servers[group].units, threads)
        flow = flow_equivalent(stations.seconds, limit, stations.rates(limit), names=stations.names)[0]
        names.append(group)
        seconds.append(1.0 / float(flow[0]))
        row = np.append(flow / flow[0], np.full(levels - limit, flow[-1] / flow[0]))
        cube = np.vstack([cube, row])
    counts = np.arange(1, threads + 1)
    plain = bool(np.all(cube == 1.0))
    per_point = None if plain else np.repeat(cube[None], threads, axis=0)
    solved = mva(np.tile(seconds, (threads, 1)), counts, d.demands.delay, per_point, names=names)
    return solved.throughput, list(inside)


def _levels(d: Demanded) -> tuple[Stations, dict[str, Stations]]:
    """Split the servers into those outside any group and those inside each group; members become stations."""
    outside = Stations([], [], [])
    inside: dict[str, Stations] = {}
    for name, demand in d.demands.servers.items():
        server = d.servers[name]
        if server.role != "queue" or demand.inner <= 0:
            continue
        level = outside if server.group is None else inside.setdefault(server.group, Stations([], [], []))
        scale = demand.inner / demand.seconds
        for member in range(server.members):
            share = demand.spread / server.members + demand.members.get(member, 0.0)
            if share > 0:
                level.names.append(name if server.members == 1 else f"{name}[{member}]")
                level.seconds.append(share * scale)
                level.units.append(server.units)
    return outside, inside


def finite_queue(arrival_rate: float, curve: Floats, places: int) -> tuple[float, float, float]:
    """Return (throughput, mean time in system, share lost) of M/M(n)/1/places; rates curve[n-1], last beyond."""
    rates = np.append(curve, np.full(max(places - len(curve), 0), curve[-1]))[:places]
    logs = np.concatenate([[0.0], np.cumsum(np.log(arrival_rate / rates))])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    throughput = arrival_rate * (1.0 - float(p[-1]))
    return throughput, float(np.sum(np.arange(places + 1) * p)) / throughput, float(p[-1])
