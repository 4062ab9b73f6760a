"""Turns a network file into tables over stations and classes: visits by the traffic equations, moments, loads.

Classes between which customers change are one column, a chain: its passes, and the mixture of its service times.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from npexplore.errors import InputError
from npexplore.networks.arrivals import AnyArrivals
from npexplore.networks.chains import Chains, chains_of, mixture, nodes_of
from npexplore.networks.records import IN, CustomerClass, Network
from npexplore.networks.times import AnyTime
from npexplore.rows.distributions import Arrivals, Distribution, Poisson
from npexplore.solve.queueing.inputs import Booleans, Floats


class Mixture(Distribution, frozen=True, tag="mixture"):
    """One of several times, with probabilities in proportion to weights: the service of a chain at a station."""

    parts: list[AnyTime]
    weights: list[float]

    def moments(self) -> tuple[float, float]:
        """Return mean and scv."""
        return mixture(self.parts, np.array(self.weights))


class Several(Arrivals, frozen=True, tag="several"):
    """The superposition of several arrival processes."""

    parts: list[AnyArrivals]

    def dispersion(self) -> float:
        """Return variance / mean of the total number of arrivals in a long time."""
        return sum(process.rate * process.dispersion() for process in self.parts) / self.rate


@dataclass(frozen=True)
class Traffic:
    """A network as tables over K stations and C chains: visits per pass, service moments, arrivals, populations.

    `file` is the network of the file. `network` has one class per chain; it equals `file` if no customer changes its
    class.
    """

    network: Network
    file: Network
    chains: Chains
    visits: Floats  # (K, C)
    path: Floats  # (K, C), the same with only the longest branch of each fork
    mean: Floats  # (K, C), 0 where a chain does not visit
    scv: Floats  # (K, C)
    rate: Floats  # (C,), 0 for a closed chain
    population: Floats  # (C,), 0 for an open chain
    think_time: Floats  # (C,)
    class_visits: Floats  # (K, R), visits of each class per pass of its chain
    class_mean: Floats  # (K, R)

    @property
    def demands(self) -> Floats:
        """Return the service demand of a pass at each station (K, C), in seconds of one server at speed 1."""
        return self.visits * self.mean

    @property
    def fastest(self) -> Floats:
        """Return the highest speed (K,) at which each station serves a single customer."""
        return np.array([station.fastest for station in self.network.station.values()])

    @property
    def delay(self) -> Booleans:
        """Return which stations are delays (K,)."""
        return np.array([station.discipline == "delay" for station in self.network.station.values()])

    @property
    def fullest(self) -> Floats:
        """Return the highest total speed (K,) of each station; infinite for delays."""
        return np.array([station.fullest for station in self.network.station.values()])


def traffic(network: Network) -> Traffic:
    """Solve the traffic equations of each chain; raises InputError if customers can never leave."""
    chains = chains_of(network)
    names, nodes = list(network.station), nodes_of(network)
    K, R, C = len(names), len(network.classes), chains.count
    visits, path = np.zeros((K, C)), np.zeros((K, C))
    class_visits, class_mean = np.zeros((K, R)), np.zeros((K, R))
    mean, scv = np.zeros((K, C)), np.ones((K, C))
    speed = [station.fastest for station in network.station.values()]
    for r, customers in enumerate(network.classes.values()):
        for n, node in enumerate(nodes):
            count = chains.visits[n, r]
            stations = (
                [names.index(name) for name in network.stations_at(node) if name in network.station] if count else []
            )
            for k in stations:
                class_visits[k, r] += count
                class_mean[k, r] = customers.service[names[k]].moments()[0]
            if stations:
                path[max(stations, key=lambda k: class_mean[k, r] / speed[k]), chains.of[r]] += count
    for r, c in enumerate(map(int, chains.of)):
        visits[:, c] += class_visits[:, r]
    view = network if C == R else _view(network, chains, class_visits)
    for number, chain in enumerate(view.classes.values()):
        for j in np.flatnonzero(visits[:, number]):
            mean[j, number], scv[j, number] = chain.service[names[j]].moments()
    chain_classes = view.classes.values()
    rate = np.array([chain.arrivals.rate if chain.arrivals else 0.0 for chain in chain_classes])
    population = np.array([float(chain.population or 0) for chain in chain_classes])
    think = np.array([chain.think_time.moments()[0] if chain.think_time else 0.0 for chain in chain_classes])
    return Traffic(
        view, network, chains, visits, path, mean, np.maximum(scv, 0.0), rate, population, think, class_visits,
        class_mean,
    )  # fmt: skip


def _view(network: Network, chains: Chains, class_visits: Floats) -> Network:
    """Return the network with one class for each chain, named after its first class."""
    names, view = list(network.classes), {}
    for c in range(chains.count):
        rows = np.flatnonzero(chains.of == c)
        members = [names[r] for r in rows]
        member_classes = [network.classes[name] for name in members]
        arrivals = [customers.arrivals for customers in member_classes if customers.arrivals]
        begins = chains.begins[rows].tolist()
        service = {}
        for k, station in enumerate(network.station):
            serving = [r for r, customers in zip(rows, member_classes, strict=True) if station in customers.service]
            weights = class_visits[k, serving].tolist()
            if any(weights):
                service[station] = _one([network.classes[names[r]].service[station] for r in serving], weights)
        thinks = [customers.think_time for customers in member_classes]
        think = None
        if any(thinks):
            without_think_time = sum(b for b, t in zip(begins, thinks, strict=True) if t is None)
            if without_think_time:
                raise InputError(f"class.{members[0]}: of classes that become each other, all or none must think")
            think = _one([t for t in thinks if t], begins)
        first: dict[str, float] = {}
        for name, share in zip(members, begins, strict=True):
            for target, _, chance in network.routes(name).get(IN, []):
                first[target] = first.get(target, 0.0) + share * chance
        population = sum(customers.population or 0 for customers in member_classes)
        view[members[0]] = CustomerClass(
            population=population or None, think_time=think, arrivals=_together(arrivals),
            priority=member_classes[0].priority, service=service, route={IN: first},
        )  # fmt: skip
    return msgspec.structs.replace(network, classes=view)


def _one(parts: list[AnyTime], weights: list[float]) -> AnyTime:
    used = [(part, weight) for part, weight in zip(parts, weights, strict=True) if weight]
    if all(part == used[0][0] for part, _ in used):
        return used[0][0]
    return Mixture(parts=[part for part, _ in used], weights=[w for _, w in used])  # type: ignore[return-value]


def _together(arrivals: list[AnyArrivals]) -> AnyArrivals | None:
    if len(arrivals) < 2:
        return arrivals[0] if arrivals else None
    rate = sum(process.rate for process in arrivals)
    if all(isinstance(process, Poisson) for process in arrivals):
        return Poisson(rate=rate)
    return Several(rate=rate, parts=arrivals)  # type: ignore[return-value]


def refuse_unstable(flows: Traffic) -> None:
    """Raise InputError naming a station to which open classes offer at least its capacity.

    Classes that a full station may drop are not counted, because their throughput is not known here.
    """
    network = flows.network
    inside = {name for region in network.region.values() if region.when_full == "drop" for name in region.stations}
    drops = [
        (station.capacity is not None and station.when_full == "drop") or name in inside
        for name, station in network.station.items()
    ]
    unlimited = ~(flows.visits[drops] > 0).any(axis=0)
    offered = (flows.demands * flows.rate)[:, unlimited].sum(axis=1)
    for (name, station), load, flow in zip(network.station.items(), offered, flows.visits * flows.rate, strict=True):
        capacity = station.rates[-1] if station.rates else station.fullest
        if load >= capacity:
            raise InputError(
                f"station.{name}: offered load must be below its capacity of {capacity:g} "
                f"(the open network is unstable), got {load:.6g}"
            )
        if station.discipline == "polling" and station.visits == "limited" and unlimited.all() and not network.switches:
            switch_s = sum(time.moments()[0] for time in station.switch_over.values()) / station.most_a_visit
            for c, rate in zip(network.classes, flow, strict=True):
                if load + rate * switch_s >= 1:
                    raise InputError(
                        f"station.{name}: limited visits come too seldom for class {c!r} (it is unstable): "
                        f"load + its rate x switch-over a customer must be below 1, got {load + rate * switch_s:.6g}"
                    )
