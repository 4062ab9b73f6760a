"""A machine as a closed queueing network: threads are the customers, servers the stations, other waits think time.

Product form is assumed (exponential service, first come first served); resources held together (a DRAM's banks,
commands and bus inside its controller slots; what is visited while a lock or buffers are held) become one
flow-equivalent station with the throughput of the sub-network alone for 1..slots customers (levels.py). With open
arrivals the whole machine becomes one load-dependent server in front of which packets wait in the receive buffer: a
birth-death chain. All points of a batch (solve/batch.py) are answered by the same few calls of kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError, RefusedError, SimulationError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.batch import Answers, Batch, bottlenecks
from npexplore.solve.levels import Levels, LoadDependent
from npexplore.solve.prediction import Prediction
from npexplore.solve.queueing.residual import Residual

Floats = npt.NDArray[np.float64]
ROUNDS = 40  # of bisection for an open load
SLACK = 1e-9  # what rounding may do


def queueing(machine: Machine, workload: Workload, given: UnderLoad | None = None) -> Prediction:
    """Return the queueing model's answer; raises RefusedError for arrivals it cannot describe."""
    check_describable(machine, workload)
    return queueing_of(Batch.of([given or under_load(machine, workload)])).prediction(0)


def check_describable(machine: Machine, workload: Workload) -> None:
    """Raise RefusedError for what no model here describes, whatever the demands are."""
    if len(machine.pools) > 1:
        names = ", ".join(pool.name for pool in machine.pools)
        raise RefusedError(f"queueing: several pools of threads joined by queues ({names}); take bounds or simulation")
    if workload.arrivals not in ("saturated", "poisson"):
        raise RefusedError(f"queueing: {workload.arrivals} arrivals; take saturated or poisson")


def queueing_of(batch: Batch) -> Answers:
    """Return the queueing model's answer at every point of a batch; raises as `queueing` does, for all of them."""
    d, points = batch.like, len(batch)
    machine, workload = d.machine, d.workload
    check_describable(machine, workload)
    ceilings = batch.ceilings()
    if not ceilings:
        raise ModelError(f"{machine.name}: the program takes no time at any resource")
    threads = machine.threads
    levels = Levels(batch, threads)
    stations, solved, rate = beside(levels, ceilings)
    about: dict[str, Floats] = {}
    slower: dict[str, Floats] = {}  # what stations take longer for those who wait, as shares of time
    if workload.arrivals == "saturated":
        latency = threads / rate
        for number, name in enumerate(station.name for station in stations):
            if name in levels.handed_over:
                server, waiting = d.servers[name], np.maximum(solved.queue_length[:, number] - 1, 0.0)
                each = server.wake_s * np.minimum(waiting, 1.0) + server.per_waiter_s * waiting
                slower[name] = rate * batch.visits[name] * each
    else:
        cell = machine.ingress.cell_bytes
        places = threads + int(machine.ingress.capacity / float(np.mean(-(-workload.packet_bytes // cell) * cell)))
        curve = np.minimum(levels.curve(threads), rate[:, None])
        rate, latency, about["loss"] = finite_queues(batch.offered, curve, places)
    refuse_above(rate, ceilings, machine.name)
    utilization, busiest = batch.utilization(rate), batch.busiest(rate)
    for name, longer in slower.items():
        busiest[name] = busiest[name] + longer
        utilization[name] = utilization[name] + longer
    for name in {*levels.groups, *levels.handed_over} & utilization.keys():
        utilization[name] = np.minimum(1.0, utilization[name])
    names, number_of = bottlenecks(d.servers, busiest, points)
    if workload.rate_pps is not None:
        keeps_up = (number_of == names.index("threads")) & (rate > 0.99 * batch.offered)
        names, number_of = (*names, "arrivals"), np.where(keeps_up, len(names), number_of)
    return Answers("queueing", batch, rate, names, number_of, utilization, latency, _approximation(d, levels), about)


def beside(levels: Levels, ceilings: Mapping[str, Floats]) -> tuple[list[LoadDependent], Residual, Floats]:
    """Return stations, network and throughput (P,) where forked work, which nobody waits for, is an open load.

    It slows packets at servers that both visit by 1 / (1 - X a), a its seconds per packet; a server that only such work
    visits lets packets wait once it is full: then X is its ceiling.
    """
    stations, solved = levels.solve()
    rate, batch = solved.throughput[:, -1], levels.batch
    if not batch.aside:
        return stations, solved, rate
    most = np.min([np.full_like(rate, np.inf), *(ceilings[name] for name in batch.aside if name in ceilings)], axis=0)
    shares = {name: batch.aside[name] / batch.seconds[name] for name in batch.aside}
    low, high = np.zeros_like(rate), np.minimum(rate, most)
    for _ in range(ROUNDS if any(np.any(share < 1 - 1e-12) for share in shares.values()) else 0):
        middle = (low + high) / 2
        levels.slowed = {name: 1.0 / (1.0 - middle / ceilings[name] * share) for name, share in shares.items()}
        stations, solved = levels.solve()
        slow = solved.throughput[:, -1] < middle
        low, high = np.where(slow, low, middle), np.where(slow, middle, high)
    return stations, solved, high


def refuse_above(rate: Floats, ceilings: Mapping[str, Floats], name: str) -> None:
    """Raise SimulationError where a rate (P,) is above what a server, or the threads, would allow."""
    for resource, ceiling in ceilings.items():
        above = rate > ceiling * (1 + SLACK)
        if above.any():
            raise SimulationError(
                "law", f"{name}: queueing gives {rate[above][0]:.9g} packets a second, above the "
                f"{ceiling[above][0]:.9g} that {resource} alone allows",
            )  # fmt: skip


def _approximation(d: UnderLoad, levels: Levels) -> str:
    """Name what was assumed."""
    named = "residual-time MVA" if levels.residual else "product form (exponential service)"
    if levels.groups:
        named += f", flow-equivalent station for {', '.join(levels.groups)}"
    if levels.handed_over:
        named += f", load-dependent station for {', '.join(levels.handed_over)}"
    if levels.overlaps:
        named += ", time that overlaps as a surrogate delay"
    if levels.batch.aside:
        named += f", open load of forked work at {', '.join(levels.batch.aside)}"
    own = {server.name for server in d.machine.ingress.servers()}
    seen = {*own, *d.demands.servers}
    unseen = [s.name for s in d.servers.values() if s.role == "hidden" and s.name not in seen]
    unseen += sorted(d.demands.untied)
    if unseen:
        named += f", no waiting for {', '.join(unseen)}"
    assumed = {(s.approximation, s.name.partition(".")[0]) for s in d.servers.values() if s.name in d.demands.servers}
    named += "".join(f", {what} ({resource})" for what, resource in sorted(pair for pair in assumed if pair[0]))
    if d.workload.arrivals != "saturated":
        named += "; birth-death chain with the whole machine as one load-dependent server"
    return named


def finite_queue(arrival_rate: float, curve: Floats, places: int) -> tuple[float, float, float]:
    """Return (throughput, mean time in system, share lost) of M/M(n)/1/places; rates curve[n-1], last beyond."""
    found = finite_queues(np.array([arrival_rate]), np.asarray(curve)[None, :], places)
    throughput, response, loss = (float(values[0]) for values in found)
    return throughput, response, loss


def finite_queues(arrival_rate: Floats, curve: Floats, places: int) -> tuple[Floats, Floats, Floats]:
    """Return `finite_queue` of several, arrays (P,): rates (P,), curves (P, n)."""
    beyond = np.repeat(curve[:, -1:], max(places - curve.shape[1], 0), axis=1)
    rates = np.concatenate([curve, beyond], axis=1)[:, :places]
    steps = np.cumsum(np.log(arrival_rate[:, None] / rates), axis=1)
    logs = np.concatenate([np.zeros((len(curve), 1)), steps], axis=1)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    throughput = arrival_rate * (1.0 - p[:, -1])
    return throughput, np.sum(np.arange(places + 1) * p, axis=1) / throughput, p[:, -1]
