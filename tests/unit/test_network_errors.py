"""What a network file may not say: each mistake is one line with file, place, rule, value and the nearest names."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from npexplore.cli import main
from npexplore.errors import FaultsError, InputError, UnknownNameError
from npexplore.networks.description import load_network, network_schema
from npexplore.networks.solve import solve_network
from npexplore.paths import share
from npexplore.units import UnitWarning

GOOD = """
name = "good"
station.cpu = { discipline = "ps" }
station.disk = { capacity = 5, when_full = "drop" }
station.left = {}
station.right = {}
fork.both = { stations = ["left", "right"] }

[class.jobs]
arrivals = { process = "poisson", rate = 0.5 }
service.cpu = { distribution = "erlang", mean = 1.0, stages = 2 }
service.disk = { distribution = "exponential", mean = 1.0 }
service.left = { distribution = "uniform", low = 0.1, high = 0.2 }
service.right = { distribution = "hyperexponential", means = [0.1, 0.2], probability = 0.5 }
route.in = { cpu = 1.0 }
route.cpu = { disk = 0.5, out = 0.5 }
route.disk = { both = 1.0 }
route.both = { out = 1.0 }

[class.users]
population = 3
think_time = { distribution = "empirical", values = [1.0, 2.0], weights = [1, 3] }
service.cpu = { distribution = "deterministic", mean = 1.0 }
route.in = { cpu = 1.0 }
route.cpu = { out = 1.0 }
"""
MISTAKES = {
    "station in a route": (
        "cpu = { disk = 0.5",
        "cpu = { dusk = 0.5",
        "class.jobs.route.cpu: station 'dusk' is unknown (nearest: disk)",
    ),
    "station of a service": (
        "service.disk",
        "service.dsk",
        "class.jobs.service: station 'dsk' is unknown (nearest: disk)",
    ),
    "station that routes on": (
        "route.disk =",
        "route.dick =",
        "class.jobs.route: station 'dick' is unknown (nearest: disk)",
    ),
    "station of a fork": (
        '["left", "right"]',
        '["left", "rihgt"]',
        "fork.both: station 'rihgt' is unknown (nearest: right)",
    ),
    "in to out": (
        "route.in = { cpu = 1.0 }",
        "route.in = { out = 1.0 }",
        "class.jobs.route.in: station 'out' is unknown",
    ),
    "sum": (
        "disk = 0.5, out = 0.5",
        "disk = 0.5, out = 0.4",
        "class.jobs.route.cpu: probabilities must add up to 1, got 0.9",
    ),
    "probability": (
        "disk = 0.5, out = 0.5",
        "disk = 1.5, out = -0.5",
        "class.jobs.route.cpu.disk: probability must be in 0..1, got 1.5",
    ),
    "negative service": (
        "mean = 1.0, stages",
        "mean = -1.0, stages",
        "class.jobs.service.cpu: mean must be greater than 0 and finite, got -1.0",
    ),
    "NaN service": (
        "mean = 1.0, stages",
        "mean = nan, stages",
        "class.jobs.service.cpu: mean must be greater than 0 and finite, got nan",
    ),
    "zero service": (
        '"deterministic", mean = 1.0',
        '"deterministic", mean = 0',
        "class.users.service.cpu: mean must be greater than 0 and finite, got 0.0",
    ),
    "too many stages": (
        "stages = 2",
        "stages = 1001",
        "expected a whole number of at most 1000 in class.jobs.service.cpu.stages",
    ),
    "too many servers": (
        "{}\nstation.right",
        "{ servers = 1000001 }\nstation.right",
        "expected a whole number of at most 1000000 in station.left.servers",
    ),
    "too large a capacity": (
        "capacity = 5",
        "capacity = 1000000001",
        "station.disk: capacity must be at most 1000000000, got 1000000001",
    ),
    "too many customers": (
        "population = 3",
        "population = 10000000000",
        "class.users: population must be at most 1000000000, got 10000000000",
    ),
    "too high a priority": (
        "population = 3",
        "population = 3\npriority = 99999999999999999999",
        "expected a whole number of at most 1000000000 in class.users.priority",
    ),
    "negative priority": (
        "population = 3",
        "population = 3\npriority = -1",
        "expected a whole number of at least 0 in class.users.priority",
    ),
    "batch": (
        '"poisson", rate = 0.5',
        '"batch", rate = 0.5, size = 2000000',
        "expected a whole number of at most 1000000 in class.jobs.arrivals.size",
    ),
    "stages": ("stages = 2", "stages = 0", "expected a whole number of at least 1 in class.jobs.service.cpu.stages"),
    "uniform": (
        "low = 0.1, high = 0.2",
        "low = 0.3, high = 0.2",
        "class.jobs.service.left: high must be at least low (0.3), got 0.2",
    ),
    "negative low": ("low = 0.1", "low = -0.1", "class.jobs.service.left: low must be at least 0 and finite, got -0.1"),
    "means": (
        "means = [0.1, 0.2]",
        "means = [0.1, inf]",
        "class.jobs.service.right: each of means must be greater than 0 and finite, got inf",
    ),
    "chance": (
        "probability = 0.5",
        "probability = 2.0",
        "class.jobs.service.right: probability must be in 0..1, got 2.0",
    ),
    "weights": ("weights = [1, 3]", "weights = [1]", "class.users.think_time: weights must be one a value (2), got 1"),
    "weight": (
        "weights = [1, 3]",
        "weights = [1, -3]",
        "class.users.think_time: each of weights must be at least 0 and finite, got -3.0",
    ),
    "no weight": (
        "weights = [1, 3]",
        "weights = [0, 0]",
        "class.users.think_time: weight of the values above 0 must be greater than 0",
    ),
    "distribution": (
        '"erlang"',
        '"erlnag"',
        "distribution 'erlnag' is unknown (nearest: erlang) in class.jobs.service.cpu.distribution",
    ),
    "population zero": ("population = 3", "population = 0", "class.users: population must be at least 1, got 0"),
    "both": (
        "population = 3",
        'population = 3\narrivals = { process = "poisson", rate = 1 }',
        "class.users: a class needs a population or arrivals, got both",
    ),
    "neither": (
        'arrivals = { process = "poisson", rate = 0.5 }',
        "",
        "class.jobs: a class needs a population or arrivals, got neither",
    ),
    "rate": ("rate = 0.5", "rate = -0.5", "class.jobs.arrivals: rate must be greater than 0 and finite, got -0.5"),
    "off": (
        '"poisson", rate = 0.5',
        '"on_off", rate = 0.5, on = 1.0, off = 0.0',
        "class.jobs.arrivals: off must be greater than 0 and finite, got 0.0",
    ),
    "open thinker": (
        "population = 3",
        'arrivals = { process = "poisson", rate = 1 }',
        "class.users: think_time needs a population, got arrivals",
    ),
    "negative capacity": ("capacity = 5", "capacity = -5", "station.disk: capacity must be at least 1, got -5"),
    "capacity of a delay": (
        "{ capacity",
        '{ discipline = "delay", capacity',
        "station.disk: capacity needs discipline fifo, ps, priority or preemptive, got 'delay'",
    ),
    "rates": (
        "{ capacity = 5",
        '{ discipline = "priority", rates = [1.0]',
        "station.disk: rates need discipline fifo, ps or preemptive, got 'priority'",
    ),
    "two preemptive servers": (
        "station.left = {}",
        'station.left = { discipline = "preemptive", servers = 2 }',
        "station.left: discipline preemptive needs 1 server, got 2",
    ),
    "rate of a station": (
        'discipline = "ps"',
        'discipline = "ps", rates = [1.0, 0.0]',
        "station.cpu: each of rates must be greater than 0 and finite, got 0.0",
    ),
    "no rates": (
        'discipline = "ps"',
        'discipline = "ps", rates = []',
        "station.cpu: rates must be a list of numbers at a station with 1 server",
    ),
    "discipline": ('"ps"', '"pss"', "discipline 'pss' is unknown (nearest: ps) in station.cpu.discipline"),
    "servers": (
        "{}\nstation.right",
        "{ servers = 0 }\nstation.right",
        "expected a whole number of at least 1 in station.left.servers, got 0",
    ),
    "dropping in a fork": (
        "station.left = {}",
        "station.left = { capacity = 1 }",
        "fork.both: station 'left' must not drop customers of a fork",
    ),
    "name of a fork": ("fork.both", "fork.cpu", "fork.cpu: a fork must not have the name of a station"),
    "reserved name": (
        "station.left = {}",
        "station.left = {}\nstation.out = {}",
        "a station, fork or cache must not be named 'out'",
    ),
    "no route": (
        "route.in = { cpu = 1.0 }\nroute.cpu = { out = 1.0 }",
        "route.cpu = { out = 1.0 }",
        "class.users: a class needs a route from 'in', got none",
    ),
    "empty routes": (
        "route.in = { cpu = 1.0 }\nroute.cpu = { out = 1.0 }",
        "route = {}",
        "class.users: a class needs a route from 'in', got none",
    ),
    "missing routes": (
        "route.in = { cpu = 1.0 }\nroute.cpu = { out = 1.0 }",
        "",
        "key `route` is missing in class.users",
    ),
    "dead end": (
        "route.disk = { both = 1.0 }",
        "",
        "class.jobs: 'disk' is on the way from 'cpu', but no route leads on from it",
    ),
    "no service": (
        'service.right = { distribution = "hyperexponential", means = [0.1, 0.2], probability = 0.5 }',
        "",
        "class.jobs: the class visits station 'right' but has no service time there",
    ),
    "misspelt key": ("capacity = 5", "capactiy = 5", "key 'capactiy' is unknown (nearest: capacity) in station.disk"),
    "misspelt key of a class": (
        "think_time",
        "thnik_time",
        "key 'thnik_time' is unknown (nearest: think_time) in class.users",
    ),
    "misspelt key of a time": ("stages = 2", "stage = 2", "key 'stage' is unknown (nearest: stages"),
    "misspelt table": ("[class.jobs]", "[classes.jobs]", "key 'classes' is unknown (nearest: class,"),
    "text": ("capacity = 5", 'capacity = "5"', "expected a whole number or nothing in station.disk.capacity, got '5'"),
    "TOML": ("capacity = 5", "capacity = ", "not valid TOML: "),
}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


def test_the_good_one_is_read_and_answered(write):
    network = load_network(write(GOOD))
    results = solve_network(network, seeds=[1], customers=200)
    assert [result.solver for result in results] == ["bounds", "queueing", "simulation"]
    assert "fork 'both'" in results[1].refused
    assert results[2].classes["jobs"].throughput > 0


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(write, capsys, right, wrong, message):
    assert right in GOOD
    path = write(GOOD.replace(right, wrong, 1) if "users" not in message else wrong.join(GOOD.rsplit(right, 1)))
    assert main(["solve", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("npexplore: mine.toml: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("rate", "load"), [("1.0", "1"), ("1.5", "1.5")])
def test_unstable_networks_name_the_station(write, capsys, rate, load):
    text = share("models", "networks", "mm1.toml").read_text().replace("rate = 0.8", f"rate = {rate}")
    for method in ("bounds", "queueing", "simulation"):
        assert main(["solve", str(write(text)), "--method", method]) == 2
        message = (
            "mine.toml: station.server: offered load must be below its capacity of 1 (the open network is unstable)"
        )
        assert capsys.readouterr().err == f"npexplore: {message}, got {load}\n"


def test_a_circle_without_a_way_out_is_named(write, capsys):
    text = GOOD.replace("route.both = { out = 1.0 }", "route.both = { disk = 1.0 }").replace(
        "disk = 0.5, out = 0.5", "disk = 1.0"
    )
    assert main(["solve", str(write(text))]) == 2
    assert "class.jobs: routing from station 'cpu' must lead out of the network" in capsys.readouterr().err


def test_a_missing_file_and_a_misspelt_method(capsys):
    assert main(["solve", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "npexplore: nowhere.toml: No such file or directory\n"
    assert main(["solve", "nowhere.toml", "--method", "simulate"]) == 2
    assert "method 'simulate' is unknown (nearest: simulation)" in capsys.readouterr().err
    assert main(["solve", "mm2"]) == 2
    assert "network 'mm2' is unknown (nearest: mmc, mm1, mm1k)" in capsys.readouterr().err
    assert main(["solve"]) == 2
    assert "solve needs a MODEL.toml, a network (bank_interference" in capsys.readouterr().err


def test_solver_names_and_seeds_are_checked(write):
    network = load_network(write(GOOD))
    with pytest.raises(UnknownNameError, match="method 'bound' is unknown"):
        solve_network(network, ["bound"])
    with pytest.raises(InputError, match="needs a seed and 10 customers, got 0 and 200"):
        solve_network(network, ["simulation"], [], 200)


STATION = {"utilization", "throughput", "mean_number", "mean_wait", "mean_response", "p_wait"}
CLASS = {"throughput", "mean_response", "p50", "p95", "p99", "loss"}


@pytest.mark.parametrize("method", ["bounds", "queueing", "simulation", "ctmc", "all"])
def test_json_has_every_key(capsys, method):
    path = share("models", "networks", "blocking_tandem.toml")
    assert main(["solve", str(path), "--method", method, "--seeds", "2", "--customers", "500", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"model", "method", "ignored", "results"}
    assert (document["model"], document["method"]) == ("blocking_tandem", method)
    assert [r["solver"] for r in document["results"]] == (
        [method] if method != "all" else ["bounds", "queueing", "simulation"]
    )
    for result in document["results"]:
        assert set(result) == {
            "solver", "exact", "approximation", "refused", "stations", "classes", "ci95", "bottleneck",
            "station_classes", "states", "error",
        }  # fmt: skip
        assert {name: set(station) for name, station in result["stations"].items()} == {
            "first": STATION,
            "second": STATION,
        }
        assert {name: set(one) for name, one in result["classes"].items()} == {"packets": CLASS}
        assert (result["refused"] is not None) == (result["solver"] == "queueing")
        assert (result["ci95"] != {}) == (result["solver"] == "simulation")


QUEUE = """
name = "queue"
station.s = {station}
[class.c]
arrivals = {arrivals}
service.s = {{ distribution = "exponential", mean = {mean} }}
route.in = {{ s = 1.0 }}
route.s = {{ out = 1.0 }}
"""
TOGETHER = "times differ too much from the shortest of the file for one clock"


@pytest.mark.parametrize(
    ("station", "arrivals", "mean", "reason"),
    [
        ("{}", '{ process = "batch", rate = 0.9, size = 60000 }', 1.0, "saturation: class c"),
        ("{}", '{ process = "poisson", rate = 1e-12 }', 1.0, TOGETHER),
        ("{}", '{ process = "poisson", rate = 1e-300 }', 1e-300, TOGETHER),
        ('{ discipline = "delay" }', '{ process = "poisson", rate = 1e-8 }', 1.0, TOGETHER),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_is_refused_in_one_line(write, capsys, station, arrivals, mean, reason):
    path = write(QUEUE.format(station=station, arrivals=arrivals, mean=mean))
    command = ["solve", str(path), "--method", "simulation", "--seeds", "1", "--customers", "10000"]
    assert main(command) == 0
    head, *_ = capsys.readouterr().out.splitlines()
    assert head.startswith(f"simulation (refused: {reason}")
    assert main([*command, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["refused"].startswith(reason)
    assert set(result["classes"]["c"].values()) == {None}


def test_more_places_than_a_chain_has_states(write):
    path = write(QUEUE.format(station="{ capacity = 2000000 }", arrivals='{ process = "poisson", rate = 0.5 }', mean=1))
    (result,) = solve_network(load_network(path), ["queueing"])
    assert result.refused == "station 's': M/M/c/K with more than 1000000 places"


def test_a_billion_customers_are_approximated(write):
    text = QUEUE.format(station="{}", arrivals="x", mean=1.0).replace("arrivals = x", "population = 1000000000")
    (result,) = solve_network(load_network(write(text)), ["queueing"])
    assert result.approximation.startswith("Linearizer (exact MVA: 1000000000 customers are more than 50000000")
    assert result.classes["c"].throughput == pytest.approx(1.0)


def test_text_for_people(capsys):
    assert main(["solve", "mm1", "--method", "queueing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "queueing (exact)"
    assert lines[4].split() == ["server", "0.8", "0.8", "4", "4", "5", "0.8"]
    assert lines[-1] == "bottleneck: server"


def test_schema_describes_the_file(capsys):
    assert main(["solve", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == network_schema()
    assert set(schema["$defs"]["Network"]["properties"]) == {
        "name", "about", "station", "class", "fork", "region", "cache",
    }  # fmt: skip
    assert schema["$defs"]["Erlang"]["properties"]["distribution"] == {"enum": ["erlang"]}


def test_the_page_names_every_key():
    page = (Path(__file__).parents[2] / "docs" / "networks.md").read_text()
    for name, record in network_schema()["$defs"].items():
        for key in record["properties"]:
            assert f"`{key}`" in page, (name, key)
        for choice in [choice for field in record["properties"].values() for choice in field.get("enum", ())]:
            assert f"`{choice}`" in page, (name, choice)


def test_the_example_of_the_page_is_answered(write):
    page = (Path(__file__).parents[2] / "docs" / "networks.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    results = solve_network(load_network(write(text)), seeds=[1], customers=2_000)
    assert [result.refused for result in results] == [None, None, None]
    assert results[1].exact


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    network = load_network(share("models", "networks", "mm1k.toml"))
    first, again, other = (solve_network(network, ["simulation"], [seed], 500)[0] for seed in (3, 3, 4))
    assert first == again
    assert first.classes["packets"] != other.classes["packets"]


def test_a_file_of_any_name_is_read(tmp_path):
    path = tmp_path / "mine.net"
    path.write_text(GOOD)
    assert load_network(path) == load_network(path.rename(tmp_path / "mine.toml"))


# ---- units

UNITS = """
name = "t"
[station.cpu]
[class.p]
arrivals = { process = "poisson", rate = "150kpps" }
service.cpu = { distribution = "hyperexponential", means = ["4 us", "6000 ns"], probability = 0.5 }
route.in = { cpu = 1.0 }
route.cpu = { out = 1.0 }
"""


def test_times_and_rates_may_be_texts_with_units(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(UNITS)
    customers = load_network(path).classes["p"]
    assert customers.arrivals.rate == 150e3
    assert customers.service["cpu"].means == pytest.approx((4e-6, 6e-6), rel=1e-15)


def test_units_may_stand_in_names(tmp_path):
    """As text or in the name, by value or in lists and lists of lists: one number."""
    path = tmp_path / "t.toml"
    path.write_text(UNITS)
    texts = load_network(path)
    means = 'means = ["4 us", "6000 ns"]'
    for old, new in (
        ('rate = "150kpps"', "rate_kpps = 150"),
        ('rate = "150kpps"', "rate_mpps = 0.15"),
        ('rate = "150kpps"', "rate_hz = 150e3"),
        (means, "means_us = [4, 6]"),
        (means, "means_ms = [0.004, 0.006]"),
        (means, 'means_ns = ["4 us", 6000]'),
    ):
        assert old in UNITS
        path.write_text(UNITS.replace(old, new))
        assert load_network(path) == texts, new
    quiet, arrive = 'quiet = [["-30 kHz", "10 kHz"], ["5 kHz", "-5 kHz"]]', "arrive_khz = [[20, 0], [0, 0]]"
    process = f'{{ process = "markovian", {quiet}, {arrive} }}'
    path.write_text(UNITS.replace('{ process = "poisson", rate = "150kpps" }', process))
    assert load_network(path).classes["p"].arrivals.arrive == [[20e3, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('rate = "150kpps"', "rate_us = 5", r"rate must be in Hz .*, got '5 us' \(time\)"),
        ('rate = "150kpps"', 'rate = "150kpps", rate_hz = 5', "rate stands there twice, as rate and as rate_hz"),
        ('means = ["4 us", "6000 ns"]', "means_mhz = [4, 5]", r"means\[0\] must be in s .*, got '4 MHz' \(frequency\)"),
        ('means = ["4 us", "6000 ns"]', "means_nss = [4, 5]", r"'means_nss' is unknown \(nearest: means, mean\)"),
    ],
)
def test_names_with_the_wrong_unit_are_one_line(tmp_path, old, new, fault):
    assert old in UNITS
    path = tmp_path / "t.toml"
    path.write_text(UNITS.replace(old, new))
    with pytest.raises(InputError, match=fault):
        load_network(path)


@pytest.mark.parametrize(
    ("old", "new", "good"),
    [
        ("", "", True),
        ('rate = "150kpps"', "rate_mpps = 0.15", True),
        ('rate = "150kpps"', "rate = 150e3", True),
        ('means = ["4 us", "6000 ns"]', 'means_ns = ["4 us", 6000]', True),
        ('rate = "150kpps"', "rate = 150e3, rate_mpps = 0.15", False),
        ('rate = "150kpps"', 'rate = "often"', False),
        ('rate = "150kpps"', "rate_us = 5", False),
        (', rate = "150kpps"', "", False),
        ('means = ["4 us", "6000 ns"]', "means_mhz = [4, 5]", False),
    ],
)
def test_the_schema_says_where_units_stand(old, new, good):
    assert old in UNITS
    document = tomllib.loads(UNITS.replace(old, new))
    assert jsonschema.Draft202012Validator(network_schema()).is_valid(document) == good


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ('"150kpps"', '"150e9 kpps"', r"rate is 1\.5e\+14 packets/s, outside 1\.\.1e\+12 packets/s"),
        ('rate = "150kpps"', "rate_mpps = 1.5e-7", r"rate is 0\.15 packets/s, outside .*; is it '0\.15 Mpps'"),
        ('"4 us"', "4.0", r"class\.p\.service\.cpu\.means\[0\] = 4 has no unit and counts in seconds"),
        ('"4 us"', '"4000 s"', "is it '4000 "),
    ],
)
def test_numbers_that_were_meant_in_another_unit_are_warned_about(tmp_path, old, new, warning):
    path = tmp_path / "t.toml"
    path.write_text(UNITS.replace(old, new))
    with pytest.warns(UnitWarning, match=warning):
        load_network(path)


def test_units_of_the_wrong_kind_are_told_all_at_once(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(UNITS.replace("150kpps", "150 us").replace("4 us", "4 Mpps"))
    with pytest.raises(FaultsError) as caught:
        load_network(path)
    assert [("arrivals.rate" in fault, "means[0]" in fault) for fault in caught.value.faults] == [
        (True, False),
        (False, True),
    ]
