"""Texts of JMT's Petri nets for tests: places, transitions with modes, and the files of nets."""

from reference.jmt_files import by_class, exponential, file, links, node, plain, section, strategy, value


def place(name, classes, **of_storage):
    rows = by_class("capacities", {c: value(of_storage.get("capacity", -1)) for c in classes})
    rules = by_class("dropRules", {c: value("drop") for c in classes})
    puts = by_class("putStrategies", {c: strategy("TailStrategy") for c in classes})
    get = '<parameter classPath="x.FCFSstrategy" name="getStrategy"/>'
    inside = plain("totalCapacity", of_storage.get("total", -1)) + rows + rules + get + puts
    return node(name, section("Storage", inside), section("ServiceTunnel"), section("Linkage"))


def vectors(kind, name, classes, modes):
    """Return conditions or outcomes: one dict {place: {class: tokens}} a mode."""
    found = ""
    for mode in modes:
        inside = ""
        for station, row in mode.items():
            rows = "".join(f"<refClass>{c}</refClass>{value(row.get(c, 0), 'e')}" for c in classes)
            inside += (
                f'<subParameter classPath="x" name="{kind}Vector">{value(station, "stationName")}'
                f'<subParameter array="true" classPath="x" name="{kind}Entries">{rows}</subParameter></subParameter>'
            )
        found += (
            f'<subParameter classPath="x" name="c"><subParameter array="true" classPath="x" name="{kind}Vectors">'
            f"{inside}</subParameter></subParameter>"
        )
    return f'<parameter array="true" classPath="x" name="{name}">{found}</parameter>'


def array(name, rows):
    return f'<parameter array="true" classPath="x" name="{name}">{"".join(rows)}</parameter>'


AT_ONCE = strategy("ZeroServiceTimeStrategy")


def transition(name, classes, *modes):
    """Return a transition; a mode: take, give, and perhaps inhibit, time, servers, priority, weight."""
    return node(
        name,
        section(
            "Enabling",
            vectors("enabling", "enablingConditions", classes, [mode["take"] for mode in modes])
            + vectors("inhibiting", "inhibitingConditions", classes, [mode.get("inhibit", {}) for mode in modes]),
        ),
        section(
            "Timing",
            array("modeNames", [value(f"Mode{k + 1}") for k in range(len(modes))])
            + array("numbersOfServers", [value(mode.get("servers", -1)) for mode in modes])
            + array("timingStrategies", [mode.get("time", AT_ONCE) for mode in modes])
            + array("firingPriorities", [value(mode.get("priority", -1)) for mode in modes])
            + array("firingWeights", [value(mode.get("weight", 1.0)) for mode in modes]),
        ),
        section("Firing", vectors("firing", "firingOutcomes", classes, [mode["give"] for mode in modes])),
    )


def preload(**tokens):
    stations = "".join(
        f'<stationPopulations stationName="{name}"><classPopulation refClass="{c}" population="{n}"/>'
        "</stationPopulations>"
        for name, (c, n) in tokens.items()
    )
    return f"<preload>{stations}</preload>"


TOKENS = '<userClass name="{}" priority="0" type="closed" customers="{}" referenceSource="{}"/>'


def coloured():
    """Return the net of JMT's example simple_cpn: three modes of a transition over two classes in one place."""
    modes = (
        {"take": {"P": {"A": 5}}, "give": {"P": {"B": 5}}, "time": exponential(1.0), "servers": 4},
        {"take": {"P": {"A": 2}}, "give": {"P": {"B": 2}}, "time": exponential(1.0), "servers": 6},
        {"take": {"P": {"B": 1}}, "give": {"P": {"A": 1}}, "time": exponential(2.0), "servers": -1},
    )
    return file(
        TOKENS.format("A", 30, "P"), TOKENS.format("B", 0, "P"), place("P", "AB"), transition("T", "AB", *modes),
        links(("P", "T"), ("T", "P")), preload(P=("A", 30)),
    )  # fmt: skip


def choice(*, limit=-1, more="", weights=(1.0, 3.0), first=0, inhibit=0, customers=1):
    """Return a net that goes from `a` in 1 s to `b` and in no time back, by one of two transitions."""
    back = [
        {"take": {"b": {"A": 1}}, "give": {"a": {"A": 1}}, "priority": rank, "weight": weight, "servers": 1}
        for rank, weight in ((first, weights[0]), (0, weights[1]))
    ]
    back[0]["inhibit"] = {"b": {"A": inhibit}}
    return file(
        TOKENS.format("A", customers, "a"), place("a", "A", capacity=limit), place("b", "A"),
        transition("go", "A", {"take": {"a": {"A": 1}}, "give": {"b": {"A": 1}}, "time": exponential(1.0)}),
        transition("one", "A", back[0]), transition("two", "A", back[1]), more,
        links(("a", "go"), ("go", "b"), ("b", "one"), ("b", "two"), ("one", "a"), ("two", "a")),
    )  # fmt: skip
