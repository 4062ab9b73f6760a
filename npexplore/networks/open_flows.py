"""Queueing answers for open networks, station by station, from the variability of the arrival streams."""

import numpy as np

from npexplore.errors import RefusedError
from npexplore.networks.answers import by_wait
from npexplore.networks.arrivals import arrival_phases
from npexplore.networks.chains import nodes_of
from npexplore.networks.records import IN, CustomerClass, Station
from npexplore.networks.result import NetworkResult
from npexplore.networks.streams import Line, Streams, lines_of, streams_of, too_many_meet, waits
from npexplore.networks.times import phases
from npexplore.networks.traffic import Traffic
from npexplore.rows.distributions import Batch, Poisson
from npexplore.rows.phases import Phases
from npexplore.solve.queueing.inputs import Floats
from npexplore.solve.queueing.phase_queue import phase_wait, wait_of
from npexplore.solve.queueing.renewal import mxg1, mxgc

APPROXIMATION = "phases by two moments"
SHARED = "sharing by the work of one line"
INSIDE = "flows inside the network by their variability"
MEETING = "ways that split and meet again as if independent: waits there may be far too short behind bursts"
LEAST_DIVISOR = 1e-300  # replaces a divisor of 0
MOST_PHASES = 100  # phases of arrivals x service up to which a queue is solved exactly
SHARING = ("ps", "last_preempts")


def open_general(flows: Traffic) -> NetworkResult:
    """Answer an open network with general service or arrivals, each station as a queue by itself (streams.py)."""
    answers, approximations = np.zeros(flows.mean.shape), list[str]()
    nodes, alone = nodes_of(flows.file), len(answers) == 1 and bool(np.all(flows.visits == 1))
    for k, (name, station) in enumerate(flows.network.station.items()):
        if station.discipline != "delay" and np.any(flows.rate * flows.visits[k]):
            if station.rates:
                raise RefusedError("load-dependent rates together with arrivals or fifo service outside product form")
            dispersion = [one.arrivals.dispersion() for one in _classes(flows) if one.arrivals]
            if not np.all(np.isfinite([*flows.scv[k], *dispersion])):
                raise RefusedError(f"station {name!r}: times without a variance")
    poisson = alone and all(one.arrivals and one.arrivals.dispersion() == 1 for one in _classes(flows))
    streams = streams_of(flows)
    lines = lines_of(streams)
    for k, (name, station) in enumerate(flows.network.station.items()):
        node = nodes.index(name)
        if node not in lines:
            continue
        visit_waits, approximated = _waits(flows, k, streams, lines[node])
        sharing, variability = station.discipline in SHARING, streams.variability(node)
        if sharing:  # the work is the same in any order; a shared service has 2 / (1 + scv) of the time of a whole one
            rate, mean = streams.rate[node], streams.mean[node]
            visit_waits = float(rate @ visit_waits) / float(rate @ mean) * mean * 2 / (1 + variability)
            approximated = approximated or (SHARED if variability != 1.0 else "")
        if poisson and approximated == APPROXIMATION and (sharing or variability == 1.0 or station.servers == 1):
            approximated = ""
        for chain in range(len(flows.rate)):
            visits = flows.class_visits[k] * (flows.chains.of == chain)
            answers[k, chain] = visits @ visit_waits / max(float(visits.sum()), LEAST_DIVISOR)
        approximations += [approximated] if approximated else []
    network_notes = [] if alone else [INSIDE]
    if any(one.arrivals and one.arrivals.dispersion() != 1 for one in _classes(flows)) and too_many_meet(streams):
        network_notes.append(MEETING)
    return by_wait(flows, answers, ", ".join([*dict.fromkeys(approximations), *network_notes]) or None)


def _waits(flows: Traffic, k: int, streams: Streams, line: Line) -> tuple[Floats, str]:
    """Return the mean waits (R,) of a visit to station k, and the approximation in words (empty: exact)."""
    known = _direct(flows, k, list(flows.network.station.values())[k], float(line.chance.max()))
    return (waits(streams, line), APPROXIMATION) if known is None else ((1 - line.chance) * known[0], known[1])


def _classes(flows: Traffic) -> list[CustomerClass]:
    return list(flows.network.classes.values())


def _direct(flows: Traffic, k: int, station: Station, return_chance: float) -> tuple[float, str] | None:
    """Return (wait, approximation) if a single class comes from outside only and its law is known; else None.

    return_chance: the probability that a customer returns; it stays for all its visits.
    """
    visiting = np.flatnonzero(flows.visits[k])
    if len(visiting) != 1 or flows.file is not flows.network:
        return None
    name, customers, leaves = list(flows.network.station)[k], _classes(flows)[visiting[0]], 1.0 - return_chance
    first_only = customers.route[IN].get(name) == 1.0 and bool(np.isclose(flows.visits[k, visiting[0]] * leaves, 1.0))
    if not first_only or customers.arrivals is None or isinstance(customers.arrivals, Poisson):
        return None
    rate, mean, scv = (
        customers.arrivals.rate,
        float(flows.mean[k, visiting[0]]) / leaves,
        float(flows.scv[k, visiting[0]]) * leaves + return_chance,
    )
    if isinstance(customers.arrivals, Batch):
        size, geometric = float(customers.arrivals.size), customers.arrivals.sizes == "geometric"
        if station.servers == 1:
            return mxg1(rate, mean, scv, size, size * customers.arrivals.dispersion()).mean_wait.item(), ""
        exact = abs(scv - 1) < 1e-12
        return mxgc(rate, mean, scv, station.servers, size, geometric), "" if exact else "M^X/M/c by its variability"
    arrivals, visit = arrival_phases(customers.arrivals), phases(customers.service[name])
    if arrivals is None or station.servers > 1 or station.discipline not in ("fifo", *SHARING):
        return None
    if visit is None or len(arrivals[0]) * len(visit.first) > MOST_PHASES:
        return wait_of(*arrivals, mean, scv), "phases of service by two moments"
    return phase_wait(*arrivals, _all_visits(visit, return_chance)), ""


def _all_visits(service: Phases, chance: float) -> Phases:
    """Return the phases of the total service of a customer that returns with probability `chance`."""
    ends = -service.rates.sum(axis=1)
    return Phases(service.first, service.rates + chance * np.outer(ends, service.first)) if chance else service
