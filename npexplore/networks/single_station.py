"""Queueing answers for a single station visited once per pass: limits, loss, priorities, polling, renewals, batches."""

from dataclasses import replace

import numpy as np

from npexplore.errors import RefusedError
from npexplore.networks.answers import by_wait, named
from npexplore.networks.arrivals import interval_of
from npexplore.networks.records import Station
from npexplore.networks.result import ClassResult, NetworkResult, StationClassResult, StationResult
from npexplore.networks.traffic import Traffic
from npexplore.networks.transforms import transform
from npexplore.rows.distributions import Batch, Exponential, Poisson
from npexplore.solve import queueing
from npexplore.solve.queueing.inputs import Floats, Ints

SHARES = (0.5, 0.95, 0.99)
MOST_PLACES = 1_000_000  # largest capacity: states of the chain
ORDERED = ("fifo", "last", "random")  # disciplines that order customers without regard to their service times


def _single(flows: Traffic, feature: str, servers: int | None = None) -> str:
    """Return the name of the only station, visited once, by Poisson arrivals; else RefusedError naming the feature."""
    (name, station), *other_stations = flows.network.station.items()
    classes = flows.network.classes.values()
    if other_stations or not np.all(flows.visits == 1) or not all(isinstance(c.arrivals, Poisson) for c in classes):
        raise RefusedError(f"{feature} is solved at a single station with one visit and Poisson arrivals only")
    if servers is not None and station.servers != servers:
        raise RefusedError(f"{feature} is solved at {servers} server only, {name!r} has {station.servers}")
    return name


def limited(flows: Traffic) -> NetworkResult:
    """Answer M/M/c/K with a capacity that drops, and M/G/c/c."""
    name = _single(flows, "a station of limited capacity")
    station = flows.network.station[name]
    if station.capacity is None or station.when_full == "block":
        raise RefusedError(f"station {name!r}: only a capacity that drops has a closed form")
    if station.discipline in ("fifo", "last", "random") and station.capacity <= station.servers and not station.rates:
        return _loss(flows, name, station.capacity)
    if not exponential_alike(flows, 0) or station.discipline not in ("fifo", "ps"):
        raise RefusedError(f"station {name!r}: M/M/c/K needs one exponential service time for all, fifo or ps")
    if station.capacity > MOST_PLACES:
        raise RefusedError(f"station {name!r}: M/M/c/K with more than {MOST_PLACES} places")
    rate, mean = float(flows.rate.sum()), float(flows.mean[0, 0])
    state = np.arange(1, station.capacity + 1)
    speed = speeds(station, state)
    p = queueing.steady_state(np.full(len(state), rate), speed / mean)
    loss, number = float(p[-1]), float(p[1:] @ state)
    throughput = rate * (1 - loss)
    response, quantiles = number / throughput, {}
    if station.discipline == "fifo" and not station.rates:
        quantiles = named(queueing.mmck_quantiles(SHARES, rate, mean, station.servers, station.capacity))
    wait = None if station.rates else response - mean
    p_wait = None if station.rates or station.discipline == "ps" else float(p[station.servers : -1].sum()) / (1 - loss)
    result = StationResult(throughput * mean / station.fullest, throughput, number, wait, response, p_wait)
    ones = np.ones(len(flows.rate))
    return _with_loss(flows, name, result, loss, response * ones, mean * ones, **quantiles)


def _loss(flows: Traffic, name: str, servers: int) -> NetworkResult:
    """Answer M/G/c/c: the loss depends only on the means of the service times."""
    station = flows.network.station[name]
    rate = float(flows.rate.sum())
    mean = float(flows.rate @ flows.mean[0]) / rate
    solution = queueing.mgcc(rate, mean, servers)
    loss, x = solution.loss.item(), solution.throughput.item()
    result = StationResult(x * mean / station.fullest, x, x * mean, 0.0, mean, 0.0)
    return _with_loss(flows, name, result, loss, flows.mean[0], flows.mean[0])


def _with_loss(
    flows: Traffic, name: str, result: StationResult, loss: float, response: Floats, service: Floats, **quantiles: float
) -> NetworkResult:
    """Return the answer of a station that drops a share of all customers, from responses and services (R,)."""
    classes, rows = {}, {}
    for r, (c, x) in enumerate(zip(flows.network.classes, (flows.rate * (1 - loss)).tolist(), strict=True)):
        classes[c] = ClassResult(x, float(response[r]), loss=loss, **quantiles)
        rows[c] = StationClassResult.of(x * float(response[r]), x, float(service[r]), flows.network.station[name])
    return NetworkResult("queueing", True, {name: result}, classes, bottleneck=name, station_classes={name: rows})


def priority(flows: Traffic) -> NetworkResult:
    """Answer M/G/1 with priorities, preemptive or not."""
    name = _single(flows, "a station with priorities", servers=1)
    station = flows.network.station[name]
    if station.rates:
        raise RefusedError(f"load-dependent rates together with priorities at station {name!r}")
    levels = np.array([customers.priority for customers in flows.network.classes.values()])
    order = np.unique(levels)
    if flows.file is not flows.network:
        raise RefusedError(f"priorities at station {name!r} together with customers that change their class")
    rate, mean, square = (
        np.array([values[levels == level].sum() for level in order])
        for values in (flows.rate, flows.rate * flows.mean[0], flows.rate * flows.mean[0] ** 2 * (1 + flows.scv[0]))
    )  # classes of equal priority share a line
    preemptive, at = station.discipline == "preemptive", np.searchsorted(order, levels)
    scv = np.maximum(square * rate / mean**2 - 1, 0.0)  # rounding may make it slightly negative for constant times
    solution = queueing.mg1_priority(rate, mean / rate, scv, preemptive=preemptive)
    wait = solution.mean_wait[at]
    if preemptive:  # interruptions depend on the service time of the class
        above = (np.cumsum(mean) - mean)[at]
        wait = wait + (flows.mean[0] - (mean / rate)[at]) * above / (1 - above)
    return by_wait(flows, wait[None], None)


def renewal(flows: Traffic, general: list[int]) -> NetworkResult | None:
    """Answer one class at one station visited once: GI/M/c, or batches at one server; None for other networks."""
    (station, *others), classes = flows.network.station.values(), list(flows.network.classes.values())
    if others or len(classes) > 1 or flows.visits[0, 0] != 1 or station.rates or station.discipline not in ORDERED:
        return None
    rate, mean, arrivals = float(flows.rate[0]), float(flows.mean[0, 0]), classes[0].arrivals
    if isinstance(arrivals, Batch) and station.servers == 1 and (station.discipline == "fifo" or not general):
        size = float(arrivals.size)
        solution = queueing.mxg1(rate, mean, flows.scv[0, 0], size, size * arrivals.dispersion())
        return by_wait(flows, solution.mean_wait.reshape(1, 1), None)
    interval = None if arrivals is None else interval_of(arrivals)
    if interval is None or general:
        return None
    solution, p_wait = queueing.gmc(lambda s: transform(interval, s), rate, mean, station.servers)
    answer = by_wait(flows, solution.mean_wait.reshape(1, 1), None)
    name = next(iter(flows.network.station))
    return replace(answer, stations={name: replace(answer.stations[name], p_wait=p_wait)})


def polling(flows: Traffic) -> NetworkResult:
    """Answer a polling server: exactly for exhaustive and gated visits, and limited to 1 with equal classes."""
    name = _single(flows, "a polling server")
    station, classes = flows.network.station[name], flows.network.classes
    if station.capacity is not None or flows.file is not flows.network:
        feature = "a capacity" if station.capacity is not None else "customers that change their class"
        raise RefusedError(f"station {name!r}: polling together with {feature}")
    if station.visits == "limited" and station.most_a_visit > 1:
        raise RefusedError(f"station {name!r}: visits limited to more than one customer have no closed form")
    times = [station.switch_over[c].moments() if c in station.switch_over else (0.0, 0.0) for c in classes]
    solution = queueing.polling(
        flows.rate, flows.mean[0], flows.scv[0], [mean for mean, _ in times], [scv for _, scv in times], station.visits
    )
    if not np.all(np.isfinite(solution.mean_wait)):
        raise RefusedError(f"station {name!r}: times without a variance")
    return by_wait(flows, solution.mean_wait[None], solution.approximation)


def speeds(station: Station, customers: Ints) -> Floats:
    """Return the total speed of a station, in work per second, with these numbers of customers."""
    if station.rates:
        return np.asarray(np.array(station.rates)[np.minimum(customers, len(station.rates)) - 1])
    return np.minimum(customers, station.servers).astype(float)


def exponential_alike(flows: Traffic, k: int) -> bool:
    """Return whether all classes that visit station k have the same exponential service."""
    name = list(flows.network.station)[k]
    visits_here = flows.visits[k] > 0
    times = [c.service[name] for c, visits in zip(flows.network.classes.values(), visits_here, strict=True) if visits]
    return all(isinstance(time, Exponential) for time in times) and len({t.moments()[0] for t in times}) <= 1
