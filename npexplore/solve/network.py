"""A machine as a closed queueing network: threads are the customers, servers the stations, other waits think time.

Product form is assumed (exponential service, first come first served); resources held together (a DRAM's banks,
commands and bus inside its controller slots; what is visited while a lock or buffers are held) become one
flow-equivalent station with the throughput of the sub-network alone for 1..slots customers (levels.py). With open
arrivals the whole machine becomes one load-dependent server in front of which packets wait in the receive buffer: a
birth-death chain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import Demanded, demanded
from npexplore.solve.levels import Levels
from npexplore.solve.prediction import Latency, Prediction, Utilization, bottleneck

Floats = npt.NDArray[np.float64]


def queueing(machine: Machine, workload: Workload, given: Demanded | None = None) -> Prediction:
    """Return the queueing model's answer; raises RefusedError for arrivals it cannot describe."""
    if len(machine.pools) > 1:
        names = ", ".join(pool.name for pool in machine.pools)
        raise RefusedError(f"queueing: several pools of threads joined by queues ({names}); take bounds or simulation")
    if workload.arrivals not in ("saturated", "poisson"):
        raise RefusedError(f"queueing: {workload.arrivals} arrivals; take saturated or poisson")
    d = given or demanded(machine, workload)
    if not d.ceilings():
        raise ModelError(f"{machine.name}: the program takes no time at any resource")
    threads = machine.threads
    levels = Levels(d.servers, d.demands, threads)
    stations, solved = levels.solve()
    curve, groups = solved.throughput, levels.groups
    about: dict[str, float | int | str] = {}
    named = "product form (exponential service)"
    if groups:
        named += f", flow-equivalent station for {', '.join(groups)}"
    if levels.handed_over:
        named += f", load-dependent station for {', '.join(levels.handed_over)}"
    if d.demands.side_by_side:
        named += ", side by side work taken one after the other"
    own = {server.name for server in machine.ingress.servers()}
    seen = {*own, *d.demands.servers}
    unseen = [s.name for s in d.servers.values() if s.role == "hidden" and s.name not in seen]
    unseen += sorted(d.demands.untied)
    if unseen:
        named += f", no waiting for {', '.join(unseen)}"
    assumed = {(s.approximation, s.name.partition(".")[0]) for s in d.servers.values() if s.name in d.demands.servers}
    named += "".join(f", {what} ({resource})" for what, resource in sorted(pair for pair in assumed if pair[0]))
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
    busiest = d.busiest(rate)
    for number, station in enumerate(stations):
        if station.name in levels.handed_over and workload.arrivals == "saturated":
            server, waiting = d.servers[station.name], max(float(solved.queue_length[-1, number]) - 1, 0.0)
            each = server.wake_s * min(waiting, 1.0) + server.per_waiter_s * waiting
            longer = rate * d.demands.servers[station.name].visits * each
            busiest[station.name] += longer
            utilization[station.name] = Utilization(utilization[station.name].busy + longer)
    for name in {*groups, *levels.handed_over} & utilization.keys():
        utilization[name] = Utilization(min(1.0, utilization[name].busy))
    return Prediction(
        solver="queueing",
        throughput_bps=rate * d.counted_bits,
        rate_pps=rate,
        counted=machine.counted,
        bottleneck=_named(d, workload, rate, busiest),
        utilization=utilization,
        latency_s=Latency(mean=latency),
        rates=d.rates(rate),
        offered_pps=workload.rate_pps,
        approximation=named,
        about=about,
    )


def _named(d: Demanded, workload: Workload, rate: float, busiest: dict[str, float]) -> str:
    name = bottleneck(d.servers, busiest)
    return (
        "arrivals" if name == "threads" and workload.rate_pps is not None and rate > 0.99 * workload.rate_pps else name
    )


def finite_queue(arrival_rate: float, curve: Floats, places: int) -> tuple[float, float, float]:
    """Return (throughput, mean time in system, share lost) of M/M(n)/1/places; rates curve[n-1], last beyond."""
    rates = np.append(curve, np.full(max(places - len(curve), 0), curve[-1]))[:places]
    logs = np.concatenate([[0.0], np.cumsum(np.log(arrival_rate / rates))])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    throughput = arrival_rate * (1.0 - float(p[-1]))
    return throughput, float(np.sum(np.arange(places + 1) * p)) / throughput, float(p[-1])
