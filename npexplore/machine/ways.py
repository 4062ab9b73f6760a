"""What work spends and occupies on its way: the account that a walk along a visit's record keeps (machine/lone.py).

seconds of a server = units x time from take to give      spent: seconds by what is held, and where they pass
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from npexplore.machine.holding import Holding
from npexplore.machine.own_work import OwnWork
from npexplore.machine.resources.base import Hold, Server, Uses
from npexplore.machine.sections import Chain
from npexplore.rows.expressions import Values

Value = Any  # a number, or an array over packets
ALL = 1.0


@dataclass
class Held:
    """Units of a server between their take and their give."""

    server: Server
    units: Value
    member: Values | None
    since: Value
    around: tuple[Held, ...]
    outlives: bool = False
    crossed: set[str] = field(default_factory=set)


@dataclass
class Way:
    """How far work has come: its clock, what it holds, the share of the packets that come along.

    aside: whether it is forked work that has nothing of the packet's. forked: whether the packet goes on without it.
    """

    clock: Value
    open: tuple[Held, ...] = ()
    share: Value = ALL
    aside: bool = False
    chain: Chain = ()  # the names of what is held
    forked: bool = False

    def hold(self, open_: tuple[Held, ...]) -> None:
        """Hold this from here on, in the order in which it was taken."""
        self.open, self.chain = open_, tuple(held.server.name for held in open_)


class Account:
    """Adds up what the packets of one visit use.

    place: the visit's name, for messages. live: which of the packets come along.
    """

    def __init__(self, place: str, live: Value) -> None:
        self.place, self.live = place, live
        self.uses = Uses(0.0)  # type: ignore[arg-type]
        self.held: dict[Holding, Held] = {}
        self.own = OwnWork()
        self.total: Value = 0.0  # of the seconds spent, without those that overlap
        self.way: dict[str, Value] = {}  # seconds of the packet's own way, by server

    def there(self, way: Way) -> Value:
        """Return which packets come along."""
        return self.live if way.share is ALL else (way.share > 0) & self.live

    def spend(self, way: Way, server: str, seconds: Value) -> None:
        """Note time at a server ("" for none but what is held)."""
        chain, seconds = way.chain, seconds * way.share
        self.total = self.total + seconds
        table: dict[Any, Value] = self.uses.beside if way.aside else self.uses.spent
        key: Any = (server or (chain[-1] if chain else "")) if way.aside else (chain, server)
        table[key] = table.get(key, 0.0) + seconds
        self.along(way, server or (chain[-1] if chain else ""), seconds)

    def along(self, way: Way, server: str, seconds: Value) -> None:
        """Note time that the packet itself spends."""
        if not way.forked:
            self.way[server] = self.way.get(server, 0.0) + seconds

    def occupy(self, way: Way, server: str, seconds: Value, member: Values | None, spread: float = 0.0) -> Hold:
        """Note that a server is occupied for a time (spread: its squared coefficient of variation)."""
        whole = seconds * way.share
        squares, variance = whole * seconds * (1.0 + spread), whole * seconds * spread
        hold = Hold(server, whole, visits=way.share, member=member, squares=squares, variance=variance)
        self.uses.holds.append(hold)
        return hold

    def vary(self, way: Way, variance: Value) -> None:
        """Note the variance of a time that is left to chance."""
        if not way.forked:
            self.uses.chance = self.uses.chance + variance * way.share

    def overlaps(self, chain: Chain, seconds: Value) -> None:
        """Note that time was spent while the packet, or others of its own, went on."""
        self.total = self.total - seconds
        self.uses.overlap[chain] = self.uses.overlap.get(chain, 0.0) + seconds

    def released(self, held: Held, way: Way) -> None:
        """Note what was occupied from the take to now."""
        if held in way.open:
            at = way.open.index(held)
            for later in way.open[at + 1 :]:
                held.crossed.add(later.server.name)
                later.crossed.add(held.server.name)
            way.hold(way.open[:at] + way.open[at + 1 :])
        hold = self.occupy(way, held.server.name, held.units * (way.clock - held.since), held.member)
        self.meets(way, held.server, held.since, way.clock - held.since)
        hold.units, hold.outlives, hold.crossed = held.units, held.outlives, held.crossed

    def meets(self, way: Way, server: Server, begin: Value, seconds: Value) -> None:
        """Note a visit of a single server, once there are strands that may meet there."""
        if self.own.strands and server.units == 1:
            self.own.visit(server.name, begin, seconds, way.share / server.members)

    def merge(self, inner: Uses, way: Way, resource: str) -> None:
        """Note what a visit of another resource uses, while what is held is held."""
        uses, share, chain = self.uses, way.share, way.chain
        for hold in inner.holds:
            assert hold.squares is not None
            seen = {name: getattr(hold, name) * share for name in ("seconds", "visits", "squares", "variance")}
            uses.holds.append(replace(hold, **seen))
        for (behind, server), seconds in inner.spent.items():
            self.total = self.total + seconds * share
            key = (chain + behind, server)
            uses.spent[key] = uses.spent.get(key, 0.0) + seconds * share
        for name, seconds in inner.way.items():
            self.along(way, name or (chain[-1] if chain else resource), seconds * share)
        self.vary(way, inner.chance)
        for what, longer in inner.own_waits.items():
            self.own.add(what, longer * share)
        for behind, seconds in inner.overlap.items():
            self.overlaps(chain + behind, seconds * share)
        for mine, others in ((uses.beside, inner.beside), (uses.counts, inner.counts)):
            for name, amount in others.items():
                mine[name] = mine.get(name, 0.0) + amount * share
