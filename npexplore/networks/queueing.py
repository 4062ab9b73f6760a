"""Queueing answers for a network file: which model a network is, the solver for it, or the reason why there is none.

Exact: product form (BCMP: fifo with one exponential mean, ps, delay; Poisson or closed), M/G/1 with and without
priorities (preemptive or not), M/M/c/K, and two equal M/M/1 behind a fork; quantiles at one M/M/c or M/M/c/K with fifo.
Named approximations: FIFO with other service or arrivals (Allen-Cunneen by station; Schweitzer with residual times if
closed), forks over more than two stations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npexplore.errors import RefusedError
from npexplore.networks.description import IN, OUT, Station
from npexplore.networks.result import ClassResult, NetworkResult, StationResult, busiest, refusal
from npexplore.networks.traffic import Traffic
from npexplore.rows.distributions import Exponential, Poisson
from npexplore.solve import queueing
from npexplore.solve.queueing.inputs import Floats, Ints

SHARES = (0.5, 0.95, 0.99)
MOST_PLACES = 1_000_000  # states of the chain
NELSON_TANTAWI_MOST = 32  # branches the formula was fitted to


def solve_queueing(flows: Traffic) -> NetworkResult:
    """Answer by the queueing solver that fits; a network outside all of them is refused with the feature in the way."""
    stations = flows.network.station.values()
    try:
        if flows.network.fork:
            return _fork_join(flows)
        if any(station.capacity is not None for station in stations):
            return _limited(flows)
        if any(station.discipline in ("priority", "preemptive") for station in stations):
            return _priority(flows)
        return _unlimited(flows)
    except RefusedError as error:
        return refusal(flows.network, "queueing", str(error))


def _single(flows: Traffic, feature: str, servers: int | None = None) -> str:
    """Return the name of the only station, passed once by Poisson arrivals; raises RefusedError naming the feature."""
    (name, station), *others = flows.network.station.items()
    classes = flows.network.classes.values()
    if others or not np.all(flows.visits == 1) or not all(isinstance(c.arrivals, Poisson) for c in classes):
        raise RefusedError(f"{feature} is solved at a single station with one visit and Poisson arrivals only")
    if servers is not None and station.servers != servers:
        raise RefusedError(f"{feature} is solved at {servers} server only, {name!r} has {station.servers}")
    return name


def _exponential_alike(flows: Traffic, k: int) -> bool:
    name = list(flows.network.station)[k]
    there = flows.visits[k] > 0
    times = [c.service[name] for c, comes in zip(flows.network.classes.values(), there, strict=True) if comes]
    return all(isinstance(time, Exponential) for time in times) and len({t.moments()[0] for t in times}) <= 1


def _limited(flows: Traffic) -> NetworkResult:
    name = _single(flows, "a station of limited capacity")
    station = flows.network.station[name]
    if station.capacity is None or station.when_full == "block":
        raise RefusedError(f"station {name!r}: only a capacity that drops has a closed form")
    if not _exponential_alike(flows, 0) or station.discipline not in ("fifo", "ps"):
        raise RefusedError(f"station {name!r}: M/M/c/K needs one exponential service time for all, fifo or ps")
    if station.capacity > MOST_PLACES:
        raise RefusedError(f"station {name!r}: M/M/c/K with more than {MOST_PLACES} places")
    rate, mean = float(flows.rate.sum()), float(flows.mean[0, 0])
    state = np.arange(1, station.capacity + 1)
    speed = _speeds(station, state)
    p = queueing.steady_state(np.full(len(state), rate), speed / mean)
    loss, number = float(p[-1]), float(p[1:] @ state)
    throughput = rate * (1 - loss)
    response, quantiles = number / throughput, {}
    if station.discipline == "fifo" and not station.rates:
        quantiles = _named(queueing.mmck_quantiles(SHARES, rate, mean, station.servers, station.capacity))
    wait = None if station.rates else response - mean
    result = StationResult(throughput * mean / station.fullest, throughput, number, wait, response)
    classes = {
        c: ClassResult(float(one * (1 - loss)), response, loss=loss, **quantiles)
        for c, one in zip(flows.network.classes, flows.rate, strict=True)
    }
    return NetworkResult("queueing", True, {name: result}, classes, bottleneck=name)


def _speeds(station: Station, customers: Ints) -> Floats:
    """Return the work a second that a station does with so many customers."""
    if station.rates:
        return np.asarray(np.array(station.rates)[np.minimum(customers, len(station.rates)) - 1])
    return np.minimum(customers, station.servers).astype(float)


def _named(quantiles: Floats) -> dict[str, float]:
    return dict(zip(("p50", "p95", "p99"), quantiles.tolist(), strict=True))


def _priority(flows: Traffic) -> NetworkResult:
    name = _single(flows, "a station with priorities", servers=1)
    station = flows.network.station[name]
    if station.rates:
        raise RefusedError(f"load-dependent rates together with priorities at station {name!r}")
    levels = np.array([customers.priority for customers in flows.network.classes.values()])
    order = np.unique(levels)
    rate, mean, square = (
        np.array([values[levels == level].sum() for level in order])
        for values in (flows.rate, flows.rate * flows.mean[0], flows.rate * flows.mean[0] ** 2 * (1 + flows.scv[0]))
    )  # classes of one level wait in one line
    preemptive, at = station.discipline == "preemptive", np.searchsorted(order, levels)
    found = queueing.mg1_priority(rate, mean / rate, square * rate / mean**2 - 1, preemptive=preemptive)
    wait = found.mean_wait[at]
    if preemptive:  # who is interrupted depends on the class's own service
        above = (np.cumsum(mean) - mean)[at]
        wait = wait + (flows.mean[0] - (mean / rate)[at]) * above / (1 - above)
    return _by_wait(flows, wait[None], None)


def _unlimited(flows: Traffic) -> NetworkResult:
    names = list(flows.network.station)
    general = [
        k
        for k, station in enumerate(flows.network.station.values())
        if station.discipline == "fifo" and not _exponential_alike(flows, k)
    ]
    arrivals = [c.arrivals for c in flows.network.classes.values() if c.arrivals]
    poisson = all(isinstance(process, Poisson) for process in arrivals)
    if not general and poisson:
        return _product_form(flows)
    if not flows.population.any():
        return _open_general(flows)
    if flows.rate.any():
        what = f"fifo service at {names[general[0]]!r}" if general else "arrivals that are not Poisson"
        raise RefusedError(f"{what} outside product form together with both open and closed classes")
    return _closed_general(flows, general)


def _product_form(flows: Traffic) -> NetworkResult:
    stations = flows.network.station.values()
    levels = max(len(s.rates) if s.rates else s.servers for s in stations)
    rates = np.stack([_speeds(station, np.arange(1, levels + 1)) for station in stations])
    names = list(flows.network.station)
    try:
        if len(flows.population) == 1 and flows.population.all():
            one = queueing.mva(
                flows.demands[:, 0], flows.population, flows.think_time, rates, delay=flows.delay, names=names
            )
            return _result(flows, one.throughput, one.queue_length.T, one.response_time, None)
        found = queueing.mixed_network(
            flows.demands, flows.rate, flows.population, flows.think_time, rates, delay=flows.delay, names=names
        )
    except RefusedError as error:
        if flows.rate.any() or any(s.rates for s in stations):
            raise
        servers = [1 if s.discipline == "delay" else s.servers for s in stations]
        found = queueing.approximate_mva(
            flows.demands, flows.population, flows.think_time, servers=servers, delay=flows.delay, names=names
        )
        found = replace(found, approximation=f"{found.approximation} ({str(error).partition(';')[0]})")
    result = _of_mva(flows, found)
    first, *others = stations
    if others or first.discipline != "fifo" or first.rates or flows.population.any() or not np.all(flows.visits == 1):
        return result
    quantiles = _named(queueing.mmc_quantiles(SHARES, flows.rate.sum(), flows.mean[0, 0], first.servers))
    return replace(result, classes={name: replace(one, **quantiles) for name, one in result.classes.items()})


def _closed_general(flows: Traffic, general: list[int]) -> NetworkResult:
    stations = flows.network.station.values()
    flags = [k in general for k in range(len(flows.mean))]
    if any(station.rates for station in stations):
        raise RefusedError("load-dependent rates together with fifo service outside product form")
    servers = [1 if s.discipline == "delay" else s.servers for s in stations]
    found = queueing.approximate_mva(
        flows.demands, flows.population, flows.think_time, "Schweitzer", servers=servers, fifo=flags,
        visits=flows.visits, scv=flows.scv, delay=flows.delay, names=list(flows.network.station),
    )  # fmt: skip
    return _of_mva(flows, found)


def _of_mva(flows: Traffic, found: queueing.MultiMva) -> NetworkResult:
    x, number = found.throughput[0], found.queue_length[0]
    response = found.residence_time[0].sum(axis=0)
    return _result(flows, x, number, response, found.approximation)


def _open_general(flows: Traffic) -> NetworkResult:
    """Answer station by station: Allen and Cunneen's wait with the flow inside the network taken as Poisson."""
    wait, names = np.zeros(flows.mean.shape), []
    dispersion = np.array([c.arrivals.dispersion() if c.arrivals else 1.0 for c in flows.network.classes.values()])
    starts = [c.route[IN] for c in flows.network.classes.values()]
    first = np.array([[start.get(name, 0.0) for start in starts] for name in flows.network.station])
    for k, station in enumerate(flows.network.station.values()):
        flow = flows.rate * flows.visits[k]
        if station.discipline == "delay" or not flow.any():
            continue
        if station.rates:
            raise RefusedError("load-dependent rates together with arrivals or fifo service outside product form")
        mean = flow @ flows.mean[k] / flow.sum()
        scv = flow @ (flows.mean[k] ** 2 * (1 + flows.scv[k])) / flow.sum() / mean**2 - 1
        direct = np.all(
            (flow == 0) | np.isclose(first[k], flows.visits[k])
        )  # a split stream of probability p: 1 + p (I - 1)
        arrival = flow @ (1 + first[k] * (dispersion - 1)) / flow.sum() if direct else 1.0
        if station.discipline == "ps":  # as if exponential; with Poisson arrivals that makes no difference
            stretch = queueing.ggc(flow.sum(), mean, arrival, 1.0, station.servers)
            wait[k] = stretch.mean_wait.item() * flows.mean[k] / mean
        else:
            stretch = queueing.ggc(flow.sum(), mean, arrival, max(scv, 0.0), station.servers)
            wait[k] = stretch.mean_wait.item()
        names += [stretch.approximation] if stretch.approximation else []
    alone = len(wait) == 1 and bool(np.all(flows.visits == 1))
    inside = [] if alone else ["flows inside the network taken as Poisson"]
    if alone and not names and not np.all(dispersion == 1):  # a mixture that looks like Poisson is none
        names = ["Allen-Cunneen"]
    return _by_wait(flows, wait, ", ".join([*dict.fromkeys(names), *inside]) or None)


def _fork_join(flows: Traffic) -> NetworkResult:
    """Answer K equal M/M/1 behind one fork: R = (H_K / H_2 + (1 - H_K / H_2) 4 rho / 11) (12 - rho) / 8 * R_1."""
    network, stations = flows.network, flows.network.station.values()
    (customers, *others), (fork, *more) = network.classes.values(), network.fork
    K = len(stations)
    alike = len({time.moments() for time in customers.service.values()}) == 1
    plain = all(s.discipline == "fifo" and s.servers == 1 and s.capacity is None and not s.rates for s in stations)
    straight = customers.route.get(IN) == {fork: 1.0} and customers.route.get(fork) == {OUT: 1.0}
    whole = sorted(network.fork[fork].stations) == sorted(network.station)
    exponential = all(isinstance(time, Exponential) for time in customers.service.values())
    if others or more or not (alike and plain and straight and whole and exponential and K <= NELSON_TANTAWI_MOST):
        raise RefusedError(
            f"fork {fork!r}: solved where one class passes once over at most {NELSON_TANTAWI_MOST} equal M/M/1 stations"
        )
    if not isinstance(customers.arrivals, Poisson):
        raise RefusedError(f"fork {fork!r}: solved with Poisson arrivals only")
    rho = float(flows.rate[0] * flows.mean[0, 0])
    one = queueing.mm1(flows.rate[0], flows.mean[0, 0])
    ratio = float(np.sum(1 / np.arange(1, K + 1))) / 1.5
    stretch = (ratio + (1 - ratio) * 4 * rho / 11) * (12 - rho) / 8
    number = np.full((K, 1), one.mean_number.item())
    response = np.array([stretch * one.mean_response.item()])
    return _result(flows, flows.rate, number, response, None if K == 2 else "Nelson-Tantawi")


def _by_wait(flows: Traffic, wait: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer of an open network from the waits (K or 1, R) of each visit."""
    residence = flows.visits * (wait + flows.mean)
    return _result(flows, flows.rate, flows.rate * residence, residence.sum(axis=0), approximation)


def _result(flows: Traffic, x: Floats, number: Floats, response: Floats, approximation: str | None) -> NetworkResult:
    """Return the answer from throughputs (R,), numbers at the stations (K, R) and responses (R,)."""
    stations = {}
    for k, (name, station) in enumerate(flows.network.station.items()):
        visits, busy = float(x @ flows.visits[k]), float(x @ flows.demands[k])
        total = float(number[k].sum())
        stay = total / visits if visits else None
        stations[name] = StationResult(
            utilization=None if station.discipline == "delay" else busy / station.fullest,
            throughput=visits,
            mean_number=total,
            mean_wait=None if station.rates or stay is None else max(stay - busy / visits, 0.0),
            mean_response=stay,
        )
    classes = {
        name: ClassResult(float(x[r]), float(response[r]), loss=0.0) for r, name in enumerate(flows.network.classes)
    }
    exact = approximation is None
    return NetworkResult("queueing", exact, stations, classes, approximation, bottleneck=busiest(stations))
