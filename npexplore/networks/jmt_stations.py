"""Reads JMT's stations: a Queue section and a server section become the station of a network file."""

import math
from collections.abc import Collection
from typing import Any

from npexplore.errors import one_of
from npexplore.networks.graph import Node
from npexplore.networks.jmt_file import by_class, kind_of, limit_of, number_in, parameter, plain, value_in, whole_in
from npexplore.networks.jmt_times import service_of
from npexplore.strict_input import Entry

PUT = {
    "TailStrategy": "fifo", "HeadStrategy": "last", "RandStrategy": "random", "TailStrategyPriority": "priority",
    "LCFSPRStrategy": "last_preempts", "FCFSPRStrategyPriority": "preemptive",
}  # fmt: skip
PREEMPTIVE = {"last_preempts", "preemptive"}
VISITS = {"Exhaustive": "exhaustive", "Gated": "gated", "Limited": "limited"}
SERVING = ("Server", "PSServer", "Delay", "PreemptiveServer", *(f"{how}PollingServer" for how in VISITS))
RULES = {"drop": "drop", "waiting queue": "wait", "BAS blocking": "block"}
GET = {"FCFSstrategy": "", **{f"{how}PollingGetStrategy": name for how, name in VISITS.items()}}
SHARING = {"EPSStrategy": False, "DPSStrategy": True}  # whether weights are used


def station(queue: Entry, server: Entry, classes: Collection[str]) -> Node:
    """Return the station of a queue section and a server section; raises InputError for unsupported features."""
    kind = server.value("@className")
    disciplines = _puts(queue, classes)
    visits = _visits(queue)
    size = _size(queue)
    rules = _rules(queue, classes)
    service = {}
    for c, strategy in by_class(server, "ServiceStrategy", classes).items():
        if kind_of(strategy) != "DisabledServiceTimeStrategy":
            service[c] = service_of(strategy)
    entry, servers = plain(server, "maxJobs", "1")
    fields: dict[str, Any] = {"servers": 1 if kind == "Delay" else entry.whole(servers)}
    _once(server, "numberOfVisits", classes, "several visits in a row")
    _once(server, "classParallelism", classes, "a customer that takes several servers")
    fields["servers"] = _server_types(server, list(classes), list(service), fields["servers"])
    policy = {disciplines[c] for c in service if c in disciplines}
    if (kind == "PreemptiveServer") != bool(policy & PREEMPTIVE) and policy and kind in ("Server", "PreemptiveServer"):
        raise server.refused(f"{kind} with the queue policy {', '.join(sorted(policy))} is not supported")
    if kind == "PreemptiveServer":
        for c, strategy in by_class(server, "PreemptiveStrategy", classes).items():
            if PUT.get(kind_of(strategy), "") != disciplines.get(c):
                raise strategy.refused(f"class {c!r} has another policy in its queue")
    polling = kind.endswith("PollingServer")
    if polling != (visits[0] != "") or (polling and VISITS[kind.removesuffix("PollingServer")] != visits[0]):
        raise server.refused(f"{kind} needs a queue that is left in the same way, got {visits[0] or 'FCFSstrategy'!r}")
    if kind == "Delay":
        return Node("station", {"discipline": "delay"}, service)
    if kind == "PSServer":
        fields |= _sharing(server, classes, list(service), fields["servers"])
    elif polling:
        fields |= _polling(server, classes, list(service), visits)
    elif len(policy) > 1:
        raise queue.refused(f"classes with different queue policies ({', '.join(sorted(policy))}) are not supported")
    else:
        fields["discipline"] = policy.pop() if policy else "fifo"
    if size > 0:
        action = {rules[c] for c in service if c in rules}
        if len(action) > 1 or not action <= {"drop", "block"}:
            raise queue.refused(
                f"a capacity with the rule {', '.join(sorted(action))} is not supported (supported: drop, BAS blocking)"
            )
        fields |= {"capacity": size, "when_full": action.pop() if action else "drop"}
    return Node("station", fields, service)


def check_unused_queue(queue: Entry, classes: Collection[str]) -> None:
    """Read the queue of a node without waiting; raises InputError if it has a limit or another policy."""
    _puts(queue, classes)
    _rules(queue, classes)
    if _size(queue) > 0:
        raise queue.refused("a capacity where nobody waits is not supported")
    if _visits(queue)[0]:
        raise queue.refused("polling where nobody waits is not supported")


def _puts(queue: Entry, classes: Collection[str]) -> dict[str, str]:
    strategies = {}
    for c, strategy in by_class(queue, "QueuePutStrategy", classes).items():
        strategies[c] = PUT[one_of(f"{strategy.place}: queue policy of class {c!r}", kind_of(strategy), PUT)]
    for c, strategy in by_class(queue, "Impatience", classes).items():
        if strategy.children and (len(strategy.children) > 1 or value_in(strategy) != "null"):
            raise strategy.refused(f"impatience of class {c!r} is not supported")
    return strategies


def _size(queue: Entry) -> int:
    entry, size = plain(queue, "size", "-1")
    limit = limit_of(entry, size)
    return entry.whole(size) if math.isfinite(limit) else -1


def _rules(queue: Entry, classes: Collection[str]) -> dict[str, str]:
    """Return the rule of each class for a full station."""
    return {
        c: RULES[one_of(f"{rule.place}: rule of class {c!r}", value_in(rule), RULES)]
        for c, rule in by_class(queue, "dropStrategies", classes).items()
    }


def _visits(queue: Entry) -> tuple[str, int]:
    """Return when a polling server leaves a class, and its limit of customers; ('', 1) without polling."""
    visits = [
        entry
        for entry in queue.children
        if kind_of(entry).lower().endswith("strategy") and "Get" in entry.value("@classPath")
    ]
    queue.every(*(entry.key for entry in visits))
    if len(visits) > 1:
        raise visits[1].refused("a queue is left in one way")
    if not visits:
        return "", 1
    visit_kind = GET[one_of(f"{visits[0].place}: how customers leave the queue", kind_of(visits[0]), GET)]
    limit = visits[0].optional("subParameter pollingKValue") if visit_kind == "limited" else None
    return visit_kind, whole_in(limit) if limit else 1


def _once(server: Entry, name: str, classes: Collection[str], meaning: str) -> None:
    for c, entry in by_class(server, name, classes).items():
        if whole_in(entry) != 1:
            raise entry.refused(f"{meaning} (class {c!r}) is not supported (supported: 1)")


def _server_types(server: Entry, classes: list[str], served: list[str], servers: int) -> int:
    """Return the number of servers for the classes served here; types of servers may serve different classes."""
    names, counts, tables = (
        parameter(server, key) for key in ("serverNames", "serversPerServerType", "serverCompatibilities")
    )
    _, policy = plain(server, "schedulingPolicy", "ALIS")
    sizes = [whole_in(entry) for entry in counts.of_kind("subParameter")] if counts else []
    labels = [value_in(entry) for entry in names.of_kind("subParameter")] if names else []
    served_by_type = []
    for table in tables.of_kind("subParameter") if tables else []:
        entries = table.of_kind("subParameter")
        if len(entries) != len(classes):
            raise table.refused(f"one entry a class is needed ({len(classes)}), got {len(entries)}")
        by_name = dict(zip(classes, (entry.truth(value_in(entry)) for entry in entries), strict=True))
        served_by_type.append([by_name[c] for c in served])
    if tables is None:
        return servers
    if not len(sizes) == len(labels) == len(served_by_type):
        raise tables.refused(
            f"{len(labels)} types of servers with {len(sizes)} sizes and {len(served_by_type)} tables of classes"
        )
    for entry, size in zip(counts.of_kind("subParameter") if counts else [], sizes, strict=True):
        if size < 1:
            raise entry.refused(f"a type of servers must have at least 1, got {size}")
    if len(served_by_type) == 1 and all(served_by_type[0]):
        return servers  # a single type: its size does not matter, JMT writes 1 by default
    if sum(sizes) != servers:
        raise tables.refused(f"the types of servers have {sum(sizes)} servers, maxJobs says {servers}")
    if any(any(row) and not all(row) for row in served_by_type):
        raise tables.refused(f"types of servers that serve some classes only are not supported (policy {policy})")
    usable = sum(size for size, row in zip(sizes, served_by_type, strict=True) if all(row))
    if served and not usable:
        raise tables.refused("no server serves the classes that come here")
    return usable


def _sharing(server: Entry, classes: Collection[str], served: list[str], servers: int) -> dict[str, Any]:
    """Return the keys of a processor sharing station: equal shares, weights, or a limit of customers in service."""
    entry, used = plain(server, "PSPriorityUsed", "false")
    if entry.truth(used):
        raise entry.refused("shared servers with priorities are not supported (supported: false)")
    weights = {c: number_in(entry) for c, entry in by_class(server, "serviceWeights", classes).items()}
    shares = {}
    for c, strategy in by_class(server, "PSStrategy", classes).items():
        shares[c] = SHARING[one_of(f"{strategy.place}: sharing of class {c!r}", kind_of(strategy), SHARING)]
    entry, running = plain(server, "maxRunning", "-1")
    limit = entry.whole(running) if math.isfinite(limit_of(entry, running)) else -1
    if limit > servers:
        raise entry.refused(f"more customers at once ({limit}) than servers ({servers}), but a limit: not supported")
    if limit > 0:
        return {"discipline": "fifo", "servers": limit}  # a server for each customer in service; others wait in line
    kinds = {shares[c] for c in served if c in shares}
    if len(kinds) > 1:
        raise server.refused("classes that share in different ways are not supported")
    return {"discipline": "ps"} | ({"weights": {c: weights.get(c, 1.0) for c in served}} if kinds == {True} else {})


def _polling(server: Entry, classes: Collection[str], served: list[str], visits: tuple[str, int]) -> dict[str, Any]:
    """Return the keys of a polling station; JMT's switch-over time belongs to the class that is switched to."""
    fields: dict[str, Any] = {
        "discipline": "polling",
        "switch_over": {},
        "visits": visits[0],
        "most_a_visit": visits[1],
    }
    for c, strategy in by_class(server, "SwitchoverStrategy", classes).items():
        if kind_of(strategy) == "DisabledServiceTimeStrategy":
            continue
        time = service_of(strategy)
        if time is not None and c in served:
            fields["switch_over"][served[served.index(c) - 1]] = time
    return fields
