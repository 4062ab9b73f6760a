"""From a network file to tables over its stations and classes: visits by the traffic equations, moments, loads.

Classes that customers change between are one column, a chain: its passes, and the mixture of its services.
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
    """One of several times by weight: what a chain of classes asks of a station."""

    parts: list[AnyTime]
    weights: list[float]

    def moments(self) -> tuple[float, float]:
        """Return mean and scv."""
        return mixture(self.parts, np.array(self.weights))


class Several(Arrivals, frozen=True, tag="several"):
    """Arrivals of several processes together."""

    parts: list[AnyArrivals]

    def dispersion(self) -> float:
        """Return the variance / mean of the numbers of all in a long time."""
        return sum(one.rate * one.dispersion() for one in self.parts) / self.rate


@dataclass(frozen=True)
class Traffic:
    """A network as tables over its K stations and C chains: visits a pass, service moments, arrivals, populations.

    `network` has a class for each chain; where no customer changes its class it is the file's. `file` is the file's.
    """

    network: Network
    file: Network
    chains: Chains
    visits: Floats  # (K, C)
    path: Floats  # (K, C), the same with only the longest branch of each fork
    mean: Floats  # (K, C), 0 where a chain does not come
    scv: Floats  # (K, C)
    rate: Floats  # (C,), 0 for a closed chain
    population: Floats  # (C,), 0 for an open chain
    think_time: Floats  # (C,)
    class_visits: Floats  # (K, R) of each class, a pass of its chain
    class_mean: Floats  # (K, R)

    @property
    def demands(self) -> Floats:
        """Return the service a pass needs at each station (K, C), in seconds of one server at speed 1."""
        return self.visits * self.mean

    @property
    def fastest(self) -> Floats:
        """Return the most work a second (K,) that one customer gets at each station."""
        return np.array([station.fastest for station in self.network.station.values()])

    @property
    def delay(self) -> Booleans:
        """Flag the delay stations (K,)."""
        return np.array([station.discipline == "delay" for station in self.network.station.values()])

    @property
    def fullest(self) -> Floats:
        """Return the most work a second (K,) of each station; infinite for delays."""
        return np.array([station.fullest for station in self.network.station.values()])


def traffic(network: Network) -> Traffic:
    """Solve the traffic equations of each chain; raises InputError where customers can never leave."""
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
            there = (
                [names.index(name) for name in network.stations_at(node) if name in network.station] if count else []
            )
            for k in there:
                class_visits[k, r] += count
                class_mean[k, r] = customers.service[names[k]].moments()[0]
            if there:
                path[max(there, key=lambda k: class_mean[k, r] / speed[k]), chains.of[r]] += count
    for r, c in enumerate(map(int, chains.of)):
        visits[:, c] += class_visits[:, r]
    view = network if C == R else _view(network, chains, class_visits)
    for number, one in enumerate(view.classes.values()):
        for j in np.flatnonzero(visits[:, number]):
            mean[j, number], scv[j, number] = one.service[names[j]].moments()
    whole = view.classes.values()
    rate = np.array([one.arrivals.rate if one.arrivals else 0.0 for one in whole])
    population = np.array([float(one.population or 0) for one in whole])
    think = np.array([one.think_time.moments()[0] if one.think_time else 0.0 for one in whole])
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
        ones = [network.classes[name] for name in members]
        arrivals = [one.arrivals for one in ones if one.arrivals]
        begins = chains.begins[rows].tolist()
        service = {}
        for k, station in enumerate(network.station):
            there = [r for r, one in zip(rows, ones, strict=True) if station in one.service]
            weights = class_visits[k, there].tolist()
            if any(weights):
                service[station] = _one([network.classes[names[r]].service[station] for r in there], weights)
        thinks = [one.think_time for one in ones]
        think = None
        if any(thinks):
            idle = sum(b for b, t in zip(begins, thinks, strict=True) if t is None)
            if idle:
                raise InputError(f"class.{members[0]}: of classes that become each other, all or none must think")
            think = _one([t for t in thinks if t], begins)
        first: dict[str, float] = {}
        for name, share in zip(members, begins, strict=True):
            for target, _, chance in network.routes(name).get(IN, []):
                first[target] = first.get(target, 0.0) + share * chance
        population = sum(one.population or 0 for one in ones)
        view[members[0]] = CustomerClass(
            population=population or None, think_time=think, arrivals=_together(arrivals),
            priority=ones[0].priority, service=service, route={IN: first},
        )  # fmt: skip
    return msgspec.structs.replace(network, classes=view)


def _one(parts: list[AnyTime], weights: list[float]) -> AnyTime:
    used = [(part, weight) for part, weight in zip(parts, weights, strict=True) if weight]
    if all(part == used[0][0] for part, _ in used):
        return used[0][0]
    return Mixture(parts=[p for p, _ in used], weights=[w for _, w in used])  # type: ignore[return-value]


def _together(arrivals: list[AnyArrivals]) -> AnyArrivals | None:
    if len(arrivals) < 2:
        return arrivals[0] if arrivals else None
    rate = sum(one.rate for one in arrivals)
    if all(isinstance(one, Poisson) for one in arrivals):
        return Poisson(rate=rate)
    return Several(rate=rate, parts=arrivals)  # type: ignore[return-value]


def refuse_unstable(flows: Traffic) -> None:
    """Raise InputError naming a station that open classes offer as much as it can do, or more.

    Classes that a full station may turn away are left out: how much of them comes through is not known here.
    """
    network = flows.network
    inside = {name for region in network.region.values() if region.when_full == "drop" for name in region.stations}
    drops = [
        (s.capacity is not None and s.when_full == "drop") or name in inside for name, s in network.station.items()
    ]
    sure = ~(flows.visits[drops] > 0).any(axis=0)
    offered = (flows.demands * flows.rate)[:, sure].sum(axis=1)
    for (name, station), load, flow in zip(network.station.items(), offered, flows.visits * flows.rate, strict=True):
        most = station.rates[-1] if station.rates else station.fullest
        if load >= most:
            raise InputError(
                f"station.{name}: offered load must be below its capacity of {most:g} "
                f"(the open network is unstable), got {load:.6g}"
            )
        if station.discipline == "polling" and station.visits == "limited" and sure.all() and not network.switches:
            away = sum(time.moments()[0] for time in station.switch_over.values()) / station.most_a_visit
            for c, rate in zip(network.classes, flow, strict=True):
                if load + rate * away >= 1:
                    raise InputError(
                        f"station.{name}: limited visits come too seldom for class {c!r} (it is unstable): "
                        f"load + its rate x switch-over a customer must be below 1, got {load + rate * away:.6g}"
                    )
