"""Open networks station by station: who comes from where, how irregularly, and how long he waits (solve_queueing)."""

from __future__ import annotations

import numpy as np

from npexplore.errors import RefusedError
from npexplore.networks.answers import by_wait
from npexplore.networks.arrivals import arrival_phases, interval_of
from npexplore.networks.chains import cache_chances, nodes_of
from npexplore.networks.feedback import Again, all_visits, comes_again
from npexplore.networks.records import IN, OUT, CustomerClass, Station, ahead
from npexplore.networks.result import NetworkResult
from npexplore.networks.times import phases
from npexplore.networks.traffic import Traffic
from npexplore.rows.distributions import Batch, Poisson
from npexplore.rows.phases import Phases
from npexplore.solve.queueing.departures import arrival_scv
from npexplore.solve.queueing.inputs import Booleans, Floats
from npexplore.solve.queueing.phase_queue import of_several, phase_wait, wait, wait_of
from npexplore.solve.queueing.renewal import mxg1, mxgc

APPROXIMATION = "phases by two moments"
SHARED = "sharing by the work of one line"
INSIDE = "flows inside the network by their variability"
TINY, ROUNDING = 1e-300, 1e-12
MOST_PHASES = 100  # of arrivals x service, of a queue that is solved exactly
SHARING = ("ps", "last_preempts")


def open_general(flows: Traffic) -> NetworkResult:
    """Answer an open network of general service or arrivals.

    Each station waits as a queue by itself; what comes to it is as irregular as what leaves those before (Whitt 1983).
    """
    waits, names = np.zeros(flows.mean.shape), list[str]()
    means, scvs = _service(flows)
    variability, batches, again = _variability(flows, scvs)
    alone = len(waits) == 1 and bool(np.all(flows.visits == 1))
    for k, (name, station) in enumerate(flows.network.station.items()):
        flow = flows.rate * flows.visits[k]
        if station.discipline == "delay" or not flow.any():
            continue
        if station.rates:
            raise RefusedError("load-dependent rates together with arrivals or fifo service outside product form")
        if not np.isfinite(scvs[k]) or not np.isfinite(variability[k]):
            raise RefusedError(f"station {name!r}: times without a variance")
        poisson = alone and all(one.arrivals and one.arrivals.dispersion() == 1 for one in _classes(flows))
        singly = Again(0.0, 1.0 - again[k].weight, float(variability[k]), float(batches[k]))
        answers = [
            (one.weight, *_wait(flows, k, station, (means[k], scvs[k]), one))
            for one in (singly, again[k])
            if one.weight
        ]
        seconds, approximated = sum(weight * wait for weight, wait, _ in answers), answers[-1][2]
        sharing = station.discipline in SHARING
        if poisson and approximated == APPROXIMATION and (sharing or scvs[k] == 1.0 or station.servers == 1):
            approximated = ""
        waits[k] = seconds * flows.mean[k] / means[k] if sharing else seconds
        names += [approximated] if approximated else []
    inside = [] if alone else [INSIDE]
    return by_wait(flows, waits, ", ".join([*dict.fromkeys(names), *inside]) or None)


def _wait(
    flows: Traffic, k: int, station: Station, service: tuple[float, float], again: Again
) -> tuple[float, str]:  # fmt: skip
    """Return the mean wait of a visit to station k, and what was approximated.

    service: its mean and scv. again: how customers come back, of whom each stays for all of his visits.
    """
    stays = 1.0 - again.chance
    rate, mean = float((flows.rate * flows.visits[k]).sum()) * stays, service[0] / stays
    scv = stays * service[1] + again.chance
    if abs(scv - 1.0) < ROUNDING:
        scv = 1.0
    known = _direct(flows, k, station, again.chance)
    if known is None:
        known = wait(rate, mean, again.variability, scv, station.servers), APPROXIMATION
        if again.batches > 0:  # what batches of the same variability, of geometric sizes, add to single customers
            together, single = (
                mxgc(rate, mean, scv, station.servers, 1.0 + more / 2, True) for more in (again.batches, 0.0)
            )
            known = known[0] + together - single, APPROXIMATION
    if station.discipline not in SHARING:
        return stays * known[0], known[1]
    # the same work waits in any order, and each of those who share has 2 / (1 + scv) times less left than a whole one
    return stays * known[0] * 2.0 / (1.0 + scv), known[1] or (SHARED if scv != 1.0 else "")


def _classes(flows: Traffic) -> list[CustomerClass]:
    return list(flows.network.classes.values())


def _service(flows: Traffic) -> tuple[Floats, Floats]:
    """Return mean and squared coefficient of variation (K,) of service over all who come to a station."""
    flow = flows.rate * flows.visits
    total = np.maximum(flow.sum(axis=1), TINY)
    mean = (flow * flows.mean).sum(axis=1) / total
    square = (flow * flows.mean**2 * (1 + flows.scv)).sum(axis=1) / total
    scv = np.where(mean > 0, square / np.maximum(mean, TINY) ** 2 - 1, 1.0)
    return mean, np.asarray(np.where(np.abs(scv - 1) < 1e-12, 1.0, np.maximum(scv, 0.0)))


def _variability(flows: Traffic, scvs: Floats) -> tuple[Floats, Floats, list[Again]]:
    """Return how irregularly customers come to each station: scv of the times between them, but for batches, and these.

    Batches from outside: E X^2 / E X - 1 over all who come, 0 where they come singly. Both (K,). And how customers come
    to each station again.
    """
    file, nodes, stations = flows.file, nodes_of(flows.file), list(flows.network.station)
    flow, (external, spread, batches) = np.zeros((len(nodes), len(nodes))), np.zeros((3, len(nodes)))
    caches = cache_chances(file)
    for r, (name, customers) in enumerate(file.classes.items()):
        for start, route in file.routes(name).items():
            for target, _, chance in route:
                for node in ahead(target, file) if target != OUT else ():
                    n, share = nodes.index(node), chance * caches.get(node, 1.0)
                    if start != IN:
                        i = nodes.index(start)
                        flow[i, n] += flows.rate[flows.chains.of[r]] * flows.chains.visits[i, r] * share
                    elif customers.arrivals:
                        comes = customers.arrivals.rate * share
                        external[n] += comes
                        more = comes * share * (customers.arrivals.dispersion() - 1)
                        spread[n] += comes + more
                        batches[n] += more if isinstance(customers.arrivals, Batch) else 0.0
    servers, load, scv, sd = np.ones(len(nodes)), np.zeros(len(nodes)), np.ones(len(nodes)), np.zeros(len(nodes))
    delay: Booleans = np.zeros(len(nodes), dtype=np.bool_)
    means, _ = _service(flows)
    busy = (flows.rate * flows.demands).sum(axis=1)
    for k, (name, station) in enumerate(flows.network.station.items()):
        n = nodes.index(name)
        servers[n], delay[n] = station.servers, station.discipline == "delay"
        load[n] = 0.0 if delay[n] else min(busy[k] / station.servers, 1.0)
        scv[n], sd[n] = scvs[k], means[k] * scvs[k] ** 0.5
    rest = load, servers, scv, sd, delay
    own = np.array([nodes.index(name) for name in stations])
    again = [Again() for _ in own]
    if flows.file is flows.network:  # a class that changes does so along its way: not by one chance at each visit
        again = [comes_again(int(n), flow, external, spread, batches, *rest) for n in own]
    arrival_variability = arrival_scv(flow, external, spread / np.maximum(external, TINY), *rest)[own]
    sizes = batches / np.maximum(flow.sum(axis=0) + external, TINY)  # E X^2 / E X - 1 of all who come
    if not sizes.any():
        return arrival_variability, sizes[own], again
    single = arrival_scv(flow, external, (spread - batches) / np.maximum(external, TINY), *rest)[own]
    return np.where(sizes[own] > 0, single, arrival_variability), sizes[own], again


def _direct(flows: Traffic, k: int, station: Station, again: float) -> tuple[float, str] | None:
    """Return (wait, what was approximated) where one class comes from outside only and all is known; else None.

    again: the chance to come again, of customers who stay for all of their visits.
    """
    there = np.flatnonzero(flows.visits[k])
    if len(there) != 1 or flows.file is not flows.network:
        return None
    name, customers, stays = list(flows.network.station)[k], _classes(flows)[there[0]], 1.0 - again
    alone = customers.route[IN].get(name) == 1.0 and bool(np.isclose(flows.visits[k, there[0]] * stays, 1.0))
    if not alone or customers.arrivals is None or isinstance(customers.arrivals, Poisson):
        return None
    rate, mean, scv = (
        customers.arrivals.rate,
        float(flows.mean[k, there[0]]) / stays,
        float(flows.scv[k, there[0]]) * stays + again,
    )
    if isinstance(customers.arrivals, Batch):
        size, geometric = float(customers.arrivals.size), customers.arrivals.sizes == "geometric"
        if station.servers == 1:
            square = size * (2 * size - 1) if geometric else size**2
            return mxg1(rate, mean, scv, size, square).mean_wait.item(), ""
        exact = abs(scv - 1) < 1e-12
        return mxgc(rate, mean, scv, station.servers, size, geometric), "" if exact else "M^X/M/c by its variability"
    arrivals, visit = arrival_phases(customers.arrivals), phases(customers.service[name])
    service = None if visit is None else all_visits(visit, again)
    interval = interval_of(customers.arrivals)
    alike = None if interval is None else phases(interval)  # of renewals: what several servers change is known
    if arrivals is None or station.discipline not in ("fifo", *SHARING) or (station.servers > 1 and alike is None):
        return None
    longer = 1.0 if alike is None else of_several(alike, mean, station.servers)
    several = "several servers as with exponential service" if station.servers > 1 and scv != 1 else ""
    each = mean / station.servers
    if service is None or len(arrivals[0]) * len(service.first) > MOST_PHASES:
        return longer * wait_of(*arrivals, each, scv), several or "phases of service by two moments"
    quicker = Phases(service.first, service.rates * station.servers)
    return longer * phase_wait(*arrivals, quicker), several
