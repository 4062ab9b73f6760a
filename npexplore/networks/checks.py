"""Checks of a network: names are known, routes add up to 1 and lead out, visited stations have service times.

Each rule raises InputError with the place in the file, the rule and the value.
"""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from npexplore.errors import InputError, RefusedError, one_of
from npexplore.networks.records import AS, IN, OUT, CustomerClass, Network, ahead, target_of, whole
from npexplore.toml import in_words, typed

LONGEST_TURN = 1000
DUST = 1e-9  # tolerance of sums of probabilities that must be 1


def checked_network(tables: dict[str, Any]) -> Network:
    """Return the network that tables describe; raises InputError as `check_network` does."""
    try:
        network = typed(tables, Network)
    except msgspec.ValidationError as error:
        raise InputError(in_words(str(error))) from None
    check_network(network)
    return network


def check_network(network: Network) -> None:
    """Raise InputError for an inconsistent network, with place in the file, rule and value."""
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
            one_of(f"fork.{name}: station", other, network.station)
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
            one_of(f"station.{name}.weights: class", other, network.classes)
        for other in station.switch_over:
            one_of(f"station.{name}.switch_over: class", other, network.polled(name))
    into = {c for name in network.classes for route in network.routes(name).values() for _, c, _ in route if c != name}
    for name, customers in network.classes.items():
        _check_class(network, customers, f"class.{name}", reached=name in into)
    for name in network.classes:
        for start, route in network.routes(name).items():
            for node, other, _ in route:
                _check_arrival(network, name, start, node, other)


def waits_for_room(network: Network, name: str, node: str) -> bool:
    """Return whether customers of a class may have to wait at a station for room at the next one.

    Raises RefusedError if the station serves them together or preemptively, so that none of them can keep the server.
    """
    current, stations = network.station.get(node), network.station.items()
    blocking = [target for target, station in stations if station.capacity is not None and station.when_full == "block"]
    full = [target for target, _, _ in network.routes(name)[node] if target in blocking]
    if current is not None and full and current.lets_go:
        why = "served together, at rates, by preemption or by polling"
        raise RefusedError(f"customers {why} at {node!r} cannot wait there for room at {full[0]!r}")
    return current is not None and bool(full)


def _check_regions(network: Network) -> None:
    region_of: dict[str, str] = {}
    for name, region in network.region.items():
        whole(f"region.{name}: capacity", region.capacity)
        for station in region.stations:
            one_of(f"region.{name}: station", station, network.station)
            if station in region_of:
                raise InputError(f"region.{name}: station {station!r} is in region {region_of[station]!r} already")
            region_of[station] = name
            record = network.station[station]
            if record.capacity is not None and record.when_full == "block":
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
        whole(f"{place}: population", customers.population)
    if customers.arrivals is not None:
        customers.arrivals.check(f"{place}.arrivals")
    if customers.think_time is not None:
        if customers.arrivals is not None:
            raise InputError(f"{place}: think_time needs a population, got arrivals")
        customers.think_time.check(f"{place}.think_time")
    for station, time in customers.service.items():
        one_of(f"{place}.service: station", station, network.station)
        time.check(f"{place}.service.{station}")
    if not customers.route.get(IN) and not neither:
        raise InputError(f"{place}: a class needs a route from {IN!r}, got none")
    for node in customers.route:
        one_of(f"{place}.route: station", node, network.starts)
    for node in customers.choose:
        one_of(f"{place}.choose: station", node, customers.route)
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
            if target_of(target, "")[0] not in network.station:
                raise InputError(f"{place}.choose.{node}: shortest needs stations to choose from, got {target!r}")


def turn_of(shares: list[float]) -> list[int] | None:
    """Return how often each target occurs in a round robin cycle; None if no cycle of LONGEST_TURN fits."""
    for length in range(1, LONGEST_TURN + 1):
        counts = [round(share * length) for share in shares]
        if sum(counts) == length and all(
            abs(share * length - n) < 1e-6 for share, n in zip(shares, counts, strict=True)
        ):
            return counts
    return None


def _check_route(network: Network, customers: CustomerClass, node: str, route: Mapping[str, float], place: str) -> None:
    for text, probability in route.items():
        target, other = target_of(text, "")
        if target != OUT or (node == IN and probability == 1):
            one_of(f"{place}.route.{node}: station", target, network.places if node == IN else [OUT, *network.places])
        if other:
            one_of(f"{place}.route.{node}: class", other, network.classes)
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


def _check_arrival(network: Network, name: str, start: str, node: str, class_there: str) -> None:
    """Check the target of a route that changes the class."""
    if class_there == name:
        return
    new_class, place = network.classes[class_there], f"class.{name}.route.{start}"
    if node != OUT:
        _check_onward(network, new_class, start, node, f"{place}: class {class_there!r}")
        return
    if new_class.population is not None and not new_class.route.get(IN):
        raise InputError(f"{place}: class {class_there!r} needs a route from {IN!r} to start again, got none")
