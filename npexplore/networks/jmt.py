"""Models of Java Modelling Tools (JMT) as networks: .jsimg (JSIMgraph) and .jmva (mean value analysis).

Bertoli, Casale and Serazzi, ACM SIGMETRICS Performance Evaluation Review 36 (4), 2009. What a network file cannot say
is an InputError with the node and JMT's name for it. Larger priorities go first there; a station's size counts who is
served.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from npexplore.errors import InputError
from npexplore.networks.checks import check_network
from npexplore.networks.graph import Graph, Kind, Node
from npexplore.networks.jmt_times import arrivals_of, service_of, values_of
from npexplore.networks.records import IN, OUT, Network
from npexplore.toml import typed

Element = ElementTree.Element

PUT = {
    "TailStrategy": "fifo", "HeadStrategy": "last", "RandStrategy": "random", "TailStrategyPriority": "priority",
    "LCFSPRStrategy": "last_preempts", "FCFSPRStrategyPriority": "preemptive",
}  # fmt: skip
ROUTING = {
    "EmpiricalStrategy": "chance", "RandomStrategy": "chance", "RoundRobinStrategy": "in_turn",
    "WeightedRoundRobinStrategy": "in_turn", "ShortestQueueLengthRoutingStrategy": "shortest",
}  # fmt: skip
PASSING = {"ServiceTunnel", "LogTunnel", "ClassSwitch"}
VISITS = {"Exhaustive": "exhaustive", "Gated": "gated", "Limited": "limited"}
SERVING = {"Server", "PSServer", "Delay", "PreemptiveServer", *(f"{how}PollingServer" for how in VISITS)}
RULES = {"drop": "drop", "waiting queue": "wait", "BAS blocking": "block"}


def read_jsimg(path: Path) -> Network:
    """Return the network of a .jsimg (or .jsim) file; raises InputError with file, node and what cannot be said."""
    root = _root(path, "sim", "archive")
    if root.tag == "archive":
        found = root.find("sim")
        if found is None:
            raise InputError(f"{path.name}: a JMT archive without a sim element")
        root = found
    graph = Graph(path.stem)
    try:
        ranks = [int(one.get("priority", "0")) for one in root.iter("userClass")]
        for one in root.iter("userClass"):
            kind = Kind(priority=max(ranks) - int(one.get("priority", "0")))
            if one.get("type") == "closed":
                kind.population, kind.reference = int(one.get("customers", "0")), one.get("referenceSource", "")
            graph.classes[one.get("name", "")] = kind
        links: dict[str, list[str]] = {}
        for link in root.iter("connection"):
            links.setdefault(link.get("source", ""), []).append(link.get("target", ""))
        for node in root.iter("node"):
            _node(graph, node, links.get(node.get("name", ""), []))
        _joins(graph)
        for region in root.iter("blockingRegion"):
            _region(graph, region)
        return graph.network()
    except InputError as error:
        raise InputError(f"{path.name}: {str(error).removeprefix(f'{graph.name}: ')}") from None


def _root(path: Path, *tags: str) -> Element:
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ElementTree.ParseError as error:
        raise InputError(f"{path.name}: not XML: {error}") from None
    if root.tag not in tags:
        raise InputError(f"{path.name}: the outermost element must be {tags[0]!r}, got {root.tag!r}")
    return root


def _node(graph: Graph, node: Element, targets: list[str]) -> None:
    name = node.get("name", "")
    sections = {section.get("className", ""): section for section in node.iter("section")}
    names = set(sections)
    if "JobSink" in names:
        graph.nodes[name] = Node("sink")
        return
    for section in names - {"RandomSource", "Queue", "Router", "Fork", "Join"} - PASSING - SERVING:
        raise InputError(f"node {name!r}: {section}")
    if not names:
        raise InputError(f"node {name!r}: a node without sections")
    if "RandomSource" in names:
        for c, said in _by_class(sections["RandomSource"], "ServiceStrategy"):
            found = arrivals_of(said, f"node {name!r}, class {c!r}")
            if found is not None:
                graph.classes[c].arrivals, graph.classes[c].reference = found, name
        graph.nodes[name] = Node("source")
    elif "Fork" in names:
        graph.nodes[name] = Node("fork")
        _forks(graph, name, sections["Fork"])
        return
    elif "Join" in names:
        for c, said in _by_class(sections["Join"], "JoinStrategy"):
            if not _kind(said).startswith("NormalJoin"):
                raise InputError(f"node {name!r}, class {c!r}: {_kind(said)}")
        graph.nodes[name] = Node("join")
    elif serving := names & SERVING:
        graph.nodes[name] = _station(name, sections["Queue"], sections[serving.pop()])
    else:
        graph.nodes[name] = Node("pass")
    router = sections.get("Router")
    routes: dict[str, list[tuple[str, str, float]]] = {}
    for c, said in _by_class(router, "RoutingStrategy") if router is not None else []:
        routes[c] = _routes(graph, name, c, said, targets)
    if "ClassSwitch" in names:
        routes = _switched(sections["ClassSwitch"], routes)
    for c, ways in routes.items():
        graph.routes[name, c] = ways


def _by_class(section: Element, name: str) -> list[tuple[str, Element]]:
    """Return (class, sub-parameter) of a parameter by class."""
    for parameter in section.findall("parameter"):
        if parameter.get("name") == name:
            found, c = [], ""
            for part in parameter:
                if part.tag == "refClass":
                    c = (part.text or "").strip()
                elif part.tag == "subParameter":
                    found.append((c, part))
            return found
    return []


def _kind(element: Element) -> str:
    return element.get("classPath", "").rpartition(".")[2]


def _station(name: str, queue: Element, server: Element) -> Node:
    place = f"node {name!r}"
    disciplines: dict[str, str] = {}
    for c, said in _by_class(queue, "QueuePutStrategy"):
        if _kind(said) not in PUT:
            raise InputError(f"{place}, class {c!r}: {_kind(said)}")
        disciplines[c] = PUT[_kind(said)]
    for c, said in _by_class(queue, "Impatience"):
        if (said.findtext("value") or "null").strip() != "null":
            raise InputError(f"{place}, class {c!r}: impatience")
    service = {}
    for c, said in _by_class(server, "ServiceStrategy"):
        if _kind(said) != "DisabledServiceTimeStrategy":
            service[c] = service_of(said, f"{place}, class {c!r}")
    kind = server.get("className")
    if kind == "Delay":
        return Node("station", {"discipline": "delay"}, service)
    numbers = {p.get("name"): int(p.findtext("value") or 0) for p in [*server, *queue] if p.find("value") is not None}
    station: dict[str, Any] = {"servers": numbers.get("maxJobs", 1)}
    here = {disciplines[c] for c in service if c in disciplines}
    if kind == "PSServer":
        station["discipline"] = "ps"
        shares = {_kind(said) for c, said in _by_class(server, "PSStrategy") if c in service}
        if shares - {"EPSStrategy", "DPSStrategy"}:
            raise InputError(f"{place}: {(shares - {'EPSStrategy', 'DPSStrategy'}).pop()}")
        if "DPSStrategy" in shares:
            station["weights"] = {
                c: float(said.findtext("value") or 1) for c, said in _by_class(server, "serviceWeights")
            }
    elif kind and kind.endswith("PollingServer"):
        station |= _polling(place, queue, server, list(service))
    elif len(here) > 1:
        raise InputError(f"{place}: classes with different queue policies ({', '.join(sorted(here))})")
    else:
        station["discipline"] = here.pop() if here else "fifo"
    if (size := numbers.get("size", -1)) > 0:
        rules = {
            (said.findtext("value") or "drop").strip() for c, said in _by_class(queue, "dropStrategies") if c in service
        }
        if len(rules) > 1 or not rules <= {"drop", "BAS blocking"}:
            raise InputError(f"{place}: a capacity with the rule {', '.join(sorted(rules))}")
        station |= {"capacity": size, "when_full": RULES[rules.pop()] if rules else "drop"}
    return Node("station", station, service)


def _polling(place: str, queue: Element, server: Element, classes: list[str]) -> dict[str, Any]:
    """Return the keys of a polling station; JMT's switch-over times are of the class that is come to."""
    found: dict[str, Any] = {"discipline": "polling", "switch_over": {}}
    for parameter in queue.findall("parameter"):
        how = _kind(parameter).removesuffix("PollingGetStrategy")
        if how not in VISITS:
            if how != _kind(parameter):
                raise InputError(f"{place}: {_kind(parameter)}")
            continue
        found["visits"] = VISITS[how]
        if how == "Limited":
            found["most_a_visit"] = int(parameter.findtext("subParameter/value") or 1)
    for c, said in _by_class(server, "SwitchoverStrategy"):
        if c in classes:
            time = service_of(said, f"{place}, switch-over to class {c!r}")
            if time is not None:
                found["switch_over"][classes[classes.index(c) - 1]] = time
    return found


def _routes(graph: Graph, name: str, c: str, said: Element, targets: list[str]) -> list[tuple[str, str, float]]:
    kind = _kind(said)
    if kind == "DisabledRoutingStrategy":
        return []
    if kind not in ROUTING:
        raise InputError(f"node {name!r}, class {c!r}: {kind}")
    graph.choose[name, c] = ROUTING[kind]
    entries = []
    for entry in said.iter("subParameter"):
        if _kind(entry) in ("EmpiricalEntry", "WeightEntry") and not entry.get("array"):
            values = values_of(entry)
            if "stationName" in values:
                entries.append((values["stationName"], float(values.get("probability", values.get("weight", 0)))))
    if not entries:
        entries = [(target, 1.0) for target in targets]
    total = sum(chance for _, chance in entries)
    return [(target, c, chance / total) for target, chance in entries if chance > 0]


def _switched(
    section: Element, routes: dict[str, list[tuple[str, str, float]]]
) -> dict[str, list[tuple[str, str, float]]]:
    """Return the routes out of a class switch: change the class first, then go on as the new one."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    for c, row in _by_class(section, "matrix"):
        other = ""
        for part in row:
            if part.tag == "refClass":
                other = (part.text or "").strip()
                continue
            share = float(part.findtext("value") or 0)
            found.setdefault(c, []).extend((n, o, share * p) for n, o, p in routes.get(other, []) if share > 0)
    return found


def _forks(graph: Graph, name: str, section: Element) -> None:
    for c, said in _by_class(section, "ForkStrategy"):
        if _kind(said) != "ProbabilitiesFork":
            raise InputError(f"node {name!r}, class {c!r}: {_kind(said)}")
        for out in said.iter("subParameter"):
            if out.get("name") != "OutPathEntry":
                continue
            station, tasks = (values_of(part) for part in out.findall("subParameter"))
            if float(station["probability"]) != 1 or float(tasks.get("numbers", "1")) != 1:
                raise InputError(f"node {name!r}, class {c!r}: branches by chance or with several tasks")
            graph.routes.setdefault((name, c), []).append((station["stationName"], c, 1.0))


def _joins(graph: Graph) -> None:
    """Note for each fork the join that its branches lead to."""
    for name, node in graph.nodes.items():
        if node.kind != "fork":
            continue
        after = {
            target
            for (start, c), ways in graph.routes.items()
            if start == name
            for branch, _, _ in ways
            for target, _, _ in graph.routes.get((branch, c), [])
        }
        joins = [target for target in after if graph.nodes[target].kind == "join"]
        if len(joins) != 1:
            raise InputError(f"node {name!r}: a fork whose branches are not single stations before one join")
        node.join = joins[0]


def _region(graph: Graph, region: Element) -> None:
    name = region.get("name", "region")
    for tag, key in (("classConstraint", "maxJobsPerClass"), ("globalMemoryConstraint", "maxMemory")):
        if any(int(float(one.get(key, "-1"))) > 0 for one in region.iter(tag)):
            raise InputError(f"region {name!r}: {tag}")
    limit = region.find("globalConstraint")
    most = int(limit.get("maxJobs", "-1")) if limit is not None else -1
    if most < 1:
        raise InputError(f"region {name!r}: no limit of jobs")
    drops = {one.get("dropThisClass", "false") for one in region.iter("dropRules")}
    if len(drops) > 1:
        raise InputError(f"region {name!r}: some classes are dropped, others wait")
    graph.regions[name] = {
        "stations": [one.get("nodeName", "") for one in region.iter("regionNode")], "capacity": most,
        "when_full": "drop" if drops == {"true"} else "wait",
    }  # fmt: skip


def read_jmva(path: Path) -> Network:
    """Return the product-form network of a .jmva file: service times and visits, whatever the routes were.

    Stations are `ps` (any order has the same means there), or `delay`; visits come again with chance 1 - 1 / visits.
    """
    root = _root(path, "model")
    name = path.name
    classes: dict[str, dict[str, Any]] = {}
    for one in root.iter("closedclass"):
        classes[one.get("name", "")] = {"population": int(one.get("population", "0"))}
    for one in root.iter("openclass"):
        classes[one.get("name", "")] = {"arrivals": {"process": "poisson", "rate": float(one.get("rate", "0"))}}
    stations: dict[str, dict[str, Any]] = {}
    times: dict[tuple[str, str], float] = {}
    visits: dict[str, dict[str, float]] = {c: {} for c in classes}
    for tag in ("listation", "delaystation", "ldstation"):
        for one in root.iter(tag):
            station = one.get("name", "")
            stations[station] = {"discipline": "delay"} if tag == "delaystation" else {"discipline": "ps"}
            if tag == "listation":
                stations[station]["servers"] = int(one.get("servers", "1"))
            for said in one.iter("servicetime"):
                values = [float(text) for text in (said.text or "0").split(";") if text.strip()]
                times[station, said.get("customerclass", "")] = values[0]
                if tag == "ldstation":
                    rates = [values[0] / value for value in values if value]
                    if stations[station].setdefault("rates", rates) != rates:
                        raise InputError(f"{name}: station {station!r}: rates that differ between classes")
            for said in one.iter("visit"):
                visits[said.get("customerclass", "")][station] = float(said.text or "0")
    for c, customers in classes.items():
        there = {s: v for s, v in visits[c].items() if v > 0 and times.get((s, c), 0) > 0}
        if not there:
            raise InputError(f"{name}: class {c!r} visits no station")
        customers["service"] = {s: {"distribution": "exponential", "mean": times[s, c]} for s in there}
        customers["route"] = _in_a_row(there)
    network = typed({"name": path.stem, "station": stations, "class": classes}, Network)
    try:
        check_network(network)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return network


def _in_a_row(visits: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return routes with these mean visits: each station is skipped, or entered and seen again, by chance."""
    names = list(visits)

    def onward(k: int) -> dict[str, float]:
        found, left = {}, 1.0
        for name in names[k:]:
            enter = min(visits[name], 1.0)
            if enter:
                found[name] = left * enter
            left *= 1 - enter
        return found | ({OUT: left} if left > 0 else {})

    routes: dict[str, dict[str, float]] = {IN: onward(0)}
    for k, name in enumerate(names):
        again = max(1 - 1 / visits[name], 0.0)
        after = {target: chance * (1 - again) for target, chance in onward(k + 1).items()}
        routes[name] = after | ({name: again} if again else {})
    if OUT in routes[IN]:  # who would visit nothing: no pass does
        raise InputError("a class whose visits to every station are below 1")
    return routes
