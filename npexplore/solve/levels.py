"""A machine's stations as a tree: what is visited while something else is held is the sub-network of what is held.

A server held over other stations (nesting.py) limits how many packets are in their sub-network, and becomes one station
with the sub-network's throughput alone for 1..limit customers: flow-equivalent service (Chandy, Herzog and Woo, IBM J.
Res. Dev. 19, 1975). Held while only time passes, it is a station that serves so long. Work that the packet leaves
behind is taken off its time away from stations; forked work that holds nothing of the packet's slows whom it meets as
an open load. All points of a batch, which have one structure, are solved at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.progress import Chain
from npexplore.rows.server import Polls, Server
from npexplore.solve.batch_decisions import agreed
from npexplore.solve.contention import Contention
from npexplore.solve.queueing.banks import bank_bandwidth
from npexplore.solve.queueing.inputs import LEAST_DIVISOR
from npexplore.solve.queueing.mixed_units import mean_holders
from npexplore.solve.queueing.mva import flow_equivalent, mva
from npexplore.solve.queueing.recovery import recovering, recovering_open
from npexplore.solve.queueing.residual import Home, Occupancy, Residual, residual
from npexplore.solve.regularity import is_by_chance
from npexplore.solve.stations import ROUNDING, Floats, LoadDependent, Network, scv_met

ALIKE = 1e-3  # members differ by no more
EXACT_BANKS = 6  # customers of alike members, up to which their exact chain is quick
MOST_KEPT = 128  # units that forked work keeps: as if there were no more, where few packets leave so many behind


@dataclass
class Levels(Contention):
    """Stations of a batch by what is held around them, solved from the innermost out."""

    groups: list[str] = field(default_factory=list)  # what became a flow-equivalent station
    handed_over: list[str] = field(default_factory=list)  # stations that get slower with those who wait
    overlaps: bool = False  # whether some time was counted twice
    residual: bool = False  # whether service that is not exponential, or overlap, was met
    at_home: bool = False  # whether threads belong to members of a server
    scheduled: bool = False  # whether chance decides nothing: a deterministic event graph
    method: str = ""  # by which a machine that is one resource was solved, if not by stations

    # ---- answers

    def solve(self) -> tuple[list[LoadDependent], Residual]:
        """Return the outermost stations and their network with 1.. all customers."""
        if self.recovers:
            return self._recovered((), [self.customers])
        if self.wandering is not None or self.open_load or not self._by_chance():
            return self._in_step(*self._solved((), self.customers))
        self.wander(self._solved((), self.customers)[1].throughput[:, -1])
        answer = self._solved((), self.customers)
        self.wandering = None
        return self._in_step(*answer)

    def _in_step(self, stations: list[LoadDependent], solved: Residual) -> tuple[list[LoadDependent], Residual]:
        """Let nobody pass another where all work at home is done in order: each has the pace of the fullest engine."""
        spent = {chain: seconds for (chain, name), seconds in self.batch.spent.items() if name == self.home}
        if self.home is None or not spent or not all({*chain} & {*self.queued} for chain in spent):
            return stations, solved
        own = -(-self.customers // self.servers[self.home].members)
        most = self.customers / np.maximum(own * self.batch.seconds[self.home], LEAST_DIVISOR)
        return stations, solved._replace(throughput=np.minimum(solved.throughput, most[:, None]))

    @property
    def recovers(self) -> bool:
        """Whether members of a server, under no holds, stay busy behind a packet that has gone on."""
        return len(self.recovering) == 1 and self._recovers_under(()) is not None

    def _recovers_under(self, chain: Chain) -> str | None:
        """Return the server under these holds of which members stay busy behind a packet, if there is one."""
        here = [name for name in self.recovering if self._home.get(name) == [chain]]
        return here[0] if len(here) == 1 and agreed(self._overlap.get(chain, np.zeros(1)) > 0) else None

    @property
    def visits_members_alone(self) -> bool:
        """Whether packets wait for nothing but the members that recover."""
        ((name, inside),) = self.recovering.items()
        return {*self._home, *self._around} <= {name, *inside}

    def waits_for_members(self, rate: Floats) -> Floats:
        """Return the mean wait (P,) for members that recover, of packets that come at random at a rate."""
        ((name, inside),) = self.recovering.items()
        members = 1 if self.batch.like.demands.servers[name].members else self.servers[name].members
        return recovering_open(rate, members, self.batch.seconds[name], self.batch.scv[name], [*inside.values()])

    def _recovered(self, chain: Chain, numbers: Sequence[int]) -> tuple[list[LoadDependent], Residual]:
        """Return stations under holds, and their network as one with what recovers among its customers.

        numbers: of customers, for which the throughput takes recovery into account.
        """
        name = self._recovers_under(chain)
        assert name is not None
        recovery = self.recovery.get(name, self._overlap[chain])
        if np.any(np.ptp(self.batch.members[name], axis=1) > ALIKE * self.batch.largest[name]):
            raise RefusedError(f"queueing: members of {name!r}, which differ, stay busy behind a packet")
        network = self._network(chain)
        away = network.think + recovery  # below 0 where other time overlaps
        both = np.clip(away, 0.0, recovery)  # the member recovers while the packet is away: as if it stayed there
        network, recovery = network._replace(think=away - both), recovery - both
        members, inside, most = self.servers[name].members, self.recovering[name], max(numbers)
        whole = network.residual(most + members)
        lost = sum((one * self.servers[server].away for server, one in inside.items()), np.zeros_like(away))
        curve = whole.throughput[:, :most].copy()
        for n in numbers:
            curve[:, n - 1] = recovering(whole.throughput, n, members, recovery, self.batch.seconds[name],
                                         [*inside.values()], lost)  # fmt: skip
        curve = np.minimum(curve, curve[:, -1:])
        self.residual = True
        share = most / np.maximum(whole.queue_length.sum(axis=1), LEAST_DIVISOR)
        return network.stations, Residual(curve, whole.queue_length * share[:, None])

    def curve(self, most: int, chain: Chain = ()) -> Floats:
        """Return the throughput (P, most) of what is reached under these holds with 1..most customers."""
        return self._solved(chain, most)[1].throughput

    def occupancy(self, chain: Chain, chances: Floats) -> tuple[list[LoadDependent], Occupancy]:
        """Return the stations under these holds, and where customers are, with chances (n + 1,) of 0..n of them."""
        network = self._network(chain)
        occupancy = network.residual(len(chances) - 1, chances).occupancy
        assert occupancy is not None
        return network.stations, occupancy

    def _solved(self, chain: Chain, most: int) -> tuple[list[LoadDependent], Residual]:
        if self._recovers_under(chain) is not None:
            return self._recovered(chain, range(1, most + 1))
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
            levels_of_station = station.capacity.shape[1]
            seconds[:, k], scv[:, k], waits[:, k] = station.seconds, station.scv, station.waits
            rates[:, k, :levels_of_station] = station.capacity
            rates[:, k, levels_of_station:] = station.capacity[:, -1:]
        nothing = np.zeros(points)
        twice = self._overlap.get(chain, nothing)
        self.overlaps |= bool(np.any(twice > 0))
        think = self._spent.get((chain, ""), nothing) - twice + self.in_order.get(chain, 0.0)
        think = np.where(np.abs(think) < ROUNDING * (seconds.sum(axis=1) + twice), 0.0, think)
        if self.exponential:
            scv[:] = 1.0
        network = Network(stations, seconds, think, rates, scv, waits)
        self.at_home |= any(network.homes)
        return network

    def _stations(self, chain: Chain) -> list[LoadDependent]:
        held = [name for name, around in self._around.items() if chain in around]
        visited = [name for name, home in self._home.items() if chain in home and name not in held]
        plain = [
            self._handing_over(station, self.servers[name], (*chain, name), self.servers[name].units)
            for name in visited for station in self._plain(name, self.servers[name].units, (chain, name))
        ]  # fmt: skip
        return plain + [station for name in held for station in self._held(name, (*chain, name))]

    def inside(self, chain: Chain) -> dict[str, Floats]:
        """Return the seconds (P,) that packets spend without contention under these holds, by the station they are at.

        A group of stations counts as one.
        """
        inside: dict[str, Floats] = {}
        for (holds, server), seconds in self._spent.items():
            if holds[: len(chain)] == chain and (server or len(holds) > len(chain)):
                self._add(inside, holds[len(chain)] if len(holds) > len(chain) else server, seconds)
        return inside

    def holds_others(self, chain: Chain) -> bool:
        """Say whether there are stations under these holds."""
        return any(chain in at for places in (self._home, self._around) for at in places.values())

    def admitted(self, name: str, most: int) -> Floats:
        """Return how many of 0..most packets at a group of stations are inside (most + 1,)."""
        members, limit, there = self.servers[name].members, self._limit(name), np.arange(most + 1)
        if members == 1:
            inside: Floats = np.minimum(there, np.float64(max(limit, 1.0)))
        else:
            inside = np.append(0.0, self._inside_members(members, limit))[np.minimum(there, self.customers)]
        return inside

    def _plain(self, name: str, units: float, place: tuple[Chain, str]) -> list[LoadDependent]:
        """One station a member, with the time that is spent at a place; longer where forked work is in the way."""
        server, own = self.servers[name], self._spent.get(place, np.zeros(len(self.batch)))
        if name in self.divided and (server.wake_s or server.per_waiter_s or server.polled):
            raise RefusedError(f"queueing: {name!r} takes longer the more wait, and is visited under different holds")
        longer = self.slowed.get(name, 1.0) * self._longer.get(place, 1.0) / (1.0 - server.away)
        share = own / self.batch.seconds[name] * longer
        seconds = self.batch.members[name] * share[:, None]
        most = min(math.ceil(units), self._at_once_inside(place[0]))
        capacity = np.minimum(np.arange(1.0, most + 1), units)[None, :]
        regular = self._regular(name, units)
        scv = self._scv(name) if units == 1 else 1.0
        if name == self._recovers_under(place[0]):
            most = self._at_once_inside(place[0]) + server.members
            bandwidth = [bank_bandwidth(n, server.members, "Baskett-Smith") for n in range(1, most + 1)]
            return [LoadDependent(name, own * longer, np.array(bandwidth)[None, :])]
        if self._drawn_alike(name, units, place[0]):
            constant = np.maximum(1.0 - self.batch.scv[name], 0.0)[:, None]
            n = np.arange(1, self._at_once_inside(place[0]) + 1)
            exponential = server.members * n / (server.members + n - 1.0)
            models = np.where(n <= EXACT_BANKS, "exact", "Baskett-Smith")
            alike = [bank_bandwidth(int(k), server.members, model) for k, model in zip(n, models, strict=True)]
            capacity = constant * np.maximum.accumulate(alike) + (1.0 - constant) * exponential
            return [LoadDependent(name, own * longer, capacity)]
        if name == self.home and units == 1 and self.customers > 1:
            few = any(self._limit(held) < self.customers for held in place[0])
            home = Home(server.members, self.customers, "any" if few else "in_turn" if self.open_load else "part")
            return [LoadDependent(name, own * longer, np.ones((1, 1)), scv, home, regular)]
        waits = self._waits(name) * regular if units == 1 else regular
        demand = self.batch.like.demands.servers[name]
        if server.members > 1 and demand.chosen > 0 and not (demand.spread or demand.members):
            together = server.members * most  # one line, where each goes to whoever has the least to do, or is next
            capacity = np.minimum(np.arange(1.0, min(together, self._at_once_inside(place[0])) + 1), together)[None, :]
            return [LoadDependent(name, own * longer, capacity, 1.0, None, self._regular(name, together))]
        label = name if server.members == 1 else f"{name}[{{}}]"
        return [
            LoadDependent(label.format(member), seconds[:, member], capacity, scv, None, waits)
            for member in range(server.members)
            if np.any(seconds[:, member] > 0)
        ]

    def _drawn_alike(self, name: str, units: float, chain: Chain) -> bool:
        """Say whether packets of a closed network draw alike members at random that stay busy while they go on."""
        if units != 1 or name == self.home or self.open_load or self.exponential or not is_by_chance(self.batch, name):
            return False
        alike = np.ptp(self.batch.members[name], axis=1) <= ALIKE * self.batch.largest[name]
        return agreed(alike & (self._overlap.get(chain, np.zeros(len(self.batch))) > 0))

    def _waits(self, name: str) -> Floats | float:
        """Return the share (P,) of the wait behind whoever comes at random, at a server of packets that arrive.

        Packets of constant times wait at the slowest of the servers that each visits once, as if it stood alone, and
        nowhere else (Friedman, Operations Research 13, 1965); of exponential ones, at each. Between: by the variance.
        """
        visits, server = self.batch.visits[name] / self.batch.share, self.servers[name]
        if not self.open_load or server.members > 1 or agreed(np.abs(visits - 1.0) > ALIKE):
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
            raise RefusedError(f"queueing: {name!r} is held during other work, and also visited directly")
        if not over:
            stations = self._plain(name, limit, (inside, ""))
        elif server.members > 1 and np.any(np.ptp(self.batch.members[name], axis=1) > ALIKE * self.batch.largest[name]):
            raise RefusedError(f"queueing: members of {name!r}, which differ, are held over {', '.join(over)}")
        else:
            self.groups.append(name)
            if server.members > 1:
                flow = self._members(server.members, limit, inside)
            else:
                flow = self._flow(max(limit, 1.0), inside)
            scv, waits = 1.0 if limit > 1 else self.batch.scv[name], self._regular(name, limit)
            stations = [LoadDependent(name, 1.0 / flow[:, 0], flow / flow[:, :1], scv, None, waits)]
        return [self._handing_over(station, server, inside, limit) for station in stations]

    def _at_once_inside(self, chain: Chain) -> int:
        """Return how many can be under these holds at once: forked work may keep more than there are packets."""
        outlive = any(self.sections[name].outlives for name in chain if name in self.sections)
        return max(self.customers, MOST_KEPT) if outlive else self.customers

    def _limit(self, name: str) -> float:
        section, units = self.sections.get(name), self.servers[name].units
        limit = float(units)
        if section and section.least == section.most:
            limit = float(units // section.most)
        elif section:
            limit = mean_holders(units, tuple(sorted(section.takes.items())))
        # what forked work keeps may be there more often than there are packets
        return min(limit, max(self.customers, MOST_KEPT) if section and section.outlives else self.customers)

    def _flow(self, limit: float, inside: Chain) -> Floats:
        """Return the throughput (P, n) of what is held with 1.. inside; part of one more adds that part of its gain."""
        flow = self.curve(math.ceil(limit), inside)
        if flow.shape[1] > limit:
            flow[:, -1] -= (flow[:, -1] - flow[:, -2]) * (flow.shape[1] - limit)
        return flow

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
            raise RefusedError(f"queueing: {server.name!r} takes longer the more packets wait, and has {limit:g} units")
        self.handed_over.append(station.name)
        waiting, visits = np.arange(float(self.customers)), self.batch.visits[server.name][:, None]
        each = server.wake_s * (waiting > 0) + server.per_waiter_s * waiting
        longer = station.seconds[:, None] + visits * each
        if server.polled is not None and server.polled.gap_s <= 0:
            raise RefusedError(f"queueing: who waits for {server.name!r} looks again at once, in everybody's way")
        if server.polled is not None:
            longer = longer + self._polled(server.polled, visits, inside)
        falling = station.seconds[:, None] / longer
        share = station.seconds / np.maximum(self.batch.latency, LEAST_DIVISOR)
        waits = (1.0 + scv_met(self._scv(server.name), share)) / 2
        if self.customers == 2:  # the rest of a service, and the whole hand-over, of two services and two hand-overs
            waits = 1.0 + (waits - 1.0) * falling[:, 1] / (2.0 - falling[:, 1])
        waits = np.minimum(self._regular(server.name, 1) * waits, 1.0)
        if server.per_waiter_s and self.customers > 2:  # the rest of one service, and the whole of the others'
            waits = (self.customers - 2 + waits) / (self.customers - 1)
        return LoadDependent(station.name, station.seconds, falling, 1.0, None, 1.0 if server.polled else waits)

    def _polled(self, polls: Polls, visits: Floats, inside: Chain) -> Floats:
        """Return the seconds (P, customers) that 0, 1, .. others who wait, and look again and again, cost a packet.

        n who look are a closed loop of their own: who holds the lock finds as many at the server of the looks as the
        loop has there (arrival theorem), and who waits sees a free lock at the next look: half a turn of the loop
        later, or as soon as the first of n looks.
        """
        name, customers = polls.server, self.customers
        look = self.batch.seconds[name] / np.maximum(self.batch.visits[name], LEAST_DIVISOR)
        gap = np.full(len(self.batch), polls.gap_s)
        loop = residual(look[:, None], customers, gap, np.ones((1, 1, 1)), np.zeros((len(self.batch), 1))).throughput
        n = np.arange(1.0, customers)
        there = n - loop[:, :-1] * gap[:, None]
        waits = look[:, None] * (there - loop[:, :-1] * look[:, None] / 2)
        among = (self._spent.get((inside, name), 0.0 * look) / np.maximum(look, LEAST_DIVISOR))[:, None]
        turn = (n / loop[:, :-1]) / (2 if polls.in_turn else n + 1)
        woken = polls.woken * (look[:, None] + waits + polls.woken_s)
        seconds = np.zeros((len(self.batch), customers))
        seconds[:, 1:] = among * waits + visits * (turn + woken)
        return seconds
