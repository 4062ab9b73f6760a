"""A user's own queueing network (models/networks/*.toml): schema and checks.

Times are in seconds, rates per second, or have a unit in their name or as text (amounts.py). A customer starts at
`in`, follows its class's routes and is done at `out`; one of a closed class then thinks and starts again. "disk as
gold" goes to the disk and on as class gold.
docs/networks.md describes every key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from npexplore.errors import InputError, UnknownNameError, positive
from npexplore.networks.amounts import plain, spelled
from npexplore.networks.arrivals import AnyArrivals
from npexplore.networks.times import AnyTime
from npexplore.paths import share
from npexplore.rows.distributions import Count
from npexplore.toml import Record, convert, parsed

IN, OUT = "in", "out"
AS = " as "
HIT, MISS = " hit", " miss"
LONGEST_TURN = 1000
DUST = 1e-9  # how far probabilities may be from adding up to 1
MOST = 10**9  # of whatever is counted: customers, places, ranks


class Station(Record, frozen=True, kw_only=True):
    """A place of service. `capacity` counts those in service, too; `rates`: work a second with 1, 2, ... customers.

    A polling server visits the lines of its classes in the file's order, each for as long as `visits` says (limited: to
    `most_a_visit` customers); switch_over: how long it is on its way from a class to the next.
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
        """Raise InputError for numbers that cannot be and for what a discipline does not have."""
        if self.capacity is not None:
            _whole(f"{place}: capacity", self.capacity)
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
        _whole(f"{place}: most_a_visit", self.most_a_visit)
        if self.most_a_visit != 1 and self.visits != "limited":
            raise InputError(f"{place}: most_a_visit needs visits limited, got {self.visits!r}")
        for name, time in self.switch_over.items():
            time.check(f"{place}.switch_over.{name}")

    @property
    def progressive(self) -> bool:
        """Say whether work is done at a speed that changes while a customer is there (the engine's SHARE)."""
        return self.discipline in ("ps", "preemptive", "last_preempts") or self.rates is not None

    @property
    def lets_go(self) -> bool:
        """Say whether a customer frees the server when its service ends, even if the next station is full."""
        return self.progressive or self.discipline == "polling"

    @property
    def fastest(self) -> float:
        """Return the most work a second that one customer gets."""
        return max(self.rates) if self.rates else 1.0

    @property
    def fullest(self) -> float:
        """Return the most work a second that the station can do."""
        return math.inf if self.discipline == "delay" else max(self.rates) if self.rates else float(self.servers)


class CustomerClass(Record, frozen=True, kw_only=True):
    """Customers that are alike. Either a population (closed) or arrivals (open); a smaller priority goes first.

    A class with neither is one that others change into. `choose`: how the next of several targets is found.
    """

    population: int | None = None
    think_time: AnyTime | None = None
    arrivals: AnyArrivals | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0
    service: dict[str, AnyTime] = msgspec.field(default_factory=dict)
    route: dict[str, dict[str, float]]
    choose: dict[str, Literal["chance", "in_turn", "shortest"]] = msgspec.field(default_factory=dict)


class Fork(Record, frozen=True, kw_only=True):
    """A customer here visits all of `stations` at the same time and goes on when the last visit is over."""

    stations: Annotated[list[str], msgspec.Meta(min_length=2)]


class Region(Record, frozen=True, kw_only=True):
    """Stations that together hold at most `capacity` customers; who finds it full is lost or waits outside in line."""

    stations: Annotated[list[str], msgspec.Meta(min_length=1)]
    capacity: int
    when_full: Literal["drop", "wait"] = "wait"


class Cache(Record, frozen=True, kw_only=True):
    """Items of which `places` are kept: a customer asks for one and goes on at once from "NAME hit" or "NAME miss".

    `popularity`: the items' shares of requests, or the exponent a of Zipf's law: item i in proportion to i^-a.
    """

    items: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    places: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    popularity: list[float] | float = 1.0
    replace: Literal["lru", "fifo", "random"] = "lru"

    def chances(self) -> list[float]:
        """Return the chance of each item."""
        shares = self.popularity
        if isinstance(shares, float):
            shares = [(i + 1) ** -shares for i in range(self.items)]
        total = math.fsum(shares)
        return [share / total for share in shares]

    def check(self, place: str) -> None:
        """Raise InputError for popularities that cannot be and for as many places as items."""
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
    """Schema of models/networks/*.toml."""

    name: str
    about: str = ""
    station: dict[str, Station]
    classes: dict[str, CustomerClass] = msgspec.field(name="class")
    fork: dict[str, Fork] = msgspec.field(default_factory=dict)
    region: dict[str, Region] = msgspec.field(default_factory=dict)
    cache: dict[str, Cache] = msgspec.field(default_factory=dict)

    @property
    def places(self) -> list[str]:
        """Return the names of all that a route can lead to but `out`."""
        return [*self.station, *self.fork, *self.cache]

    @property
    def starts(self) -> list[str]:
        """Return the names of all that a route can begin with: a cache has two."""
        return [IN, *self.station, *self.fork, *(f"{name}{end}" for name in self.cache for end in (HIT, MISS))]

    @property
    def switches(self) -> bool:
        """Say whether some customer changes its class."""
        return any(AS in target for c in self.classes.values() for route in c.route.values() for target in route)

    def routes(self, name: str) -> dict[str, list[tuple[str, str, float]]]:
        """Return a class's routes: for each start the (target, class there, probability) of those above 0."""
        found = {}
        for start, route in self.classes[name].route.items():
            found[start] = [(*_target(target, name), chance) for target, chance in route.items() if chance]
        return found

    def polled(self, station: str) -> list[str]:
        """Return the classes that are served at a station, in the order in which a polling server visits them."""
        return [name for name, one in self.classes.items() if station in one.service]

    def stations_at(self, node: str) -> list[str]:
        """Return the stations that a customer at a node is at: one, or those of a fork."""
        return self.fork[node].stations if node in self.fork else [node]


def _target(text: str, name: str) -> tuple[str, str]:
    """Return the node and the class of a route's target."""
    node, _, other = text.partition(AS)
    return node, other or name


def ahead(node: str, network: Network) -> list[str]:
    """Return where routes go on from behind a target: the node itself, or a cache's two ends."""
    return [f"{node}{HIT}", f"{node}{MISS}"] if node in network.cache else [node]


def load_network(path: str | Path) -> Network:
    """Return a network by name (models/networks) or path; raises InputError with file, place, rule and value.

    A path that ends in .jsimg, .jsim or .jmva is a model of JMT.
    """
    file = Path(path)
    if file.suffix in (".jsimg", ".jsim", ".jmva"):
        from npexplore.networks.jmt import read_jmva, read_jsimg

        return read_jmva(file) if file.suffix == ".jmva" else read_jsimg(file)
    if file.suffix != ".toml" and not file.is_file():
        folder = share("models", "networks")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("network", str(path), [p.stem for p in folder.glob("*.toml")])
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    network: Network = convert(plain(parsed(text, file), file.name), Network, file)
    try:
        check_network(network)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    return network


def _whole(subject: str, got: int) -> None:
    if got < 1:
        raise InputError(f"{subject} must be at least 1, got {got}")
    if got > MOST:
        raise InputError(f"{subject} must be at most {MOST}, got {got}")


def check_network(network: Network) -> None:
    """Raise InputError for a network that cannot be, with place, rule and value."""
    if not network.station:
        raise InputError("station: a network needs at least one station, got none")
    if not network.classes:
        raise InputError("class: a network needs at least one class, got none")
    for name, station in network.station.items():
        station.check(f"station.{name}")
    for name, fork in network.fork.items():
        if name in network.station:
            raise InputError(f"fork.{name}: a fork must not have the name of a station")
        for other in fork.stations:
            if other not in network.station:
                raise UnknownNameError(f"fork.{name}: station", other, network.station)
            if network.station[other].capacity is not None and network.station[other].when_full == "drop":
                raise InputError(f"fork.{name}: station {other!r} must not drop customers of a fork")
    for name, cache in network.cache.items():
        if name in network.station or name in network.fork:
            raise InputError(f"cache.{name}: a cache must not have the name of a station or fork")
        cache.check(f"cache.{name}")
    _check_regions(network)
    for name in network.places:
        if name in (IN, OUT) or AS in name:
            raise InputError(
                f"a station, fork or cache must not be named {name!r}: routes begin and end with 'in' and 'out', and "
                "' as ' stands before a class"
            )
    for name, station in network.station.items():
        for other in station.weights:
            if other not in network.classes:
                raise UnknownNameError(f"station.{name}.weights: class", other, network.classes)
        for other in station.switch_over:
            if other not in network.polled(name):
                raise UnknownNameError(f"station.{name}.switch_over: class", other, network.polled(name))
    into = {c for name in network.classes for route in network.routes(name).values() for _, c, _ in route if c != name}
    for name, customers in network.classes.items():
        _check_class(network, customers, f"class.{name}", reached=name in into)
    for name in network.classes:
        for start, route in network.routes(name).items():
            for node, other, _ in route:
                _check_arrival(network, name, start, node, other)


def _check_regions(network: Network) -> None:
    taken: dict[str, str] = {}
    for name, region in network.region.items():
        _whole(f"region.{name}: capacity", region.capacity)
        for station in region.stations:
            if station not in network.station:
                raise UnknownNameError(f"region.{name}: station", station, network.station)
            if station in taken:
                raise InputError(f"region.{name}: station {station!r} is in region {taken[station]!r} already")
            taken[station] = name
            own = network.station[station]
            if own.capacity is not None and own.when_full == "block":
                raise InputError(f"region.{name}: station {station!r} must not have a capacity that blocks")
            if region.when_full == "drop" and any(station in fork.stations for fork in network.fork.values()):
                raise InputError(f"region.{name}: it must not drop customers of a fork at {station!r}")


def _check_class(network: Network, customers: CustomerClass, place: str, *, reached: bool) -> None:
    both = customers.population is not None and customers.arrivals is not None
    neither = customers.population is None and customers.arrivals is None
    if both or (neither and not reached):
        got = "neither" if neither else "both"
        raise InputError(f"{place}: a class needs a population or arrivals, got {got}")
    if customers.population is not None:
        _whole(f"{place}: population", customers.population)
    if customers.arrivals is not None:
        customers.arrivals.check(f"{place}.arrivals")
    if customers.think_time is not None:
        if customers.arrivals is not None:
            raise InputError(f"{place}: think_time needs a population, got arrivals")
        customers.think_time.check(f"{place}.think_time")
    for station, time in customers.service.items():
        if station not in network.station:
            raise UnknownNameError(f"{place}.service: station", station, network.station)
        time.check(f"{place}.service.{station}")
    if not customers.route.get(IN) and not neither:
        raise InputError(f"{place}: a class needs a route from {IN!r}, got none")
    for node in customers.route:
        if node not in network.starts:
            raise UnknownNameError(f"{place}.route: station", node, network.starts)
    for node in customers.choose:
        if node not in customers.route:
            raise UnknownNameError(f"{place}.choose: station", node, customers.route)
        _check_choice(network, customers, node, place)
    for node, route in customers.route.items():
        _check_route(network, customers, node, route, place)


def _check_choice(network: Network, customers: CustomerClass, node: str, place: str) -> None:
    if customers.choose[node] == "in_turn" and turn_of(list(customers.route[node].values())) is None:
        raise InputError(
            f"{place}.choose.{node}: in_turn needs shares of a cycle of {LONGEST_TURN} at most, got "
            f"{list(customers.route[node].values())}"
        )
    if customers.choose[node] == "shortest":
        for target in customers.route[node]:
            if _target(target, "")[0] not in network.station:
                raise InputError(f"{place}.choose.{node}: shortest needs stations to choose from, got {target!r}")


def turn_of(shares: list[float]) -> list[int] | None:
    """Return how often each target comes in a cycle of round robin, None where no cycle of LONGEST_TURN fits."""
    for length in range(1, LONGEST_TURN + 1):
        counts = [round(share * length) for share in shares]
        if sum(counts) == length and all(
            abs(share * length - n) < 1e-6 for share, n in zip(shares, counts, strict=True)
        ):
            return counts
    return None


def _check_route(network: Network, customers: CustomerClass, node: str, route: Mapping[str, float], place: str) -> None:
    for text, probability in route.items():
        target, other = _target(text, "")
        if target not in (OUT, *network.places) or (node == IN and target == OUT):
            raise UnknownNameError(
                f"{place}.route.{node}: station", target, network.places if node == IN else [OUT, *network.places]
            )
        if other and other not in network.classes:
            raise UnknownNameError(f"{place}.route.{node}: class", other, network.classes)
        if not 0 <= probability <= 1:
            raise InputError(f"{place}.route.{node}.{text}: probability must be in 0..1, got {probability}")
        if target != OUT and not other:
            _check_onward(network, customers, node, target, place)
    total = math.fsum(route.values())
    if abs(total - 1) > DUST:
        raise InputError(f"{place}.route.{node}: probabilities must add up to 1, got {total:.10g}")
    if node in network.station or node in network.fork:
        for station in network.stations_at(node):
            if station not in customers.service:
                raise InputError(f"{place}: the class visits station {station!r} but has no service time there")


def _check_onward(network: Network, customers: CustomerClass, node: str, target: str, place: str) -> None:
    for start in ahead(target, network):
        if start not in customers.route:
            raise InputError(f"{place}: {start!r} is on the way from {node!r}, but no route leads on from it")


def _check_arrival(network: Network, name: str, start: str, node: str, other: str) -> None:
    """Check a target with a change of class."""
    if other == name:
        return
    new, place = network.classes[other], f"class.{name}.route.{start}"
    if node != OUT:
        _check_onward(network, new, start, node, f"{place}: class {other!r}")
        return
    if new.population is not None and not new.route.get(IN):
        raise InputError(f"{place}: class {other!r} needs a route from {IN!r} to start again, got none")


def network_schema() -> dict[str, Any]:
    """Return the JSON Schema of a network file."""
    return spelled(msgspec.json.schema(Network))
