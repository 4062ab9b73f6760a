"""A user's own queueing network (models/networks/*.toml): schema and checks.

Times are in seconds, rates per second. A customer starts at `in`, follows its class's routes and is done at `out`;
one of a closed class then thinks and starts again. docs/networks.md describes every key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from npexplore.errors import InputError, UnknownNameError, positive
from npexplore.paths import share
from npexplore.rows.distributions import Batch, Count, OnOff, Periodic, Poisson, Time
from npexplore.toml import Record, decode

IN, OUT = "in", "out"
DUST = 1e-9  # how far probabilities may be from adding up to 1
MOST = 10**9  # of whatever is counted: customers, places, ranks


class Station(Record, frozen=True, kw_only=True):
    """A place of service. `capacity` counts those in service, too; `rates`: work a second with 1, 2, ... customers."""

    servers: Count = 1
    discipline: Literal["fifo", "ps", "delay", "priority", "preemptive"] = "fifo"
    capacity: int | None = None
    when_full: Literal["drop", "block"] = "drop"
    rates: list[float] | None = None

    def check(self, place: str) -> None:
        """Raise InputError for numbers that cannot be and for what a discipline does not have."""
        if self.capacity is not None:
            _whole(f"{place}: capacity", self.capacity)
        if self.capacity is not None and self.discipline == "delay":
            raise InputError(f"{place}: capacity needs discipline fifo, ps, priority or preemptive, got 'delay'")
        if self.rates is not None and self.discipline in ("delay", "priority"):
            raise InputError(f"{place}: rates need discipline fifo, ps or preemptive, got {self.discipline!r}")
        if self.discipline == "preemptive" and self.servers != 1:
            raise InputError(f"{place}: discipline preemptive needs 1 server, got {self.servers}")
        if self.rates is not None and (not self.rates or self.servers != 1):
            raise InputError(f"{place}: rates must be a list of numbers at a station with 1 server")
        for rate in self.rates or ():
            positive(f"{place}: each of rates", rate)

    @property
    def progressive(self) -> bool:
        """Say whether work is done at a speed that changes while a customer is there (the engine's SHARE)."""
        return self.discipline in ("ps", "preemptive") or self.rates is not None

    @property
    def fastest(self) -> float:
        """Return the most work a second that one customer gets."""
        return max(self.rates) if self.rates else 1.0

    @property
    def fullest(self) -> float:
        """Return the most work a second that the station can do."""
        return math.inf if self.discipline == "delay" else max(self.rates) if self.rates else float(self.servers)


class CustomerClass(Record, frozen=True, kw_only=True):
    """Customers that are alike. Either a population (closed) or arrivals (open); a smaller priority goes first."""

    population: int | None = None
    think_time: Time | None = None
    arrivals: Poisson | Periodic | Batch | OnOff | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0
    service: dict[str, Time]
    route: dict[str, dict[str, float]]


class Fork(Record, frozen=True, kw_only=True):
    """A customer here visits all of `stations` at the same time and goes on when the last visit is over."""

    stations: Annotated[list[str], msgspec.Meta(min_length=2)]


class Network(Record, frozen=True, kw_only=True):
    """Schema of models/networks/*.toml."""

    name: str
    about: str = ""
    station: dict[str, Station]
    classes: dict[str, CustomerClass] = msgspec.field(name="class")
    fork: dict[str, Fork] = msgspec.field(default_factory=dict)

    def stations_at(self, node: str) -> list[str]:
        """Return the stations that a customer at a node is at: one, or those of a fork."""
        return self.fork[node].stations if node in self.fork else [node]


def load_network(path: str | Path) -> Network:
    """Return a network by name (models/networks) or path; raises InputError with file, place, rule and value."""
    file = Path(path)
    if file.suffix != ".toml" and not file.is_file():
        folder = share("models", "networks")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("network", str(path), [p.stem for p in folder.glob("*.toml")])
    try:
        network: Network = decode(file.read_bytes(), Network, file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    try:
        _check(network)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    return network


def _whole(subject: str, got: int) -> None:
    if got < 1:
        raise InputError(f"{subject} must be at least 1, got {got}")
    if got > MOST:
        raise InputError(f"{subject} must be at most {MOST}, got {got}")


def _check(network: Network) -> None:
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
    for name in (IN, OUT):
        if name in network.station or name in network.fork:
            raise InputError(f"a station or fork must not be named {name!r}: routes begin and end with it")
    for name, customers in network.classes.items():
        _check_class(network, customers, f"class.{name}")


def _check_class(network: Network, customers: CustomerClass, place: str) -> None:
    if (customers.population is None) == (customers.arrivals is None):
        got = "neither" if customers.population is None else "both"
        raise InputError(f"{place}: a class needs a population or arrivals, got {got}")
    if customers.population is not None:
        _whole(f"{place}: population", customers.population)
    if customers.arrivals is not None:
        customers.arrivals.check(f"{place}.arrivals")
    if customers.think_time is not None:
        if customers.population is None:
            raise InputError(f"{place}: think_time needs a population, got arrivals")
        customers.think_time.check(f"{place}.think_time")
    for station, time in customers.service.items():
        if station not in network.station:
            raise UnknownNameError(f"{place}.service: station", station, network.station)
        time.check(f"{place}.service.{station}")
    if not customers.route.get(IN):
        raise InputError(f"{place}: a class needs a route from {IN!r}, got none")
    for node in customers.route:
        if node not in (IN, *network.station, *network.fork):
            raise UnknownNameError(f"{place}.route: station", node, [IN, *network.station, *network.fork])
    for node, route in customers.route.items():
        _check_route(network, customers, node, route, place)


def _check_route(network: Network, customers: CustomerClass, node: str, route: Mapping[str, float], place: str) -> None:
    known = [*network.station, *network.fork]
    for target, probability in route.items():
        if target not in (OUT, *known) or (node == IN and target == OUT):
            raise UnknownNameError(f"{place}.route.{node}: station", target, known if node == IN else [OUT, *known])
        if not 0 <= probability <= 1:
            raise InputError(f"{place}.route.{node}.{target}: probability must be in 0..1, got {probability}")
        if target != OUT and target not in customers.route:
            raise InputError(f"{place}: {target!r} is on the way from {node!r}, but no route leads on from it")
    total = math.fsum(route.values())
    if abs(total - 1) > DUST:
        raise InputError(f"{place}.route.{node}: probabilities must add up to 1, got {total:.10g}")
    if node != IN:
        for station in network.stations_at(node):
            if station not in customers.service:
                raise InputError(f"{place}: the class visits station {station!r} but has no service time there")


def network_schema() -> dict[str, Any]:
    """Return the JSON Schema of a network file."""
    return msgspec.json.schema(Network)
