"""JMT's finite capacity regions: limits of customers and of memory, of all, of a class or of a group of classes.

A customer counts with the weight of its class toward limits of customers, and with its size toward limits of memory. A
limit that cannot be reached is dropped. A network file can only express limits of all classes with equal weights.
"""

import math
from collections.abc import Iterator

from npexplore.networks.graph import Graph
from npexplore.networks.jmt_file import known, limit_of
from npexplore.strict_input import Entry

Limit = tuple[Entry, list[str], dict[str, float], float]  # element, classes, weight of each class, limit


def region(graph: Graph, entry: Entry) -> None:
    """Add a region to a graph; raises InputError for limits that a network file cannot express."""
    name = entry.value("@name", "region")
    if name in graph.regions:
        raise entry.refused("there are two regions of this name")
    stations, known_stations = [], [name for name, node in graph.nodes.items() if node.kind == "station"]
    for node in entry.every("regionNode"):
        node.content()
        station = node.value("@nodeName")
        stations.append(known(node, "nodeName: station", station, known_stations))
    drops = dict(_of_classes(graph, entry, "dropRules", "@dropThisClass"))
    visiting = [c for c in graph.classes if any(c in graph.nodes[station].service for station in stations)]
    limits = [limit for limit in _limits(graph, entry) if _can_bind(graph, limit, visiting)]
    if not limits:
        return
    capacities = []
    for place, classes, counts, limit_value in limits:
        weights = {counts[c] for c in visiting}
        if not set(visiting) <= set(classes) or len(weights) > 1:
            raise place.refused(
                "a limit of some of the classes, or one toward which they count differently, is not supported"
            )
        capacities.append(math.floor(limit_value / weights.pop() + 1e-9))
    rules = {entry.truth(drops.get(c, (entry, "false"))[1]) for c in visiting}
    if len(rules) > 1:
        raise entry.refused("some classes are dropped, others wait: not supported")
    graph.regions[name] = {
        "stations": stations, "capacity": min(capacities), "when_full": "drop" if rules == {True} else "wait",
    }  # fmt: skip


def _of_classes(
    graph: Graph, entry: Entry, tag: str, attribute: str, key: str = "@jobClass"
) -> Iterator[tuple[str, tuple[Entry, str]]]:
    """Yield (class, (element, value)) of elements that each belong to a class."""
    read_classes = set()
    for element in entry.every(tag):
        c = element.value(key)
        if key == "@jobClass":
            known(element, "jobClass", c, graph.classes)
        if c in read_classes:
            raise element.refused(f"{c!r} stands twice")
        read_classes.add(c)
        yield c, (element, element.value(attribute))


def _limits(graph: Graph, entry: Entry) -> list[Limit]:
    """Return the finite limits of a region (-1 is no limit)."""
    all_classes = list(graph.classes)
    weights = {c: element.number(text) for c, (element, text) in _of_classes(graph, entry, "classWeight", "@weight")}
    sizes = {c: element.number(text) for c, (element, text) in _of_classes(graph, entry, "classSize", "@size")}
    jobs = dict.fromkeys(all_classes, 1.0) | weights
    memory = dict.fromkeys(all_classes, 1.0) | sizes
    for counts, tag in ((weights, "classWeight"), (sizes, "classSize")):
        for c, count in counts.items():
            if not 0 < count < math.inf:
                raise entry.refused(f"{tag} of class {c!r} must be finite and greater than 0, got {count:g}")
    groups: dict[str, list[str]] = {}
    for group_list in entry.every("groupClassList"):
        for element in group_list.every("groupClass"):
            c = known(element, "jobClass", element.value("@jobClass"), graph.classes)
            groups.setdefault(element.value("@jobGroup"), []).append(c)
    limits: list[Limit] = []
    for kind, attribute, counts in (("Constraint", "@maxJobs", jobs), ("MemoryConstraint", "@maxMemory", memory)):
        if (limit := entry.optional(f"global{kind}")) is not None:
            limits.append((limit, all_classes, counts, limit_of(limit, limit.value(attribute))))
        for c, (element, text) in _of_classes(graph, entry, f"class{kind}", f"{attribute}PerClass"):
            limits.append((element, [c], counts, limit_of(element, text)))
        for group, (element, text) in _of_classes(graph, entry, f"group{kind}", f"{attribute}PerGroup", "@jobGroup"):
            limits.append((element, groups[known(element, "jobGroup", group, groups)], counts, limit_of(element, text)))
    return [limit for limit in limits if math.isfinite(limit[3])]


def _can_bind(graph: Graph, limit: Limit, visiting: list[str]) -> bool:
    """Return whether so many customers of the limited classes can be present that they reach the limit."""
    _, classes, counts, limit_value = limit
    present = [c for c in classes if c in visiting]
    if any(graph.classes[c].population is None for c in present):
        return bool(present)
    population = sum(kind.population or 0 for kind in graph.classes.values())
    return max((counts[c] for c in present), default=0.0) * population > limit_value
