"""JMT's files as networks: what they say is read, what cannot be said is named with its node."""

import pytest

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.networks.description import load_network
from npexplore.networks.solve import solve_network

ENGINE = "jmt.engine."


def time(kind, **values):
    inside = "".join(
        f'<subParameter classPath="Double" name="{k}"><value>{v}</value></subParameter>' for k, v in values.items()
    )
    return f"""<subParameter classPath="{ENGINE}NetStrategies.ServiceStrategies.ServiceTimeStrategy" name="s">
        <subParameter classPath="{ENGINE}random.{kind}" name="{kind}"/>
        <subParameter classPath="{ENGINE}random.{kind}Par" name="distrPar">{inside}</subParameter></subParameter>"""


def by_class(name, rows):
    inside = "".join(f"<refClass>{c}</refClass>{row}" for c, row in rows.items())
    return f'<parameter array="true" classPath="x" name="{name}">{inside}</parameter>'


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


def station(name, services, ways, kind="Server", put="TailStrategy", size=-1, rule="drop", servers=1, get=""):
    queue = section(
        "Queue",
        f'<parameter classPath="Integer" name="size"><value>{size}</value></parameter>'
        + by_class(
            "dropStrategies", dict.fromkeys(services, f'<subParameter name="d"><value>{rule}</value></subParameter>')
        )
        + get
        + by_class("QueuePutStrategy", {c: strategy(put) for c in services}),
    )
    most = f'<parameter classPath="Integer" name="maxJobs"><value>{servers}</value></parameter>'
    shares = by_class("PSStrategy", {c: strategy("EPSStrategy") for c in services}) if kind == "PSServer" else ""
    return node(name, queue, section(kind, most + by_class("ServiceStrategy", services) + shares), routing(ways))


def source(services, ways):
    return node(
        "Source",
        section("RandomSource", by_class("ServiceStrategy", services)),
        section("ServiceTunnel"),
        routing(ways),
    )


SINK = node("Sink", section("JobSink"))
OPEN = '<userClass name="{}" priority="{}" type="open" referenceSource="Source"/>'


@pytest.fixture
def write(tmp_path):
    def write(*parts, name="mine.jsimg"):
        path = tmp_path / name
        path.write_text(f'<sim name="mine">{"".join(parts)}</sim>')
        return path

    return write


def test_an_open_queue(write):
    path = write(
        OPEN.format("a", 0), source({"a": time("Exponential", **{"lambda": 0.5})}, {"a": {"Q 1": 1.0}}),
        station("Q 1", {"a": time("Erlang", alpha=2.0, r=2)}, {"a": {"Q 1": 0.25, "Sink": 0.75}}, servers=2), SINK,
    )  # fmt: skip
    network = load_network(path)
    assert network.station["Q 1"].servers == 2
    assert network.classes["a"].service["Q 1"].moments() == (1.0, 0.5)
    assert network.classes["a"].route == {"in": {"Q 1": 1.0}, "Q 1": {"Q 1": 0.25, "out": 0.75}}


def test_a_closed_network_with_classes_that_change(write, capsys):
    """Two customers: a delay as a, a switch that makes half of them b, a shared processor."""
    rows = (
        "<refClass>a</refClass><subParameter><refClass>a</refClass><subParameter><value>0.5</value></subParameter>"
        "<refClass>b</refClass><subParameter><value>0.5</value></subParameter></subParameter>"
        "<refClass>b</refClass><subParameter><refClass>b</refClass><subParameter><value>1</value></subParameter>"
        "</subParameter>"
    )
    switch = section("ClassSwitch", f'<parameter array="true" name="matrix">{rows}</parameter>')
    back = by_class("matrix", {}).replace("></parameter>", ">" + "".join(
        f"<refClass>{c}</refClass><subParameter><refClass>a</refClass><subParameter><value>1</value></subParameter>"
        "</subParameter>" for c in "ab"
    ) + "</parameter>")  # fmt: skip
    path = write(
        '<userClass name="a" type="closed" customers="2" referenceSource="D" priority="0"/>',
        '<userClass name="b" type="closed" customers="0" referenceSource="D" priority="0"/>',
        station("D", {"a": time("Exponential", **{"lambda": 1.0})}, {"a": {"S": 1.0}}, kind="Delay"),
        node("S", section("Queue"), switch, routing({"a": {"P": 1.0}, "b": {"P": 1.0}})),
        station(
            "P", {"a": time("Exponential", **{"lambda": 4.0}), "b": time("Exponential", **{"lambda": 1.0})},
            {"a": {"T": 1.0}, "b": {"T": 1.0}}, kind="PSServer",
        ),
        node("T", section("Queue"), section("ClassSwitch", back), routing({"a": {"D": 1.0}, "b": {"D": 1.0}})),
    )  # fmt: skip
    network = load_network(path)
    queueing, chain = solve_network(network, ["queueing", "ctmc"])
    assert queueing.exact
    for c in "ab":
        assert queueing.station_classes["P"][c].mean_number == pytest.approx(chain.station_classes["P"][c].mean_number)
    assert main(["solve", str(path), "--method", "queueing", "--json"]) == 0
    assert '"exact": true' in capsys.readouterr().out


def test_priorities_are_turned_round(write):
    ways = {"hi": {"Q": 1.0}, "lo": {"Q": 1.0}}
    services = {c: time("Exponential", **{"lambda": 1.0}) for c in ways}
    path = write(
        OPEN.format("hi", 7), OPEN.format("lo", 2),
        source({c: time("Exponential", **{"lambda": 0.2}) for c in ways}, ways),
        station("Q", services, {c: {"Sink": 1.0} for c in ways}, put="TailStrategyPriority"), SINK,
    )  # fmt: skip
    network = load_network(path)
    assert network.station["Q"].discipline == "priority"
    assert network.classes["hi"].priority < network.classes["lo"].priority


@pytest.mark.parametrize(
    ("service", "more", "message"),
    [
        (time("Normal", mean=1), {}, "node 'Q', class 'a': distribution Normal"),
        (strategy("LoadDependentStrategy"), {}, "node 'Q', class 'a': LoadDependentStrategy"),
        (time("Exponential", **{"lambda": 2}), {"put": "SJFStrategy"}, "node 'Q', class 'a': SJFStrategy"),
        (
            time("Exponential", **{"lambda": 2}), {"size": 3, "rule": "waiting queue"},
            "node 'Q': a capacity with the rule waiting queue",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_named(write, service, more, message):
    path = write(
        OPEN.format("a", 0), source({"a": time("Exponential", **{"lambda": 0.5})}, {"a": {"Q": 1.0}}),
        station("Q", {"a": service}, {"a": {"Sink": 1.0}}, **more), SINK,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"mine\.jsimg: ") as caught:
        load_network(path)
    assert message in str(caught.value)


def test_routing_by_load(write):
    one = time("Exponential", **{"lambda": 1.0})
    links = '<connection source="R" target="P"/><connection source="R" target="Q"/>'
    path = write(
        OPEN.format("a", 0), source({"a": one}, {"a": {"R": 1.0}}),
        node("R", section("Queue"), section("ServiceTunnel"), routing({"a": "ShortestQueueLengthRoutingStrategy"})),
        station("P", {"a": one}, {"a": {"Sink": 1.0}}), station("Q", {"a": one}, {"a": {"Sink": 1.0}}), SINK, links,
    )  # fmt: skip
    network = load_network(path)
    assert network.classes["a"].choose == {"in": "shortest"}
    assert network.classes["a"].route["in"] == {"P": 0.5, "Q": 0.5}


def test_unreadable_files(write, tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.jsimg: No such file"):
        load_network(tmp_path / "nowhere.jsimg")
    broken = tmp_path / "broken.jsimg"
    broken.write_text("<sim>")
    with pytest.raises(InputError, match=r"broken.jsimg: not XML"):
        load_network(broken)
    broken.write_text("<html/>")
    with pytest.raises(InputError, match="outermost element must be 'sim', got 'html'"):
        load_network(broken)


JMVA = """<model><parameters>
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


def test_service_times_and_visits(tmp_path):
    from npexplore.solve.queueing import mixed_network

    path = tmp_path / "mine.jmva"
    path.write_text(JMVA)
    (found,) = solve_network(load_network(path), ["queueing"])
    demands = [[2.5 * 0.3, 0.5], [4.0, 0.0], [0.6 * 0.8, 0.4 * 0.6]]
    truth = mixed_network(demands, [0.0, 0.2], [4, 0], [0.0, 0.0], delay=[False, True, False])
    assert found.exact
    for k, name in enumerate(("cpu", "think", "disk")):
        assert found.stations[name].mean_number == pytest.approx(truth.queue_length[0, k].sum(), rel=1e-9)
    assert found.stations["cpu"].throughput == pytest.approx(2.5 * truth.throughput[0, 0] + 0.2, rel=1e-9)


def test_a_polling_server(write):
    """JMT's switch-over times are of the class that is come to, a network file's of the one that is left."""
    k = '<subParameter classPath="Integer" name="pollingKValue"><value>2</value></subParameter>'
    path = f"{ENGINE}NetStrategies.QueueGetStrategies.LimitedPollingGetStrategy"
    get = f'<parameter classPath="{path}" name="f">{k}</parameter>'
    served = {c: time("Exponential", **{"lambda": 2.0}) for c in "ab"}
    to = by_class(
        "SwitchoverStrategy", {"a": time("Exponential", **{"lambda": 4.0}), "b": time("DeterministicDistr", t=0.5)}
    )
    queue = station("Q", served, {c: {"Sink": 1.0} for c in "ab"}, kind="LimitedPollingServer", get=get)
    at = queue.index("</section>", queue.index("LimitedPollingServer"))
    come = {c: time("Exponential", **{"lambda": 0.5}) for c in "ab"}
    path = write(
        OPEN.format("a", 0), OPEN.format("b", 0), source(come, {c: {"Q": 1.0} for c in "ab"}),
        queue[:at] + to + queue[at:], SINK,
    )  # fmt: skip
    one = load_network(path).station["Q"]
    assert (one.discipline, one.visits, one.most_a_visit) == ("polling", "limited", 2)
    assert {c: ways.moments() for c, ways in one.switch_over.items()} == {"b": (0.25, 1.0), "a": (0.5, 0.0)}
