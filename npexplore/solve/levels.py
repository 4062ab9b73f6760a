"""A machine's stations as a tree: what is visited while something else is held is the sub-network of what is held.

A server held over other stations limits how many packets are in their sub-network, and becomes one station with the
sub-network's throughput alone for 1..limit customers: flow-equivalent service (Chandy, Herzog and Woo, IBM J. Res. Dev.
19, 1975). Held while only time passes, it is a station that serves so long; a hold for which nobody ever waits is left
out. Every station is reached under the same holds always: else, and where holds overlap without one inside the other,
the answer is refused. All points of a batch, which have one structure, are solved at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from npexplore.errors import RefusedError
from npexplore.machine.resources.base import Server
from npexplore.machine.sections import Chain, Section, without
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.mva import Mva, flow_equivalent, mva

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Station:
    """Seconds per packet (P,); capacity with 1, 2, .. customers in units of one (1 or P, M; the last holds beyond)."""

    name: str
    seconds: Floats
    capacity: Floats


@dataclass
class Levels:
    """Stations of a batch by what is held around them; `customers` packets are in the whole of it."""

    batch: Batch
    customers: int
    groups: list[str] = field(default_factory=list)  # what became a flow-equivalent station
    handed_over: list[str] = field(default_factory=list)  # stations that get slower with those who wait

    def __post_init__(self) -> None:
        like = self.batch.like
        self.servers: Mapping[str, Server] = like.servers
        self.sections: Mapping[str, Section] = like.demands.sections
        idle = {name for name in self.sections if self._nobody_waits(name)}
        self._spent: dict[tuple[Chain, str], Any] = without(cast(Any, self.batch.spent), idle)  # arrays (P,)
        self._home: dict[str, Chain] = {}  # of each station that is visited
        self._around: dict[str, Chain] = {}  # of each server or group that is held
        for name in [name for name in self.sections if name not in idle]:
            self._check(name, idle)
        for (chain, name), seconds in self._spent.items():
            server = self.servers.get(name)
            if np.all(seconds <= 0) or (server is not None and server.role != "queue"):
                continue
            inside = chain if server is None or server.group is None else (*chain, server.group)
            for depth, held in enumerate(inside):
                self._note(self._around, held, inside[:depth])
            if server is not None:
                self._note(self._home, name, inside)

    def _nobody_waits(self, name: str) -> bool:
        server, section = self.servers[name], self.sections[name]
        needed = section.in_all if section.scattered else section.at_a_time
        return server.members == 1 and not section.outlives and self.customers * needed <= server.units

    def _check(self, name: str, idle: set[str]) -> None:
        """Refuse a hold that is no limit of a sub-network."""
        server, section = self.servers[name], self.sections[name]
        for other in sorted(section.crossed - idle):
            raise RefusedError(f"queueing: {name!r} is held over a part of {other!r}, neither inside the other")
        if server.unsolvable:
            raise RefusedError(f"queueing: {name!r} {server.unsolvable}")
        if section.scattered:
            raise RefusedError(f"queueing: units of {name!r} are taken and given in different places of the program")
        if section.least != section.most or section.at_a_time > section.most:
            raise RefusedError(f"queueing: packets hold different numbers of units of {name!r}")

    @staticmethod
    def _note(places: dict[str, Chain], name: str, chain: Chain) -> None:
        """Keep what is held around a name; refuse one that is reached under other holds too."""
        if places.setdefault(name, chain) != chain:
            held = " and ".join(repr(h) for h in sorted(set(places[name]) ^ set(chain)) or sorted(set(chain)))
            raise RefusedError(f"queueing: {held} is held over {name!r}, which packets also visit without")

    def solve(self) -> tuple[list[Station], Mva]:
        """Return the outermost stations and their network with all customers."""
        stations, seconds, rates, think = self._network(())
        names = [station.name for station in stations]
        return stations, mva(seconds, self.customers, think, rates, names=names)

    def curve(self, most: int, chain: Chain = ()) -> Floats:
        """Return the throughput (P, most) of what is reached under these holds with 1..most customers."""
        stations, seconds, rates, think = self._network(chain)
        names = [station.name for station in stations]
        varying = None if rates is None else rates[:, :, :most]
        return flow_equivalent(seconds, most, varying, think, names=names)

    def _network(self, chain: Chain) -> tuple[list[Station], Floats, Floats | None, Floats]:
        """Return stations with their seconds (P, K), rates (1 or P, K, M; None: single servers) and think time (P,)."""
        stations, points = self._stations(chain), len(self.batch)
        levels = max((station.capacity.shape[1] for station in stations), default=1)
        own = max((len(station.capacity) for station in stations), default=1)
        seconds, rates = np.empty((points, len(stations))), np.ones((own, len(stations), levels))
        for k, station in enumerate(stations):
            given = station.capacity.shape[1]
            seconds[:, k] = station.seconds
            rates[:, k, :given], rates[:, k, given:] = station.capacity, station.capacity[:, -1:]
        think = np.broadcast_to(self._spent.get((chain, ""), 0.0), (points,))
        return stations, seconds, None if levels == 1 else rates, think

    def _stations(self, chain: Chain) -> list[Station]:
        held = [name for name, around in self._around.items() if around == chain]
        visited = [name for name, home in self._home.items() if home == chain and name not in held]
        plain = [station for name in visited for station in self._plain(name, self.servers[name].units)]
        return plain + [station for name in held for station in self._held(name, (*chain, name))]

    def _plain(self, name: str, units: int) -> list[Station]:
        """One station a member."""
        server, seconds = self.servers[name], self.batch.members[name]
        inner, total = self.batch.inner[name], self.batch.seconds[name]
        capacity = np.arange(1.0, min(units, self.customers) + 1)[None, :]
        return [
            Station(name if server.members == 1 else f"{name}[{member}]", seconds[:, member] * inner / total, capacity)
            for member in range(server.members)
            if np.any(seconds[:, member] > 0)
        ]

    def _held(self, name: str, inside: Chain) -> list[Station]:
        """A server held over others, or over time that passes."""
        server, section = self.servers[name], self.sections.get(name)
        limit = min(int(server.units // section.most) if section else server.units, self.customers)
        content = inside in self._home.values() or inside in self._around.values()
        if name in self._home and (content or self._home[name] != inside[:-1] or (section and section.most > 1)):
            raise RefusedError(f"queueing: {name!r} is held over other work, and also visited")
        if not content:
            found = self._plain(name, limit)
        elif server.members > 1:
            over = sorted(n for places in (self._home, self._around) for n, at in places.items() if at == inside)
            raise RefusedError(f"queueing: members of {name!r} are held over {', '.join(over)}")
        else:
            self.groups.append(name)
            flow = np.minimum(self.curve(limit, inside), self._ceiling(inside)[:, None])
            found = [Station(name, 1.0 / flow[:, 0], flow / flow[:, :1])]
        return [self._handing_over(station, server, limit) for station in found]

    def _ceiling(self, inside: Chain) -> Floats:
        """Return the least throughput (P,) that a server under these holds allows, all its time counted.

        Of what shares one server's time (a bank and the bus that its data take) stations keep only what is their own,
        so that no time is waited for twice; that a server is busy all the time is nevertheless the limit.
        """
        ceilings = self.batch.ceilings()
        below = [name for name, home in self._home.items() if home[: len(inside)] == inside and name in ceilings]
        return (
            np.asarray(np.min([ceilings[name] for name in below], axis=0))
            if below
            else np.full(len(self.batch), np.inf)
        )

    def _handing_over(self, station: Station, server: Server, limit: int) -> Station:
        """The capacity of a server that takes longer the more wait for it."""
        if not (server.wake_s or server.per_waiter_s):
            return station
        if limit > 1:
            raise RefusedError(f"queueing: {server.name!r} takes longer the more wait, and has {limit} units")
        self.handed_over.append(station.name)
        waiting = np.arange(float(self.customers))
        each = server.wake_s * (waiting > 0) + server.per_waiter_s * waiting
        longer = station.seconds[:, None] + self.batch.visits[server.name][:, None] * each
        return Station(station.name, station.seconds, station.seconds[:, None] / longer)
