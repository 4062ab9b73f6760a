"""What lengthens or shortens waits in a machine's network besides its stations: other visits, chance, order.

Visits under different holds and work of others are an open load; threads whose work varies little wait less
(regularity.py); members that are chosen by chance put them out of step; packets that leave in order wait for those
before.
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
    """How many times longer visits take, and what packets wait beside the stations, at a rate that is told."""

    slowed: dict[str, Floats] = field(default_factory=dict)  # by server, how many times longer visits take
    left: dict[str, Floats] = field(default_factory=dict)  # by server where packets wait, what others' work leaves (P,)
    variances: dict[str, Floats] = field(default_factory=dict)  # by server, of a packet's waits for others' work
    by_chance: bool = False  # whether packets that arrive put threads out of step
    exponential: bool = False  # whether all service is taken for exponential
    wandering: Floats | None = None  # variance (P,) of the waits for members that are chosen by chance
    in_order: dict[Chain, Floats] = field(default_factory=dict)  # by holds, waits for packets that came before
    open_load: bool = False  # whether packets arrive by themselves, and idle threads wait in one line for them

    @property
    def more_variance(self) -> dict[str, Floats]:
        """Return by server what waits for others' work add to the squared coefficient of variation (P,) of times."""
        return {
            name: variance / np.maximum(self.batch.seconds[name] * self.slowed[name], LEAST_DIVISOR) ** 2
            for name, variance in self.variances.items()
        }

    def divide(self, rate: Floats) -> None:
        """Let visits under different holds slow each other at a rate (P,), as an open load of what the others spend.

        Of these, one of n customers meets the n - 1 others' (Schweitzer, Int. Conf. Stochastic Control 1979).
        """
        self.wander(rate)
        self.reorder(rate)
        met = 1.0 - 1.0 / self.customers
        for name in self.divided:
            server, largest = self.servers[name], self.batch.largest[name]
            if name == self.home:
                largest = self.batch.seconds[name] * Home(server.members, self.customers).met()
            waits = self._regular(name, server.units)
            for chain in self._home[name]:
                others = 1.0 - self._spent[chain, name] / np.maximum(self.batch.seconds[name], LEAST_DIVISOR)
                busy = rate * largest * others * met / server.units
                self._longer[chain, name] = slowed(busy, server.units, waits * self._remaining(chain, name))

    def _remaining(self, chain: Chain, name: str) -> Floats | float:
        """Return what is left of a visit of others that is met (P,), in mean visits under these holds."""
        if self.servers[name].discipline == "shared":
            return 1.0  # sharing minds no visits
        visits = squares = others = 0.0 * self.batch.latency
        for (holds, server), counted in self.batch.visited.items():
            if server == name and tuple(one for one in holds if one in self._around) == chain:
                visits = visits + counted[:, 0]
            elif server == name:
                squares = squares + counted[:, 1]
        own = self._spent[chain, name]
        others = self.batch.seconds[name] - own
        return squares / np.maximum(2.0 * others, LEAST_DIVISOR) * visits / np.maximum(own, LEAST_DIVISOR)

    def _by_chance(self) -> list[str]:
        return [name for name in self.batch.seconds if name != self.home and is_by_chance(self.batch, name)]

    def wander(self, rate: Floats) -> None:
        """Let waits for members that are chosen by chance, at a rate (P,), put threads out of step."""
        self.wandering = 0.0 * rate
        for name in self._by_chance():
            own = sum((seconds for (_, server), seconds in self._spent.items() if server == name), 0.0 * rate)
            share = own / np.maximum(self.batch.seconds[name], LEAST_DIVISOR)  # no packet waits for the rest
            self.wandering = self.wandering + share * variance_of_waits(self.batch, name, rate)

    def reorder(self, rate: Floats) -> None:
        """Let packets that leave a reorder queue at a rate (P,) wait for those before them."""
        self.in_order = {}
        for name in self.reorders:
            chain = next(chain for chain, _ in self.batch.spent if name in chain)
            inside = self._without(chain[: chain.index(name) + 1], self.idle)
            visits, scv = self.batch.visits[name], self.batch.scv[name]
            sd = self.batch.seconds[name] / np.maximum(visits, LEAST_DIVISOR) * np.sqrt(scv)
            others = rate * visits * (1.0 - 1.0 / self.customers)
            waits = visits * in_order(others, sd)
            self.in_order[inside] = self.in_order.get(inside, 0.0) + waits

    @property
    def queued(self) -> list[str]:
        """Reorder queues that packets hold: they leave them in the order in which they came."""
        held = {name for chain, _ in self.batch.spent for name in chain}
        resources = self.batch.like.machine.resources
        return [name for name in sorted(held) if isinstance(resources.get(name), ReorderQueue)]

    @property
    def reorders(self) -> list[str]:
        """Reorder queues that packets hold while something takes them times that vary."""
        return [name for name in self.queued if agreed(self.batch.scv[name] > 0)]

    def _scv(self, name: str) -> Floats | float:
        return self.batch.scv[name] if self.servers[name].discipline != "shared" else 1.0  # sharing minds no spread

    def _regular(self, name: str, units: float) -> Floats | float:
        """Return the share (P,) of the wait behind Poisson arrivals that is left where work varies little."""
        if self.open_load or self.exponential or self.by_chance:
            return 1.0
        variance = self.batch.variance if self.wandering is None else self.batch.variance + self.wandering
        local = self._part_of_variance(name) if self.customers == 2 else 1.0
        return share_of_wait(self.batch, name, units, name == self.home, variance, self.customers, local)

    def _part_of_variance(self, name: str) -> Floats:
        """Return the part (P,) of a cycle's variance that tells at a server: two threads that met at one are apart.

        By the square of the seconds there; nobody meets under a hold of one unit.
        """
        nothing = 0.0 * self.batch.latency
        squares: dict[str, Floats] = {}
        for one, chains in {**self._home, **self._around}.items():
            server = self.servers[one]
            if server.units == 1 and not (one == self.home and server.members > 1):
                seconds = [
                    self._alone_under((*chain, one)) if one in self._around else self._spent[chain, one]
                    for chain in chains
                    if all(self.servers[held].units * self.servers[held].members > 1 for held in chain)
                ]
                squares[one] = sum(seconds, nothing) ** 2 / server.members
        total = sum(squares.values(), nothing)
        return np.where(total > 0, squares.get(name, total) / np.maximum(total, LEAST_DIVISOR**2), 1.0)
