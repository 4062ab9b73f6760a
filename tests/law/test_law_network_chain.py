"""The kernel that finds a network's states equals the plain one: every mean of random closed networks."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.network_chain import Plain

from npexplore.networks.ctmc import solve_ctmc
from npexplore.networks.records import Network

means = st.sampled_from((0.3, 0.7, 1.0))


@st.composite
def times(draw):
    mean = draw(means)
    return draw(st.sampled_from((
        {"distribution": "exponential", "mean": mean},
        {"distribution": "exponential", "mean": mean},
        {"distribution": "erlang", "mean": mean, "stages": 2},
        {"distribution": "hyperexponential", "means": [mean, 2 * mean], "probability": 0.4},
        {"distribution": "coxian", "means": [mean, 0.5], "go_on": [0.3]},
    )))  # fmt: skip


@st.composite
def networks(draw):
    """Two or three stations in a row, limited or not, and one or two classes, one of which may become the other."""
    names = [f"s{k}" for k in range(draw(st.integers(2, 3)))]
    station = {}
    for name in names:
        one = {"discipline": draw(st.sampled_from(("fifo", "fifo", "priority", "ps", "delay")))}
        if one["discipline"] != "delay":
            one["servers"] = draw(st.integers(1, 2))
        if one["discipline"] != "delay" and draw(st.integers(0, 2)) == 0:
            one["capacity"] = draw(st.integers(1, 2))
            one["when_full"] = draw(st.sampled_from(("drop", "block")))
        station[name] = one
    for before, name in zip([names[-1], *names], names, strict=False):  # who shares a server cannot wait there
        if station[before]["discipline"] == "ps" and station[name].get("when_full") == "block":
            station[name]["when_full"] = "drop"
    classes = {}
    labels = ["a", "b"][: draw(st.integers(1, 2))]
    for k, label in enumerate(labels):
        route = {"in": {names[0]: 1.0}}
        for at, name in enumerate(names[:-1]):
            route[name] = {names[at + 1]: 1.0}
        into = f"out as {draw(st.sampled_from(labels))}"
        route[names[-1]] = {"out": 0.5, into: 0.5} if draw(st.booleans()) else {"out": 1.0}
        classes[label] = {
            "population": draw(st.integers(1, 2)), "priority": k, "think_time": draw(times()),
            "service": {name: draw(times()) for name in names}, "route": route,
        }  # fmt: skip
    return msgspec.convert({"name": "random", "station": station, "class": classes}, Network)


@pytest.mark.slow
@settings(max_examples=30)
@given(networks())
def test_the_kernel_equals_the_plain_chain(network):
    found = solve_ctmc(network)
    assert found.refused is None
    numbers, passes = Plain(network).answer()
    for (station, c), number in numbers.items():
        if station in found.stations:
            assert found.station_classes[station][c].mean_number == pytest.approx(number, rel=1e-7, abs=1e-9)
    for c, rate in passes.items():
        assert found.classes[c].throughput == pytest.approx(rate, rel=1e-7, abs=1e-9)
