"""Corrections to waits in a machine's network: visits under other holds, random choices, and packet order.

Visits under different holds and work of other pools are an open load. Threads whose work varies little wait less
(regularity.py), unless they choose members at random. Packets that leave in order wait for earlier packets.
"""

from dataclasses import dataclass, field

import numpy as np

from npexplore.machine.progress import Chain
from npexplore.machine.resources.reorder import ReorderQueue
from npexplore.solve.batch_decisions import agreed
from npexplore.solve.nesting import Nesting
from npexplore.solve.queueing.inputs import LEAST_DIVISOR
from npexplore.solve.queueing.residual import Home
from npexplore.solve.regularity import in_order, is_by_chance, share_of_wait, slowed, variance_of_waits
from npexplore.solve.stations import Floats


@dataclass
class Contention(Nesting):
    """Slowdowns of visits, and waits outside the stations, at a given packet rate."""

    slowed: dict[str, Floats] = field(default_factory=dict)  # by server, how many times longer visits take
    left: dict[str, Floats] = field(default_factory=dict)  # by server, the rate (P,) that other pools' work leaves
    variances: dict[str, Floats] = field(default_factory=dict)  # by server, of a packet's waits for other pools' work
    exponential: bool = False  # whether all service is taken as exponential
    wandering: Floats | None = None  # variance (P,) of the waits for members that are chosen at random
    in_order: dict[Chain, Floats] = field(default_factory=dict)  # by holds, waits for earlier packets to leave
    open_load: bool = False  # whether arrivals are open, and idle threads wait in one line for packets

    @property
    def more_variance(self) -> dict[str, Floats]:
        """Return by server the scv (P,) that waits for other pools' work add to that of packet times."""
        return {
            name: variance / np.maximum(self.batch.seconds[name] * self.slowed[name], LEAST_DIVISOR) ** 2
            for name, variance in self.variances.items()
        }

    def divide(self, rate: Floats) -> None:
        """Set how much visits to a server under different holds slow each other at a rate (P,), as an open load.

        Each of n customers meets the visits of the n - 1 others (Schweitzer, Int. Conf. Stochastic Control 1979).
        """
        self.wander(rate)
        self.reorder(rate)
        share_of_others = 1.0 - 1.0 / self.customers
        for name in self.divided:
            server, busiest_s = self.servers[name], self.batch.largest[name]
            if name == self.home:
                busiest_s = self.batch.seconds[name] * Home(server.members, self.customers).met()
            wait_share = self._regular(name, server.units)
            for chain in self._home[name]:
                other_share = 1.0 - self._spent[chain, name] / np.maximum(self.batch.seconds[name], LEAST_DIVISOR)
                utilization = rate * busiest_s * other_share * share_of_others / server.units
                self._longer[chain, name] = slowed(utilization, server.units, wait_share * self._remaining(chain, name))

    def _remaining(self, chain: Chain, name: str) -> Floats | float:
        """Return the residual life (P,) of a visit under other holds, in mean visits under these holds."""
        if self.servers[name].discipline == "shared":
            return 1.0  # under processor sharing the length of visits does not matter
        visits = squares = 0.0 * self.batch.latency
        for (holds, server), visits_and_squares in self.batch.visited.items():
            if server == name and tuple(held for held in holds if held in self._around) == chain:
                visits = visits + visits_and_squares[:, 0]
            elif server == name:
                squares = squares + visits_and_squares[:, 1]
        here_s = self._spent[chain, name]
        others_s = self.batch.seconds[name] - here_s
        return squares / np.maximum(2.0 * others_s, LEAST_DIVISOR) * visits / np.maximum(here_s, LEAST_DIVISOR)

    def _by_chance(self) -> list[str]:
        return [name for name in self.batch.seconds if name != self.home and is_by_chance(self.batch, name)]

    def wander(self, rate: Floats) -> None:
        """Set the variance of waits for members that are chosen at random, at a rate (P,)."""
        self.wandering = 0.0 * rate
        for name in self._by_chance():
            waited_s = sum((seconds for (_, server), seconds in self._spent.items() if server == name), 0.0 * rate)
            share = waited_s / np.maximum(self.batch.seconds[name], LEAST_DIVISOR)  # packets do not wait for the rest
            self.wandering = self.wandering + share * variance_of_waits(self.batch, name, rate)

    def reorder(self, rate: Floats) -> None:
        """Set the waits of packets that leave a reorder queue in order, at a rate (P,)."""
        self.in_order = {}
        for name in self.reorders:
            chain = next(chain for chain, _ in self.batch.spent if name in chain)
            inside = self._without(chain[: chain.index(name) + 1], self.idle)
            visits, scv = self.batch.visits[name], self.batch.scv[name]
            sd = self.batch.seconds[name] / np.maximum(visits, LEAST_DIVISOR) * np.sqrt(scv)
            rate_of_others = rate * visits * (1.0 - 1.0 / self.customers)
            waits = visits * in_order(rate_of_others, sd)
            self.in_order[inside] = self.in_order.get(inside, 0.0) + waits

    @property
    def queued(self) -> list[str]:
        """Reorder queues that packets hold; packets leave them in the order of arrival."""
        held = {name for chain, _ in self.batch.spent for name in chain}
        resources = self.batch.like.machine.resources
        return [name for name in sorted(held) if isinstance(resources.get(name), ReorderQueue)]

    @property
    def reorders(self) -> list[str]:
        """Reorder queues that packets hold for times that vary."""
        return [name for name in self.queued if agreed(self.batch.scv[name] > 0)]

    def _scv(self, name: str) -> Floats | float:
        return self.batch.scv[name] if self.servers[name].discipline != "shared" else 1.0  # sharing: insensitive

    def _regular(self, name: str, units: float) -> Floats | float:
        """Return the wait (P,) where work varies little, as a share of the wait behind Poisson arrivals."""
        if self.open_load or self.exponential:
            return 1.0
        variance = self.batch.variance if self.wandering is None else self.batch.variance + self.wandering
        local = self._part_of_variance(name) if self.customers == 2 else 1.0
        return share_of_wait(self.batch, name, units, name == self.home, variance, self.customers, local)

    def _part_of_variance(self, name: str) -> Floats:
        """Return the part (P,) of a cycle's variance that counts at one server, for two threads.

        Two threads that met at another server have been separated there. Servers count by the square of their seconds;
        threads cannot meet under a hold of one unit.
        """
        zeros = 0.0 * self.batch.latency
        squares: dict[str, Floats] = {}
        for station, chains in {**self._home, **self._around}.items():
            server = self.servers[station]
            if server.units == 1 and not (station == self.home and server.members > 1):
                seconds = [
                    self._alone_under((*chain, station)) if station in self._around else self._spent[chain, station]
                    for chain in chains
                    if all(self.servers[held].units * self.servers[held].members > 1 for held in chain)
                ]
                squares[station] = sum(seconds, zeros) ** 2 / server.members
        total = sum(squares.values(), zeros)
        return np.where(total > 0, squares.get(name, total) / np.maximum(total, LEAST_DIVISOR**2), 1.0)
