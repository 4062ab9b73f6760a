"""Base classes of resource kinds: the visits of a kind, its servers, and the steps of a visit.

servers()           the servers, each with its role in a queueing solver: a queue, a limit, a pool, or hidden
act(m, visit, v)    records the steps of a visit (machine/visits.py); demands and engine rows are derived from them

Where the time of a visit depends on concurrent visits (worms of a mesh, a controller that schedules), a record of one
visit cannot describe it. Such a kind derives from `OwnFaces` and computes its demands and its engine rows separately.
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

LEAST_LOADED = np.float64("nan")  # stands for the member with the least load

Ends = Literal["never", "sometimes", "always"]
OperandValue = int | float | str  # a number, a choice ("random", "round_robin", "hot:0.5"), a formula of the packet
LENGTH = "packet.packet_bytes"
BEHIND = "it hands packets on to a pool of threads behind it"
KINDS: dict[str, type[Resource]] = {}  # the kinds that machine files name, each listed by its class


@dataclass(frozen=True)
class Example:
    """An example of a kind: the defaults of `npexplore.resource`, a row of the documents, a case of tests.

    parameters: as in a machine file. visit: the usual visit. alone: why a machine cannot consist of this kind alone
    ("": it can). more: parameters with which the kind has all its servers.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    visit: str = ""
    operands: Mapping[str, OperandValue] = field(default_factory=dict)
    alone: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Hold:
    """A server that a visit occupies for `seconds`, and for `inner` without holding a further server meanwhile."""

    server: str
    seconds: Values
    inner: Values | None = None  # None: all of it
    visits: Values | float = 1.0
    member: Values | None = None  # number of the member; None: spread evenly over all; LEAST_LOADED
    squares: Values | None = None  # the sum of the squared times of visits (None: all have equal times)
    variance: Values | None = None  # random variance of a packet's seconds (None: from `seconds` and `squares`)
    units: Values | None = None  # units held over other steps (None: the server only serves)
    outlives: bool = False  # whether forked work gives the units back
    crossed: set[str] = field(default_factory=set)  # servers whose holding overlaps this one without nesting


@dataclass
class Taken:
    """Units that one visit takes and another gives back: held from the end of the first to the end of the second."""

    server: str
    units: Values = field(default_factory=lambda: np.float64(1.0))  # type: ignore[arg-type, return-value]
    member: Values | None = None  # number of the member; None: spread evenly over all


@dataclass
class Uses:
    """What one visit uses. `latency` is its time without contention, `delay` the part of it spent at no server.

    counts: amounts summed per packet (bytes moved, accesses by width); a simulation counts those that its rows count.
    """

    latency: Values
    holds: list[Hold] = field(default_factory=list)
    delay: Values = field(default_factory=lambda: np.float64(0.0))  # type: ignore[arg-type, return-value]
    counts: dict[str, Values] = field(default_factory=dict)
    opens: list[Taken] = field(default_factory=list)
    closes: list[Taken] = field(default_factory=list)
    result: Values | None = None  # the visit's result (None: depends on the order of packets or on a random choice)
    hands_on: bool = False  # whether the packet moves to the pool of threads behind this resource
    frees: Values | None = None  # bytes that leave the receive buffer (nan: a random amount)
    aside: bool = False  # whether the packet does not wait for the holds
    limit: str | None = None  # the server whose units limit the visits inside all the other servers
    # where time is spent, as in machine/sections.py; for an `OwnFaces` kind computed from the other fields
    spent: dict[tuple[tuple[str, ...], str], Values] = field(default_factory=dict)
    overlap: dict[tuple[str, ...], Values] = field(default_factory=dict)
    beside: dict[str, Values] = field(default_factory=dict)  # by server, seconds of forked work without its holdings
    latency_parts: dict[str, Values] = field(default_factory=dict)  # `latency` by server ("": at none)
    own_waits: dict[str, Values] = field(default_factory=dict)  # waits for the packet's own work (own_work.py)
    chance: Values = field(default_factory=lambda: np.float64(0.0))  # type: ignore[arg-type, return-value]  # variance


@dataclass(eq=False)
class KeptVisits:
    """Cached facts of a resource's visits: records, uses of visits with constant operands, parameters of each visit."""

    recorded: dict[tuple[str, frozenset[str]], Visited] = field(default_factory=dict)  # by machine/visits.py
    alone: dict[object, Uses] = field(default_factory=dict)  # by machine/lone.py
    needs: dict[str, set[str]] = field(default_factory=dict)  # by described/parts.py


@lru_cache(maxsize=512, typed=True)
def kept_visits(kind: type[Resource], *arguments: object) -> KeptVisits:
    """Return the cache of resources of one kind with equal arguments; in a sweep most resources keep theirs."""
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
    SECTIONS: ClassVar[Mapping[str, str]] = {}  # visit that opens a section: visit that closes it, in the same block
    OPTIONAL: ClassVar[Mapping[str, float]] = {}  # operands that may be left out, with their defaults
    CHANCE: ClassVar[frozenset[str]] = frozenset({"member"})  # operands that a random choice may decide
    RESULTS: ClassVar[frozenset[str]] = frozenset()  # visits with a result for the program (`act` returns it)
    numbered = False  # whether visits use the number of the thread
    inner: tuple[Resource, ...] = ()  # components of this resource; `servers()` lists their servers too

    def __init_subclass__(cls, kind: str = "", **more: Any) -> None:
        """Register the class in KINDS under a name, if it has one; raises ModelError for the name of another class."""
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
        self.__dict__.pop("shared_visits", None)  # visits may depend on the attribute
        super().__setattr__(name, value)

    @cached_property
    def shared_visits(self) -> KeptVisits:
        """Cache of this resource's visits, shared by resources with equal arguments and equal number attributes."""
        if type(self).__module__.partition(".")[0] != __name__.partition(".")[0]:  # users' classes may read anything
            return KeptVisits()
        (unnamed, named), numbers = self._arguments, (int, float, str)
        attributes = [attribute for attribute in vars(self).items() if isinstance(attribute[1], numbers)]
        try:
            return kept_visits(type(self), *unnamed, *named.items(), *attributes)
        except TypeError:  # an argument that is not hashable
            return KeptVisits()

    @cached_property
    def reached(self) -> dict[str, Server]:
        """The servers that visits may use, by name: those of this resource and of the resources that visits visit."""
        by_name = {server.name: server for resource in (self, *self.visited()) for server in resource.servers()}
        for server in by_name.values():
            if server.units < 1 and server.role in ("queue", "limit"):
                raise ModelError(f"server {server.name}: units must be at least 1, got {server.units}")
        return by_name

    def visited(self) -> list[Resource]:
        """Return the other resources that visits to this resource visit; none by default."""
        return []

    def homes(self) -> list[str]:
        """Return the servers of which a visit uses the member to which the thread belongs."""
        return [name for resource in self.visited() for name in resource.homes()]

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Return the periods of its clocks in seconds, by name; `needed`: only those that must be whole ticks."""
        return {}

    def on_visit(self, method: str) -> None:
        """Note that a program records a visit; does nothing by default."""

    def ends(self, method: str) -> Ends:
        """Return whether a visit takes the packet from its thread: hands it to another pool, or drops it."""
        return "never"

    @abstractmethod
    def servers(self) -> list[Server]:
        """Return the servers this resource consists of; their names begin with the resource's name."""

    @abstractmethod
    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Operand | None:
        """Record the steps of a visit with operands `v`; return its result, if it has one."""

    def check_threads(self, threads: int) -> None:
        """Raise ModelError if it cannot serve a machine with this total number of threads."""

    def emit_idle(self, asm: Assembler) -> None:
        """Append rows that a thread runs before it waits for a packet (only if `numbered`); none by default."""


@lru_cache(maxsize=256)
def _check_kind(kind: type[Resource]) -> None:
    """Raise ModelError for a class with contradictory tables of visits and operands."""
    visits: Mapping[str, object] = kind.VISITS  # a value may be a text by mistake: ("bytes") without a comma
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
    """A kind whose visit times depend on concurrent visits: it computes demands and engine rows separately."""

    WHY: ClassVar[str] = ""  # what concurrent visits decide, in one line

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Operand | None:
        """Raise ModelError: such a visit has no record."""
        raise ModelError(f"{self.name}.{visit} cannot be part of another visit: it has no record of its own")

    @abstractmethod
    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return what a visit occupies; `values` holds the operands (None: depends on a random choice).

        Each element of the arrays is computed independently of the other packets in them.
        """

    @abstractmethod
    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand | None:
        """Append the engine operations of a visit; return its result, if it has one."""


def check_member(resource: Resource, method: str, operands: Container[str], members: int) -> None:
    """Raise ModelError if a visit to a resource of several members lacks the operand `member`."""
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

    subject: the name of the value in the message. value: the number to check. least: the smallest value allowed.
    """
    value = number_in(value, subject, "bytes", "cycles", "words", "packets")
    if not isfinite(value) or value != int(value) or value < least:
        raise ModelError(f"{subject} must be an integer of at least {least}, got {value!r}")
    return int(value)


def banks_of(resource: Resource) -> int | None:
    """Return the number of banks of a memory, over all its channels; None for a resource without banks."""
    return next((server.members for server in resource.servers() if server.name == f"{resource.name}.bank"), None)


LONGEST_TIME_S = 1e9  # of a visit or a step: 30 years
HIGHEST_RATE = 1e18  # per second, of a clock or a link; the finest tick is 1 fs


def rate_of(subject: str, per_second: float) -> float:
    """Return `per_second` if it is above 0 and at most HIGHEST_RATE, else raise ModelError."""
    per_second = number_in(per_second, subject, "Hz", "bytes/s")
    if not 0 < per_second < float("inf"):
        raise ModelError(f"{subject} must be a finite rate above 0 per second, got {per_second!r}")
    if per_second > HIGHEST_RATE:
        raise ModelError(f"{subject} must be at most {HIGHEST_RATE:g} per second, got {per_second!r}")
    return float(per_second)


def time_of(subject: str, seconds: float) -> float:
    """Return `seconds` if it is in 0..LONGEST_TIME_S, else raise ModelError."""
    seconds = number_in(seconds, subject, "s")
    if not 0 <= seconds < float("inf"):
        raise ModelError(f"{subject} must be a finite time of at least 0 s, got {seconds!r}")
    if seconds > LONGEST_TIME_S:
        raise ModelError(f"{subject} must be at most {LONGEST_TIME_S:g} s, got {seconds!r}")
    return float(seconds)
