"""What a resource kind is: the visits it offers, the servers it consists of, and what happens in a visit, once.

servers()           what each server is for a queueing solver: a queue, a limit, a pool, or hidden
act(m, visit, v)    the visit, recorded with the words of machine/visits.py; demands and engine rows are derived from it

Where a visit's time depends on what others do at the same time (worms of a mesh, a controller that schedules), no
record of a lone visit tells it: such a kind has two faces of its own (`OwnFaces`), and says why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from npexplore.dimensions import number_in
from npexplore.display import ShownByArguments
from npexplore.errors import ModelError, one_of
from npexplore.machine.amounts import any_of
from npexplore.rows.expressions import Expression, Operand, Values
from npexplore.rows.server import Server as Server

if TYPE_CHECKING:
    from npexplore.machine.visits import Operands, Visited, VisitRecorder
    from npexplore.rows.assembler import Assembler

LEAST_LOADED = np.float64("nan")  # a member that is chosen by how much each has to do

Ends = Literal["never", "sometimes", "always"]
OperandValue = int | float | str  # a number, a drawn choice ("random", "round_robin", "hot:0.5"), a packet's formula
LENGTH = "packet.packet_bytes"
BEHIND = "it hands packets on to a pool of threads behind it"
KINDS: dict[str, type[Resource]] = {}  # the kinds that machine files name, each listed by its class


@dataclass(frozen=True)
class Example:
    """A plain example of a kind: the defaults of `npexplore.resource`, a row of the documents, a case of tests.

    parameters: as a machine file has them. visit: the usual one. alone: why the kind has no meaning alone ("": it has
    one). more: parameters with which it has all its servers.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    visit: str = ""
    operands: Mapping[str, OperandValue] = field(default_factory=dict)
    alone: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Hold:
    """A server occupied by a visit for `seconds`, of which `inner` are not also spent at a server held inside it."""

    server: str
    seconds: Values
    inner: Values | None = None  # None: all of it
    visits: Values | float = 1.0
    member: Values | None = None  # which member; None: all alike; LEAST_LOADED
    squares: Values | None = None  # the sum of the squared times of visits (None: they are alike)
    variance: Values | None = None  # of a packet's seconds, by chance (None: visits that differ do so by chance)
    units: Values | None = None  # taken and held over other things (None: only served)
    outlives: bool = False  # whether forked work gives it
    crossed: set[str] = field(default_factory=set)  # held over an overlapping time, neither inside the other


@dataclass
class Taken:
    """Units of a server that one visit takes and another gives: held from the end of the first to that of the other."""

    server: str
    units: Values = field(default_factory=lambda: np.float64(1.0))  # type: ignore[arg-type, return-value]
    member: Values | None = None  # which member; None: all alike


@dataclass
class Uses:
    """What one visit occupies. `latency` is its time without contention, `delay` the part spent at no server.

    counts: amounts that add up per packet (bytes moved, accesses by width); a simulation counts those emitted as such.
    """

    latency: Values
    holds: list[Hold] = field(default_factory=list)
    delay: Values = field(default_factory=lambda: np.float64(0.0))  # type: ignore[arg-type, return-value]
    counts: dict[str, Values] = field(default_factory=dict)
    opens: list[Taken] = field(default_factory=list)
    closes: list[Taken] = field(default_factory=list)
    result: Values | None = None  # the number that the visit gives (None: depends on the order of packets or on chance)
    hands_on: bool = False  # whether the packet goes on to the pool of threads behind this resource
    frees: Values | None = None  # bytes that leave the receive buffer (nan: depends on chance)
    aside: bool = False  # whether the holds go on beside the packet, which does not wait for them
    limit: str | None = None  # the server that admits so many into all the others
    # where time is spent, as in machine/sections.py; of a kind with faces of its own they follow from the rest
    spent: dict[tuple[tuple[str, ...], str], Values] = field(default_factory=dict)
    overlap: dict[tuple[str, ...], Values] = field(default_factory=dict)
    beside: dict[str, Values] = field(default_factory=dict)  # by server, of forked work that has nothing of the packet
    latency_parts: dict[str, Values] = field(default_factory=dict)  # what `latency` is made of, by server ("": none)
    own_waits: dict[str, Values] = field(default_factory=dict)  # what a packet alone may take more (own_work.py)
    chance: Values = field(default_factory=lambda: np.float64(0.0))  # type: ignore[arg-type, return-value]  # variance


@dataclass(eq=False)
class KeptVisits:
    """What is known of a resource's visits: their records, what those with numbers use, the parameters each needs."""

    recorded: dict[tuple[str, frozenset[str]], Visited] = field(default_factory=dict)  # by machine/visits.py
    alone: dict[object, Uses] = field(default_factory=dict)  # by machine/lone.py
    needs: dict[str, set[str]] = field(default_factory=dict)  # by described/parts.py


@lru_cache(maxsize=512, typed=True)
def kept_visits(kind: type[Resource], *arguments: object) -> KeptVisits:
    """Return what is known of resources of one kind with equal arguments: in a sweep most stay as they are."""
    return KeptVisits()


class Resource(ShownByArguments, ABC):
    """Base of the resource kinds, listed in machine/resources/__init__.py; `kind=` names a class for machine files.

    Example:
        >>> from npexplore.machine import FifoServer, Resource
        >>> isinstance(FifoServer("hash", 5e-9), Resource)
        True
    """

    EXAMPLE: ClassVar[Example] = Example()
    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # operands of each visit
    SECTIONS: ClassVar[Mapping[str, str]] = {}  # visits that open a section: the one that closes it, in the same block
    OPTIONAL: ClassVar[Mapping[str, float]] = {}  # operands that may be left out, and what they are then
    CHANCE: ClassVar[frozenset[str]] = frozenset({"member"})  # operands that a random choice may decide
    RESULTS: ClassVar[frozenset[str]] = frozenset()  # visits that give the program a number (`act` returns it)
    numbered = False  # whether visits ask for the number of the thread
    inner: tuple[Resource, ...] = ()  # resources that it is composed of: their servers are among its own

    def __init_subclass__(cls, kind: str = "", **more: Any) -> None:
        """List the class in KINDS under a name, if it has one; raises ModelError for a name that another class has."""
        super().__init_subclass__(**more)
        if kind:
            other = KINDS.setdefault(kind, cls)
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise ModelError(f"kind {kind!r} is {other.__qualname__} already; give {cls.__qualname__} another name")
            KINDS[kind] = cls

    def __init__(self, name: str) -> None:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ModelError(f"name of a resource must be an identifier, got {name!r}")
        _check_kind(type(self))
        self.name = name

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__.pop("shared_visits", None)  # visits may depend on what is set
        super().__setattr__(name, value)

    @cached_property
    def shared_visits(self) -> KeptVisits:
        """What is known of its visits: one for resources with equal arguments whose numbers were left alone."""
        if type(self).__module__.partition(".")[0] != __name__.partition(".")[0]:  # others may depend on anything
            return KeptVisits()
        (unnamed, named), numbers = self._arguments, (int, float, str)
        own = [one for one in vars(self).items() if isinstance(one[1], numbers)]
        try:
            return kept_visits(type(self), *unnamed, *named.items(), *own)
        except TypeError:  # an argument that can change
            return KeptVisits()

    @cached_property
    def reached(self) -> dict[str, Server]:
        """The servers that visits may use, its own and those of resources that they visit, by name."""
        by_name = {server.name: server for one in (self, *self.visited()) for server in one.servers()}
        for server in by_name.values():
            if server.units < 1 and server.role in ("queue", "limit"):
                raise ModelError(f"server {server.name}: units must be at least 1, got {server.units}")
        return by_name

    def visited(self) -> list[Resource]:
        """Return the other resources that visits to this one visit in turn; none by default."""
        return []

    def homes(self) -> list[str]:
        """Return the servers of which a visit takes the member that its thread belongs to."""
        return [name for other in self.visited() for name in other.homes()]

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Return the seconds of its clocks by name; `needed`: of those alone that must be whole ticks of a run."""
        return {}

    def on_visit(self, method: str) -> None:
        """Note that a program asks for a visit; nothing by default."""

    def ends(self, method: str) -> Ends:
        """Say whether a visit takes the packet from its thread: hands it on to another pool, or drops it."""
        return "never"

    @abstractmethod
    def servers(self) -> list[Server]:
        """Return the servers this resource consists of; their names begin with the resource's name."""

    @abstractmethod
    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Operand | None:
        """Record what happens in a visit with operands `v`; return its result, if it has one."""

    def check_threads(self, threads: int) -> None:
        """Raise ModelError if it cannot serve a machine of so many threads, all pools together."""

    def emit_idle(self, asm: Assembler) -> None:
        """Append what a thread does before it waits for a packet; nothing by default (asked of numbered ones)."""


@lru_cache(maxsize=256)
def _check_kind(kind: type[Resource]) -> None:
    """Raise ModelError for a class whose tables of visits and operands cannot be meant."""
    visits: Mapping[str, object] = kind.VISITS  # a text where brackets hold no comma
    for method, operands in visits.items():
        if isinstance(operands, str):
            raise ModelError(
                f"{kind.__name__}.VISITS[{method!r}] must be a tuple of operands, got the text {operands!r}"
            )
    if not isinstance(kind.OPTIONAL, Mapping):
        raise ModelError(f"{kind.__name__}.OPTIONAL must be operands with their values, got {kind.OPTIONAL!r}")
    known = {name for operands in kind.VISITS.values() for name in operands}
    for table, names in (("OPTIONAL", {*kind.OPTIONAL}), ("CHANCE", {*kind.CHANCE} - {"member"})):
        for name in names:
            one_of(f"operand in {kind.__name__}.{table}", name, known)


class OwnFaces(Resource):
    """A kind whose visits last as long as others let them: what one occupies, and its engine rows, stand apart."""

    WHY: ClassVar[str] = ""  # what others decide, in one line

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Operand | None:
        """Refuse: there is no record of such a visit."""
        raise ModelError(f"{self.name}.{visit} cannot be part of another visit: it has no record of its own")

    @abstractmethod
    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return what a visit occupies; `values` holds the operands (None: depends on a random choice).

        Packet by packet: what one of them uses does not depend on those beside it in the arrays.
        """

    @abstractmethod
    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand | None:
        """Append the engine operations of a visit; return its result, if it has one."""


def check_member(resource: Resource, method: str, operands: Container[str], members: int) -> None:
    """Raise ModelError if a visit to one of several members does not say to which."""
    if members > 1 and "member" not in operands:
        raise ModelError(f"{resource.name}.{method} needs the operand 'member': there are {members}")


def known(resource: Resource, method: str, operand: str, values: Mapping[str, Values | None]) -> Values:
    """Return an operand's values; raises ModelError if they depend on a random choice."""
    value = values[operand]
    if value is None or any_of(np.isnan(value)):
        raise ModelError(f"operand {operand!r} of {resource.name}.{method} must not depend on a random choice")
    return value


def count_of(subject: str, value: int, least: int = 1) -> int:
    """Return `value` if it is an integer of at least `least`, else raise ModelError.

    subject: what the value is of, for the message. value: the number to check. least: the smallest value allowed.
    """
    value = number_in(value, subject, "bytes", "cycles", "words", "packets")
    if not isfinite(value) or value != int(value) or value < least:
        raise ModelError(f"{subject} must be an integer of at least {least}, got {value!r}")
    return int(value)


def banks_of(resource: Resource) -> int | None:
    """Return how many banks a memory has, over all its channels; None for what has none."""
    return next((one.members for one in resource.servers() if one.name == f"{resource.name}.bank"), None)


LONGEST_TIME_S = 1e9  # of a visit or a step: 30 years
HIGHEST_RATE = 1e18  # of a clock or a link; times are counted in femtoseconds at the finest


def rate_of(subject: str, per_second: float) -> float:
    """Return `per_second` if it is above 0 and no higher than any machine's, else raise ModelError."""
    per_second = number_in(per_second, subject, "Hz", "bytes/s")
    if not 0 < per_second < float("inf"):
        raise ModelError(f"{subject} must be a finite rate above 0 per second, got {per_second!r}")
    if per_second > HIGHEST_RATE:
        raise ModelError(f"{subject} must be at most {HIGHEST_RATE:g} per second, got {per_second!r}")
    return float(per_second)


def time_of(subject: str, seconds: float) -> float:
    """Return `seconds` if it is finite and not negative, else raise ModelError."""
    seconds = number_in(seconds, subject, "s")
    if not 0 <= seconds < float("inf"):
        raise ModelError(f"{subject} must be a finite time of at least 0 s, got {seconds!r}")
    if seconds > LONGEST_TIME_S:
        raise ModelError(f"{subject} must be at most {LONGEST_TIME_S:g} s, got {seconds!r}")
    return float(seconds)
