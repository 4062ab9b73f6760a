"""Models of JMT's mean value analysis (.jmva) as product-form networks: service times and visits without routes.

Stations become `ps` (other disciplines have the same means in these models) or `delay`. A station with v > 1 visits is
visited again with probability 1 - 1 / v; if all visits are below 1, some passes visit no station.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npexplore.errors import InputError, told_at
from npexplore.networks.checks import checked_network
from npexplore.networks.jmt_file import IRRELEVANT, by_name, known, read_file
from npexplore.networks.records import IN, OUT, Network
from npexplore.strict_input import Entry

STATIONS = ("listation", "delaystation", "ldstation")


def read_jmva(path: Path, left_out: Iterable[str] = ()) -> Network:
    """Return the network of a .jmva file; raises InputError with file, line, element and the unsupported feature."""
    root = read_file(path, left_out)
    if root.kind != "model":
        raise root.refused(f"the outermost element must be 'model', got {root.kind!r}")
    parameters = root.one("parameters")
    classes = _classes(parameters.one("classes"))
    stations: dict[str, dict[str, Any]] = {}
    times: dict[tuple[str, str], float] = {}
    visits: dict[str, dict[str, float]] = {c: {} for c in classes}
    for name, entry in by_name(_counted(parameters.one("stations"), *STATIONS), "stations").items():
        _station(name, entry, stations, times, visits)
    for region in root.every("blockingRegion"):
        raise region.refused("is not supported in a .jmva file")
    root.finish(IRRELEVANT)
    for c, customers in classes.items():
        visited = {s: v for s, v in visits[c].items() if v > 0 and times.get((s, c), 0) > 0}
        if not visited:
            raise InputError(f"{path.name}: class {c!r} visits no station")
        customers["service"] = {s: {"distribution": "exponential", "mean": times[s, c]} for s in visited}
        customers["route"] = _in_a_row(visited)
    with told_at(path.name):
        return checked_network({"name": path.stem, "station": stations, "class": classes})


def _counted(entry: Entry, *kinds: str) -> list[Entry]:
    """Return the children of some kinds; raises InputError unless their number is the element's attribute `number`."""
    children = entry.every(*kinds)
    stated_number = entry.value("@number", str(len(children)))
    if entry.whole(stated_number, "number") not in (len(children), len(children) + entry.omitted):
        entry.only(IRRELEVANT)  # report an unknown kind of child rather than the number
        raise entry.refused(f"number is {stated_number}, but {len(children)} of {', '.join(kinds)} follow")
    return children


def _classes(entry: Entry) -> dict[str, dict[str, Any]]:
    classes: dict[str, dict[str, Any]] = {}
    for name, one in by_name(_counted(entry, "closedclass", "openclass"), "classes").items():
        if one.kind == "closedclass":
            classes[name] = {"population": one.whole(one.value("@population"), "population")}
        else:
            rate = one.number(one.value("@rate"), "rate")
            classes[name] = {"arrivals": {"process": "poisson", "rate": rate}}
    return classes


def _station(
    name: str,
    one: Entry,
    stations: dict[str, dict[str, Any]],
    times: dict[tuple[str, str], float],
    visits: dict[str, dict[str, float]],
) -> None:
    stations[name] = {"discipline": "delay"} if one.kind == "delaystation" else {"discipline": "ps"}
    servers = one.whole(one.value("@servers", "1"), "servers")
    if servers < 1:
        raise one.refused(f"servers must be at least 1, got {servers}")
    if one.kind == "listation":
        stations[name]["servers"] = servers
    elif servers != 1:
        raise one.refused(f"servers of a {one.kind} must be 1, got {servers}")
    for entry in one.one("servicetimes").every("servicetime", "servicetimes"):
        c = known(entry, "customerclass", entry.value("@customerclass"), visits)
        if (name, c) in times:
            raise entry.refused(f"class {c!r} stands twice")
        texts = [text for text in entry.content().split(";") if text.strip()]
        values = [entry.number(text) for text in texts]
        if not values or any(not value >= 0 for value in values) or (one.kind != "ldstation" and len(values) > 1):
            raise entry.refused(f"a service time must be a number of at least 0, got {entry.content()!r}")
        times[name, c] = values[0]
        if one.kind == "ldstation" and values[0]:
            if 0.0 in values:
                raise entry.refused(f"a service time of 0 among others is not supported, got {entry.content()!r}")
            rates = [values[0] / value for value in values]
            rates_before = stations[name].setdefault("rates", rates)
            if len(rates_before) != len(rates) or not all(map(math.isclose, rates_before, rates)):
                raise entry.refused("rates that differ between classes are not supported")
    for entry in one.one("visits").every("visit"):
        c = known(entry, "customerclass", entry.value("@customerclass"), visits)
        if name in visits[c]:
            raise entry.refused(f"class {c!r} stands twice")
        visits[c][name] = entry.number(entry.content())
        if not 0 <= visits[c][name] < math.inf:
            raise entry.refused(f"visits must be at least 0, got {entry.content()!r}")


def _in_a_row(visits: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return routes with these mean visits: each station is skipped or visited, and visited again, at random."""
    names = list(visits)

    def onward(k: int) -> dict[str, float]:
        probabilities, remaining = {}, 1.0
        for name in names[k:]:
            enter_chance = min(visits[name], 1.0)
            if enter_chance:
                probabilities[name] = remaining * enter_chance
            remaining *= 1 - enter_chance
        return probabilities | ({OUT: remaining} if remaining > 0 else {})

    routes: dict[str, dict[str, float]] = {IN: onward(0)}
    for k, name in enumerate(names):
        repeat = max(1 - 1 / visits[name], 0.0)
        onward_chances = {target: chance * (1 - repeat) for target, chance in onward(k + 1).items()}
        routes[name] = onward_chances | ({name: repeat} if repeat else {})
    return routes
