"""JMT's finite capacity regions: limits of customers and of memory, of all, of a class or of a group of classes.

A class counts with its weight toward limits of customers and with its size toward limits of memory. A limit that can
never be met is dropped; the others must be of all classes that come, with one weight, to be a region of a network file.
"""

import math
from collections.abc import Iterator

from npexplore.networks.graph import Graph
from npexplore.networks.jmt_file import known, limit_of
from npexplore.strict_input import Entry

Limit = tuple[Entry, list[str], dict[str, float], float]  # where it stands, its classes, what each counts, the limit


def region(graph: Graph, entry: Entry) -> None:
    """Add a region to a graph; raises InputError for limits that a network file cannot say."""
    name = entry.value("@name", "region")
    if name in graph.regions:
        raise entry.refused("there are two regions of this name")
    stations, every = [], [name for name, one in graph.nodes.items() if one.kind == "station"]
    for node in entry.every("regionNode"):
        node.content()
        station = node.value("@nodeName")
        stations.append(known(node, "nodeName: station", station, every))
    drops = dict(_of_classes(graph, entry, "dropRules", "@dropThisClass"))
    there = [c for c in graph.classes if any(c in graph.nodes[station].service for station in stations)]
    limits = [limit for limit in _limits(graph, entry) if _can_bind(graph, limit, there)]
    if not limits:
        return
    capacities = []
    for place, classes, counts, most in limits:
        here = {counts[c] for c in there}
        if not set(there) <= set(classes) or len(here) > 1:
            raise place.refused(
                "a limit of some of the classes, or one toward which they count differently, is not supported"
            )
        capacities.append(math.floor(most / here.pop() + 1e-9))
    rules = {entry.truth(drops.get(c, (entry, "false"))[1]) for c in there}
    if len(rules) > 1:
        raise entry.refused("some classes are dropped, others wait: not supported")
    graph.regions[name] = {
        "stations": stations, "capacity": min(capacities), "when_full": "drop" if rules == {True} else "wait",
    }  # fmt: skip


def _of_classes(
    graph: Graph, entry: Entry, tag: str, attribute: str, key: str = "@jobClass"
) -> Iterator[tuple[str, tuple[Entry, str]]]:
    """Yield (class, (element, value)) of elements by class."""
    done = set()
    for one in entry.every(tag):
        c = one.value(key)
        if key == "@jobClass":
            known(one, "jobClass", c, graph.classes)
        if c in done:
            raise one.refused(f"{c!r} stands twice")
        done.add(c)
        yield c, (one, one.value(attribute))


def _limits(graph: Graph, entry: Entry) -> list[Limit]:
    """Return every limit of a region that is one (-1: none)."""
    everyone = list(graph.classes)
    weights = {c: one.number(text) for c, (one, text) in _of_classes(graph, entry, "classWeight", "@weight")}
    sizes = {c: one.number(text) for c, (one, text) in _of_classes(graph, entry, "classSize", "@size")}
    jobs = dict.fromkeys(everyone, 1.0) | weights
    memory = dict.fromkeys(everyone, 1.0) | sizes
    for counts, tag in ((weights, "classWeight"), (sizes, "classSize")):
        for c, count in counts.items():
            if not 0 < count < math.inf:
                raise entry.refused(f"{tag} of class {c!r} must be finite and greater than 0, got {count:g}")
    groups: dict[str, list[str]] = {}
    for listed in entry.every("groupClassList"):
        for one in listed.every("groupClass"):
            c = known(one, "jobClass", one.value("@jobClass"), graph.classes)
            groups.setdefault(one.value("@jobGroup"), []).append(c)
    limits: list[Limit] = []
    for kind, most, counts in (("Constraint", "@maxJobs", jobs), ("MemoryConstraint", "@maxMemory", memory)):
        if (limit := entry.optional(f"global{kind}")) is not None:
            limits.append((limit, everyone, counts, limit_of(limit, limit.value(most))))
        for c, (one, text) in _of_classes(graph, entry, f"class{kind}", f"{most}PerClass"):
            limits.append((one, [c], counts, limit_of(one, text)))
        for group, (one, text) in _of_classes(graph, entry, f"group{kind}", f"{most}PerGroup", "@jobGroup"):
            limits.append((one, groups[known(one, "jobGroup", group, groups)], counts, limit_of(one, text)))
    return [limit for limit in limits if math.isfinite(limit[3])]


def _can_bind(graph: Graph, limit: Limit, there: list[str]) -> bool:
    """Whether so many customers of the limited classes can come that the limit is met."""
    _, classes, counts, most = limit
    here = [c for c in classes if c in there]
    if any(graph.classes[c].population is None for c in here):
        return bool(here)
    everyone = sum(kind.population or 0 for kind in graph.classes.values())
    return max((counts[c] for c in here), default=0.0) * everyone > most
