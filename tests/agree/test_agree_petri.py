"""Petri nets against published state spaces and against formulas.

States, arcs and tokens: Model Checking Contest 2020, examination StateSpace, as kept in the files oracle/NET-SS.out of
https://github.com/yanntm/pnmcc-models-2020; PRISM Benchmark Suite, models/ctmcs/*/logs of
https://github.com/prismmodelchecker/prism-benchmarks (CC BY 4.0).
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from npexplore.errors import UnknownNameError
from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import find_markings, find_structure, solve_chain
from npexplore.solve.petri.graph import find_graph
from npexplore.solve.petri.vanishing import remove_vanishing

CONTEST = [  # net, constants, states, arcs, most tokens in a place, most in a marking
    ("philosophers", {"n": 5}, 243, 945, 1, 10),  # Philosophers-PT-000005
    ("fms", {"n": 2}, 3444, 16311, 3, 12),  # FMS-PT-00002
    pytest.param("fms", {"n": 5}, 2895018, 23527185, 5, 21, marks=pytest.mark.slow),  # FMS-PT-00005
    pytest.param("kanban", {"t": 5}, 2546432, 24460016, 5, 20, marks=pytest.mark.slow),  # Kanban-PT-00005
]
PRISM = [  # net, constants, states, transitions
    ("kanban", {"t": 1}, 160, 616),
    ("kanban", {"t": 2}, 4600, 28120),
    ("kanban", {"t": 3}, 58400, 446400),
    ("tandem", {"c": 5}, 66, 189),
    ("tandem", {"c": 31}, 2016, 6819),
    ("polling_server", {"n": 3}, 36, 84),
    ("polling_server", {"n": 6}, 576, 2208),
    ("polling_server", {"n": 10}, 15360, 89600),
]


@pytest.mark.parametrize(("name", "constants", "states", "arcs", "in_place", "in_marking"), CONTEST)
def test_state_spaces_of_the_model_checking_contest(name, constants, states, arcs, in_place, in_marking):
    found = find_markings(load_net(name, constants))
    assert (found.states, found.arcs) == (states, arcs)
    assert (found.max_tokens_in_place, found.max_tokens_in_marking) == (in_place, in_marking)
    assert found.bounded


@pytest.mark.parametrize(("name", "constants", "states", "arcs"), PRISM)
def test_state_spaces_of_prism(name, constants, states, arcs):
    found = find_markings(load_net(name, constants))
    assert (found.states, found.arcs, found.vanishing) == (states, arcs, 0)


@pytest.mark.parametrize(("n", "states", "arcs"), [(1, 54, 155), (2, 810, 3699), (3, 6520, 37394)])
def test_tangible_markings_are_those_that_prism_has(n, states, arcs):
    """Its fms.sm writes out by hand what follows in no time; here that is done by instantaneous transitions."""
    graph = find_graph(load_net("fms_stochastic", {"n": n}))
    assert (~graph.vanishing).sum() == states
    chain, _ = remove_vanishing(graph, csr_matrix((int(graph.vanishing.sum()), 1)))
    assert len(chain.rate) == arcs


def test_philosophers_starve_in_two_ways():
    found = find_markings(load_net("philosophers", {"n": 4}))
    assert found.dead_markings == 2
    assert found.deadlock.firings == [f"left[{k}]" for k in range(4)]
    assert found.deadlock.marking == {f"Left[{k}]": 1 for k in range(4)}


def test_semiflows_of_the_philosophers_are_forks_and_people():
    found = find_structure(load_net("philosophers", {"n": 3}))
    flows = [one.weights for one in found.p_semiflows]
    for k in range(3):
        assert dict.fromkeys((f"Think[{k}]", f"Left[{k}]", f"Right[{k}]", f"Eat[{k}]"), 1) in flows
        assert (
            dict.fromkeys((f"Fork[{k}]", f"Left[{k}]", f"Right[{(k - 1) % 3}]", f"Eat[{k}]", f"Eat[{(k - 1) % 3}]"), 1)
            in flows
        )
    assert len(flows) == 6
    assert all(one.tokens == 1 for one in found.p_semiflows)
    assert len(found.t_semiflows) == 6
    assert found.uncovered_places == []


@pytest.mark.parametrize(("servers", "K"), [("1", 4), ("2", 5), ("all", 3)])
def test_a_queue_with_little_room_is_erlangs(servers, K):
    """M/M/c/K: p_n in proportion to the product of 0.7 / (0.5 min(k, c)), k = 1..n."""
    made = net(
        timing="race",
        place={"Queue": {"capacity": K}},
        transition={"come": "-> Queue, rate 0.7", "go": f"Queue ->, for exponential(2), servers {servers}"},
    )
    answer = solve_chain(made)
    c = K if servers == "all" else int(servers)
    p = np.cumprod([1.0, *(0.7 / (0.5 * min(k, c)) for k in range(1, K + 1))])
    p /= p.sum()
    assert answer.places["Queue"].mean == pytest.approx(p @ np.arange(K + 1), rel=1e-12)
    assert answer.transitions["come"].throughput == pytest.approx(0.7 * (1 - p[K]), rel=1e-12)
    assert answer.error < 1e-12


def test_durations_without_conflict_are_a_closed_network():
    """Two customers think 3, are served for 2 by one: idle with 1 / (1 + 2 (2/3) + 2 (2/3)^2), throughput busy / 2."""
    made = net(
        timing="duration",
        place={"Thinking": 2, "Waiting": 0, "Server": 1},
        transition={
            "think": "Thinking -> Waiting, for exponential(3)",
            "serve": "Waiting -> Thinking, using Server, for exponential(2)",
        },
    )
    answer = solve_chain(made)
    idle = 1 / (1 + 2 * (2 / 3) + 2 * (2 / 3) ** 2)
    assert answer.places["Server"].mean == pytest.approx(idle, rel=1e-12)
    assert answer.transitions["serve"].throughput == pytest.approx((1 - idle) / 2, rel=1e-12)
    assert list(answer.transitions) == ["think", "serve"]


def test_weights_split_and_priorities_decide():
    made = net(
        timing="race",
        place={"Idle": 1, "Chosen": 0, "Left": 0, "Right": 0},
        transition={
            "go": "Idle -> Chosen, rate 1",
            "left": "Chosen -> Left, priority 1, weight 3",
            "right": "Chosen -> Right, priority 1",
            "never": "Chosen -> Idle",
            "back_left": "Left -> Idle, rate 2",
            "back_right": "Right -> Idle, rate 4",
        },
    )
    cycle = 1 + 0.75 / 2 + 0.25 / 4
    rates = {name: one.throughput for name, one in solve_chain(made).transitions.items()}
    shares = {"go": 1, "left": 0.75, "right": 0.25, "never": 0, "back_left": 0.75, "back_right": 0.25}
    assert rates == pytest.approx({name: share / cycle for name, share in shares.items()}, rel=1e-12)


def test_only_what_is_asked_for_is_answered():
    made = load_net("kanban", {"t": 1})
    whole, part = solve_chain(made), solve_chain(made, only=["in1", "x2"])
    assert list(part.places) == ["x2"]
    assert list(part.transitions) == ["in1"]
    assert part.places["x2"].mean == pytest.approx(whole.places["x2"].mean, rel=1e-9)
    assert part.transitions["in1"].throughput == pytest.approx(whole.transitions["in1"].throughput, rel=1e-9)
    with pytest.raises(UnknownNameError, match="place or transition 'in2' is unknown"):
        solve_chain(made, only=["in2"])
