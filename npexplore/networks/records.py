"""The records of a network file (models/networks/*.toml): stations, classes, forks, regions, caches.

Times are in seconds and rates per second, unless a unit is in their name or text (amounts.py). A customer starts at
`in`, follows the routes of its class and ends its pass at `out`; a customer of a closed class then thinks and starts
again. The target "disk as gold" goes to the disk and changes the class to gold. docs/networks.md describes every key.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from npexplore.errors import InputError, positive
from npexplore.networks.arrivals import AnyArrivals
from npexplore.networks.times import AnyTime
from npexplore.rows.distributions import Count
from npexplore.toml import Record

IN, OUT = "in", "out"
AS = " as "
HIT, MISS = " hit", " miss"
MAX_COUNT = 10**9  # largest number of customers, places or ranks


def whole(subject: str, got: int) -> None:
    """Raise InputError for a number below 1 or above MAX_COUNT."""
    if got < 1:
        raise InputError(f"{subject} must be at least 1, got {got}")
    if got > MAX_COUNT:
        raise InputError(f"{subject} must be at most {MAX_COUNT}, got {got}")


class Station(Record, frozen=True, kw_only=True):
    """A service station. capacity: waiting and served customers; rates: work per second with 1, 2, ... customers.

    A polling server visits the lines of its classes in the file's order; `visits` says when it leaves a line (limited:
    after `most_a_visit` customers). switch_over: the time to switch from a class to the next.

    Example:
        >>> from npexplore.networks import Station
        >>> Station(servers=2).discipline
        'fifo'
    """

    servers: Count = 1
    discipline: Literal[
        "fifo", "ps", "delay", "priority", "preemptive", "last", "last_preempts", "random", "polling"
    ] = "fifo"
    capacity: int | None = None
    when_full: Literal["drop", "block"] = "drop"
    rates: list[float] | None = None
    weights: dict[str, float] = msgspec.field(default_factory=dict)
    visits: Literal["exhaustive", "gated", "limited"] = "exhaustive"
    most_a_visit: int = 1
    switch_over: dict[str, AnyTime] = msgspec.field(default_factory=dict)

    def check(self, place: str) -> None:
        """Raise InputError for numbers out of range, and for keys that the discipline does not take."""
        if self.capacity is not None:
            whole(f"{place}: capacity", self.capacity)
        if self.capacity is not None and self.discipline == "delay":
            raise InputError(f"{place}: capacity needs discipline fifo, ps, priority or preemptive, got 'delay'")
        if self.rates is not None and self.discipline in ("delay", "priority", "polling"):
            raise InputError(f"{place}: rates need discipline fifo, ps or preemptive, got {self.discipline!r}")
        if self.discipline in ("preemptive", "last_preempts", "polling") and self.servers != 1:
            raise InputError(f"{place}: discipline {self.discipline} needs 1 server, got {self.servers}")
        if self.weights and self.discipline != "ps":
            raise InputError(f"{place}: weights need discipline ps, got {self.discipline!r}")
        for name, weight in self.weights.items():
            positive(f"{place}.weights.{name}", weight)
        if self.rates is not None and (not self.rates or self.servers != 1):
            raise InputError(f"{place}: rates must be a list of numbers at a station with 1 server")
        for rate in self.rates or ():
            positive(f"{place}: each of rates", rate)
        if (self.switch_over or self.visits != "exhaustive") and self.discipline != "polling":
            what = "switch_over" if self.switch_over else f"visits = {self.visits!r}"
            raise InputError(f"{place}: {what} needs discipline polling, got {self.discipline!r}")
        whole(f"{place}: most_a_visit", self.most_a_visit)
        if self.most_a_visit != 1 and self.visits != "limited":
            raise InputError(f"{place}: most_a_visit needs visits limited, got {self.visits!r}")
        for name, time in self.switch_over.items():
            time.check(f"{place}.switch_over.{name}")

    @property
    def progressive(self) -> bool:
        """Whether the speed of a service changes while other customers come and go (the engine's SHARE)."""
        return self.discipline in ("ps", "preemptive", "last_preempts") or self.rates is not None

    @property
    def lets_go(self) -> bool:
        """Whether a customer frees the server when its service ends, even if the next station is full."""
        return self.progressive or self.discipline == "polling"

    @property
    def fastest(self) -> float:
        """Highest speed, in work per second, at which one customer is served."""
        return max(self.rates) if self.rates else 1.0

    @property
    def fullest(self) -> float:
        """Highest total speed of the station, in work per second."""
        return math.inf if self.discipline == "delay" else max(self.rates) if self.rates else float(self.servers)


class CustomerClass(Record, frozen=True, kw_only=True):
    """A class of customers, with a population (closed) or arrivals (open); a smaller priority goes first.

    A class with neither gets its customers from other classes. choose: how a route selects one of several targets.

    Example:
        >>> from npexplore.networks import load_network
        >>> sorted(load_network("closed_multiclass").classes)
        ['batch', 'interactive']
    """

    population: int | None = None
    think_time: AnyTime | None = None
    arrivals: AnyArrivals | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0
    service: dict[str, AnyTime] = msgspec.field(default_factory=dict)
    route: dict[str, dict[str, float]]
    choose: dict[str, Literal["chance", "in_turn", "shortest"]] = msgspec.field(default_factory=dict)


class Fork(Record, frozen=True, kw_only=True):
    """A customer visits all of `stations` at the same time, and goes on when the last visit ends."""

    stations: Annotated[list[str], msgspec.Meta(min_length=2)]


class Region(Record, frozen=True, kw_only=True):
    """Stations that together hold at most `capacity` customers; when full, others are lost or wait outside in line."""

    stations: Annotated[list[str], msgspec.Meta(min_length=1)]
    capacity: int
    when_full: Literal["drop", "wait"] = "wait"


class Cache(Record, frozen=True, kw_only=True):
    """A cache of `places` items: a customer requests an item and goes on at once from "NAME hit" or "NAME miss".

    popularity: the items' shares of requests, or the exponent a of Zipf's law (item i in proportion to i^-a).
    """

    items: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    places: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    popularity: list[float] | float = 1.0
    replace: Literal["lru", "fifo", "random"] = "lru"

    def chances(self) -> list[float]:
        """Return the request probability of each item."""
        shares = self.popularity
        if isinstance(shares, float):
            shares = [(i + 1) ** -shares for i in range(self.items)]
        total = math.fsum(shares)
        return [share / total for share in shares]

    def check(self, place: str) -> None:
        """Raise InputError for popularities that are not positive, and for a cache with room for all items."""
        if isinstance(self.popularity, list):
            if len(self.popularity) != self.items:
                raise InputError(f"{place}: popularity must be one an item ({self.items}), got {len(self.popularity)}")
            for share in self.popularity:
                positive(f"{place}: each of popularity", share)
        elif not math.isfinite(self.popularity):
            raise InputError(f"{place}: popularity must be finite, got {self.popularity}")
        if self.places >= self.items:
            raise InputError(f"{place}: places must be fewer than items ({self.items}), got {self.places}")


class Network(Record, frozen=True, kw_only=True):
    """Schema of `models/networks/*.toml`.

    Example:
        >>> from npexplore.networks import load_network
        >>> sorted(load_network("closed_multiclass").station)
        ['disk', 'processor']
    """

    name: str
    about: str = ""
    station: dict[str, Station]
    classes: dict[str, CustomerClass] = msgspec.field(name="class")
    fork: dict[str, Fork] = msgspec.field(default_factory=dict)
    region: dict[str, Region] = msgspec.field(default_factory=dict)
    cache: dict[str, Cache] = msgspec.field(default_factory=dict)

    @property
    def places(self) -> list[str]:
        """Names of all targets of routes other than `out`."""
        return [*self.station, *self.fork, *self.cache]

    @property
    def starts(self) -> list[str]:
        """Names of all starts of routes; a cache has two."""
        return [IN, *self.station, *self.fork, *(f"{name}{end}" for name in self.cache for end in (HIT, MISS))]

    @property
    def switches(self) -> bool:
        """Whether some customer changes its class."""
        return any(AS in target for c in self.classes.values() for route in c.route.values() for target in route)

    def routes(self, name: str) -> dict[str, list[tuple[str, str, float]]]:
        """Return the routes of a class: for each start, (target, class there, probability) of probabilities above 0."""
        routes = {}
        for start, route in self.classes[name].route.items():
            routes[start] = [(*target_of(target, name), chance) for target, chance in route.items() if chance]
        return routes

    def polled(self, station: str) -> list[str]:
        """Return the classes served at a station, in the order in which a polling server visits them."""
        return [name for name, customers in self.classes.items() if station in customers.service]

    def stations_at(self, node: str) -> list[str]:
        """Return the stations of a node: itself, or those of a fork."""
        return self.fork[node].stations if node in self.fork else [node]


def target_of(text: str, name: str) -> tuple[str, str]:
    """Return the node and the class of a route's target; `name`: the class if the target names none."""
    node, _, other = text.partition(AS)
    return node, other or name


def ahead(node: str, network: Network) -> list[str]:
    """Return the starts of routes behind a target: the node itself, or a cache's hit and miss."""
    return [f"{node}{HIT}", f"{node}{MISS}"] if node in network.cache else [node]
