"""Solve a machine's stations as a tree: stations visited while a server is held form the sub-network of that server.

A server held over other stations (nesting.py) limits the number of packets in their sub-network. It becomes one station
with the sub-network's throughput for 1..limit customers: flow-equivalent service (Chandy, Herzog and Woo, IBM J. Res.
Dev. 19, 1975). A server held while only time passes is a station with that service time. Work that goes on behind a
packet is subtracted from its think time. Forked work that holds none of the packet's servers slows other packets as an
open load. All points of a batch have one structure and are solved at once.
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

ALIKE = 1e-3  # relative difference below which members count as identical
EXACT_BANKS = 6  # customers of identical members up to which their exact Markov chain is solved
MOST_KEPT = 128  # cap on units held by forked work; a larger number is treated as this one


@dataclass
class Levels(Contention):
    """Stations of a batch by the servers held around them, solved from the innermost level outwards."""

    groups: list[str] = field(default_factory=list)  # servers that became flow-equivalent stations
    handed_over: list[str] = field(default_factory=list)  # stations whose service slows as more packets wait
    overlaps: bool = False  # whether a surrogate delay corrects for time that overlaps
    residual: bool = False  # whether residual-time MVA was used (service not exponential, or overlapping time)
    at_home: bool = False  # whether threads belong to members of a server
    scheduled: bool = False  # whether the machine is a deterministic event graph
    method: str = ""  # solution method of a machine that is one resource, if not a network of stations

    # ---- answers

    def solve(self) -> tuple[list[LoadDependent], Residual]:
        """Return the outermost stations and their network solved with 1..customers customers."""
        if self.recovers:
            return self._recovered((), [self.customers])
        if self.wandering is not None or self.open_load or not self._by_chance():
            return self._in_step(*self._solved((), self.customers))
        self.wander(self._solved((), self.customers)[1].throughput[:, -1])
        answer = self._solved((), self.customers)
        self.wandering = None
        return self._in_step(*answer)

    def _in_step(self, stations: list[LoadDependent], solved: Residual) -> tuple[list[LoadDependent], Residual]:
        """Limit all threads to the pace of the fullest engine where all work at home is done in packet order."""
        spent = {chain: seconds for (chain, name), seconds in self.batch.spent.items() if name == self.home}
        if self.home is None or not spent or not all({*chain} & {*self.queued} for chain in spent):
            return stations, solved
        threads_of_fullest = -(-self.customers // self.servers[self.home].members)
        ceiling = self.customers / np.maximum(threads_of_fullest * self.batch.seconds[self.home], LEAST_DIVISOR)
        return stations, solved._replace(throughput=np.minimum(solved.throughput, ceiling[:, None]))

    @property
    def recovers(self) -> bool:
        """Whether members of a server, under no holds, stay busy behind a packet that has gone on."""
        return len(self.recovering) == 1 and self._recovers_under(()) is not None

    def _recovers_under(self, chain: Chain) -> str | None:
        """Return the one server under these holds whose members stay busy behind a packet, or None."""
        candidates = [name for name in self.recovering if self._home.get(name) == [chain]]
        return candidates[0] if len(candidates) == 1 and agreed(self._overlap.get(chain, np.zeros(1)) > 0) else None

    @property
    def visits_members_alone(self) -> bool:
        """Whether packets wait only for the members that recover."""
        ((name, inside),) = self.recovering.items()
        return {*self._home, *self._around} <= {name, *inside}

    def waits_for_members(self, rate: Floats) -> Floats:
        """Return the mean wait (P,) of packets with Poisson arrivals at a rate (P,) for members that recover."""
        ((name, inside),) = self.recovering.items()
        members = 1 if self.batch.like.demands.servers[name].members else self.servers[name].members
        return recovering_open(rate, members, self.batch.seconds[name], self.batch.scv[name], [*inside.values()])

    def _recovered(self, chain: Chain, numbers: Sequence[int]) -> tuple[list[LoadDependent], Residual]:
        """Return the stations under holds and their network, in which recovering members count as extra customers.

        numbers: the populations for which the throughput takes recovery into account.
        """
        name = self._recovers_under(chain)
        assert name is not None
        recovery = self.recovery.get(name, self._overlap[chain])
        if np.any(np.ptp(self.batch.members[name], axis=1) > ALIKE * self.batch.largest[name]):
            raise RefusedError(f"queueing: members of {name!r}, which differ, stay busy behind a packet")
        network = self._network(chain)
        think_s = network.think + recovery  # below 0 where other time overlaps
        overlap_s = np.clip(think_s, 0.0, recovery)  # recovery during the think time: as if the packet stayed
        network, recovery = network._replace(think=think_s - overlap_s), recovery - overlap_s
        members, inside, most = self.servers[name].members, self.recovering[name], max(numbers)
        solved = network.residual(most + members)
        away_s = sum(
            (seconds * self.servers[server].away for server, seconds in inside.items()), np.zeros_like(think_s)
        )
        curve = solved.throughput[:, :most].copy()
        for n in numbers:
            curve[:, n - 1] = recovering(solved.throughput, n, members, recovery, self.batch.seconds[name],
                                         [*inside.values()], away_s)  # fmt: skip
        curve = np.minimum(curve, curve[:, -1:])
        self.residual = True
        share = most / np.maximum(solved.queue_length.sum(axis=1), LEAST_DIVISOR)
        return network.stations, Residual(curve, solved.queue_length * share[:, None])

    def curve(self, most: int, chain: Chain = ()) -> Floats:
        """Return the throughput (P, most) of the sub-network under these holds with 1..most customers."""
        return self._solved(chain, most)[1].throughput

    def occupancy(self, chain: Chain, chances: Floats) -> tuple[list[LoadDependent], Occupancy]:
        """Return the stations under these holds and their occupancy; chances (n + 1,): of 0..n customers in all."""
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
        """Return the stations under these holds, with the think time away from all of them."""
        stations, point_count = self._stations(chain), len(self.batch)
        levels = max((station.capacity.shape[1] for station in stations), default=1)
        rate_rows = max((len(station.capacity) for station in stations), default=1)
        seconds, scv, waits = np.empty((3, point_count, len(stations)))
        rates = np.ones((rate_rows, len(stations), levels))
        for k, station in enumerate(stations):
            levels_of_station = station.capacity.shape[1]
            seconds[:, k], scv[:, k], waits[:, k] = station.seconds, station.scv, station.waits
            rates[:, k, :levels_of_station] = station.capacity
            rates[:, k, levels_of_station:] = station.capacity[:, -1:]
        zeros = np.zeros(point_count)
        overlap_s = self._overlap.get(chain, zeros)
        self.overlaps |= bool(np.any(overlap_s > 0))
        think = self._spent.get((chain, ""), zeros) - overlap_s + self.in_order.get(chain, 0.0)
        think = np.where(np.abs(think) < ROUNDING * (seconds.sum(axis=1) + overlap_s), 0.0, think)
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
        """Return by station the seconds (P,) that a packet spends under these holds without contention.

        A flow-equivalent group of stations counts as one.
        """
        seconds_by_station: dict[str, Floats] = {}
        for (holds, server), seconds in self._spent.items():
            if holds[: len(chain)] == chain and (server or len(holds) > len(chain)):
                self._add(seconds_by_station, holds[len(chain)] if len(holds) > len(chain) else server, seconds)
        return seconds_by_station

    def holds_others(self, chain: Chain) -> bool:
        """Say whether there are stations under these holds."""
        return any(chain in chains for places in (self._home, self._around) for chains in places.values())

    def admitted(self, name: str, most: int) -> Floats:
        """Return how many of 0..most packets at a group are inside its sub-network (most + 1,)."""
        members, limit, packets = self.servers[name].members, self._limit(name), np.arange(most + 1)
        if members == 1:
            inside: Floats = np.minimum(packets, np.float64(max(limit, 1.0)))
        else:
            inside = np.append(0.0, self._inside_members(members, limit))[np.minimum(packets, self.customers)]
        return inside

    def _plain(self, name: str, units: float, place: tuple[Chain, str]) -> list[LoadDependent]:
        """Return one station per member with the time spent at a place, which forked work makes longer."""
        server, demand_s = self.servers[name], self._spent.get(place, np.zeros(len(self.batch)))
        if name in self.divided and (server.wake_s or server.per_waiter_s or server.polled):
            raise RefusedError(f"queueing: {name!r} slows down when packets wait, and is visited under different holds")
        slowdown = self.slowed.get(name, 1.0) * self._longer.get(place, 1.0) / (1.0 - server.away)
        share = demand_s / self.batch.seconds[name] * slowdown
        seconds = self.batch.members[name] * share[:, None]
        most = min(math.ceil(units), self._at_once_inside(place[0]))
        capacity = np.minimum(np.arange(1.0, most + 1), units)[None, :]
        wait_share = self._regular(name, units)
        scv = self._scv(name) if units == 1 else 1.0
        if name == self._recovers_under(place[0]):
            most = self._at_once_inside(place[0]) + server.members
            bandwidth = [bank_bandwidth(n, server.members, "Baskett-Smith") for n in range(1, most + 1)]
            return [LoadDependent(name, demand_s * slowdown, np.array(bandwidth)[None, :])]
        if self._drawn_alike(name, units, place[0]):
            constant = np.maximum(1.0 - self.batch.scv[name], 0.0)[:, None]
            n = np.arange(1, self._at_once_inside(place[0]) + 1)
            exponential = server.members * n / (server.members + n - 1.0)
            models = np.where(n <= EXACT_BANKS, "exact", "Baskett-Smith")
            bandwidths = [bank_bandwidth(int(k), server.members, model) for k, model in zip(n, models, strict=True)]
            capacity = constant * np.maximum.accumulate(bandwidths) + (1.0 - constant) * exponential
            return [LoadDependent(name, demand_s * slowdown, capacity)]
        if name == self.home and units == 1 and self.customers > 1:
            limited = any(self._limit(held) < self.customers for held in place[0])
            home = Home(server.members, self.customers, "any" if limited else "in_turn" if self.open_load else "part")
            return [LoadDependent(name, demand_s * slowdown, np.ones((1, 1)), scv, home, wait_share)]
        wait_share_there = self._waits(name) * wait_share if units == 1 else wait_share
        demand = self.batch.like.demands.servers[name]
        if server.members > 1 and demand.chosen > 0 and not (demand.spread or demand.members):
            servers = server.members * most  # one line before all members: the next or the least loaded serves
            capacity = np.minimum(np.arange(1.0, min(servers, self._at_once_inside(place[0])) + 1), servers)[None, :]
            return [LoadDependent(name, demand_s * slowdown, capacity, 1.0, None, self._regular(name, servers))]
        label = name if server.members == 1 else f"{name}[{{}}]"
        return [
            LoadDependent(label.format(member), seconds[:, member], capacity, scv, None, wait_share_there)
            for member in range(server.members)
            if np.any(seconds[:, member] > 0)
        ]

    def _drawn_alike(self, name: str, units: float, chain: Chain) -> bool:
        """Say whether closed-network packets draw identical members at random that stay busy after the packet left."""
        if units != 1 or name == self.home or self.open_load or self.exponential or not is_by_chance(self.batch, name):
            return False
        identical = np.ptp(self.batch.members[name], axis=1) <= ALIKE * self.batch.largest[name]
        return agreed(identical & (self._overlap.get(chain, np.zeros(len(self.batch))) > 0))

    def _waits(self, name: str) -> Floats | float:
        """Return the wait (P,) of arriving packets at a server, as a share of the wait behind random arrivals.

        Packets with constant times that visit each server once wait only at the slowest server, as if it stood alone
        (Friedman, Operations Research 13, 1965). Packets with exponential times wait at each; the scv interpolates.
        """
        visits, server = self.batch.visits[name] / self.batch.share, self.servers[name]
        if not self.open_load or server.members > 1 or agreed(np.abs(visits - 1.0) > ALIKE):
            return 1.0
        ceilings = {other: rate for other, rate in self.batch.ceilings().items() if other in self.batch.seconds}
        slowest = np.argmin(list(ceilings.values()), axis=0) == list(ceilings).index(name)
        return np.where(slowest, 1.0, np.minimum(self.batch.spread[name], 1.0))

    def _held(self, name: str, inside: Chain) -> list[LoadDependent]:
        """Return the stations of a server that is held over other stations, or while only time passes."""
        server, section = self.servers[name], self.sections.get(name)
        limit = self._limit(name)
        inner = sorted(n for places in (self._home, self._around) for n, at in places.items() if inside in at)
        if name in self._home and (inner or self._home[name] != [inside[:-1]] or (section and section.most > 1)):
            raise RefusedError(f"queueing: {name!r} is held during other work, and also visited directly")
        if not inner:
            stations = self._plain(name, limit, (inside, ""))
        elif server.members > 1 and np.any(np.ptp(self.batch.members[name], axis=1) > ALIKE * self.batch.largest[name]):
            raise RefusedError(f"queueing: members of {name!r}, which differ, are held over {', '.join(inner)}")
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
        """Return how many customers can be under these holds at once; forked work adds to the packets."""
        outlive = any(self.sections[name].outlives for name in chain if name in self.sections)
        return max(self.customers, MOST_KEPT) if outlive else self.customers

    def _limit(self, name: str) -> float:
        section, units = self.sections.get(name), self.servers[name].units
        limit = float(units)
        if section and section.least == section.most:
            limit = float(units // section.most)
        elif section:
            limit = mean_holders(units, tuple(sorted(section.takes.items())))
        # forked work may hold more units than there are packets
        return min(limit, max(self.customers, MOST_KEPT) if section and section.outlives else self.customers)

    def _flow(self, limit: float, inside: Chain) -> Floats:
        """Return the throughput (P, n) with 1..limit packets inside; a fraction of one adds that part of its gain."""
        flow = self.curve(math.ceil(limit), inside)
        if flow.shape[1] > limit:
            flow[:, -1] -= (flow[:, -1] - flow[:, -2]) * (flow.shape[1] - limit)
        return flow

    def _inside_members(self, members: int, limit: float) -> Floats:
        """Return the mean number inside (customers,) when 1..customers packets each want one member at random."""
        chances, inside = np.zeros(self.customers + 1), np.zeros(self.customers)
        chances[0] = 1.0
        for n in range(self.customers):
            chances[1:] += (chances[:-1] - chances[1:]) / members
            chances[0] *= 1.0 - 1.0 / members
            inside[n] = members * float(chances @ np.minimum(np.arange(self.customers + 1), limit))
        return inside

    def _members(self, members: int, limit: float, inside: Chain) -> Floats:
        """Return the throughput (P, customers) of identical members that are each held over the same stations.

        Of n packets that each want one of m members at random, m E[min(k, limit)] are inside, k binomial (limit 1:
        Strecker 1970).
        """
        mean_inside = self._inside_members(members, limit)
        curve = self.curve(min(math.ceil(members * limit), self.customers), inside)
        return np.stack([np.interp(mean_inside, np.arange(1.0, curve.shape[1] + 1), row) for row in curve])

    def _handing_over(self, station: LoadDependent, server: Server, inside: Chain, limit: float) -> LoadDependent:
        """Return a station with falling capacity if its server takes longer the more packets wait for it."""
        if not (server.wake_s or server.per_waiter_s or server.polled):
            return station
        if limit > 1:
            raise RefusedError(f"queueing: {server.name!r} slows down when packets wait, and has {limit:g} units")
        self.handed_over.append(station.name)
        waiting, visits = np.arange(float(self.customers)), self.batch.visits[server.name][:, None]
        hand_over_s = server.wake_s * (waiting > 0) + server.per_waiter_s * waiting
        seconds = station.seconds[:, None] + visits * hand_over_s
        if server.polled is not None and server.polled.gap_s <= 0:
            raise RefusedError(f"queueing: waiting packets poll {server.name!r} without a gap and delay all others")
        if server.polled is not None:
            seconds = seconds + self._polled(server.polled, visits, inside)
        capacity = station.seconds[:, None] / seconds
        share = station.seconds / np.maximum(self.batch.latency, LEAST_DIVISOR)
        waits = (1.0 + scv_met(self._scv(server.name), share)) / 2
        if self.customers == 2:  # residual life of a service and a full hand-over, of two services and two hand-overs
            waits = 1.0 + (waits - 1.0) * capacity[:, 1] / (2.0 - capacity[:, 1])
        waits = np.minimum(self._regular(server.name, 1) * waits, 1.0)
        if server.per_waiter_s and self.customers > 2:  # residual life of one service, and all others in full
            waits = (self.customers - 2 + waits) / (self.customers - 1)
        return LoadDependent(station.name, station.seconds, capacity, 1.0, None, 1.0 if server.polled else waits)

    def _polled(self, polls: Polls, visits: Floats, inside: Chain) -> Floats:
        """Return the seconds (P, customers) that 0, 1, .. waiting threads, which poll a lock, cost a packet.

        n polling threads form a closed network of their own. The holder of the lock finds as many polls at the polled
        server as this network has there (arrival theorem). A waiting thread sees a free lock at its next poll: half a
        cycle of the network later, or at the first of n polls.
        """
        name, customers = polls.server, self.customers
        poll_s = self.batch.seconds[name] / np.maximum(self.batch.visits[name], LEAST_DIVISOR)
        gap_s = np.full(len(self.batch), polls.gap_s)
        rate = residual(
            poll_s[:, None], customers, gap_s, np.ones((1, 1, 1)), np.zeros((len(self.batch), 1))
        ).throughput
        pollers = np.arange(1.0, customers)
        polls_at_server = pollers - rate[:, :-1] * gap_s[:, None]
        waits = poll_s[:, None] * (polls_at_server - rate[:, :-1] * poll_s[:, None] / 2)
        visits_by_holder = (self._spent.get((inside, name), 0.0 * poll_s) / np.maximum(poll_s, LEAST_DIVISOR))[:, None]
        detection_s = (pollers / rate[:, :-1]) / (2 if polls.in_turn else pollers + 1)
        woken = polls.woken * (poll_s[:, None] + waits + polls.woken_s)
        cost_s = np.zeros((len(self.batch), customers))
        cost_s[:, 1:] = visits_by_holder * waits + visits * (detection_s + woken)
        return cost_s
