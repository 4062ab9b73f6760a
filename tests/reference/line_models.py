"""Models of LINE (line-solver 3, its JSON form) as networks; raises InputError that names what a network cannot say."""

from npexplore.errors import InputError
from npexplore.networks.graph import Graph, Kind, Node

DISCIPLINES = {
    "FCFS": "fifo", "PS": "ps", "DPS": "ps", "INF": "delay", "HOL": "priority", "FCFSPRIO": "priority",
    "FCFSPRPRIO": "preemptive", "LCFS": "last", "LCFSPR": "last_preempts", "SIRO": "random", "EXT": "fifo",
    "POLLING": "polling",
}  # fmt: skip
CHOICES = {"RAND": "chance", "PROB": "chance", "RROBIN": "in_turn", "WRROBIN": "in_turn", "JSQ": "shortest"}


def time_of(said, place):
    """The distribution of a LINE record; None where no time passes."""
    kind, values = said["type"], said.get("params", {})
    match kind:
        case "Immediate":
            return None
        case "Exp":
            return {"distribution": "exponential", "mean": 1 / values["lambda"]}
        case "Det":
            return {"distribution": "deterministic", "mean": values["value"]} if values["value"] else None
        case "Erlang":
            return {"distribution": "erlang", "mean": values["k"] / values["lambda"], "stages": values["k"]}
        case "HyperExp":
            p, rates = values["p"], values["lambda"]
            p = [p, 1 - p] if isinstance(p, float) else p
            if len(rates) == 2:
                return {"distribution": "hyperexponential", "means": [1 / r for r in rates], "probability": p[0]}
            rows = [[-r if i == j else 0.0 for j in range(len(rates))] for i, r in enumerate(rates)]
            return {"distribution": "phase_type", "first": p, "rates": rows}
        case "Gamma":
            return {"distribution": "gamma", "mean": values["alpha"] * values["beta"], "shape": values["alpha"]}
        case "Uniform":
            return {"distribution": "uniform", "low": float(values["a"]), "high": float(values["b"])}
        case "Pareto":
            return {"distribution": "pareto", "minimum": values["scale"], "shape": values["alpha"]}
        case "Weibull":
            return {"distribution": "weibull", "scale": values["alpha"], "shape": values["beta"]}
        case "Coxian":
            means, ends = [1 / r for r in values["mu"]], values["phi"]
            return {"distribution": "coxian", "means": means, "go_on": [1 - end for end in ends[: len(means) - 1]]}
        case "PH" | "APH":
            first = said["ph"]["alpha"]
            first = first[0] if isinstance(first[0], list) else first
            return {"distribution": "phase_type", "first": first, "rates": said["ph"]["T"]}
    raise InputError(f"{place}: a distribution {kind}")


def arrivals_of(said, place):
    """The arrivals of a LINE record."""
    if said["type"] == "Exp":
        return {"process": "poisson", "rate": float(said["params"]["lambda"])}
    if said["type"] == "MAP":
        return {"process": "markovian", "quiet": said["map"]["D0"], "arrive": said["map"]["D1"]}
    if said["type"] == "MMPP2":
        a, b, up, down = (said["params"][key] for key in ("lambda0", "lambda1", "sigma0", "sigma1"))
        return {
            "process": "markovian", "quiet": [[-a - up, up], [down, -b - down]], "arrive": [[a, 0.0], [0.0, b]],
        }  # fmt: skip
    return {"process": "renewal", "interval": time_of(said, place)}


KNOWN = {
    "name", "type", "scheduling", "service", "servers", "buffer", "classCap", "dropRule", "schedParams", "forkNode",
    "numItems", "itemLevelCap", "replacementStrategy", "hitClass", "missClass", "popularity", "admissionProb",
    "initialState", "loadDependence", "pollingType", "pollingPar", "switchoverTimes",
}  # fmt: skip
NODES = {"Source": "source", "Sink": "sink", "Router": "pass", "ClassSwitch": "pass", "Fork": "fork", "Join": "join"}


def node_of(said, classes, outward):
    """A node of the graph."""
    name, kind = said["name"], said["type"]
    for key in set(said) - KNOWN:
        raise InputError(f"{name}: {kind} with {key}")
    if kind in NODES:
        return Node(NODES[kind])
    if kind == "Cache":
        if len(said["itemLevelCap"]) != 1:
            raise InputError(f"{name}: a cache of several levels")
        policies = {"LRU": "lru", "FIFO": "fifo", "RR": "random"}
        if said["replacementStrategy"] not in policies:
            raise InputError(f"{name}: a cache that replaces by {said['replacementStrategy']}")
        popular, *more = said["popularity"].values()
        if more:
            raise InputError(f"{name}: popularities by class")
        if popular["type"] == "Zipf":
            shares = float(popular["params"]["s"])
        else:
            shares = popular["params"]["p"]
        cache = {
            "items": said["numItems"], "places": said["itemLevelCap"][0], "popularity": shares,
            "replace": policies[said["replacementStrategy"]],
        }  # fmt: skip
        return Node("cache", cache=cache, hit=said["hitClass"], miss=said["missClass"])
    if kind not in ("Queue", "Delay"):
        raise InputError(f"{name}: a node {kind}")
    how = said.get("scheduling", "FCFS")
    if how not in DISCIPLINES:
        raise InputError(f"{name}: scheduling {how}")
    station = {"discipline": DISCIPLINES[how]}
    if how != "INF":
        station["servers"] = said.get("servers", 1)
    if how == "POLLING":
        visits = {"EXHAUSTIVE": "exhaustive", "GATED": "gated", "KLIMITED": "limited"}
        station |= {"visits": visits[said["pollingType"]], "most_a_visit": said.get("pollingPar", 1)}
        ways = {one["from"]: time_of(one["distribution"], name) for one in said.get("switchoverTimes", ())}
        station["switch_over"] = {c: time for c, time in ways.items() if time is not None}
    elif "switchoverTimes" in said:
        raise InputError(f"{name}: switch-over times without polling")
    if how == "DPS":
        station["weights"] = {c: w for c, w in said["schedParams"].items() if w}
    if "loadDependence" in said:
        rates = said["loadDependence"]
        rates = rates.get("scaling", rates.get("alpha")) if isinstance(rates, dict) else rates
        station |= {"rates": [float(rate) for rate in rates], "servers": 1}
    service = {c: time_of(t, f"{name}, {c}") for c, t in said.get("service", {}).items() if t["type"] != "Disabled"}
    if "buffer" in said and how != "INF":
        rules = {said.get("dropRule", {}).get(c, "drop") for c in service} | outward
        station["capacity"] = said["buffer"]
        station["when_full"] = "block" if "blockingAfterService" in rules else "drop"
        if rules & {"waitingQueue"} and "blockingAfterService" not in rules:
            raise InputError(f"{name}: a buffer before which customers wait")
    return Node("station", station, service)


def graph_of(model):
    """The graph of a LINE model."""
    if model.get("type") != "Network":
        raise InputError(f"{model.get('name')}: a model {model.get('type')}")
    graph = Graph(str(model["name"]))
    for key in set(model) - {
        "type",
        "name",
        "nodes",
        "classes",
        "routing",
        "routingStrategies",
        "finiteCapacityRegions",
    }:
        raise InputError(f"{graph.name}: a model with {key}")
    classes = [one["name"] for one in model["classes"]]
    outward = {
        rule for node in model["nodes"] for rule in node.get("dropRule", {}).values() if rule == "blockingAfterService"
    }
    for said in model["nodes"]:
        graph.nodes[said["name"]] = node_of(said, classes, outward)
    for said in model["nodes"]:
        if said["type"] == "Join":
            graph.nodes[said["forkNode"]].join = said["name"]
    sources = [said for said in model["nodes"] if said["type"] == "Source"]
    for one in model["classes"]:
        kind = Kind(priority=one.get("priority", 0))
        for key in set(one) - {"name", "type", "population", "refNode", "priority", "completes"}:
            raise InputError(f"{graph.name}: class {one['name']!r} with {key}")
        if one["type"] == "Closed":
            kind.population, kind.reference = one["population"], one["refNode"]
        else:
            for source in sources:
                said = source["service"].get(one["name"], {"type": "Disabled"})
                if said["type"] != "Disabled":
                    kind.arrivals = arrivals_of(said, f"{source['name']}, {one['name']}")
                    kind.reference = source["name"]
        graph.classes[one["name"]] = kind
    for pair, rows in model["routing"]["matrix"].items():
        a, b = pair.split(",")
        for start, row in rows.items():
            for target, chance in row.items():
                graph.routes.setdefault((start, a), []).append((target, b, float(chance)))
    for node, by_class in model.get("routingStrategies", {}).items():
        for c, how in by_class.items():
            if how in ("DISABLED", "Disabled") or not graph.routes.get((node, c)):
                continue
            if how not in CHOICES:
                raise InputError(f"{node}: routing by {how}")
            graph.choose[node, c] = CHOICES[how]
    for region in model.get("finiteCapacityRegions", []):
        unlike = set(region.get("classMaxJobs", {}).values()) - {region.get("globalMaxJobs")}
        if (
            unlike
            or "globalMaxJobs" not in region
            or set(region) - {"name", "stations", "globalMaxJobs", "classMaxJobs", "dropRule"}
        ):
            raise InputError(f"region {region['name']!r}: limits by class")
        rules = set(region.get("dropRule", {}).values())
        if len(rules) > 1:
            raise InputError(f"region {region['name']!r}: rules by class")
        graph.regions[region["name"]] = {
            "stations": [one["node"] for one in region["stations"]], "capacity": int(region["globalMaxJobs"]),
            "when_full": "drop" if rules == {"drop"} else "wait",
        }  # fmt: skip
    return graph
