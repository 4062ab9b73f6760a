"""Polling servers: the branching process, Takagi's closed forms, the Markov chain and the simulation say the same."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.network_truths import exponential

from npexplore.errors import InputError
from npexplore.networks.checks import check_network
from npexplore.networks.records import Network
from npexplore.networks.solve import solve_network
from npexplore.solve.queueing import polling

SHORT = exponential(0.5)
ERLANG = {"distribution": "erlang", "mean": 1.0, "stages": 2}
WAYS = {"a": exponential(0.2), "b": {"distribution": "erlang", "mean": 0.4, "stages": 2}}


def network(station, rates=(0.3, 0.2), service=(SHORT, ERLANG), **further):
    """Classes a and b at a polling server `s`; closed with `population`, then with a delay of 1 s behind it."""
    classes = {}
    for name, rate, time in zip("ab", rates, service, strict=True):
        one = {"service": {"s": time}, "route": {"in": {"s": 1.0}, "s": {"out": 1.0}}, **further}
        one |= {"think_time": exponential(1.0)} if further else {"arrivals": {"process": "poisson", "rate": rate}}
        classes[name] = one
    found = {"name": "polling", "station": {"s": {"discipline": "polling", **station}}, "class": classes}
    made = msgspec.convert(found, Network)
    check_network(made)
    return made


def waits(answer):
    assert answer.refused is None
    return [row.mean_wait for row in answer.station_classes["s"].values()]


@pytest.mark.parametrize("ways", [WAYS, {"b": WAYS["b"]}, {}], ids=["both", "one", "none"])
@pytest.mark.parametrize("visits", ["exhaustive", "gated"])
def test_the_branching_process_equals_the_chain(visits, ways):
    queueing, chain = solve_network(network({"visits": visits, "switch_over": ways}), ["queueing", "ctmc"])
    assert queueing.exact
    np.testing.assert_allclose(waits(chain), waits(queueing), rtol=1e-6)
    assert chain.stations["s"].utilization == pytest.approx(0.35, rel=1e-6)


def test_lines_alike_with_limited_visits_equal_the_chain():
    one = network(
        {"visits": "limited", "switch_over": dict.fromkeys("ab", WAYS["b"])}, (0.25, 0.25), (exponential(0.8),) * 2
    )
    queueing, chain = solve_network(one, ["queueing", "ctmc"])
    assert queueing.exact
    np.testing.assert_allclose(waits(chain), waits(queueing), rtol=1e-6)


def test_lines_not_alike_with_limited_visits_are_near_the_chain():
    queueing, chain = solve_network(network({"visits": "limited", "switch_over": WAYS}), ["queueing", "ctmc"])
    assert queueing.approximation == "Boxma-Meister"
    np.testing.assert_allclose(waits(chain), waits(queueing), rtol=0.05)


@pytest.mark.parametrize(
    ("station", "further"),
    [
        ({"visits": "exhaustive", "switch_over": WAYS}, {}),
        ({"visits": "gated", "switch_over": WAYS}, {"population": 3}),
        ({"visits": "limited", "most_a_visit": 2, "switch_over": {"b": WAYS["b"]}}, {}),
        ({"visits": "limited", "switch_over": {}, "capacity": 3}, {"population": 2}),
    ],
)
def test_simulation_is_within_two_percent_of_the_chain(station, further):
    chain, simulation = solve_network(network(station, **further), ["ctmc", "simulation"], customers=60_000)
    for name in ("mean_number", "throughput", "utilization"):
        assert getattr(simulation.stations["s"], name) == pytest.approx(getattr(chain.stations["s"], name), rel=0.02)
    for c in "ab":
        truth = chain.station_classes["s"][c].mean_number
        assert simulation.station_classes["s"][c].mean_number == pytest.approx(truth, rel=0.02)


positive = st.floats(0.05, 2.0)


@settings(max_examples=40)
@given(st.lists(st.tuples(positive, positive, positive, positive), min_size=1, max_size=5), st.floats(0.1, 0.9))
def test_loads_weigh_the_waits_as_the_pseudo_conservation_law_says(lines, load):
    """Boxma and Groenendijk 1987: what a way of visiting adds to the law of work is known."""
    rate, mean, scv, way = np.array(lines).T
    rate *= load / (rate @ mean)
    rho, total = rate * mean, way.sum()
    work = load * (rate @ (mean**2 * (1 + scv))) / 2 / (1 - load) + load * (total**2 + way @ way * 0.5) / 2 / total
    work += total / 2 / (1 - load) * (load**2 - rho @ rho)
    gated = work + total / (1 - load) * (rho @ rho)
    assert rho @ polling(rate, mean, scv, way, 0.5).mean_wait == pytest.approx(work, rel=1e-9)
    assert rho @ polling(rate, mean, scv, way, 0.5, "gated").mean_wait == pytest.approx(gated, rel=1e-9)
    if load + (rate * total).max() < 1:
        limited = polling(rate, mean, scv, way, 0.5, "limited").mean_wait
        assert (rho * (1 - rate * total / (1 - load))) @ limited == pytest.approx(gated, rel=1e-9)


def test_what_polling_cannot_be_is_named():
    with pytest.raises(InputError, match="limited visits come too seldom for class 'a'"):
        solve_network(network({"visits": "limited", "switch_over": {"a": exponential(2.5)}}), ["queueing"])
    with pytest.raises(InputError, match="share below 1, got 1"):
        polling([0.2, 0.2], 1.0, 0.0, 1.5, visits="limited")
    with pytest.raises(InputError, match="visits: must be one of"):
        polling([0.2], 1.0, 0.0, 1.5, visits="now and then")
    (twice,) = solve_network(network({"visits": "limited", "most_a_visit": 2}), ["queueing"])
    assert "limited to more than one customer" in twice.refused
    for station, rule in (
        ({"servers": 2}, "polling needs 1 server"),
        ({"most_a_visit": 2}, "most_a_visit needs visits limited"),
        ({"switch_over": {"c": exponential(1.0)}}, "class 'c' is unknown"),
        ({"discipline": "fifo", "visits": "gated"}, "needs discipline polling"),
    ):
        with pytest.raises(InputError, match=rule):
            network(station)
