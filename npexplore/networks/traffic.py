"""From a network file to tables over its stations and classes: visits by the traffic equations, moments, loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npexplore.errors import InputError
from npexplore.networks.description import IN, OUT, Network
from npexplore.solve import queueing
from npexplore.solve.queueing.inputs import Booleans, Floats


@dataclass(frozen=True)
class Traffic:
    """A network as tables over its K stations and R classes: visits a pass, service moments, arrivals, populations."""

    network: Network
    visits: Floats  # (K, R)
    path: Floats  # (K, R), the same with only the longest branch of each fork
    mean: Floats  # (K, R), 0 where a class does not come
    scv: Floats  # (K, R)
    rate: Floats  # (R,), 0 for a closed class
    population: Floats  # (R,), 0 for an open class
    think_time: Floats  # (R,)

    @property
    def demands(self) -> Floats:
        """Return the service a pass needs at each station (K, R), in seconds of one server at speed 1."""
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
    """Solve the traffic equations of each class; raises InputError where customers can never leave."""
    names = list(network.station)
    shape = (len(names), len(network.classes))
    visits, path, mean, scv = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape)
    rate, population, think = np.zeros(shape[1]), np.zeros(shape[1]), np.zeros(shape[1])
    speed = [station.fastest for station in network.station.values()]
    nodes = [*names, *network.fork]
    for r, (name, customers) in enumerate(network.classes.items()):
        routing, first = np.zeros((len(nodes), len(nodes))), np.zeros(len(nodes))
        for node, route in customers.route.items():
            for target, probability in route.items():
                if node == IN:
                    first[nodes.index(target)] = probability
                elif target != OUT:
                    routing[nodes.index(node), nodes.index(target)] = probability
        try:
            passes = queueing.open_rates(routing, first, nodes)
        except InputError as error:
            raise InputError(f"class.{name}: {error}") from None
        for node, count in zip(nodes, passes, strict=True):
            there = [names.index(station) for station in network.stations_at(node)] if count else []
            for k in there:
                visits[k, r] += count
                mean[k, r], scv[k, r] = customers.service[names[k]].moments()
            if there:
                path[max(there, key=lambda k: mean[k, r] / speed[k]), r] += count
        rate[r] = customers.arrivals.rate if customers.arrivals else 0.0
        population[r] = customers.population or 0
        think[r] = customers.think_time.moments()[0] if customers.think_time else 0.0
    return Traffic(network, visits, path, mean, scv, rate, population, think)


def refuse_unstable(flows: Traffic) -> None:
    """Raise InputError naming a station that open classes offer as much as it can do, or more.

    Classes that a full station may turn away are left out: how much of them comes through is not known here.
    """
    network = flows.network
    drops = [s.capacity is not None and s.when_full == "drop" for s in network.station.values()]
    sure = ~(flows.visits[drops] > 0).any(axis=0)
    offered = (flows.demands * flows.rate)[:, sure].sum(axis=1)
    for (name, station), load in zip(network.station.items(), offered, strict=True):
        most = station.rates[-1] if station.rates else station.fullest
        if load >= most:
            raise InputError(
                f"station.{name}: offered load must be below its capacity of {most:g} "
                f"(the open network is unstable), got {load:.6g}"
            )
