"""Turns a network of another tool, a graph of nodes, into stations and routes; refuses features without an equivalent.

In the graph, a closed customer cycles for ever and its reference station counts its passes; sources, sinks, routers and
class switches are nodes. A network file has passes from `in` to `out`: a pass ends, and the next one begins, where a
customer enters its reference station. Nodes that take no time are removed and their routes joined.
"""

from dataclasses import dataclass, field
from typing import Any

from npexplore.errors import InputError
from npexplore.networks.checks import checked_network
from npexplore.networks.records import AS, HIT, IN, MISS, OUT, Network

Way = tuple[str, str, float]  # node, class there, probability
LONGEST_WAY = 50  # largest number of successive nodes that take no time


@dataclass
class Node:
    """A node: a station, or one that takes no time ('source', 'sink', 'pass', 'fork', 'join', 'cache')."""

    kind: str
    station: dict[str, Any] = field(default_factory=dict)  # as in a network file
    service: dict[str, dict[str, Any] | None] = field(default_factory=dict)  # None: no time
    cache: dict[str, Any] = field(default_factory=dict)
    hit: dict[str, str] = field(default_factory=dict)  # class after a hit, by class
    miss: dict[str, str] = field(default_factory=dict)
    join: str = ""  # of a fork
    tasks: dict[str, int] = field(default_factory=dict)  # of a fork: number of tasks for a station (default 1)


@dataclass
class Kind:
    """A class of customers: closed, with a population and a reference node; or open, with arrivals and a source."""

    population: int | None = None
    reference: str = ""
    arrivals: dict[str, Any] | None = None
    priority: int = 0


@dataclass
class Graph:
    """Nodes, classes, and the routes of each class from each node."""

    name: str
    nodes: dict[str, Node] = field(default_factory=dict)
    classes: dict[str, Kind] = field(default_factory=dict)
    routes: dict[tuple[str, str], list[Way]] = field(default_factory=dict)
    choose: dict[tuple[str, str], str] = field(default_factory=dict)
    regions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def network(self) -> Network:
        """Return the network; raises InputError naming features that a network file cannot express."""
        reached = self._reached()
        stations = {name: node.station for name, node in self.nodes.items() if node.kind == "station"}
        used = {name for name, _ in reached}
        document: dict[str, Any] = {
            "name": self.name or "network",
            "station": {_plain(n): s for n, s in stations.items() if n in used},
            "fork": {},
            "cache": {_plain(n): node.cache for n, node in self.nodes.items() if node.kind == "cache" and n in used},
            "region": {
                _plain(name): region | {"stations": [_plain(s) for s in region["stations"]]}
                for name, region in self.regions.items()
            },
            "class": {},
        }
        for name, node in self.nodes.items():
            if node.kind == "fork" and name in used:
                fork_stations = [_plain(s) for s in self._branches(name) for _ in range(node.tasks.get(s, 1))]
                document["fork"][_plain(name)] = {"stations": fork_stations}
        for c, kind in self.classes.items():
            class_fields = self._class(c, kind, reached)
            if class_fields is not None:
                document["class"][_plain(c)] = class_fields
        for station in document["station"].values():
            for key in {"weights", "switch_over"} & set(station):
                station[key] = {_plain(c): w for c, w in station[key].items() if _plain(c) in document["class"]}
        return checked_network(document)

    def _serves(self, name: str, c: str) -> bool:
        """Return whether a node is a station where class c has a service time."""
        return self.nodes[name].kind == "station" and self.nodes[name].service.get(c) is not None

    def _starts(self, c: str) -> list[Way]:
        """Return the first nodes of passes of a class: behind its source, or its reference station or behind that."""
        kind = self.classes[c]
        if not (kind.arrivals if kind.population is None else kind.reference in self.nodes):
            return []
        return [(kind.reference, c, 1.0)] if self._serves(kind.reference, c) else self._ways(kind.reference, c)

    def _ways(self, name: str, c: str, depth: int = 0) -> list[Way]:
        """Return the next nodes after a node where a customer takes time, requests an item, forks or ends its pass."""
        probabilities: dict[tuple[str, str], float] = {}
        if depth > LONGEST_WAY:
            raise InputError(f"class {c!r} goes round {name!r} without any time passing")
        for node, next_class, chance in self.routes.get((name, c), []):
            if chance <= 0:
                continue
            ends_pass = self._is_end(node, next_class)
            if ends_pass:
                ways = [(OUT, next_class, 1.0)]
            elif self._takes_time(node, next_class):
                ways = [(node, next_class, 1.0)]
            else:
                ways = self._ways(node, next_class, depth + 1)
            for target, later_class, share in ways:
                probabilities[target, later_class] = probabilities.get((target, later_class), 0.0) + chance * share
        return [(node, next_class, share) for (node, next_class), share in probabilities.items()]

    def _is_end(self, node: str, c: str) -> bool:
        kind = self.classes[c]
        closes = kind.population is not None and kind.reference == node
        return self.nodes[node].kind == "sink" or closes

    def _takes_time(self, name: str, c: str) -> bool:
        node = self.nodes[name]
        if node.kind == "station":
            if c not in node.service:
                raise InputError(f"class {c!r} comes to {name!r}, where it has no service time")
            return node.service[c] is not None
        return node.kind in ("fork", "cache")

    def _reached(self) -> set[tuple[str, str]]:
        """Return all (node, class) at which customers take time, fork or request an item."""
        todo = []
        for c, kind in self.classes.items():
            if kind.population or kind.arrivals:
                todo += [(node, later_class) for node, later_class, _ in self._starts(c)]
        reached: set[tuple[str, str]] = set()
        while todo:
            node, c = todo.pop()
            if (node, c) in reached:
                continue
            if node == OUT:
                if self.classes[c].population is not None:
                    reached.add((node, c))
                    todo += [(next_node, next_class) for next_node, next_class, _ in self._starts(c)]
                continue
            reached.add((node, c))
            for start, later_class in self._onward(node, c):
                todo += [(next_node, next_class) for next_node, next_class, _ in self._ways(start, later_class)]
            if self.nodes[node].kind == "fork":
                reached |= {(branch, c) for branch in self._branches(node)}
        return reached

    def _onward(self, name: str, c: str) -> list[tuple[str, str]]:
        node = self.nodes[name]
        if node.kind == "cache":
            if c not in node.hit or c not in node.miss:
                raise InputError(f"class {c!r} comes to cache {name!r} without a class for hits and misses")
            return [(name, node.hit[c]), (name, node.miss[c])]
        return [(node.join, c)] if node.kind == "fork" else [(name, c)]

    def _branches(self, name: str) -> list[str]:
        """Return the stations of a fork's branches, each visited once before the join."""
        fork, branches = self.nodes[name], []
        for c in self.classes:
            for node, next_class, _ in self.routes.get((name, c), []):
                onward = self.routes.get((node, next_class), [])
                single = len(onward) == 1 and onward[0][0] == fork.join and onward[0][1] == c == next_class
                if self.nodes[node].kind != "station" or not single:
                    raise InputError(f"fork {name!r}: a branch must be one station, {node!r} goes on elsewhere")
                if self.nodes[node].service.get(c) is None:
                    raise InputError(f"fork {name!r}: {node!r} has no service time for class {c!r}")
                if node not in branches:
                    branches.append(node)
        if sum(fork.tasks.get(branch, 1) for branch in branches) < 2:
            raise InputError(f"fork {name!r}: it needs two branches or more, got {len(branches)}")
        return branches

    def _class(self, c: str, kind: Kind, reached: set[tuple[str, str]]) -> dict[str, Any] | None:
        nodes_visited = [name for name, other in reached if other == c and name != OUT]
        if not nodes_visited and not kind.population and not kind.arrivals:
            return None
        fields: dict[str, Any] = {"priority": kind.priority, "service": {}, "route": {}, "choose": {}}
        if kind.population:
            fields["population"] = kind.population
        if kind.arrivals:
            fields["arrivals"] = kind.arrivals
        has_passes = bool(kind.population or kind.arrivals) or (OUT, c) in reached
        if has_passes and (starts := self._starts(c)):
            fields["route"][IN] = self._texts(starts, c)
            if not self._serves(kind.reference, c):
                self._choice(fields, IN, kind.reference, c)
        branch_stations = {s for name in nodes_visited if self.nodes[name].kind == "fork" for s in self._branches(name)}
        for name in sorted(nodes_visited, key=list(self.nodes).index):
            node = self.nodes[name]
            if node.kind == "station":
                fields["service"][_plain(name)] = node.service[c]
                if name in branch_stations:
                    continue
            if node.kind == "cache":
                for end, other in ((HIT, node.hit[c]), (MISS, node.miss[c])):
                    fields["route"][f"{_plain(name)}{end}"] = self._texts(self._ways(name, other), c)
            else:
                start = node.join if node.kind == "fork" else name
                fields["route"][_plain(name)] = self._texts(self._ways(start, c), c)
                self._choice(fields, _plain(name), start, c)
        return fields

    def _choice(self, fields: dict[str, Any], start: str, name: str, c: str) -> None:
        """Set how the next target is chosen: at the node itself, or at a router to which all its routes lead."""
        router, choice = (name, c), self.choose.get((name, c))
        users = 1
        while choice is None or choice == "chance":
            ways = self.routes.get(router, [])
            if len(ways) != 1 or self.nodes[ways[0][0]].kind != "pass":
                break
            router = ways[0][0], ways[0][1]
            choice = self.choose.get(router)
            users = sum(any((node, other) == router for node, other, _ in ways) for ways in self.routes.values())
        later_routers = [
            node
            for node, _, _ in self.routes.get(router, [])
            if self.nodes[node].kind == "pass" and self.choose.get((node, c))
        ]
        if choice in (None, "chance"):
            if later_routers and any(self.choose[node, c] != "chance" for node in later_routers):
                raise InputError(f"router {later_routers[0]!r} is reached by chance and does not choose by it")
            return
        if choice == "in_turn" and users > 1:
            raise InputError(f"router {router[0]!r}: turns that several stations share")
        if len(fields["route"][start]) > 1:
            fields["choose"][start] = choice

    def _texts(self, ways: list[Way], c: str) -> dict[str, float]:
        if not ways:
            raise InputError(f"class {c!r} has a place that no route leads on from")
        total = sum(share for _, _, share in ways)
        if abs(total - 1) > 1e-6:
            raise InputError(f"class {c!r}: probabilities must add up to 1, got {total:.9g}")
        probabilities: dict[str, float] = {}
        for node, next_class, share in ways:
            target = node if node == OUT else _plain(node)
            text = (
                target
                if next_class == c or (node == OUT and self.classes[next_class].population is None)
                else (f"{target}{AS}{_plain(next_class)}")
            )
            probabilities[text] = probabilities.get(text, 0.0) + share / total
        return probabilities


def _plain(name: str) -> str:
    """Return a name in a form that routes can use."""
    plain = name.strip()
    return plain.replace(AS, "_as_") if plain not in (IN, OUT) else f"{plain}_"
