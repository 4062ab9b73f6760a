"""Queueing answers for a network file: chooses the solver for the kind of network, or refuses with the reason.

Exact: product form (BCMP: fifo with one exponential mean, ps, delay, last_preempts; Poisson or closed), M/G/1 with and
without priorities (preemptive or not), M^X/G/1, GI/M/c, M/M/c/K, M/G/c/c, a closed cycle of constant services, and two
equal M/M/1 behind a fork; quantiles at a single M/M/c or M/M/c/K with fifo. Named approximations: fifo with other
service or arrivals (open: station by station, open_flows.py; closed: Schweitzer with residual times), forks over more
than two stations, caches, and round robin modelled as random choice.
"""

from dataclasses import replace

import numpy as np

from npexplore.errors import RefusedError
from npexplore.networks.answers import by_class, by_number, named
from npexplore.networks.open_flows import open_general
from npexplore.networks.records import IN, OUT, CustomerClass, Network
from npexplore.networks.result import NetworkResult, StationResult, refusal
from npexplore.networks.single_station import (
    ORDERED,
    SHARES,
    exponential_alike,
    limited,
    polling,
    priority,
    renewal,
    speeds,
)
from npexplore.networks.traffic import Traffic
from npexplore.rows.distributions import Deterministic, Empirical, Exponential, Poisson
from npexplore.solve import queueing

# largest scv of fifo service in closed networks: with residual times, errors against exact chains were up to 18 % below
# it, and up to 157 % above it
MAX_CLOSED_SCV = 5.0
NELSON_TANTAWI_MOST = 32  # largest number of branches for which the formula was fitted


def solve_queueing(flows: Traffic) -> NetworkResult:
    """Answer with the queueing solver that fits; a network that no solver covers is refused, naming the feature."""
    stations = flows.network.station.values()
    try:
        _refuse_features(flows.file)
        if flows.network.fork:
            result = _fork_join(flows)
        elif any(station.discipline == "polling" for station in stations):
            result = polling(flows)
        elif any(station.capacity is not None for station in stations):
            result = limited(flows)
        elif any(station.discipline in ("priority", "preemptive") for station in stations):
            result = priority(flows)
        else:
            result = _unlimited(flows)
    except RefusedError as error:
        return refusal(flows.file, "queueing", str(error))
    return by_class(flows, _named_further(flows.file, result))


def _refuse_features(network: Network) -> None:
    for name in network.region:
        raise RefusedError(f"region {name!r}: stations of a common capacity")
    for name, station in network.station.items():
        if station.discipline == "polling" and len(network.station) > 1:
            raise RefusedError(f"station {name!r}: a polling server is solved at a single station only")
        if len(set(station.weights.values()) | ({1.0} if len(station.weights) < len(network.classes) else set())) > 1:
            raise RefusedError(f"station {name!r}: customers that share by different weights")
    for name, customers in network.classes.items():
        for node, choice in customers.choose.items():
            if choice == "shortest" and len(customers.route[node]) > 1:
                raise RefusedError(f"class {name!r}: the shortest line is chosen behind {node!r}")


def _named_further(network: Network, result: NetworkResult) -> NetworkResult:
    """Add the approximations of round robin, caches and constant times, whose outcomes are taken as independent."""
    assumptions = []
    for customers in network.classes.values():
        if any(choice == "in_turn" and len(customers.route[node]) > 1 for node, choice in customers.choose.items()):
            assumptions = ["turns taken as chance"]
    for name in network.cache:
        if any(station.discipline != "delay" for station in network.station.values()):
            assumptions += [f"hits of {name!r} taken as independent"]
    if result.exact and any(_in_step(network, customers) for customers in network.classes.values()):
        assumptions += ["times of few values taken as if customers never walked in step"]
    for cache in network.cache.values():
        if queueing.hit_chances(np.array(cache.chances()), cache.places, cache.replace).approximation is not None:
            assumptions += ["characteristic time"]
            break
    if not assumptions:
        return result
    return replace(
        result,
        exact=False,
        approximation=", ".join([*([result.approximation] if result.approximation else []), *assumptions]),
    )


def _in_step(network: Network, customers: CustomerClass) -> bool:
    """Return whether closed customers share servers and all their times are constant or drawn from a list of values.

    Such times have a common divisor, so that the relative phases of the customers never mix.
    """
    if customers.arrivals is not None or IN not in customers.route:
        return False  # open, or customers that later have another class
    reached, unexplored = {IN}, [IN]
    while unexplored:
        next_stations = {to for to, share in customers.route[unexplored.pop()].items() if share > 0} - reached - {OUT}
        if not next_stations <= customers.service.keys() & network.station.keys() & customers.route.keys():
            return False  # random class changes or caches mix the phases
        reached |= next_stations
        unexplored += next_stations
    times = [customers.service[name] for name in reached - {IN}]
    shared = any(network.station[name].discipline == "ps" for name in reached - {IN})
    times.append(customers.think_time or Deterministic(0))
    return shared and all(isinstance(time, Deterministic | Empirical) for time in times)


def _unlimited(flows: Traffic) -> NetworkResult:
    names = list(flows.network.station)
    general = [
        k
        for k, station in enumerate(flows.network.station.values())
        if station.discipline in ORDERED and not exponential_alike(flows, k)
    ]
    arrivals = [c.arrivals for c in flows.network.classes.values() if c.arrivals]
    poisson = all(isinstance(process, Poisson) for process in arrivals)
    if not general and poisson:
        return _product_form(flows)
    if not flows.population.any():
        return renewal(flows, general) or open_general(flows)
    if flows.rate.any():
        feature = f"fifo service at {names[general[0]]!r}" if general else "arrivals that are not Poisson"
        raise RefusedError(f"{feature} outside product form together with both open and closed classes")
    return _constant_cycle(flows) or _closed_general(flows, general)


def _constant_cycle(flows: Traffic) -> NetworkResult | None:
    """Answer one closed class that cycles through stations with constant times; None for any other network."""
    (customers, *other_classes), stations = flows.file.classes.values(), list(flows.network.station.values())
    times = [*customers.service.values(), *([customers.think_time] if customers.think_time else [])]
    straight = all(len([p for p in route.values() if p]) == 1 for route in customers.route.values())
    if other_classes or not straight or not all(isinstance(time, Deterministic) for time in times):
        return None
    if any(s.rates or s.discipline not in ("fifo", "delay") for s in stations) or not np.all(flows.visits <= 1):
        return None
    n, think = int(flows.population[0]), float(flows.think_time[0])
    servers = np.array([n if station.discipline == "delay" else station.servers for station in stations])
    times_per_pass = np.append(flows.demands[:, 0], think)
    x = queueing.deterministic_cycle(times_per_pass.tolist(), n, [*servers.tolist(), n])
    number = x * flows.demands[:, 0]
    slowest = np.flatnonzero(np.isclose(servers / np.maximum(flows.demands[:, 0], 1e-300), x))
    queued = n - x * float(times_per_pass.sum())
    if queued > 1e-9 * n and len(slowest) != 1:
        return None  # which customers wait where depends on the start
    number[slowest] += queued
    return by_number(flows, np.array([x]), number[:, None], np.array([n / x - think]), None)


def _product_form(flows: Traffic) -> NetworkResult:
    stations = flows.network.station.values()
    levels = max(len(station.rates) if station.rates else station.servers for station in stations)
    rates = np.stack([speeds(station, np.arange(1, levels + 1)) for station in stations])
    names = list(flows.network.station)
    try:
        if len(flows.population) == 1 and flows.population.all():
            closed = queueing.mva(
                flows.demands[:, 0], flows.population, flows.think_time, rates, delay=flows.delay, names=names
            )
            return by_number(flows, closed.throughput, closed.queue_length.T, closed.response_time, None)
        solution = queueing.mixed_network(
            flows.demands, flows.rate, flows.population, flows.think_time, rates, delay=flows.delay, names=names
        )
    except RefusedError as error:
        if flows.rate.any() or any(station.rates for station in stations):
            raise
        servers = [1 if station.discipline == "delay" else station.servers for station in stations]
        solution = queueing.approximate_mva(
            flows.demands, flows.population, flows.think_time, servers=servers, delay=flows.delay, names=names
        )
        solution = replace(solution, approximation=f"{solution.approximation} ({str(error).partition(';')[0]})")
    result = _of_mva(flows, solution)
    if not flows.population.any():
        result = replace(result, stations=_with_waits(flows, result))
    first, *others = stations
    if others or first.discipline != "fifo" or first.rates or flows.population.any() or not np.all(flows.visits == 1):
        return result
    quantiles = named(queueing.mmc_quantiles(SHARES, flows.rate.sum(), flows.mean[0, 0], first.servers))
    return replace(result, classes={name: replace(means, **quantiles) for name, means in result.classes.items()})


def _with_waits(flows: Traffic, result: NetworkResult) -> dict[str, StationResult]:
    """Return the stations with their probability to wait (Erlang C): open product form, first come first served."""
    wait_by_class = {}
    for k, (name, station) in enumerate(flows.network.station.items()):
        wait_by_class[name] = result.stations[name]
        load = float(flows.rate @ flows.demands[k])
        if station.discipline in ORDERED and not station.rates and load:
            p_wait = queueing.chance_to_wait(1.0, load, station.servers).item()
            wait_by_class[name] = replace(wait_by_class[name], p_wait=p_wait)
    return wait_by_class


def _closed_general(flows: Traffic, general: list[int]) -> NetworkResult:
    stations = flows.network.station.values()
    flags = [k in general for k in range(len(flows.mean))]
    if any(station.rates for station in stations):
        raise RefusedError("load-dependent rates together with fifo service outside product form")
    for k, name in enumerate(flows.network.station):
        scv = float(np.max(np.where(flows.visits[k] > 0, flows.scv[k], 0.0)))
        if flags[k] and scv > MAX_CLOSED_SCV:
            raise RefusedError(
                f"fifo service at {name!r} in a closed network, of service times with scv {scv:.3g}: residual "
                f"times hold up to {MAX_CLOSED_SCV:g}"
            )
    servers = [1 if s.discipline == "delay" else s.servers for s in stations]
    solution = queueing.approximate_mva(
        flows.demands, flows.population, flows.think_time, "Schweitzer", servers=servers, fifo=flags,
        visits=flows.visits, scv=flows.scv, delay=flows.delay, names=list(flows.network.station),
    )  # fmt: skip
    return _of_mva(flows, solution)


def _of_mva(flows: Traffic, solution: queueing.MultiMva) -> NetworkResult:
    x, number = solution.throughput[0], solution.queue_length[0]
    response = solution.residence_time[0].sum(axis=0)
    return by_number(flows, x, number, response, solution.approximation)


def _fork_join(flows: Traffic) -> NetworkResult:
    """Answer K equal M/M/1 behind a fork: R = (H_K / H_2 + (1 - H_K / H_2) 4 rho / 11) (12 - rho) / 8 * R_1."""
    network, stations = flows.network, flows.network.station.values()
    (customers, *others), (fork, *more) = network.classes.values(), network.fork
    K = len(stations)
    equal = len({time.moments() for time in customers.service.values()}) == 1
    plain = all(s.discipline == "fifo" and s.servers == 1 and s.capacity is None and not s.rates for s in stations)
    straight = customers.route.get(IN) == {fork: 1.0} and customers.route.get(fork) == {OUT: 1.0}
    whole = sorted(network.fork[fork].stations) == sorted(network.station)
    exponential = all(isinstance(time, Exponential) for time in customers.service.values())
    if others or more or not (equal and plain and straight and whole and exponential and K <= NELSON_TANTAWI_MOST):
        raise RefusedError(
            f"fork {fork!r}: solved where one class passes once over at most {NELSON_TANTAWI_MOST} equal M/M/1 stations"
        )
    if not isinstance(customers.arrivals, Poisson):
        raise RefusedError(f"fork {fork!r}: solved with Poisson arrivals only")
    rho = float(flows.rate[0] * flows.mean[0, 0])
    single_queue = queueing.mm1(flows.rate[0], flows.mean[0, 0])
    ratio = float(np.sum(1 / np.arange(1, K + 1))) / 1.5
    stretch = (ratio + (1 - ratio) * 4 * rho / 11) * (12 - rho) / 8
    number = np.full((K, 1), single_queue.mean_number.item())
    response = np.array([stretch * single_queue.mean_response.item()])
    return by_number(flows, flows.rate, number, response, None if K == 2 else "Nelson-Tantawi")
