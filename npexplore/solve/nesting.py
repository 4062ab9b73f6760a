"""Who is held around whom in a machine: the tree of servers under which packets reach each other server.

Every station is reached under the same holds always: else, and where holds overlap without one inside the other, the
answer is refused, but for holds inside a visit of a resource (a bank, over the buses of its memory): these are stations
beside those that they are held over, with all of their time, and what is counted twice is taken off the time away from
stations (queueing/overlap.py). A hold over time alone is a visit; one for which nobody ever waits is left out.
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

SLACK = 1e-9  # what rounding may do
LONGER_INSIDE = 1.25  # times as long as a packet has its slot, from which a bank's recovery tells inside slots
Spent = dict[tuple[Chain, str], Floats]


class _CrossedError(Exception):
    """A station is reached under other holds too, some of which stand inside visits."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


@dataclass
class Nesting:
    """Stations of a batch by what is held around them; `customers` packets are in the whole of it."""

    batch: Batch
    customers: int
    home: str | None = None  # server to whose members the customers belong
    shared: Mapping[str, float] = field(default_factory=dict)  # by server, units that other pools may have at once
    mixed: list[str] = field(default_factory=list)  # whose units are taken in different numbers, as the mean of them
    recovering: dict[str, dict[str, Floats]] = field(default_factory=dict)  # members that stay busy behind a packet,
    # each with the seconds at servers visited while one is held
    recovery: dict[str, Floats] = field(default_factory=dict)  # seconds that these do so, where not all that overlaps
    let_go: list[str] = field(default_factory=list)  # members in turn that stay busy behind a packet: a ceiling alone
    lone: bool = False  # whether one member alone may be what recovers, as behind arrivals
    places: float = float("inf")  # of limits that were left out, the fewest

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
        """Forget that some servers are held."""
        spent, overlap, self._spent, self._overlap = self._spent, self._overlap, {}, {}
        for (chain, name), seconds in spent.items():
            self._add(self._spent, (self._without(chain, names), name), seconds)
        for chain, seconds in overlap.items():
            self._add(self._overlap, self._without(chain, names), seconds)

    def _nobody_waits(self, name: str) -> bool:
        server, section = self.servers[name], self.sections[name]
        if server.role == "hidden":
            return True
        others = self.shared.get(name, 0.0)
        if self.customers == 1 and not others and not section.outlives and not self.batch.aside:
            return True  # who is alone finds everything free
        needed = self.customers * section.needed + others
        return server.members == 1 and not section.outlives and needed <= server.units

    def _without_ample(self) -> None:
        """Leave out limits of visits (slots of a controller) with a unit for every packet of the machine's one pool."""
        limits = {name for chain, _ in self._spent for name in chain} - {*self.sections}
        if len(self.batch.like.machine.pools) > 1 or self.batch.aside:
            return
        ample = {
            one for one in limits
            if (self.lone or self.servers[one].units >= self.customers) and self.servers[one].members == 1
        }  # fmt: skip
        self.places = min((self.servers[one].units for one in ample), default=self.customers)
        self._leave_out(ample)

    # ---- who is held around whom

    def _flat(self, name: str) -> bool:
        """Say whether a hold inside visits is no limit of a sub-network: one of several members, or of mixed sizes."""
        server, section = self.servers[name], self.sections[name]
        if not section.in_visits or server.role == "pool":
            return False
        over = any(name in chain[:-1] or (name in chain and inside) for chain, inside in self._spent)
        uneven = section.scattered or section.crossed - self.idle or section.least != section.most
        return over and (server.members > 1 or bool(uneven) or (self.lone and self._outlives(name)))

    def _at_once(self) -> None:
        """Count a server held while only time passes as one that is visited."""
        over = {name for chain, server in self._spent for name in (chain if server else chain[:-1])}
        spent: Spent = {}
        for (chain, server), seconds in self._spent.items():
            leaf = chain and not server and chain[-1] not in over and self._one_unit(chain[-1])
            self._add(spent, (chain[:-1], chain[-1]) if leaf else (chain, server), seconds)
        self._spent = spent

    def _let_recover(self) -> None:
        """Let members that stay busy behind a packet, held over time alone and under no holds, recover."""
        for chain, name in self._spent:
            outlives = name in self.sections and self.sections[name].outlives and not chain
            if outlives and name not in self.recovering and self._recovers(name, self._alone_under(())):
                self.recovering[name] = {}

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
        if self._outlives(name):
            scarcest = np.full(points, True)  # all of its time is its own: recovery.py tells the wait inside
            self.recovering[name] = {server: self._served(server) for server in inside}
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
        for chain in [chain for chain, server in spent if server == name]:
            self._let_go(chain, name)

    def _recovers(self, name: str, latency: Floats) -> bool:
        """Say whether members, chosen by chance at each visit, stay busy longer than a packet is there (latency, P).

        Of one pool's packets: those of others are no customers of its network.
        """
        like, server = self.batch.like, self.servers[name]
        demand = like.demands.servers[name]
        by_chance = not demand.chosen and (self.lone or (server.members > 1 and not demand.members))
        return by_chance and len(like.machine.pools) == 1 and agreed(self.batch.seconds[name] > latency * (1 + SLACK))

    def _let_go(self, chain: Chain, name: str) -> None:
        """Let members that packets take in turn, and that stay busy longer than a packet is there, be a ceiling.

        Who comes to one finds it free as long as all of them together are fast enough.
        """
        twice = self._overlap.get(chain, np.zeros(len(self.batch)))
        longer = self.batch.seconds[name] > self._alone_under(chain) * (1 + SLACK)
        if self.batch.like.demands.servers[name].chosen and agreed(longer & (twice > 0)):
            self.let_go.append(name)
            recovery = np.minimum(twice, self._spent[chain, name])
            self._spent[chain, name] = self._spent[chain, name] - recovery
            self._overlap[chain] = twice - recovery

    def _outlives(self, name: str) -> bool:
        """Say whether members held by packets stay busy behind them."""
        home = next(chain[: chain.index(name)] for chain, _ in self._spent if name in chain)
        latency = self._alone_under(home) * (LONGER_INSIDE if home else 1.0)
        return self.sections[name].outlives and self._recovers(name, latency)

    def _served(self, name: str) -> Floats:
        """Return the seconds (P,) of a packet at a server, over all that serve there at once."""
        server = self.servers[name]
        return self.batch.seconds[name] / (1.0 - server.away) / (server.members * server.units)

    def _flatten_visited(self) -> None:
        """Let what stays busy behind a visit recover: members (banks), with the others of its resource inside.

        Of one member with several units (a window of four row commands) nobody waits for his own: it is a ceiling.
        """
        for chain, name in list(self._spent):
            resource = f"{name.partition('.')[0]}."
            inside = chain and chain[-1] not in self.sections and chain[-1].startswith(resource)
            if (chain, name) not in self._spent or not inside:
                continue
            self._let_go(chain, name)
            twice, server = self._overlap.get(chain, np.zeros(len(self.batch))), self.servers[name]
            latency = self._alone_under(chain)
            if not agreed(twice > 0):
                continue
            if self._recovers(name, (1.0 if self.lone else LONGER_INSIDE) * latency):
                others = [one for at, one in self._spent if at == chain and one.startswith(resource) and one != name]
                self.recovering[name] = {one: self._served(one) for one in others}
                before = self._spent[chain, name] + sum(self._spent.pop((chain, one)) for one in others)
                self._spent[chain, name] = self.batch.seconds[name]
                self._overlap[chain] = np.maximum(twice + self.batch.seconds[name] - before, 0.0)
                self.recovery[name] = self._overlap[chain]
            elif server.members == 1 < server.units and agreed(self._spent[chain, name] > latency):
                self._spent[chain, name] = self._spent[chain, name] - twice
                self._overlap[chain] = np.zeros_like(twice)

    def _one_route(self) -> None:
        """Let messages of one route wait at its slowest link alone: behind it they keep apart (Friedman 1965)."""
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
        """Return the seconds (P,) of a packet alone under these holds."""
        times = [seconds for (holds, _), seconds in self._spent.items() if holds[: len(chain)] == chain]
        twice = [seconds for holds, seconds in self._overlap.items() if holds[: len(chain)] == chain]
        return np.asarray(sum(times) - sum(twice))

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
        """Keep what is held around a name; holds inside visits give way where it is reached under others, too."""
        chains = places.setdefault(name, [])
        if chain in chains:
            return
        for other in chains:
            holds = sorted(set(other) ^ set(chain)) or sorted(set(chain))
            if all(one in self.sections and self.sections[one].in_visits for one in holds):
                raise _CrossedError(holds)
            if places is self._around:
                held = " and ".join(map(repr, holds))
                raise RefusedError(f"queueing: {held} is held over some holds of {name!r} and not over others")
        chains.append(chain)

    @property
    def divided(self) -> list[str]:
        """Servers that are visited under different holds."""
        return [name for name, chains in self._home.items() if len(chains) > 1]
