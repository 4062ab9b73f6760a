"""An arbiter: requesters share one grant per interval.

    demand = interval;   fair: round robin among those that ask;   fixed: the lowest number first;   or first come

Two levels: requesters are in equal groups (clusters of engines). Each group selects one requester by `within`, and the
arbiter selects a group. Gorilla (Sec. 4.5.2) has fair arbiters globally and unfair ones locally.

Alone: M/D/1 of the interval, whatever the order of requesters.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import Example, Resource, Server, check_member, count_of, time_of
from npexplore.machine.visits import Operands, VisitRecorder

Discipline = Literal["fair", "fixed", "first_come"]
LINE: Mapping[str, Literal["cyclic", "keyed", "fifo"]] = {"fair": "cyclic", "fixed": "keyed", "first_come": "fifo"}


class Arbiter(Resource, kind="arbiter"):
    """`members` alike arbiters of `requesters` each; a granted one goes on `latency_s` after the grant's start.

    A request may ask for several `grants`, which are consecutive.

    Example:
        >>> from npexplore.machine import Arbiter
        >>> Arbiter("bus", requesters=4, interval_s=10e-9)
        Arbiter('bus', requesters=4, interval_s=1e-08)
    """

    EXAMPLE = Example({"requesters": 4, "interval_s": 1e-8}, "request", {"requester": "random"}, more={"groups": 2})
    VISITS = {"request": ("requester", "grants", "member")}
    OPTIONAL = {"grants": 1, "member": 0}
    CHANCE = frozenset({"requester", "member"})

    def __init__(
        self, name: str, requesters: int, interval_s: float, latency_s: float | None = None,
        discipline: Discipline = "fair", groups: int = 1, within: Discipline | None = None, members: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.requesters = count_of(f"{name}: requesters", requesters)
        self.interval = time_of(f"{name}: interval", interval_s)
        latency = interval_s if latency_s is None else latency_s
        self.rest = time_of(f"{name}: latency less the interval", latency - interval_s)
        self.discipline = one_of(f"{name}: discipline", discipline, get_args(Discipline))
        self.within = one_of(f"{name}: discipline within a group", within or discipline, get_args(Discipline))
        self.groups = count_of(f"{name}: groups", groups)
        self.members = count_of(f"{name}: members", members)
        if requesters % groups:
            raise ModelError(f"{name}: {requesters} requesters cannot be divided into {groups} equal groups")
        if within is not None and groups == 1:
            raise ModelError(f"{name}: a discipline within groups needs more than one group, got {within!r}")

    def servers(self) -> list[Server]:
        """Return the grants of each arbiter; with two levels also the place of each group in front of it."""
        approximation = None if self.discipline == "first_come" == self.within else "first come first served"
        grants = Server(self.name, self.members, discipline=LINE[self.discipline], approximation=approximation)
        places = Server(f"{self.name}.group", self.members * self.groups, 1, LINE[self.within], "hidden")
        return [grants, places] if self.groups > 1 else [grants]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the group's place, then an interval of the arbiter per grant, then the rest of the latency."""
        check_member(self, visit, v, self.members)
        requester = m.let(v.requester)
        m.within(requester, self.requesters, f"{self.name} has requesters")
        if self.groups > 1:
            group = m.let(requester // (self.requesters // self.groups))
            place = m.take("group", member=group + v.member * self.groups, key=requester + 1)
            held = m.take(self.name, member=v.member, key=group + 1)
            m.give(place)
        else:
            held = m.take(self.name, member=v.member, key=requester + 1)
        m.wait(v.grants * self.interval)
        m.give(held)
        m.wait(self.rest)
