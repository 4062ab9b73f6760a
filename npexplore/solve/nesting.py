"""The tree of holds in a machine: which servers packets hold while they visit each other server.

A station must always be reached under the same holds, and holds must be nested; other programs are refused. Holds
inside a visit of a resource (a bank, over the buses of its memory) are an exception: each becomes a station of its own
with all of its time, and time that is then counted twice is subtracted from the think time. A hold while only time
passes is a visit. A hold for which no packet ever waits is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from npexplore.errors import RefusedError
from npexplore.machine.progress import Chain
from npexplore.machine.sections import Section
from npexplore.rows.server import Server
from npexplore.solve.batch import Batch
from npexplore.solve.batch_decisions import agreed
from npexplore.solve.stations import Floats

SLACK = 1e-9  # relative rounding error
LONGER_INSIDE = 1.25  # busy time of a bank over a packet's time in its slot, above which recovery counts
Spent = dict[tuple[Chain, str], Floats]


class _CrossedError(Exception):
    """A station is also reached under other holds, some of them inside visits."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


@dataclass
class Nesting:
    """Stations of a batch by the servers held around them; `customers` packets are in the whole network."""

    batch: Batch
    customers: int
    home: str | None = None  # server to whose members the customers belong
    shared: Mapping[str, float] = field(default_factory=dict)  # by server, units that other pools may have at once
    mixed: list[str] = field(default_factory=list)  # servers whose units are taken in different numbers: mean holders
    recovering: dict[str, dict[str, Floats]] = field(default_factory=dict)  # servers that stay busy behind a packet,
    # each with the seconds at servers visited while a member is held
    recovery: dict[str, Floats] = field(default_factory=dict)  # seconds of recovery, if not all that overlaps
    let_go: list[str] = field(default_factory=list)  # such servers with members taken in turn: only a ceiling
    lone: bool = False  # whether a server with one member may recover (open arrivals)
    places: float = float("inf")  # units of the smallest limit that was left out

    def __post_init__(self) -> None:
        like = self.batch.like
        self.servers: Mapping[str, Server] = like.servers
        self.sections: Mapping[str, Section] = like.demands.sections
        self.idle = {name for name in self.sections if self._nobody_waits(name)}
        self._spent: Spent = dict(self.batch.spent)
        self._overlap: dict[Chain, Floats] = dict(self.batch.overlap)
        self._leave_out(self.idle)
        for name in self.sections:
            if name not in self.idle and self._flat(name):
                self._flatten(name)
        self._flatten_visited()
        self._without_ample()
        self._one_route()
        self._at_once()
        self._let_recover()
        while not self._placed():
            self._at_once()

    @staticmethod
    def _without(chain: Chain, names: set[str]) -> Chain:
        return tuple(name for name in chain if name not in names)

    @staticmethod
    def _add(table: dict, key: object, seconds: Floats) -> None:  # type: ignore[type-arg]
        table[key] = table[key] + seconds if key in table else seconds

    def _leave_out(self, names: set[str]) -> None:
        """Remove the holds of some servers from all chains."""
        spent, overlap, self._spent, self._overlap = self._spent, self._overlap, {}, {}
        for (chain, name), seconds in spent.items():
            self._add(self._spent, (self._without(chain, names), name), seconds)
        for chain, seconds in overlap.items():
            self._add(self._overlap, self._without(chain, names), seconds)

    def _nobody_waits(self, name: str) -> bool:
        server, section = self.servers[name], self.sections[name]
        if server.role == "hidden":
            return True
        units_of_others = self.shared.get(name, 0.0)
        if self.customers == 1 and not units_of_others and not section.outlives and not self.batch.aside:
            return True  # a single packet finds everything free
        needed = self.customers * section.needed + units_of_others
        return server.members == 1 and not section.outlives and needed <= server.units

    def _without_ample(self) -> None:
        """Leave out limits of visits (controller slots) with a unit for every packet; for machines of one pool."""
        limits = {name for chain, _ in self._spent for name in chain} - {*self.sections}
        if len(self.batch.like.machine.pools) > 1 or self.batch.aside:
            return
        ample = {
            name for name in limits
            if (self.lone or self.servers[name].units >= self.customers) and self.servers[name].members == 1
        }  # fmt: skip
        self.places = min((self.servers[name].units for name in ample), default=self.customers)
        self._leave_out(ample)

    # ---- which servers are held around which

    def _flat(self, name: str) -> bool:
        """Say whether a hold inside visits cannot be a flow-equivalent station: several members, or mixed sizes."""
        server, section = self.servers[name], self.sections[name]
        if not section.in_visits or server.role == "pool":
            return False
        holds_others = any(name in chain[:-1] or (name in chain and inside) for chain, inside in self._spent)
        uneven = section.scattered or section.crossed - self.idle or section.least != section.most
        return holds_others and (server.members > 1 or bool(uneven) or (self.lone and self._outlives(name)))

    def _at_once(self) -> None:
        """Turn the hold of a server while only time passes into a visit."""
        outer = {name for chain, server in self._spent for name in (chain if server else chain[:-1])}
        spent: Spent = {}
        for (chain, server), seconds in self._spent.items():
            is_visit = chain and not server and chain[-1] not in outer and self._one_unit(chain[-1])
            self._add(spent, (chain[:-1], chain[-1]) if is_visit else (chain, server), seconds)
        self._spent = spent

    def _let_recover(self) -> None:
        """Note members that recover: held while only time passes, under no holds, and busy after the packet left."""
        for chain, name in self._spent:
            outlives = name in self.sections and self.sections[name].outlives and not chain
            if outlives and name not in self.recovering and self._recovers(name, self._alone_under(())):
                self.recovering[name] = {}

    def _one_unit(self, name: str) -> bool:
        section = self.sections.get(name)
        return section is None or (section.most == 1 and not section.crossed - self.idle and not section.scattered)

    def _flatten(self, name: str) -> None:
        """Make a server a station beside the stations that it is held over, each with the time at itself alone.

        If the server has the lowest ceiling of them, packets do not wait inside, and the time inside counts as its own.
        """
        point_count, ceilings = len(self.batch), self.batch.ceilings()
        servers_inside = [(*chain[chain.index(name) + 1 :], server) for chain, server in self._spent if name in chain]
        inside = {server for servers in servers_inside for server in servers if server in ceilings}
        lowest_inside = np.min([np.full(point_count, np.inf), *(ceilings[server] for server in inside)], axis=0)
        is_lowest = ceilings[name] <= lowest_inside
        if self._outlives(name):
            is_lowest = np.full(point_count, True)  # all of its time is its own: recovery.py adds the wait inside
            self.recovering[name] = {server: self._served(server) for server in inside}
        spent: Spent = {}
        overlap: dict[Chain, Floats] = {}
        for (chain, server), seconds in self._spent.items():
            if name not in chain:
                self._add(spent, (chain, server), seconds)
                continue
            outer, without_it = chain[: chain.index(name)], self._without(chain, {name})
            counts_here = (chain[-1] == name and not server) | is_lowest
            self._add(spent, (outer, name), np.where(counts_here, seconds, 0.0))
            self._add(spent, (without_it, server), np.where(counts_here, 0.0, seconds))
        for chain, seconds in self._overlap.items():
            self._add(overlap, self._without(chain, {name}), seconds)
        self._spent, self._overlap = spent, overlap
        for chain in [chain for chain, server in spent if server == name]:
            self._let_go(chain, name)

    def _recovers(self, name: str, latency: Floats) -> bool:
        """Say whether members, drawn at random at each visit, stay busy longer than a packet stays (latency, P).

        Only for machines of one pool: packets of other pools are not customers of its network.
        """
        like, server = self.batch.like, self.servers[name]
        demand = like.demands.servers[name]
        at_random = not demand.chosen and (self.lone or (server.members > 1 and not demand.members))
        return at_random and len(like.machine.pools) == 1 and agreed(self.batch.seconds[name] > latency * (1 + SLACK))

    def _let_go(self, chain: Chain, name: str) -> None:
        """Treat members that packets take in turn, and that stay busy after the packet left, only as a ceiling.

        A packet finds its member free as long as all members together are fast enough.
        """
        overlap_s = self._overlap.get(chain, np.zeros(len(self.batch)))
        outlasts = self.batch.seconds[name] > self._alone_under(chain) * (1 + SLACK)
        if self.batch.like.demands.servers[name].chosen and agreed(outlasts & (overlap_s > 0)):
            self.let_go.append(name)
            recovery = np.minimum(overlap_s, self._spent[chain, name])
            self._spent[chain, name] = self._spent[chain, name] - recovery
            self._overlap[chain] = overlap_s - recovery

    def _outlives(self, name: str) -> bool:
        """Say whether members held by packets stay busy behind them."""
        outer = next(chain[: chain.index(name)] for chain, _ in self._spent if name in chain)
        latency = self._alone_under(outer) * (LONGER_INSIDE if outer else 1.0)
        return self.sections[name].outlives and self._recovers(name, latency)

    def _served(self, name: str) -> Floats:
        """Return the seconds (P,) of a packet at a server, divided by its members and units."""
        server = self.servers[name]
        return self.batch.seconds[name] / (1.0 - server.away) / (server.members * server.units)

    def _flatten_visited(self) -> None:
        """Note members (banks) that stay busy behind a visit, with the other servers of their resource inside.

        One member with several units (a window of four row commands) is only a ceiling: packets do not wait there.
        """
        for chain, name in list(self._spent):
            resource = f"{name.partition('.')[0]}."
            inside = chain and chain[-1] not in self.sections and chain[-1].startswith(resource)
            if (chain, name) not in self._spent or not inside:
                continue
            self._let_go(chain, name)
            overlap_s, server = self._overlap.get(chain, np.zeros(len(self.batch))), self.servers[name]
            latency = self._alone_under(chain)
            if not agreed(overlap_s > 0):
                continue
            if self._recovers(name, (1.0 if self.lone else LONGER_INSIDE) * latency):
                others = [
                    inner
                    for holds, inner in self._spent
                    if holds == chain and inner.startswith(resource) and inner != name
                ]
                self.recovering[name] = {inner: self._served(inner) for inner in others}
                spent_s = self._spent[chain, name] + sum(self._spent.pop((chain, inner)) for inner in others)
                self._spent[chain, name] = self.batch.seconds[name]
                self._overlap[chain] = np.maximum(overlap_s + self.batch.seconds[name] - spent_s, 0.0)
                self.recovery[name] = self._overlap[chain]
            elif server.members == 1 < server.units and agreed(self._spent[chain, name] > latency):
                self._spent[chain, name] = self._spent[chain, name] - overlap_s
                self._overlap[chain] = np.zeros_like(overlap_s)

    def _one_route(self) -> None:
        """Let messages of one route wait only at its slowest link, which spaces them out (Friedman 1965)."""
        routes: dict[tuple[Chain, str], list[str]] = {}
        for chain, name in self._spent:
            if name and self.servers[name].kept_waiting:
                routes.setdefault((chain, name.partition(".")[0]), []).append(name)
        for (chain, _), links in routes.items():
            visits = np.array([self.batch.visits[link] for link in links])
            if len(links) > 1 and agreed(np.all(np.abs(visits - visits[0]) <= SLACK * visits[0], axis=0)):
                slowest = max(links, key=lambda link: float(self._spent[chain, link].max()))
                for link in links:
                    if link != slowest:
                        self._add(self._spent, (chain, ""), self._spent.pop((chain, link)))

    def _alone_under(self, chain: Chain) -> Floats:
        """Return the seconds (P,) of a packet under these holds without contention."""
        times = [seconds for (holds, _), seconds in self._spent.items() if holds[: len(chain)] == chain]
        overlaps = [seconds for holds, seconds in self._overlap.items() if holds[: len(chain)] == chain]
        return np.asarray(sum(times) - sum(overlaps))

    def _placed(self) -> bool:
        """Note the holds around every station and return True; if holds cross, flatten these and return False."""
        self._home: dict[str, list[Chain]] = {}  # by visited station; several if it is visited under different holds
        self._around: dict[str, list[Chain]] = {}  # by held server or group
        self._longer: dict[tuple[Chain, str], Floats] = {}  # slowdown of visits by visits under other holds
        held = {name for chain, _ in self._spent for name in chain}
        for name in [
            name for name, s in self.sections.items() if name in held or not (s.in_visits or name in self.idle)
        ]:
            self._check(name)
        try:
            for (chain, name), seconds in self._spent.items():
                if np.all(seconds <= 0):
                    continue
                for depth, holder in enumerate(chain):
                    self._note(self._around, holder, chain[:depth])
                if name:
                    self._note(self._home, name, chain)
            visited_and_held = [name for name in self._home if name in self._around and name in self.sections]
            if any(self.sections[name].in_visits for name in visited_and_held):
                raise _CrossedError([name for name in visited_and_held if self.sections[name].in_visits])
        except _CrossedError as error:
            for name in error.names:
                self._flatten(name)
            return False
        return True

    def _check(self, name: str) -> None:
        """Raise RefusedError for a hold that cannot become a flow-equivalent station."""
        server, section = self.servers[name], self.sections[name]
        for other in sorted(section.crossed - self.idle):
            raise RefusedError(f"queueing: holds of {name!r} and {other!r} overlap, neither inside the other")
        if server.unsolvable:
            raise RefusedError(f"queueing: {name!r} {server.unsolvable}")
        if section.scattered:
            raise RefusedError(f"queueing: units of {name!r} are taken and given in different places of the program")
        if section.at_a_time > section.most * (1 + SLACK):
            raise RefusedError(f"queueing: packets take units of {name!r} while they hold some")
        if section.least != section.most:
            self.mixed.append(name)

    def _note(self, places: dict[str, list[Chain]], name: str, chain: Chain) -> None:
        """Note the holds around a server; raises _CrossedError or RefusedError where they differ and must not."""
        chains = places.setdefault(name, [])
        if chain in chains:
            return
        for other in chains:
            holds = sorted(set(other) ^ set(chain)) or sorted(set(chain))
            if all(server in self.sections and self.sections[server].in_visits for server in holds):
                raise _CrossedError(holds)
            if places is self._around:
                held = " and ".join(map(repr, holds))
                raise RefusedError(f"queueing: {held} is held over some holds of {name!r} and not over others")
        chains.append(chain)

    @property
    def divided(self) -> list[str]:
        """Servers that are visited under different holds."""
        return [name for name, chains in self._home.items() if len(chains) > 1]
