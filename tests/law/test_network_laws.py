"""Random product-form networks: simulation agrees with exact queueing, bounds lie around both, Little's law holds."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from npexplore.networks.ctmc import solve_ctmc
from npexplore.networks.description import load_network
from npexplore.networks.records import Network
from npexplore.networks.simulation import simulate_network
from npexplore.networks.solve import solve_network

SEEDS = range(1, 9)
means = st.sampled_from((0.3, 0.5, 1.0, 2.0))


@st.composite
def times(draw):
    mean = draw(means)
    return draw(
        st.sampled_from(
            (
                {"distribution": "exponential", "mean": mean},
                {"distribution": "deterministic", "mean": mean},
                {"distribution": "erlang", "mean": mean, "stages": 3},
                {"distribution": "uniform", "low": 0.2 * mean, "high": 1.8 * mean},
                {"distribution": "hyperexponential", "means": [mean / 2, 2 * mean], "probability": 0.7},
                {"distribution": "empirical", "values": [mean, 3 * mean], "weights": [2, 1]},
            )
        )
    )


@st.composite
def stations(draw):
    discipline = draw(st.sampled_from(("fifo", "ps", "ps", "delay")))
    station = {"discipline": discipline, "servers": draw(st.integers(1, 3))}
    if discipline == "ps" and draw(st.booleans()):
        station |= {"servers": 1, "rates": draw(st.lists(st.sampled_from((0.8, 1.0, 1.7)), min_size=1, max_size=3))}
    return station


@st.composite
def networks(draw):
    """Stations in a row that customers enter anywhere, leave anywhere, and may go round."""
    names = [f"s{k}" for k in range(draw(st.integers(1, 3)))]
    station = {name: draw(stations()) for name in names}
    fifo = {name: {"distribution": "exponential", "mean": draw(means)} for name in names}
    classes = {}
    for number in range(draw(st.integers(1, 2))):
        one = {
            "service": {name: fifo[name] if station[name]["discipline"] == "fifo" else draw(times()) for name in names}
        }
        if draw(st.booleans()):
            one["population"] = draw(st.integers(1, 4))
            if draw(st.booleans()):
                one["think_time"] = draw(times())
        else:
            one["arrivals"] = {"process": "poisson", "rate": 0.05}
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        one["route"] = {"in": {draw(st.sampled_from(names)): 1.0}}
        for name in names:
            leave = draw(st.sampled_from((0.4, 0.7, 1.0)))
            one["route"][name] = {"out": leave, following[name]: 1 - leave}
        classes[f"c{number}"] = one
    return msgspec.convert({"name": "random", "station": station, "class": classes}, Network)


IN_STEP = {  # times that are multiples of 2: two customers meet at the server in the same way for ever
    "name": "in step", "station": {"s0": {"discipline": "ps"}},
    "class": {"c0": {
        "population": 2, "think_time": {"distribution": "deterministic", "mean": 2.0},
        "route": {"in": {"s0": 1.0}, "s0": {"out": 1.0}},
        "service": {"s0": {"distribution": "empirical", "values": [2.0, 6.0], "weights": [2, 1]}},
    }},
}  # fmt: skip


@settings(max_examples=25)
@example(msgspec.convert(IN_STEP, Network))
@given(networks())
def test_simulation_agrees_with_exact_queueing(network):
    exact, simulation = solve_network(network, ["queueing", "simulation"], SEEDS, 4_000)
    if not exact.exact:
        assert "in step" in exact.approximation
        return
    assert simulation.refused is None
    for place, (low, high) in simulation.ci95.items():
        kind, *subject, field = place.split(".")
        rows = [getattr(result, kind) for result in (exact, simulation)]
        for part in subject:
            rows = [row[part] for row in rows]
        truth, found = (getattr(row, field) for row in rows)
        if truth is None or field == "mean_wait":  # may be next to nothing
            continue
        allowed = 5 * (high - low) / 2 / stdtrit(len(SEEDS) - 1, 0.975) + 0.04 * truth
        assert abs(found - truth) <= allowed, (place, truth, found)


@settings(max_examples=200)
@given(networks())
def test_bounds_lie_around_the_exact_answer_and_littles_law_holds(network):
    bounds, exact = solve_network(network, ["bounds", "queueing"])
    for name, one in exact.classes.items():
        assert one.throughput <= bounds.classes[name].throughput * (1 + 1e-9)
        assert one.mean_response >= bounds.classes[name].mean_response * (1 - 1e-9)
    inside = sum(station.mean_number for station in exact.stations.values())
    assert inside == pytest.approx(sum(one.throughput * one.mean_response for one in exact.classes.values()))
    for station in exact.stations.values():
        if station.throughput:
            assert station.mean_number == pytest.approx(station.throughput * station.mean_response)


TAIL = """
name = "tail"
[station.q]
[class.a]
arrivals = {{ process = "poisson", rate = 0.5 }}
service.q = {{ distribution = "pareto", minimum = {minimum}, shape = {shape} }}
route.in = {{ q = 1.0 }}
route.q = {{ out = 1.0 }}
"""


@pytest.mark.parametrize(("shape", "word"), [(1.5, "no mean"), (2.1, "no variance"), (3.5, "Student")])
def test_waits_behind_heavy_tails_have_no_interval(shape, word, tmp_path):
    path = tmp_path / "tail.toml"
    path.write_text(TAIL.format(minimum=1 - 1 / shape, shape=shape))
    answer = simulate_network(load_network(path), customers=2000)
    assert word in answer.approximation
    assert ("classes.a.mean_response" in answer.ci95) == (shape > 3)
    assert (answer.classes["a"].mean_response is None) == (shape < 2)
    assert ("classes.a.p99" in answer.ci95) == (shape > 2)
    assert all(low >= 0 for low, _ in answer.ci95.values())
    assert "stations.q.throughput" in answer.ci95


LOSSES = """
name = "erlang"
[station.q]
servers = 400
capacity = 400
[class.a]
arrivals = { process = "poisson", rate = 392.0 }
service.q = { distribution = "exponential", mean = 1.0 }
route.in = { q = 1.0 }
route.q = { out = 1.0 }
"""


def test_stations_of_many_servers_fill_before_they_are_measured(tmp_path):
    path = tmp_path / "erlang.toml"
    path.write_text(LOSSES)
    network = load_network(path)
    low, high = simulate_network(network, customers=4000).ci95["stations.q.mean_number"]
    assert low <= solve_ctmc(network).stations["q"].mean_number <= high
