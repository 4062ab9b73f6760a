"""JMT's files as networks: what they say is read, what cannot be said is named with its node."""

import json

import pytest
from reference.jmt_files import (
    ENGINE,
    JMVA,
    OPEN,
    SINK,
    by_class,
    exponential,
    file,
    fork,
    full,
    join,
    links,
    node,
    plain,
    region,
    routing,
    section,
    source,
    station,
    strategy,
    time,
    value,
)

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.networks.description import load_network
from npexplore.networks.solve import solve_network


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
        (time("Normal", mean=1), {}, "node 'Q': class 'a': subParameter 'Normal': distribution 'Normal' is unknown"),
        (strategy("LoadDependentStrategy"), {}, "node 'Q': class 'a': strategy 'LoadDependentStrategy' is unknown"),
        (time("Exponential", **{"lambda": 2}), {"put": "SJFStrategy"}, "class 'a' 'SJFStrategy' is unknown"),
        (
            time("Exponential", **{"lambda": 2}), {"size": 3, "rule": "waiting queue"},
            "node 'Q': section 'Queue': a capacity with the rule wait is not supported",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_named(write, service, more, message):
    path = write(
        OPEN.format("a", 0), source({"a": time("Exponential", **{"lambda": 0.5})}, {"a": {"Q": 1.0}}),
        station("Q", {"a": service}, {"a": {"Sink": 1.0}}, **more), SINK,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"mine\.jsimg:\d") as caught:
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
    with pytest.raises(InputError, match="outermost element must be 'sim' or 'archive', got 'html'"):
        load_network(broken)


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


def one_queue(rate, beside="", **of_station):
    """Return a file of one class and one station Q between source and sink; beside: further elements."""
    service = of_station.pop("service", exponential(1.0))
    ways = {"A": {"Q": 1.0}}
    return file(
        OPEN.format("A", 0), source({"A": exponential(rate)}, ways),
        station("Q", {"A": service}, {"A": {"Sink": 1.0}}, **of_station), SINK,
        links(("Source", "Q"), ("Q", "Sink")), beside,
    )  # fmt: skip


LIMITS = '<globalConstraint maxJobs="100"/><globalMemoryConstraint maxMemory="-1"/>'
TYPES = (
    f'<parameter name="serverNames">{value("fast")}{value("slow")}</parameter>'
    f'<parameter name="serversPerServerType">{value(1)}{value(1)}</parameter><parameter name="serverCompatibilities">'
    f"<subParameter>{value('true')}</subParameter><subParameter>{value('false')}</subParameter></parameter>"
)
CASES = {  # (file, what is right of station or class, reason)
    "one of two servers serves the class: M/M/1": (one_queue(0.5, servers=2, more=TYPES), ("mean_number", 1.0)),
    "one at a time is FCFS: M/G/1 by Pollaczek and Khinchine": (
        one_queue(0.5, kind="PSServer", service=time("HyperExp", p=0.9, lambda1=2.0, lambda2=0.25),
                  more=plain("maxRunning", 1)),
        ("mean_number", 0.425 + 0.25 * (2 * (0.9 * 0.25 + 0.1 * 16)) / (2 * (1 - 0.425))),
    ),
    "a limit of memory of one class: M/M/1/2": (
        one_queue(0.5, region(LIMITS + '<classMemoryConstraint jobClass="A" maxMemoryPerClass="2"/>')), ("loss", 1 / 7),
    ),
    "memory of two units a customer: M/M/1/2": (
        one_queue(0.5, region(LIMITS + '<classMemoryConstraint jobClass="A" maxMemoryPerClass="5"/>'
                              '<classSize jobClass="A" size="2"/>')), ("loss", 1 / 7),
    ),
    "a limit of a group with the only class: M/M/1/2": (
        one_queue(0.5, region(LIMITS + '<groupConstraint jobGroup="G" maxJobsPerGroup="2"/><groupClassList>'
                              '<groupClass jobGroup="G" jobClass="A"/></groupClassList>')), ("loss", 1 / 7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_other_readers_pass_over_is_read(name, tmp_path):
    text, (key, right) = CASES[name]
    path = tmp_path / "mine.jsimg"
    path.write_text(text)
    (answer,) = solve_network(load_network(path), ["ctmc" if key == "loss" else "queueing"])
    told = getattr(answer.classes["A"] if key == "loss" else answer.stations["Q"], key)
    assert told == pytest.approx(right, rel=1e-6)


REFUSED = [  # what stands in the file, and what the message names
    (one_queue(0.3, kind="PSServer", more=plain("PSPriorityUsed", "true")), "parameter 'PSPriorityUsed'"),
    (one_queue(0.3, kind="PSServer", more=plain("maxRunning", 3)), "more customers at once (3) than servers (1)"),
    (one_queue(0.3, more=by_class("setUpTime", {"A": exponential(1.0)})), "parameter 'setUpTime' is not supported"),
    (one_queue(0.3, more=plain("maxJob", 2)), "parameter 'maxJob' is not supported in section 'Server' (nearest:"),
    (one_queue(0.3, more=by_class("classParallelism", {"A": value(2)})), "takes several servers (class 'A')"),
    (one_queue(0.3, more=by_class("numberOfVisits", {"A": value(3)})), "several visits in a row (class 'A')"),
    (one_queue(0.3, more=by_class("serviceWeights", {"C": value(3)})), "parameter 'serviceWeights' is not supported"),
    (one_queue(0.3, more=by_class("numberOfVisits", {"C": value(1)})), "class 'C' is unknown (known: A)"),
    (one_queue(0.3, rule="retrial"), "rule of class 'A' 'retrial' is unknown"),
    (one_queue(0.3).replace('"lambda"', '"lamda"', 1), "subParameter lambda is missing"),
    (one_queue(0.3).replace("<value>0.3", "<value>O.3"), "the value must be a number, got 'O.3'"),
    (one_queue(0.3).replace('"JobSink"', '"JobSinc"'), "section 'JobSinc' is unknown (nearest: JobSink"),
    (one_queue(0.3).replace('target="Sink"', 'target="Sinc"'), "target: node 'Sinc' is unknown (nearest: Sink)"),
    (one_queue(0.3, links(("Q", "Q"))).replace(">Sink</value>", ">Source</value>"), "no connection leads from 'Q' to"),
    (one_queue(0.3, region(LIMITS, stations=("P",))), "station 'P' is unknown (known: Q)"),
    (one_queue(0.3, node("Q", section("JobSink"))), "there are two nodes of this name"),
    (file(OPEN.format("A", 0), OPEN.format("A", 0)), "there are two classes of this name"),
    (full().replace('maxJobsPerClass="-1"', 'maxJobsPerClass="2"'), "a limit of some of the classes"),
    (full().replace('name="block"><value>-1', 'name="block"><value>1'), "a limit of customers between fork and join"),
    (full().replace('<value>-1</value></subParameter></subParameter></parameter></section><section className="ServiceT',
                    '<value>1</value></subParameter></subParameter></parameter></section><section className="ServiceT'),
     "a join that does not wait for all tasks"),
    (full().replace("<sim ", "<!DOCTYPE sim><sim ").replace("<archive", "<archive"), "not XML"),
    ("<!DOCTYPE x [<!ENTITY e '1'>]>" + full(), "must have no document type of its own"),
    (full().replace("<sim ", '<sim xmlns:o="urn:o" o:seed="1" '), "attribute '{urn:o}seed' is not supported"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_read_is_refused_by_its_name(text, message, tmp_path):
    path = tmp_path / "mine.jsimg"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_network(path)
    assert str(caught.value).startswith("mine.jsimg:")
    assert message in str(caught.value)


def test_what_changes_nothing_is_not_refused(tmp_path):
    path = tmp_path / "mine.jsimg"
    path.write_text(full().replace("<value>2.0</value>", "<value><![CDATA[2.0]]></value>"))
    assert set(load_network(path).station) == {"Q", "P", "D", "E"}


VISITS = [('<closedclass name="C" population="3"/>', {"A": 1.0, "B": 2.0}, "throughput", 7 / 4 / (15 / 8)),
          ('<openclass name="C" rate="0.5"/>', {"A": 1.0}, "throughput", 0.5)]  # fmt: skip


@pytest.mark.parametrize(("one", "times", "key", "right"), VISITS, ids=["closed", "open"])
def test_visits_below_one(one, times, key, right, tmp_path):
    """Product form needs visits times service only; a closed class has G(2) / G(3) of demands 0.5 and 1."""
    stations = "".join(
        f'<listation name="{n}"><servicetimes><servicetime customerclass="C">{t}</servicetime></servicetimes>'
        f'<visits><visit customerclass="C">0.5</visit></visits></listation>' for n, t in times.items()
    )  # fmt: skip
    path = tmp_path / "mine.jmva"
    stations = f'<stations number="{len(times)}">{stations}</stations>'
    path.write_text(f"<model><parameters><classes>{one}</classes>{stations}</parameters></model>")
    (answer,) = solve_network(load_network(path), ["queueing"])
    assert answer.exact
    assert getattr(answer.classes["C"], key) == pytest.approx(right, rel=1e-9)
    assert answer.stations["A"].utilization == pytest.approx(right / 2, rel=1e-9)
    path.write_text(path.read_text().replace("listation", "prsstation"))
    with pytest.raises(InputError, match="prsstation 'A' is not supported in stations"):
        load_network(path)


def test_a_user_leaves_a_part_out_knowingly(tmp_path, capsys):
    path = tmp_path / "mine.jsimg"
    path.write_text(one_queue(0.5, more=by_class("setUpTime", {"A": exponential(1.0)})))
    assert main(["solve", str(path), "--method", "queueing", "--ignore", "setUpTime", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ignored"], document["results"][0]["exact"]) == (["setUpTime"], False)
    assert document["results"][0]["approximation"] == "exact, but of the file without setUpTime"
    assert main(["solve", str(path), "--ignore", "setUpTime", "--ignore", "setupTimes"]) == 2
    assert "--ignore 'setupTimes': no part of the file has this name" in capsys.readouterr().err
    assert main(["solve", "mm1", "--method", "queueing", "--ignore", "about"]) == 0
    assert "(exact, but of the file without about)" in capsys.readouterr().out
    counted = JMVA.replace('<stations number="3">', '<stations number="4"><prsstation name="Z"/>')
    (tmp_path / "mine.jmva").write_text(counted)
    assert main(["solve", str(tmp_path / "mine.jmva"), "--method", "queueing", "--ignore", "prsstation"]) == 0
    assert "but of the file without prsstation" in capsys.readouterr().out


def test_limits_are_none_or_above_zero(tmp_path):
    path = tmp_path / "mine.jsimg"
    for old, bad in (
        ('name="size"><value>-1<', 'name="size"><value>0<'), ('maxJobs="5"', 'maxJobs="0"'),
        ('name="maxRunning"><value>-1<', 'name="maxRunning"><value>-3<'), ('maxJobs="5"', 'maxJobs="nan"'),
    ):  # fmt: skip
        assert old in full(), old
        path.write_text(full().replace(old, bad, 1))
        with pytest.raises(
            InputError, match=r"mine.jsimg:\d+: .*(a limit must be -1 \(none\) or greater|must be a number)"
        ):
            load_network(path)


STORED = """<results pollingInterval="1.0">
<measure name="Q_Number of Customers" referenceStation="Q" referenceClass="" type="0" finalValue="1.008" alpha="0.99"
 precision="0.03" analyzedSamples="1"><sample meanValue="1.008" lowerBound="0.98" upperBound="1.03"/></measure>
<measure name="Q_A_Response Time" referenceStation="Q" referenceClass="A" type="2" finalValue="1.99" alpha="0.99"
 precision="0.03" analyzedSamples="1"/>
<measure name="A_System Throughput" referenceStation="" referenceClass="A" type="16" finalValue="0.5" alpha="0.99"
 precision="0.03" analyzedSamples="1"/>
<measure name="Q_Drop Rate" referenceStation="Q" referenceClass="" type="8" finalValue="0" alpha="0.99"
 precision="0.03" analyzedSamples="1"/></results>"""


def test_stored_results_stand_beside_ours(tmp_path, capsys):
    path = tmp_path / "mine.jsimg"
    text = one_queue(0.5)
    path.write_text(text[: text.index("<results")] + STORED + "</archive>")
    assert main(["solve", str(path), "--method", "queueing", "--compare-stored", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["stored"]
    ours = [row["ours"]["queueing"] for row in rows]
    assert ours == [pytest.approx(1.0), pytest.approx(2.0), pytest.approx(0.5), None]
    assert (rows[0]["low"], rows[0]["high"], rows[0]["measure"]) == (0.98, 1.03, "Number of Customers")
    assert rows[1]["difference"]["queueing"] == pytest.approx(2 / 1.99 - 1)
    assert main(["solve", str(path), "--method", "queueing", "--compare-stored"]) == 0
    assert "stored results beside ours" in capsys.readouterr().out
    path.write_text(text[: text.index("<results")] + "</archive>")
    assert main(["solve", str(path), "--compare-stored"]) == 2
    assert "no results are stored in this file" in capsys.readouterr().err
    assert main(["solve", "mm1", "--compare-stored"]) == 2
    solved = (
        '<solutions ok="true"><stationresults station="cpu"><classresults customerclass="c"><measure measureType="'
        'Throughput" meanValue="1.5" successful="true"/></classresults></stationresults></solutions></model>'
    )
    path = tmp_path / "mine.jmva"
    path.write_text(JMVA.replace("</model>", solved))
    assert main(["solve", str(path), "--method", "queueing", "--compare-stored", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["stored"]
    assert (row["station"], row["class"], row["stored"]) == ("cpu", "c", 1.5)
    assert row["ours"]["queueing"] > 0


@pytest.mark.parametrize("simplified", [True, False])
def test_a_fork_sends_several_tasks_on_a_connection(simplified, tmp_path):
    """Two tasks to each of two M/M/1: batches of 2, so N = rho / (1 - rho) x 3 / 2 (M^X/M/1) at rho = 0.6."""
    one, ways = {"A": exponential(1.0)}, {"A": {"J": 1.0}}
    text = file(
        OPEN.format("A", 0), source({"A": exponential(0.3)}, {"A": {"F": 1.0}}),
        fork("A", ("P", "Q"), tasks=2, simplified=simplified), station("P", one, ways), station("Q", one, ways),
        join("A", {"A": {"Sink": 1.0}}), SINK,
        links(("Source", "F"), ("F", "P"), ("F", "Q"), ("P", "J"), ("Q", "J"), ("J", "Sink")),
    )  # fmt: skip
    path = tmp_path / "mine.jsimg"
    path.write_text(text if simplified else text.replace('name="numbers"><value>1', 'name="numbers"><value>2'))
    network = load_network(path)
    assert network.fork["F"].stations == ["P", "P", "Q", "Q"]
    (answer,) = solve_network(network, ["ctmc"])
    assert answer.stations["P"].utilization == pytest.approx(0.6, rel=1e-6)
    assert answer.stations["P"].mean_number == pytest.approx(2.25, rel=1e-6)
