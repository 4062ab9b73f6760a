"""Texts of JMT's files for tests: nodes from sections, strategies by class, and a file with every readable element."""

ENGINE = "jmt.engine."


def time(kind, **values):
    inside = "".join(
        f'<subParameter classPath="Double" name="{k}"><value>{v}</value></subParameter>' for k, v in values.items()
    )
    return f"""<subParameter classPath="{ENGINE}NetStrategies.ServiceStrategies.ServiceTimeStrategy" name="s">
        <subParameter classPath="{ENGINE}random.{kind}" name="{kind}"/>
        <subParameter classPath="{ENGINE}random.{kind}Par" name="distrPar">{inside}</subParameter></subParameter>"""


def exponential(rate):
    return time("Exponential", **{"lambda": rate})


def by_class(name, rows):
    inside = "".join(f"<refClass>{c}</refClass>{row}" for c, row in rows.items())
    return f'<parameter array="true" classPath="x" name="{name}">{inside}</parameter>'


def value(number, name="v"):
    return f'<subParameter classPath="x" name="{name}"><value>{number}</value></subParameter>'


def plain(name, number):
    return f'<parameter classPath="x" name="{name}"><value>{number}</value></parameter>'


def strategy(name, inside=""):
    return f'<subParameter classPath="{ENGINE}NetStrategies.X.{name}" name="{name}">{inside}</subParameter>'


def routing(rows):
    found = {}
    for c, ways in rows.items():
        if isinstance(ways, str):
            found[c] = strategy(ways)
            continue
        entries = "".join(
            f"""<subParameter classPath="{ENGINE}random.EmpiricalEntry" name="EmpiricalEntry">
            <subParameter classPath="String" name="stationName"><value>{n}</value></subParameter>
            <subParameter classPath="Double" name="probability"><value>{p}</value></subParameter></subParameter>"""
            for n, p in ways.items()
        )
        array = (
            f'<subParameter array="true" classPath="{ENGINE}random.EmpiricalEntry" name="a">{entries}</subParameter>'
        )
        found[c] = strategy("EmpiricalStrategy", array)
    return section("Router", by_class("RoutingStrategy", found))


def section(kind, inside=""):
    return f'<section className="{kind}">{inside}</section>'


def node(name, *sections):
    return f'<node name="{name}">{"".join(sections)}</node>'


def queue(classes, put="TailStrategy", size=-1, rule="drop", get=""):
    return section(
        "Queue",
        plain("size", size) + by_class("dropStrategies", dict.fromkeys(classes, value(rule))) + get
        + by_class("QueuePutStrategy", {c: strategy(put) for c in classes}),
    )  # fmt: skip


def station(name, services, ways, kind="Server", servers=1, more="", **of_queue):
    shares = by_class("PSStrategy", {c: strategy("EPSStrategy") for c in services}) if kind == "PSServer" else ""
    service = plain("maxJobs", servers) + by_class("ServiceStrategy", services) + shares + more
    return node(name, queue(services, **of_queue), section(kind, service), routing(ways))


def source(services, ways):
    return node(
        "Source",
        section("RandomSource", by_class("ServiceStrategy", services)),
        section("ServiceTunnel"),
        routing(ways),
    )


def fork(classes, targets, tasks=1, simplified=False, block=-1):
    """Return a fork to these stations; not simplified, every branch has one task in the list of branches."""
    paths = "".join(
        f"""<subParameter classPath="x.OutPath" name="OutPathEntry">
        <subParameter classPath="x.EmpiricalEntry" name="outUnitProbability">{value(target, "stationName")}
        {value(1.0, "probability")}</subParameter>
        <subParameter array="true" classPath="x" name="JobsPerLinkDis"><subParameter classPath="x" name="e">
        {value(1, "numbers")}{value(1.0, "probability")}</subParameter></subParameter></subParameter>"""
        for target in targets
    )
    array = f'<subParameter array="true" classPath="x.OutPath" name="EmpiricalEntryArray">{paths}</subParameter>'
    said = plain("jobsPerLink", tasks) + plain("block", block) + plain("isSimplifiedFork", str(simplified).lower())
    said += by_class("ForkStrategy", dict.fromkeys(classes, strategy("ProbabilitiesFork", array)))
    return node("F", queue(classes), section("ServiceTunnel"), section("Fork", said))


def join(classes, ways):
    rows = by_class("JoinStrategy", dict.fromkeys(classes, strategy("NormalJoin", value(-1, "numRequired"))))
    return node("J", section("Join", rows), section("ServiceTunnel"), routing(ways))


SINK = node("Sink", section("JobSink"))
OPEN = '<userClass name="{}" priority="{}" type="open" referenceSource="Source"/>'


def links(*pairs):
    return "".join(f'<connection source="{a}" target="{b}"/>' for a, b in pairs)


def region(constraints, stations=("Q",), classes="A", drop="true"):
    nodes = "".join(f'<regionNode nodeName="{station}"/>' for station in stations)
    rules = "".join(f'<dropRules jobClass="{c}" dropThisClass="{drop}"/>' for c in classes)
    return f'<blockingRegion name="R" type="default">{nodes}{constraints}{rules}</blockingRegion>'


def file(*parts):
    """Return an archive as JSIMgraph writes it: the model, the drawing, results."""
    return (
        '<archive xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="mine" timestamp="now" '
        'xsi:noNamespaceSchemaLocation="Archive.xsd"><!-- a comment --><sim name="mine" seed="1" maxSamples="1000">'
        + "".join(parts)
        + '</sim><jmodel><userClass name="A" color="#FF0000FF"/></jmodel>'
        '<results pollingInterval="1.0"><measure name="m" type="0" finalValue="1"/></results></archive>'
    )


def full():
    """Return a file that uses every readable element, with values that change nothing where others are refused."""
    both = {"A": exponential(2.0), "B": time("Erlang", alpha=4.0, r=2)}
    on = {"A": {"Q": 1.0}, "B": "RandomStrategy"}
    rows = "".join(
        f"<refClass>{c}</refClass><subParameter>"
        + "".join(f"<refClass>{o}</refClass>{value(int(c == o))}" for o in "AB") + "</subParameter>" for c in "AB"
    )  # fmt: skip
    types = (
        f'<parameter name="serverNames">{value("one")}</parameter>'
        f'<parameter name="serversPerServerType">{value(2)}</parameter>'
        f'<parameter name="serverCompatibilities"><subParameter>{value("true") * 2}</subParameter></parameter>'
        '<parameter name="schedulingPolicy"><value>ALIS</value></parameter>'
    )
    once = by_class("numberOfVisits", dict.fromkeys("AB", value(1)))
    limits = (
        '<globalConstraint maxJobs="5"/><globalMemoryConstraint maxMemory="-1"/>'
        '<classConstraint jobClass="A" maxJobsPerClass="-1"/>'
        '<classMemoryConstraint jobClass="A" maxMemoryPerClass="-1"/>'
        '<classWeight jobClass="A" weight="1"/><classSize jobClass="A" size="1"/>'
        '<groupConstraint jobGroup="g" maxJobsPerGroup="-1"/>'
        '<groupClassList><groupClass jobGroup="g" jobClass="A"/></groupClassList>'
    )
    return file(
        OPEN.format("A", 1), OPEN.format("B", 0),
        source({"A": exponential(0.5), "B": time("MMPP2Distr", lambda0=1, lambda1=2, sigma0=3, sigma1=4)}, on),
        node("Q", "<classSoftDeadlines><softDeadline>0.0</softDeadline></classSoftDeadlines>", queue("AB"),
             section("Server", plain("maxJobs", 2) + once + by_class("ServiceStrategy", both) + types),
             routing({"A": {"P": 0.25, "W": 0.75}, "B": "RoundRobinStrategy"})),
        station("P", both, {"A": {"W": 1.0}, "B": {"W": 1.0}}, kind="PSServer", servers=1,
                more=plain("maxRunning", -1) + plain("PSPriorityUsed", "false")
                + by_class("serviceWeights", dict.fromkeys("AB", value(1.0)))),
        node("W", queue("AB"), section("ClassSwitch", f'<parameter name="matrix">{rows}</parameter>'),
             routing({c: {"L": 1.0} for c in "AB"})),
        node("L", queue("AB"), section("LogTunnel", plain("logfileName", "x.csv")),
             routing({c: {"F": 1.0} for c in "AB"})),
        fork("AB", ("D", "E")),
        station("D", both, {c: {"J": 1.0} for c in "AB"}, kind="Delay"),
        station("E", both, {c: {"J": 1.0} for c in "AB"}),
        join("AB", {c: {"Sink": 1.0} for c in "AB"}), SINK,
        '<measure name="m" type="Response Time" referenceNode="Q" referenceUserClass="A" alpha="0.1" precision="0.1"/>',
        links(("Source", "Q"), ("Q", "P"), ("Q", "W"), ("P", "W"), ("W", "L"), ("L", "F"), ("F", "D"), ("F", "E"),
              ("D", "J"), ("E", "J"), ("J", "Sink")),
        region(limits, classes="AB"),
        '<preload><stationPopulations stationName="Q"><classPopulation refClass="A" population="1"/>'
        "</stationPopulations></preload>",
    )  # fmt: skip


JMVA = """<model><description>two classes</description><parameters>
<classes number="2"><closedclass name="c" population="4"/><openclass name="o" rate="0.2"/></classes>
<stations number="3">
<listation name="cpu" servers="1"><servicetimes><servicetime customerclass="c">0.3</servicetime>
<servicetime customerclass="o">0.5</servicetime></servicetimes>
<visits><visit customerclass="c">2.5</visit><visit customerclass="o">1.0</visit></visits></listation>
<delaystation name="think"><servicetimes><servicetime customerclass="c">4.0</servicetime>
<servicetime customerclass="o">0.0</servicetime></servicetimes>
<visits><visit customerclass="c">1.0</visit><visit customerclass="o">0.0</visit></visits></delaystation>
<listation name="disk" servers="1"><servicetimes><servicetime customerclass="c">0.8</servicetime>
<servicetime customerclass="o">0.6</servicetime></servicetimes>
<visits><visit customerclass="c">0.6</visit><visit customerclass="o">0.4</visit></visits></listation>
</stations></parameters></model>"""
