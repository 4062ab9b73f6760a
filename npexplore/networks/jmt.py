"""Models of Java Modelling Tools (JMT) as networks: .jsimg and .jsim files (JSIMgraph), node by node.

Bertoli, Casale and Serazzi, ACM SIGMETRICS Performance Evaluation Review 36 (4), 2009. Every element is read, listed as
irrelevant (jmt_file.py), or causes an InputError with its line and JMT's name for it. In JMT, larger priorities go
first, and the size of a station includes the customers in service.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from pathlib import Path

from npexplore.errors import one_of, told_at
from npexplore.networks.graph import Graph, Kind, Node, Way
from npexplore.networks.jmt_file import (
    IRRELEVANT,
    by_class,
    by_name,
    classed,
    connections,
    kind_of,
    known,
    limit_of,
    number_in,
    parameter,
    plain,
    read_file,
    value_in,
    whole_in,
)
from npexplore.networks.jmt_regions import region
from npexplore.networks.jmt_stations import SERVING, check_unused_queue, station
from npexplore.networks.jmt_times import arrivals_of
from npexplore.networks.records import Network
from npexplore.strict_input import Entry

ROUTING = {
    "EmpiricalStrategy": "chance", "RandomStrategy": "chance", "RoundRobinStrategy": "in_turn",
    "WeightedRoundRobinStrategy": "in_turn", "ShortestQueueLengthRoutingStrategy": "shortest",
    "DisabledRoutingStrategy": "",
}  # fmt: skip
SWITCHED = ("ClassSwitch", "Fork", "Scaler", "Transition")  # JMT's reference of a class without customers of its own
DUST = 1e-6  # tolerance of sums of probabilities that must be 1
PASSING = ("ServiceTunnel", "LogTunnel", "ClassSwitch")
# input, service and output section of a node -> kind of the node
NODES: dict[tuple[str, ...], str] = {
    ("JobSink",): "sink",
    **{("RandomSource", service, "Router"): "source" for service in PASSING},
    **{("Queue", service, "Router"): "pass" for service in PASSING},
    **{("Queue", service, "Router"): "station" for service in SERVING},
    **{("Queue", service, "Fork"): "fork" for service in PASSING[:2]},
    **{("Join", service, "Router"): "join" for service in PASSING},
}


def read_jsimg(path: Path, left_out: Iterable[str] = ()) -> Network:
    """Return the network of a .jsimg (or .jsim) file.

    left_out: names of elements that the user wants to ignore. Raises InputError with file, line, element and the
    unsupported feature.
    """
    root = read_file(path, left_out)
    if root.kind not in ("sim", "archive"):
        raise root.refused(f"the outermost element must be 'sim' or 'archive', got {root.kind!r}")
    sim = root.one("sim") if root.kind == "archive" else root
    graph = Graph(path.stem)
    _read(graph, sim)
    root.finish(IRRELEVANT)
    with told_at(path.name):
        return graph.network()


def _read(graph: Graph, sim: Entry) -> None:
    """Read classes, nodes, connections and regions into a graph."""
    classes, nodes = by_name(sim.every("userClass"), "classes"), by_name(sim.every("node"), "nodes")
    priorities = {c: entry.whole(entry.value("@priority", "0"), "priority") for c, entry in classes.items()}
    for c, entry in classes.items():
        graph.classes[c] = kind = _class(entry, max(priorities.values()) - priorities[c])
        if kind.reference in SWITCHED and kind.reference not in nodes and not kind.population:
            kind.reference = ""
        elif kind.population is not None or kind.reference:
            known(entry, "referenceSource: node", kind.reference, nodes)
    links = connections(sim, nodes)
    sinks = [name for name, entry in nodes.items() if [part.key for part in entry.children] == ["section JobSink"]]
    for name, node in nodes.items():
        _node(graph, node, name, links, sinks)
    for kind in graph.classes.values():
        if kind.population is None and kind.reference and kind.arrivals is None:
            kind.reference = ""
    _joins(graph, nodes)
    for entry in sim.every("blockingRegion"):
        region(graph, entry)


def _class(one: Entry, priority: int) -> Kind:
    kind = one_of(f"{one.place}: type", one.value("@type"), ("open", "closed"))
    population = one.whole(one.value("@customers"), "customers") if kind == "closed" else None
    return Kind(population, one.value("@referenceSource", ""), priority=priority)


def _node(graph: Graph, node: Entry, name: str, links: dict[str, list[str]], sinks: Collection[str]) -> None:
    sections = node.of_kind("section")
    kinds = tuple(section.value("@className") for section in sections)
    if kinds not in NODES:
        for section, kind in zip(sections, kinds, strict=True):
            known(section, "section", kind, {part for row in NODES for part in row})
        raise node.refused(f"no node has the sections {', '.join(kinds) or '(none)'}")
    kind = NODES[kinds]
    graph.nodes[name] = Node(kind)
    if kind == "sink":
        return
    first, service, out = sections
    if kind == "source":
        _sources(graph, first, name)
    elif kind == "station":
        graph.nodes[name] = station(first, service, graph.classes)
    elif kind == "join":
        _join(graph, first)
    else:
        check_unused_queue(first, graph.classes)
    if kind == "fork":
        _forks(graph, name, out, links[name])
        return
    routes: dict[str, list[Way]] = {}
    for c, strategy in by_class(out, "RoutingStrategy", graph.classes).items():
        routes[c] = _routes(graph, name, c, strategy, links, sinks)
    if kinds[1] == "ClassSwitch":
        routes = _switched(service, routes, graph.classes)
    for c, ways in routes.items():
        graph.routes[name, c] = ways


def _sources(graph: Graph, section: Entry, name: str) -> None:
    for c, strategy in by_class(section, "ServiceStrategy", graph.classes).items():
        kind = graph.classes[c]
        arrivals = arrivals_of(strategy)
        if arrivals is not None and kind.population is not None:
            raise strategy.refused(f"class {c!r} is closed and has arrivals")
        if arrivals is not None:
            if kind.arrivals is not None:
                raise strategy.refused(f"class {c!r} arrives at {kind.reference!r} and {name!r}")
            if kind.reference not in ("", name):
                raise strategy.refused(f"class {c!r} arrives here, but its referenceSource is {kind.reference!r}")
            kind.arrivals, kind.reference = arrivals, name


def _routes(
    graph: Graph, name: str, c: str, strategy: Entry, links: dict[str, list[str]], sinks: Collection[str]
) -> list[Way]:
    kind = one_of(f"{strategy.place}: routing", kind_of(strategy), ROUTING)
    if kind == "DisabledRoutingStrategy":
        return []
    graph.choose[name, c] = ROUTING[kind]
    targets = links[name]
    if kind not in ("EmpiricalStrategy", "WeightedRoundRobinStrategy"):
        if graph.classes[c].population is not None:  # JMT never sends closed customers to a sink
            targets = [target for target in targets if target not in sinks]
        return [(target, c, 1 / len(targets)) for target in targets]
    array = strategy.of_kind("subParameter")
    if len(array) != 1:
        raise strategy.refused(f"it needs one list of stations, got {len(array)}")
    shares: dict[str, float] = {}
    for entry in array[0].of_kind("subParameter"):
        share = entry.one("subParameter probability" if kind == "EmpiricalStrategy" else "subParameter weight")
        target = known(entry, "stationName: node", value_in(entry.one("subParameter stationName")), links)
        if target in shares:
            raise entry.refused(f"station {target!r} stands twice")
        shares[target] = number_in(share)
        if shares[target] < 0:
            raise share.refused(f"it must be at least 0, got {shares[target]}")
        if shares[target] and targets and target not in targets:
            raise entry.refused(f"no connection leads from {name!r} to {target!r}")
    total = sum(shares.values())
    if not shares and len(targets) == 1:
        return [(targets[0], c, 1.0)]
    if total == 0:  # JMT writes zeros for a class that never visits the node; a visiting class gets no route
        return []
    if kind == "EmpiricalStrategy" and abs(total - 1) > DUST:
        raise strategy.refused(f"probabilities must add up to 1, got {total:g}")
    return [(target, c, share / total) for target, share in shares.items() if share > 0]


def _switched(section: Entry, routes: dict[str, list[Way]], classes: Iterable[str]) -> dict[str, list[Way]]:
    """Return the routes out of a class switch: change the class first, then follow the new class's routes."""
    changed: dict[str, list[Way]] = {}
    for c, row in by_class(section, "matrix", classes).items():
        shares = {new_class: number_in(part) for new_class, part in classed(row, classes)}
        if any(share < 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > DUST:
            raise row.refused(f"chances of class {c!r} must be at least 0 and add up to 1, got {list(shares.values())}")
        changed[c] = [(n, o, s * p) for new_class, s in shares.items() if s for n, o, p in routes.get(new_class, [])]
    return changed


def _forks(graph: Graph, name: str, section: Entry, targets: list[str]) -> None:
    """Read a fork: an equal number of tasks for every connection, or a list of branches by class."""
    entry, block = plain(section, "block", "-1")
    if math.isfinite(limit_of(entry, block)):
        raise entry.refused(f"a limit of customers between fork and join is not supported, got {block} (supported: -1)")
    entry, simple = plain(section, "isSimplifiedFork", "false")
    simplified = entry.truth(simple)
    entry, tasks = plain(section, "jobsPerLink", "1")
    tasks_per_link = entry.whole(tasks)
    if tasks_per_link < 1:
        raise entry.refused(f"it must be at least 1, got {tasks_per_link}")
    linked = dict.fromkeys(targets, tasks_per_link)
    by_class_tasks = []
    for c, strategy in by_class(section, "ForkStrategy", graph.classes).items():
        one_of(f"{strategy.place}: fork", kind_of(strategy), ("ProbabilitiesFork",))
        branches = _branches(strategy, targets)
        sent = linked if simplified else branches
        graph.routes[name, c] = [(target, c, 1.0) for target in sent]
        by_class_tasks.append(sent)
        if sent != by_class_tasks[0]:
            raise strategy.refused("classes that are split in different ways are not supported")
    graph.nodes[name].tasks = by_class_tasks[0] if by_class_tasks else linked
    if simplified and parameter(section, "ForkStrategy") is None:
        for c in graph.classes:
            graph.routes[name, c] = [(target, c, 1.0) for target in targets]


def _branches(strategy: Entry, targets: list[str]) -> dict[str, int]:
    """Return the number of tasks of each branch, by station."""
    branches: dict[str, int] = {}
    for array in strategy.of_kind("subParameter"):
        for path in array.of_kind("subParameter"):
            unit = path.one("subParameter outUnitProbability")
            target = known(unit, "stationName: node", value_in(unit.one("subParameter stationName")), targets)
            chance = number_in(unit.one("subParameter probability"))
            if chance != 1:
                raise unit.refused(f"a branch that is taken by chance is not supported, got {chance:g} (supported: 1)")
            numbers = path.one("subParameter JobsPerLinkDis").of_kind("subParameter")
            if len(numbers) != 1 or number_in(numbers[0].one("subParameter probability")) != 1:
                raise unit.refused("a number of tasks that differs by chance is not supported (supported: one number)")
            if target in branches:
                raise unit.refused(f"station {target!r} stands twice")
            branches[target] = whole_in(numbers[0].one("subParameter numbers"))
            if branches[target] < 1:
                raise unit.refused(f"a branch needs at least one task, got {branches[target]}")
    return branches


def _join(graph: Graph, section: Entry) -> None:
    for _, strategy in by_class(section, "JoinStrategy", graph.classes).items():
        one_of(f"{strategy.place}: join", kind_of(strategy), ("NormalJoin",))
        for required in strategy.of_kind("subParameter"):
            if required.key != "subParameter numRequired" or math.isfinite(limit_of(required, value_in(required))):
                raise required.refused("a join that does not wait for all tasks is not supported (supported: -1)")


def _joins(graph: Graph, entries: dict[str, Entry]) -> None:
    """Set for each fork the join to which its branches lead."""
    for name, node in graph.nodes.items():
        if node.kind != "fork":
            continue
        branch_targets = {
            target
            for (start, c), ways in graph.routes.items()
            if start == name
            for branch, _, _ in ways
            for target, _, _ in graph.routes.get((branch, c), [])
        }
        joins = [target for target in branch_targets if graph.nodes[target].kind == "join"]
        if len(joins) != 1:
            raise entries[name].refused("a fork whose branches are not single stations before one join")
        node.join = joins[0]
