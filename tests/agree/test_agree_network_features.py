"""Single features of network files against exact results: service and arrival processes, sharing, loops, forks, limits.

Simulations must lie within four standard errors and 4 % of the truth; the queueing answer as far as it is exact.
"""

import pytest
from reference.network_truths import FEATURES, feature
from scipy.special import stdtrit

from npexplore.networks.description import load_network
from npexplore.networks.solve import solve_network

SEEDS = range(1, 9)
CUSTOMERS = 40_000
POISSON = '{ process = "poisson", rate = 0.7 }'
EXPONENTIAL = '{ distribution = "exponential", mean = 1.0 }'
QUEUE = """
name = "queue"
station.s = {station}
[class.c]
arrivals = {arrivals}
service.s = {service}
route.in = {{ s = 1.0 }}
route.s = {{ out = 1.0 }}
"""


@pytest.fixture
def solve(tmp_path):
    def solve(text):
        path = tmp_path / "network.toml"
        path.write_text(text)
        return solve_network(load_network(path), ["queueing", "simulation"], SEEDS, CUSTOMERS)

    return solve


def check(simulation, place, truth):
    kind, subject, field = place.split(".")
    low, high = simulation.ci95[place]
    error = abs(getattr(getattr(simulation, kind)[subject], field) - truth)
    assert error <= 4 * (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975), (place, truth, error)
    assert error <= 0.04 * truth, (place, truth, error)


@pytest.mark.parametrize("name", FEATURES)
def test_feature(name):
    (simulation,) = solve_network(feature(name), ["simulation"], SEEDS, CUSTOMERS)
    for place, truth in FEATURES[name][1].items():
        check(simulation, place, truth)


def test_evenly_spaced_arrivals_at_half_load_are_exact(solve):
    """D/M/1: sigma = exp(-2 (1 - sigma)) = 0.2032 and 0.5 / (1 - sigma) = 0.6275 customers; Allen-Cunneen says 0.75."""
    text = QUEUE.format(station="{}", arrivals='{ process = "periodic", rate = 0.5 }', service=EXPONENTIAL)
    queueing, simulation = solve(text)
    assert queueing.exact
    assert queueing.stations["s"].mean_number == pytest.approx(0.6275, abs=5e-5)
    check(simulation, "stations.s.mean_number", queueing.stations["s"].mean_number)


def test_a_delay_has_no_utilization():
    for result in solve_network(feature("delay exponential"), ["queueing", "simulation"], SEEDS, CUSTOMERS):
        assert result.stations["s"].utilization is None


def test_mixed_loops(solve):
    """A closed and an open class share a processor; the open one comes back half of the time (BCMP)."""
    queueing, simulation = solve("""
        name = "mixed"
        station.cpu = { discipline = "ps", servers = 2 }
        station.disk = {}
        [class.open]
        arrivals = { process = "poisson", rate = 0.3 }
        service.cpu = { distribution = "deterministic", mean = 1.0 }
        route.in = { cpu = 1.0 }
        route.cpu = { cpu = 0.5, out = 0.5 }
        [class.closed]
        population = 3
        think_time = { distribution = "uniform", low = 1.0, high = 3.0 }
        service.cpu = { distribution = "erlang", mean = 0.5, stages = 2 }
        service.disk = { distribution = "exponential", mean = 0.4 }
        route.in = { cpu = 1.0 }
        route.cpu = { disk = 1.0 }
        route.disk = { out = 1.0 }
    """)
    assert queueing.exact
    for name in ("open", "closed"):
        check(simulation, f"classes.{name}.mean_response", queueing.classes[name].mean_response)
    check(simulation, "stations.cpu.utilization", queueing.stations["cpu"].utilization)
    check(simulation, "stations.disk.mean_number", queueing.stations["disk"].mean_number)


def test_blocking_in_a_circle_of_full_stations_is_refused_with_who_waits(solve):
    text = """
        name = "circle"
        station.a = { capacity = 1, when_full = "block" }
        station.b = { capacity = 1, when_full = "block" }
        [class.c]
        population = 2
        service.a = { distribution = "exponential", mean = 1.0 }
        service.b = { distribution = "exponential", mean = 1.0 }
        route.in = { a = 1.0 }
        route.a = { b = 1.0 }
        route.b = { a = 0.5, out = 0.5 }
    """
    queueing, simulation = solve(text)
    assert "limited capacity" in queueing.refused
    assert simulation.refused.startswith("deadlock: ")
    assert "room" in simulation.refused
    _, one = solve(text.replace("population = 2", "population = 1"))
    assert one.refused is None


def test_a_network_that_fills_up_is_refused(solve):
    """Blocking takes half of the capacity of the first station: no offered load says so, the run does."""
    _, simulation = solve("""
        name = "flood"
        station.first = {}
        station.second = { capacity = 1, when_full = "block" }
        [class.c]
        arrivals = { process = "poisson", rate = 0.99 }
        service.first = { distribution = "deterministic", mean = 1.0 }
        service.second = { distribution = "exponential", mean = 1.0 }
        route.in = { first = 1.0 }
        route.first = { second = 1.0 }
        route.second = { out = 1.0 }
    """)
    assert simulation.refused.startswith("no steady state: ")


def test_load_dependent_station_at_one_customer_runs_at_its_first_rate(solve):
    queueing, simulation = solve("""
        name = "one"
        station.s = { discipline = "ps", rates = [0.5, 4.0] }
        [class.c]
        population = 1
        service.s = { distribution = "deterministic", mean = 1.0 }
        route.in = { s = 1.0 }
        route.s = { out = 1.0 }
    """)
    assert queueing.classes["c"].mean_response == pytest.approx(2.0)
    assert simulation.classes["c"].mean_response == pytest.approx(2.0)
    assert simulation.stations["s"].utilization == pytest.approx(0.125)


@pytest.mark.parametrize("speed", [1e-6, 1.0, 1e6])
def test_only_ratios_of_times_matter(solve, speed):
    """M/M/1 with a processor of any speed and work to match."""
    queueing, simulation = solve(f"""
        name = "scaled"
        station.s = {{ discipline = "ps", rates = [{speed}] }}
        [class.c]
        arrivals = {{ process = "poisson", rate = 0.5 }}
        service.s = {{ distribution = "exponential", mean = {speed} }}
        route.in = {{ s = 1.0 }}
        route.s = {{ out = 1.0 }}
    """)
    assert queueing.classes["c"].mean_response == pytest.approx(2.0)
    check(simulation, "classes.c.mean_response", 2.0)


def test_two_streams_that_look_like_poisson_together_are_not_called_exact(solve):
    """Evenly spaced ones and pairs, equally many: their counts vary like Poisson's only in the long run."""
    one = """
        [class.{name}]
        arrivals = {{ process = "{process}", rate = 0.3{more} }}
        service.s = {{ distribution = "exponential", mean = 1.0 }}
        route.in = {{ s = 1.0 }}
        route.s = {{ out = 1.0 }}
    """
    streams = (
        one.format(name="a", process="periodic", more=""),
        one.format(name="b", process="batch", more=", size = 2"),
    )
    queueing, _ = solve('name = "two"\nstation.s = {}\n' + "".join(streams))
    assert not queueing.exact
    assert queueing.approximation == "phases by two moments"


def test_approximations_of_what_has_no_closed_form_are_near_the_simulation(solve):
    """Closed FIFO with constant service at one of two stations; open FIFO tandem with Erlang service."""
    closed, simulated = solve("""
        name = "closed"
        station.a = {}
        station.b = {}
        [class.c]
        population = 4
        service.a = { distribution = "deterministic", mean = 1.0 }
        service.b = { distribution = "exponential", mean = 0.8 }
        route.in = { a = 1.0 }
        route.a = { b = 1.0 }
        route.b = { out = 1.0 }
    """)
    assert "Schweitzer" in closed.approximation
    assert closed.classes["c"].throughput == pytest.approx(simulated.classes["c"].throughput, rel=0.1)
    tandem, simulated = solve("""
        name = "tandem"
        station.a = { servers = 2 }
        station.b = {}
        [class.c]
        arrivals = { process = "poisson", rate = 0.6 }
        service.a = { distribution = "erlang", mean = 2.0, stages = 3 }
        service.b = { distribution = "uniform", low = 0.5, high = 1.5 }
        route.in = { a = 1.0 }
        route.a = { b = 1.0 }
        route.b = { out = 1.0 }
    """)
    assert tandem.approximation == "phases by two moments, flows inside the network by their variability"
    assert tandem.classes["c"].mean_response == pytest.approx(simulated.classes["c"].mean_response, rel=0.1)


def test_fork_over_three_equal_servers(solve):
    """Nelson and Tantawi's formula against the run: within the 5 % they state."""
    names = ("a", "b", "c")
    queueing, simulation = solve("""
        name = "three"
        fork.all = { stations = ["a", "b", "c"] }
        [class.c]
        arrivals = { process = "poisson", rate = 0.5 }
        route.in = { all = 1.0 }
        route.all = { out = 1.0 }
        """ + "".join(f'service.{n} = {{ distribution = "exponential", mean = 1.0 }}\n' for n in names)
        + "".join(f"[station.{n}]\n" for n in names)
    )  # fmt: skip
    assert (queueing.exact, queueing.approximation) == (False, "Nelson-Tantawi")
    assert queueing.classes["c"].mean_response == pytest.approx(simulation.classes["c"].mean_response, rel=0.05)


BIG = """
    name = "big"
    station.a = {}
    station.b = { discipline = "ps" }
"""
BIG_CLASS = """
    [class.{name}]
    population = {population}
    service.a = {{ distribution = "exponential", mean = 1.0 }}
    service.b = {{ distribution = "exponential", mean = {mean} }}
    route.in = {{ a = 1.0 }}
    route.a = {{ b = 1.0 }}
    route.b = {{ out = 1.0 }}
"""


def test_populations_too_large_for_exact_mva_are_approximated(solve):
    classes = (BIG_CLASS.format(name=f"c{r}", population=80, mean=2.0 + r) for r in range(4))
    queueing, simulation = solve(BIG + "".join(classes))
    assert queueing.approximation.startswith("Linearizer (exact multi-class MVA: ")
    for name, one in queueing.classes.items():
        assert one.throughput == pytest.approx(simulation.classes[name].throughput, rel=0.05)


def test_more_customers_than_tokens_are_refused_by_the_simulation(tmp_path):
    path = tmp_path / "big.toml"
    path.write_text(BIG + BIG_CLASS.format(name="c", population=2_000_000, mean=2.0))
    (simulation,) = solve_network(load_network(path), ["simulation"])
    assert "1048576 customers" in simulation.refused


@pytest.mark.parametrize("station", ["{}", "{ servers = 3 }", "{ capacity = 6 }", "{ servers = 2, capacity = 3 }"])
def test_quantiles(solve, station):
    """Histogram bins are right within 1.6 %, the run within little."""
    queueing, simulation = solve(QUEUE.format(station=station, arrivals=POISSON, service=EXPONENTIAL))
    for name in ("p50", "p95", "p99"):
        exact, found = (getattr(result.classes["c"], name) for result in (queueing, simulation))
        assert found == pytest.approx(exact, rel=0.03), name


def test_customers_of_one_priority_wait_in_one_line(solve):
    """Preemptive resume: two classes with unequal service share the lower priority."""
    one = """
        [class.{name}]
        priority = {priority}
        arrivals = {{ process = "poisson", rate = {rate} }}
        service.s = {{ distribution = "{kind}", mean = {mean} }}
        route.in = {{ s = 1.0 }}
        route.s = {{ out = 1.0 }}
    """
    classes = [("top", 1, 0.3, "exponential", 1.0), ("long", 7, 0.1, "exponential", 2.0)]
    classes += [("short", 7, 0.2, "deterministic", 0.5)]
    keys = ("name", "priority", "rate", "kind", "mean")
    text = "".join(one.format(**dict(zip(keys, values, strict=True))) for values in classes)
    queueing, simulation = solve('name = "levels"\nstation.s = { discipline = "preemptive" }\n' + text)
    assert queueing.exact
    for name, *_ in classes:
        check(simulation, f"classes.{name}.mean_response", queueing.classes[name].mean_response)


@pytest.mark.parametrize(
    ("station", "reason"),
    [
        ('{ discipline = "preemptive", rates = [1.0, 2.0] }', "rates together with priorities at station 's'"),
        ('{ discipline = "priority", servers = 2 }', "priorities is solved at 1 server only, 's' has 2"),
        ('{ discipline = "preemptive", capacity = 4 }', "station 's': M/M/c/K needs"),
        ("{ capacity = 4, when_full = 'block' }", "only a capacity that drops has a closed form"),
    ],
)
def test_what_has_no_closed_form_is_refused_by_name(solve, station, reason):
    queueing, simulation = solve(QUEUE.format(station=station, arrivals=POISSON, service=EXPONENTIAL))
    assert reason in queueing.refused
    assert simulation.refused is None


def test_seventeen_priorities_that_preempt_are_refused(tmp_path):
    one = QUEUE.split("[class.c]")
    text = one[0].format(station='{ discipline = "preemptive" }') + "".join(
        f"[class.c{n}]\npriority = {n}\n"
        + one[1].format(arrivals='{ process = "poisson", rate = 0.01 }', service=EXPONENTIAL)
        for n in range(17)
    )
    path = tmp_path / "many.toml"
    path.write_text(text)
    (simulation,) = solve_network(load_network(path), ["simulation"])
    assert simulation.refused == "preemptive stations with more than 16 priorities"
