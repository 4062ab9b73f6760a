"""The Markov chain of a network: every network with a known truth, and random ones against the simulation."""

import numpy as np
import pytest
from reference.chain_against_simulation import assert_agrees, network_of
from reference.network_truths import all_networks, exponential, poisson, queue, ring, value

from npexplore.networks import ctmc
from npexplore.networks.ctmc import solve_ctmc

NETWORKS = all_networks()
NOT_MARKOVIAN = {
    "md1", "priorities", "bank_interference", "fifo deterministic", "fifo uniform", "fifo empirical",
    "ps deterministic", "ps uniform", "ps empirical", "delay uniform", "periodic", "preemptive",
}  # fmt: skip
MANY = {"ps erlang", "ps hyperexponential", "priority"}  # states: insensitive, or known in closed form


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in MANY])
def test_the_chain_knows_the_truth(name):
    network, truths = NETWORKS[name]
    answer = solve_ctmc(network, 20_000)
    if name in NOT_MARKOVIAN:
        assert "needs times of exponential phases, got" in answer.refused
        return
    assert answer.refused is None
    assert answer.error < 1e-6
    for place, truth in truths.items():
        assert value(answer, place) == pytest.approx(truth, rel=2e-6), place


ERLANG_2 = {"distribution": "erlang", "mean": 1.0, "stages": 2}
WITHOUT_PRODUCT_FORM = {
    "two stations block one": {
        "station": {"a": {"servers": 2}, "b": {}, "c": {"capacity": 2, "when_full": "block"}},
        "class": {
            "x": {
                "population": 5, "service": {"a": exponential(1.0), "b": exponential(0.7), "c": exponential(0.6)},
                "route": {"in": {"a": 0.5, "b": 0.5}, "a": {"c": 1.0}, "b": {"c": 0.8, "out": 0.2}, "c": {"out": 1.0}},
            }
        },
    },
    "priorities in a closed network": {
        "station": {"cpu": {"discipline": "priority"}, "disk": {}},
        "class": {
            name: {
                "population": 2, "priority": k, "think_time": exponential(1.0 + k),
                "service": {"cpu": ERLANG_2 if k else exponential(0.5), "disk": exponential(0.8)},
                "route": {"in": {"cpu": 1.0}, "cpu": {"disk": 0.6, "out": 0.4}, "disk": {"cpu": 1.0}},
            }
            for k, name in enumerate(("gold", "tin"))
        },
    },
    "preemption in a closed network": {
        "station": {"cpu": {"discipline": "preemptive"}, "disk": {"discipline": "ps"}},
        "class": {
            name: {
                "population": 2, "priority": k, "service": {"cpu": ERLANG_2, "disk": exponential(0.8)},
                "route": {"in": {"cpu": 1.0}, "cpu": {"disk": 0.6, "out": 0.4}, "disk": {"cpu": 1.0}},
            }
            for k, name in enumerate(("gold", "tin"))
        },
    },
    "fork with unequal branches": {
        "station": {"a": {}, "b": {"servers": 2}, "c": {"discipline": "ps"}},
        "fork": {"f": {"stations": ["a", "b"]}},
        "class": {
            "x": {
                "population": 3, "service": {"a": exponential(0.5), "b": ERLANG_2, "c": exponential(0.4)},
                "route": {"in": {"f": 1.0}, "f": {"c": 1.0}, "c": {"out": 1.0}},
            }
        },
    },
    "batches that drop": {
        "station": {"a": {"capacity": 4}, "b": {"capacity": 3, "when_full": "block"}},
        "class": {
            "x": {
                "arrivals": {"process": "batch", "rate": 0.9, "size": 2},
                "service": {"a": exponential(1.0), "b": exponential(0.7)},
                "route": {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"out": 1.0}},
            }
        },
    },
    "first come, unequal services": {
        "station": {"a": {"servers": 2}, "b": {}},
        "class": {
            name: {
                "population": 2, "service": {"a": exponential(mean), "b": exponential(0.5)},
                "route": {"in": {"a": 1.0}, "a": {"b": 1.0}, "b": {"out": 1.0}},
            }
            for name, mean in (("short", 0.3), ("long", 3.0))
        },
    },
    "last come": {
        "station": {"a": {"discipline": "last"}},
        "class": {
            name: {
                "population": 3, "think_time": exponential(1.0), "service": {"a": exponential(mean)},
                "route": {"in": {"a": 1.0}, "a": {"out": 1.0}},
            }
            for name, mean in (("short", 0.3), ("long", 1.0))
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_PRODUCT_FORM)
def test_what_has_no_product_form_agrees_with_the_simulation(name):
    chain = assert_agrees(network_of(WITHOUT_PRODUCT_FORM[name]))
    assert chain.exact
    assert chain.error < 1e-7


def random_description(rng):
    names = [f"s{k}" for k in range(rng.integers(2, 4))]
    station, classes = {}, {}
    for name in names:
        one = {"discipline": str(rng.choice(["fifo", "ps", "priority", "delay"]))}
        if one["discipline"] != "delay":
            one["servers"] = int(rng.integers(1, 3))
            if rng.random() < 0.3:
                one |= {"capacity": int(rng.integers(2, 4))}
        station[name] = one
    for k in range(rng.integers(1, 3)):
        service = {}
        for name in names:
            mean = float(rng.choice([0.3, 0.7, 1.0]))
            service[name] = (
                exponential(mean) if rng.random() < 0.6 else {"distribution": "erlang", "mean": mean, "stages": 2}
            )
        route = {"in": {names[0]: 1.0}}
        for at, name in enumerate(names):
            route[name] = {"out": 0.4, names[(at + 1) % len(names)]: 0.6}
        classes[f"c{k}"] = {
            "population": int(rng.integers(1, 4)), "think_time": exponential(1.0), "priority": int(k),
            "service": service, "route": route,
        }  # fmt: skip
    return {"station": station, "class": classes}


@pytest.mark.parametrize("seed", range(6))
def test_random_networks_agree_with_the_simulation(seed):
    """The chain is a second oracle of the engine: limits, priorities, phases, several servers and classes."""
    assert_agrees(network_of(random_description(np.random.default_rng(seed))), share=0.03)


def test_the_answer_says_where_it_was_cut_and_how_sure_it_is():
    answer = solve_ctmc(network_of(queue(arrivals=poisson(0.7))))
    assert not answer.exact
    assert answer.approximation.startswith("open classes cut at ")
    assert answer.classes["c"].mean_response == pytest.approx(1 / 0.3, rel=1e-7)


def test_deadlocks_name_who_waits_for_what():
    limits = {"capacity": 1, "when_full": "block"}
    network = ring({"a": limits, "b": limits}, {"a": exponential(1.0), "b": exponential(1.0)}, population=2)
    network["class"]["c"]["route"]["b"] = {"a": 0.5, "out": 0.5}
    answer = solve_ctmc(network_of(network))
    assert answer.refused.startswith("deadlock: no customer can move any more in ")
    assert "waits for room at 'b'" in answer.refused


def test_too_many_states_are_refused_with_the_number():
    network = network_of(ring({k: {} for k in "abcdefg"}, {k: exponential(1.0) for k in "abcdefg"}, population=20))
    assert solve_ctmc(network, 1000).refused.startswith("chain: more than 1000 states")
    assert "GB of memory" in solve_ctmc(network, most_bytes=1_000_000).refused


def test_states_are_the_same_however_many_are_followed_together(monkeypatch):
    network = network_of(ring({k: {"servers": 2} for k in "abc"}, {k: exponential(1.0) for k in "abc"}, population=5))
    wide = ctmc.solve_chain(network)
    monkeypatch.setattr(ctmc, "AT_ONCE", 2)
    monkeypatch.setattr(ctmc, "FIRST_ARCS", 1)
    narrow = ctmc.solve_chain(network)
    assert (narrow.states == wide.states).all()
    assert (narrow.rewards == wide.rewards).all()
    assert narrow.chain == wide.chain


def test_nobody_goes_round_without_time():
    network = queue({"capacity": 1}, population=2)
    assert "without any time" in solve_ctmc(network_of(network)).refused
