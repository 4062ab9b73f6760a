"""A machine's stations as a tree: what is visited while something else is held is the sub-network of what is held.

A server held over other stations limits how many packets are in their sub-network, and becomes one station with the
sub-network's throughput alone for 1..limit customers: flow-equivalent service (Chandy, Herzog and Woo, IBM J. Res. Dev.
19, 1975). Held while only time passes, it is a station that serves so long; a hold for which nobody ever waits is left
out. Every station is reached under the same holds always: else, and where holds overlap without one inside the other,
the answer is refused, but for holds inside a visit of a resource (a bank, over the buses of its memory): these are
stations beside those that they are held over, with all of their time, and what is counted twice is taken off the time
away from stations, as is work that the packet leaves behind (queueing/overlap.py). Forked work that holds nothing of
the packet's slows whom it meets as an open load. All points of a batch, which have one structure, are solved at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.errors import RefusedError
from npexplore.machine.sections import Chain, Section
from npexplore.rows.server import Polls, Server
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.mva import flow_equivalent, mva
from npexplore.solve.queueing.residual import Home, Population, Residual, residual

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12
TINY, FULL = 1e-12, 0.999
ALIKE = 1e-3  # members differ by no more
MOST_KEPT = 128  # units that forked work keeps: as if there were no more, where few packets leave so many behind
Spent = dict[tuple[Chain, str], Floats]


@dataclass(frozen=True)
class LoadDependent:
    """A station: seconds per packet (P,); capacity with 1, 2, .. customers, of one (1 or P, M; the last holds on)."""

    name: str
    seconds: Floats
    capacity: Floats
    scv: Floats | float = 1.0  # of the time of a visit
    home: Home | None = None  # servers that customers belong to
    waits: Floats | float = 1.0  # share of the wait that is one behind whoever comes at random


class Network(NamedTuple):
    """Stations of one level as arrays: seconds, scv and waits (P, K), think (P,), rates (1 or P, K, M); their homes."""

    stations: list[LoadDependent]
    seconds: Floats
    think: Floats
    rates: Floats
    scv: Floats
    waits: Floats

    @property
    def homes(self) -> list[Home | None]:
        """The home of the customers of each station."""
        return [station.home for station in self.stations]

    def product_form(self) -> bool:
        """Say whether mean value analysis is exact here."""
        unlike = (np.abs(self.scv - 1.0) > ROUNDING) | (np.abs(self.waits - 1.0) > ROUNDING)
        return not (any(self.homes) or np.any(self.think < 0) or np.any(unlike & (self.seconds > 0)))

    def residual(self, most: int, kept: list[Population] | None = None) -> Residual:
        """Return the network with 1..most customers by residual times; kept: gets where they are."""
        return residual(self.seconds, most, self.think, self.rates, self.scv, self.homes, kept, self.waits)


class _CrossedError(Exception):
    """A station is reached under other holds too, some of which stand inside visits."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


@dataclass
class Levels:
    """Stations of a batch by what is held around them; `customers` packets are in the whole of it."""

    batch: Batch
    customers: int
    home: str | None = None  # server to whose members the customers belong
    groups: list[str] = field(default_factory=list)  # what became a flow-equivalent station
    mixed: list[str] = field(default_factory=list)  # whose units are taken in different numbers, as the mean of them
    handed_over: list[str] = field(default_factory=list)  # stations that get slower with those who wait
    overlaps: bool = False  # whether some time was counted twice
    residual: bool = False  # whether service that is not exponential, or overlap, was met
    at_home: bool = False  # whether threads belong to members of a server
    slowed: dict[str, Floats] = field(default_factory=dict)  # by server, how many times longer visits take
    exponential: bool = False  # whether all service is taken for exponential
    open_load: bool = False  # whether packets arrive by themselves, and idle threads wait in one line for them

    def __post_init__(self) -> None:
        like = self.batch.like
        self.servers: Mapping[str, Server] = like.servers
        self.sections: Mapping[str, Section] = like.demands.sections
        self.idle = {name for name in self.sections if self._nobody_waits(name)}
        self._spent: Spent = {}
        self._overlap: dict[Chain, Floats] = {}
        for (chain, name), seconds in self.batch.spent.items():
            self._add(self._spent, (self._without(chain, self.idle), name), seconds)
        for chain, seconds in self.batch.overlap.items():
            self._add(self._overlap, self._without(chain, self.idle), seconds)
        for name in self.sections:
            if name not in self.idle and self._flat(name):
                self._flatten(name)
        self._at_once()
        while not self._placed():
            self._at_once()

    @staticmethod
    def _without(chain: Chain, names: set[str]) -> Chain:
        return tuple(name for name in chain if name not in names)

    @staticmethod
    def _add(table: dict, key: object, seconds: Floats) -> None:  # type: ignore[type-arg]
        table[key] = table[key] + seconds if key in table else seconds

    def _nobody_waits(self, name: str) -> bool:
        server, section = self.servers[name], self.sections[name]
        if server.role == "hidden":
            return True
        if self.customers == 1 and not section.outlives and not self.batch.aside:
            return True  # who is alone finds everything free
        needed = section.in_all if section.scattered else section.at_a_time
        return server.members == 1 and not section.outlives and self.customers * needed <= server.units

    # ---- who is held around whom

    def _flat(self, name: str) -> bool:
        """Say whether a hold inside visits is no limit of a sub-network: one of several members, or of mixed sizes."""
        server, section = self.servers[name], self.sections[name]
        if not section.in_visits or server.role == "pool":
            return False
        over = any(name in chain[:-1] or (name in chain and inside) for chain, inside in self._spent)
        uneven = section.scattered or section.crossed - self.idle or section.least != section.most
        return over and (server.members > 1 or bool(uneven))

    def _at_once(self) -> None:
        """Count a server held while only time passes as one that is visited."""
        over = {name for chain, server in self._spent for name in (chain if server else chain[:-1])}
        spent: Spent = {}
        for (chain, server), seconds in self._spent.items():
            leaf = chain and not server and chain[-1] not in over and self._one_unit(chain[-1])
            self._add(spent, (chain[:-1], chain[-1]) if leaf else (chain, server), seconds)
        self._spent = spent

    def _one_unit(self, name: str) -> bool:
        section = self.sections.get(name)
        return section is None or (section.most == 1 and not section.crossed - self.idle and not section.scattered)

    def _flatten(self, name: str) -> None:
        """Let a server be a station beside those that it is held over, each with the time at itself alone.

        Where it is the scarcest of them, nobody waits inside: the time there is then its own.
        """
        points, ceilings = len(self.batch), self.batch.ceilings()
        under = [(*chain[chain.index(name) + 1 :], server) for chain, server in self._spent if name in chain]
        inside = {server for servers in under for server in servers if server in ceilings}
        least = np.min([np.full(points, np.inf), *(ceilings[server] for server in inside)], axis=0)
        scarcest = ceilings[name] <= least
        spent: Spent = {}
        overlap: dict[Chain, Floats] = {}
        for (chain, server), seconds in self._spent.items():
            if name not in chain:
                self._add(spent, (chain, server), seconds)
                continue
            home, rest = chain[: chain.index(name)], self._without(chain, {name})
            own = (chain[-1] == name and not server) | scarcest
            self._add(spent, (home, name), np.where(own, seconds, 0.0))
            self._add(spent, (rest, server), np.where(own, 0.0, seconds))
        for chain, seconds in self._overlap.items():
            self._add(overlap, self._without(chain, {name}), seconds)
        self._spent, self._overlap = spent, overlap

    def _placed(self) -> bool:
        """Note what is held around every station; flatten a hold in the way, and say that the rest is to be done."""
        self._home: dict[str, list[Chain]] = {}  # of each station that is visited; several where holds are in the way
        self._around: dict[str, list[Chain]] = {}  # of each server or group that is held
        self._longer: dict[tuple[Chain, str], Floats] = {}  # how many times longer visits take for those elsewhere
        held = {name for chain, _ in self._spent for name in chain}
        for name in [
            name for name, s in self.sections.items() if name in held or not (s.in_visits or name in self.idle)
        ]:
            self._check(name)
        try:
            for (chain, name), seconds in self._spent.items():
                if np.all(seconds <= 0):
                    continue
                for depth, one in enumerate(chain):
                    self._note(self._around, one, chain[:depth])
                if name:
                    self._note(self._home, name, chain)
            both = [name for name in self._home if name in self._around and name in self.sections]
            if any(self.sections[name].in_visits for name in both):
                raise _CrossedError([name for name in both if self.sections[name].in_visits])
        except _CrossedError as error:
            for name in error.names:
                self._flatten(name)
            return False
        return True

    def _check(self, name: str) -> None:
        """Refuse a hold that is no limit of a sub-network."""
        server, section = self.servers[name], self.sections[name]
        for other in sorted(section.crossed - self.idle):
            raise RefusedError(f"queueing: {name!r} is held over a part of {other!r}, neither inside the other")
        if server.unsolvable:
            raise RefusedError(f"queueing: {name!r} {server.unsolvable}")
        if section.scattered:
            raise RefusedError(f"queueing: units of {name!r} are taken and given in different places of the program")
        if section.at_a_time > section.most:
            raise RefusedError(f"queueing: packets take units of {name!r} while they hold some")
        if section.least != section.most:
            self.mixed.append(name)

    def _note(self, places: dict[str, list[Chain]], name: str, chain: Chain) -> None:
        """Keep what is held around a name; holds inside visits give way where it is reached under others, too."""
        chains = places.setdefault(name, [])
        if chain in chains:
            return
        for other in chains:
            holds = sorted(set(other) ^ set(chain)) or sorted(set(chain))
            if all(one in self.sections and self.sections[one].in_visits for one in holds):
                raise _CrossedError(holds)
            if places is self._around:
                raise self._refused(name, other, chain)
        chains.append(chain)

    @staticmethod
    def _refused(name: str, *chains: Chain) -> RefusedError:
        held = " and ".join(repr(one) for one in sorted(set(chains[0]) ^ set(chains[1])) or sorted(set(chains[0])))
        return RefusedError(f"queueing: {held} is held over {name!r}, which is held without, too")

    @property
    def divided(self) -> list[str]:
        """Servers that are visited under different holds."""
        return [name for name, chains in self._home.items() if len(chains) > 1]

    def divide(self, rate: Floats) -> None:
        """Let visits under different holds slow each other at a rate (P,): 1 / (1 - X a), a what the others spend.

        Of these, one of n customers meets the n - 1 others' (Schweitzer, Int. Conf. Stochastic Control 1979).
        """
        met = 1.0 - 1.0 / self.customers
        for name in self.divided:
            busy = rate * self.batch.largest[name] / max(self.servers[name].units, 1)
            for chain in self._home[name]:
                others = 1.0 - self._spent[chain, name] / np.maximum(self.batch.seconds[name], TINY)
                self._longer[chain, name] = 1.0 / (1.0 - np.minimum(busy * others * met, FULL))

    # ---- answers

    def solve(self) -> tuple[list[LoadDependent], Residual]:
        """Return the outermost stations and their network with 1.. all customers."""
        return self._solved((), self.customers)

    def curve(self, most: int, chain: Chain = ()) -> Floats:
        """Return the throughput (P, most) of what is reached under these holds with 1..most customers."""
        return self._solved(chain, most)[1].throughput

    def numbers(self, chain: Chain, most: int) -> tuple[list[LoadDependent], list[Population]]:
        """Return the stations under these holds, and where customers are with 1..most of them there."""
        network, kept = self._network(chain), list[Population]()
        network.residual(most, kept)
        return network.stations, kept

    def _solved(self, chain: Chain, most: int) -> tuple[list[LoadDependent], Residual]:
        network = self._network(chain)
        if not network.product_form():
            self.residual = True
            return network.stations, network.residual(most)
        seconds, think, rates = network.seconds, network.think, network.rates
        names, levels = [station.name for station in network.stations], rates.shape[2]
        exact = mva(seconds, most, think, None if levels == 1 else rates, names=names)
        curve = flow_equivalent(seconds, most, None if levels == 1 else rates[:, :, :most], think, names=names)
        return network.stations, Residual(curve, exact.queue_length)

    def _network(self, chain: Chain) -> Network:
        """Return the stations under these holds, with the time away from all of them."""
        stations, points = self._stations(chain), len(self.batch)
        levels = max((station.capacity.shape[1] for station in stations), default=1)
        own = max((len(station.capacity) for station in stations), default=1)
        seconds, scv, waits = np.empty((3, points, len(stations)))
        rates = np.ones((own, len(stations), levels))
        for k, station in enumerate(stations):
            given = station.capacity.shape[1]
            seconds[:, k], scv[:, k], waits[:, k] = station.seconds, station.scv, station.waits
            rates[:, k, :given], rates[:, k, given:] = station.capacity, station.capacity[:, -1:]
        nothing = np.zeros(points)
        twice = self._overlap.get(chain, nothing)
        self.overlaps |= bool(np.any(twice > 0))
        think = self._spent.get((chain, ""), nothing) - twice
        think = np.where(np.abs(think) < ROUNDING * (seconds.sum(axis=1) + twice), 0.0, think)
        if self.exponential:
            scv[:] = 1.0
        network = Network(stations, seconds, think, rates, scv, waits)
        self.at_home |= any(network.homes)
        return network

    def _stations(self, chain: Chain) -> list[LoadDependent]:
        held = [name for name, around in self._around.items() if chain in around]
        visited = [name for name, home in self._home.items() if chain in home and name not in held]
        plain = [station for name in visited for station in self._plain(name, self.servers[name].units, (chain, name))]
        return plain + [station for name in held for station in self._held(name, (*chain, name))]

    def inside(self, chain: Chain) -> dict[str, Floats]:
        """Return the seconds (P,) that packets spend without contention under these holds, by the station they are at.

        A group of stations counts as one.
        """
        found: dict[str, Floats] = {}
        for (holds, server), seconds in self._spent.items():
            if holds[: len(chain)] == chain and (server or len(holds) > len(chain)):
                self._add(found, holds[len(chain)] if len(holds) > len(chain) else server, seconds)
        return found

    def holds_others(self, chain: Chain) -> bool:
        """Say whether there are stations under these holds."""
        return any(chain in at for places in (self._home, self._around) for at in places.values())

    def admitted(self, name: str, most: int) -> Floats:
        """Return how many of 0..most packets at a group of stations are inside (most + 1,)."""
        members, limit, there = self.servers[name].members, self._limit(name), np.arange(most + 1)
        if members == 1:
            inside: Floats = np.minimum(there, np.float64(max(round(limit), 1)))
        else:
            inside = np.append(0.0, self._inside_members(members, limit))[np.minimum(there, self.customers)]
        return inside

    def _plain(self, name: str, units: float, place: tuple[Chain, str]) -> list[LoadDependent]:
        """One station a member, with the time that is spent at a place; longer where forked work is in the way."""
        server, own = self.servers[name], self._spent.get(place, np.zeros(len(self.batch)))
        longer = self.slowed.get(name, 1.0) * self._longer.get(place, 1.0) / (1.0 - server.away)
        share = own / self.batch.seconds[name] * longer
        seconds = self.batch.members[name] * share[:, None]
        capacity = np.minimum(np.arange(1.0, min(math.ceil(units), self.customers) + 1), units)[None, :]
        scv = self.batch.scv[name] if units == 1 and server.discipline != "shared" else 1.0  # sharing minds no spread
        if name == self.home and not place[0] and units == 1 and self.customers > 1:
            home = Home.of(self.customers, server.members, self.open_load)
            return [LoadDependent(name, own * longer, np.ones((1, 1)), scv, home)]
        waits = self._waits(name) if units == 1 else 1.0
        label = name if server.members == 1 else f"{name}[{{}}]"
        return [
            LoadDependent(label.format(member), seconds[:, member], capacity, scv, None, waits)
            for member in range(server.members)
            if np.any(seconds[:, member] > 0)
        ]

    def _waits(self, name: str) -> Floats | float:
        """Return the share (P,) of the wait behind whoever comes at random, at a server of packets that arrive.

        Packets of constant times wait at the slowest of the servers that each visits once, as if it stood alone, and
        nowhere else (Friedman, Operations Research 13, 1965); of exponential ones, at each. Between: by the variance.
        """
        visits, server = self.batch.visits[name], self.servers[name]
        if not self.open_load or server.members > 1 or np.any(np.abs(visits - 1.0) > ALIKE):
            return 1.0
        ceilings = {one: most for one, most in self.batch.ceilings().items() if one in self.batch.seconds}
        slowest = np.argmin(list(ceilings.values()), axis=0) == list(ceilings).index(name)
        return np.where(slowest, 1.0, np.minimum(self.batch.spread[name], 1.0))

    def _held(self, name: str, inside: Chain) -> list[LoadDependent]:
        """A server held over others, or over time that passes."""
        server, section = self.servers[name], self.sections.get(name)
        limit = self._limit(name)
        over = sorted(n for places in (self._home, self._around) for n, at in places.items() if inside in at)
        if name in self._home and (over or self._home[name] != [inside[:-1]] or (section and section.most > 1)):
            raise RefusedError(f"queueing: {name!r} is held over other work, and also visited")
        if not over:
            found = self._plain(name, limit, (inside, ""))
        elif server.members > 1 and np.any(np.ptp(self.batch.members[name], axis=1) > ALIKE * self.batch.largest[name]):
            raise RefusedError(f"queueing: members of {name!r}, which differ, are held over {', '.join(over)}")
        else:
            self.groups.append(name)
            if server.members > 1:
                flow = self._members(server.members, limit, inside)
            else:
                flow = self.curve(max(round(limit), 1), inside)
            found = [LoadDependent(name, 1.0 / flow[:, 0], flow / flow[:, :1])]
        return [self._handing_over(station, server, inside, limit) for station in found]

    def _limit(self, name: str) -> float:
        section, units = self.sections.get(name), self.servers[name].units
        limit = section.holders(units) if section else float(units)
        # what forked work keeps may be there more often than there are packets
        return min(limit, max(self.customers, MOST_KEPT) if section and section.outlives else self.customers)

    def _inside_members(self, members: int, limit: float) -> Floats:
        """Return how many of 1..customers are inside (customers,)."""
        asking, held = np.zeros(self.customers + 1), np.zeros(self.customers)
        asking[0] = 1.0
        for n in range(self.customers):
            asking[1:] += (asking[:-1] - asking[1:]) / members
            asking[0] *= 1.0 - 1.0 / members
            held[n] = members * float(asking @ np.minimum(np.arange(self.customers + 1), limit))
        return held

    def _members(self, members: int, limit: float, inside: Chain) -> Floats:
        """Return the throughput (P, customers) of alike members that are each held over the same stations.

        Of n who each want one of m at random, m E[min(k, limit)] are inside, k binomial (limit 1: Strecker 1970).
        """
        held = self._inside_members(members, limit)
        curve = self.curve(min(math.ceil(members * limit), self.customers), inside)
        return np.stack([np.interp(held, np.arange(1.0, curve.shape[1] + 1), row) for row in curve])

    def _handing_over(self, station: LoadDependent, server: Server, inside: Chain, limit: float) -> LoadDependent:
        """The capacity of a server that takes longer the more wait for it."""
        if not (server.wake_s or server.per_waiter_s or server.polled):
            return station
        if limit > 1:
            raise RefusedError(f"queueing: {server.name!r} takes longer the more wait, and has {limit:g} units")
        self.handed_over.append(station.name)
        waiting, visits = np.arange(float(self.customers)), self.batch.visits[server.name][:, None]
        each = server.wake_s * (waiting > 0) + server.per_waiter_s * waiting
        longer = station.seconds[:, None] + visits * each
        if server.polled is not None:
            longer = longer + self._polled(server.polled, visits, inside)
        return LoadDependent(station.name, station.seconds, station.seconds[:, None] / longer)

    def _polled(self, polls: Polls, visits: Floats, inside: Chain) -> Floats:
        """Return the seconds (P, customers) that 0, 1, .. others who wait, and look again and again, cost a packet.

        n who look are a closed loop of their own: who holds the lock finds as many at the server of the looks as the
        loop has there (arrival theorem), and who waits sees a free lock at the next look: half a turn of the loop
        later, or as soon as the first of n looks.
        """
        name, customers = polls.server, self.customers
        look = self.batch.seconds[name] / np.maximum(self.batch.visits[name], TINY)
        gap = np.full(len(self.batch), polls.gap_s)
        loop = residual(look[:, None], customers, gap, np.ones((1, 1, 1)), np.zeros((len(self.batch), 1))).throughput
        n = np.arange(1.0, customers)
        there = n - loop[:, :-1] * gap[:, None]
        waits = look[:, None] * (there - loop[:, :-1] * look[:, None] / 2)
        among = (self._spent.get((inside, name), 0.0 * look) / np.maximum(look, TINY))[:, None]
        turn = (n / loop[:, :-1]) / (2 if polls.in_turn else n + 1)
        woken = polls.woken * (look[:, None] + waits + polls.woken_s)
        found = np.zeros((len(self.batch), customers))
        found[:, 1:] = among * waits + visits * (turn + woken)
        return found
