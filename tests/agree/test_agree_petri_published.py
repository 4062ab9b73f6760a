"""Measures of nets that other tools solved in rational numbers, and state spaces that many tools agreed on.

Measures: Storm's exact engine, benchmarks/ctmc/NET/results/Storm.exact.*.json of the Quantitative Verification
Benchmark Set, https://github.com/ahartmanns/qcomp (CC BY 4.0), sixteen digits of each fraction; the questions are
those of PRISM's benchmarks, https://github.com/prismmodelchecker/prism-benchmarks (CC BY 4.0), whose logs have the
states of the cluster. State spaces: Model Checking Contest 2020, oracleSS.tar.gz of
https://github.com/yanntm/pnmcc-models-2020 (numbers alone, no licence is told).
"""

import pytest

from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import find_markings, solve_chain

SUM_OF = {  # net: what its measure is made of, each with its weight
    "fms_stochastic": {"t1": 400, "t2": 600, "t3": 100, "t12": 1100},  # productivity
    "kanban": {"in1": 1},  # throughput
    "polling_server": {"Full[0]": 1, "Serving[0]": -1},  # station 1 waits and is not served
    "tandem": {"First": 1, "Second": 1},  # customers
    "cluster": {"premium": 1},  # all of N workstations are there and connected
}
EXACT = [  # net, constants, the measure
    ("fms_stochastic", {"n": 1}, 13.85312833622229),
    ("fms_stochastic", {"n": 2}, 29.154698799657936),
    ("kanban", {"t": 1}, 0.0925846346333826),
    ("polling_server", {"n": 3}, 0.1308020365834841),
    ("polling_server", {"n": 5}, 0.14492709367584383),
    ("polling_server", {"n": 8}, 0.14378276964032002),
    ("tandem", {"c": 5}, 5.679249959967679),
    ("tandem", {"c": 7}, 7.7465621853360425),
    ("tandem", {"c": 15}, 15.798592927169762),
    ("tandem", {"c": 31}, 31.81500388515128),
    ("cluster", {"n": 2}, 0.9999615335623628),
    ("cluster", {"n": 4}, 0.9999212408513793),
]
SPACES = {  # model of the contest: states, arcs, most tokens in a place, most in a marking
    "RwMutex-PT-r0010w0010": (1034, 10260, 1, 30),
    "Referendum-PT-0010": (59050, 393661, 1, 10),
    "SharedMemory-PT-000005": (1863, 10395, 1, 11),
    "SharedMemory-PT-000010": (1830519, 19486170, 1, 21),
    "Eratosthenes-PT-010": (32, 120, 1, 9),
}


def cluster(n, probed=True):
    """Return two clusters of n workstations, two switches, a line, one repairman (Haverkort et al., SRDS 2000).

    The transition that changes nothing fires at rate 1 while service is premium: its throughput is that share of time.
    """
    lines = {
        "fail": "Up[c] ->, rate Up[c] / 500",
        "inspect": "Idle -> Mending[c], if Up[c] < n, rate 10",
        "mend": "Mending[c] -> Up[c] + Idle, rate 2",
        "switch_fail": "Switch[c] ->, rate 1 / 4000",
        "switch_inspect": "Idle -> SwitchMending[c], unless Switch[c], rate 10",
        "switch_mend": "SwitchMending[c] -> Switch[c] + Idle, rate 0.25",
        "line_fail": "Line ->, rate 1 / 5000",
        "line_inspect": "Idle -> LineMending, unless Line, rate 10",
        "line_mend": "LineMending -> Line + Idle, rate 0.125",
    }
    if probed:
        lines["premium"] = (
            "Clock -> Clock, if (Up[0] >= n and Switch[0]) or (Up[1] >= n and Switch[1]) "
            "or (Up[0] + Up[1] >= n and Switch[0] and Line and Switch[1]), rate 1"
        )
    places = {"Up[c]": "n", "Mending[c]": 0, "Switch[c]": 1, "SwitchMending[c]": 0, "Line": 1, "LineMending": 0,
              "Idle": 1, "Clock": 1}  # fmt: skip
    return net(timing="race", constant={"n": n}, index={"c": 2}, place=places, transition=lines)


def contest(name):
    """Return a model of the contest, drawn again from what it is about."""
    if name.startswith("RwMutex"):  # a writer needs the slots of all readers
        slots = " + ".join(f"Slot[{k}]" for k in range(10))
        places = {"Reader[r]": 1, "Slot[r]": 1, "Reading[r]": 0, "Writer[w]": 1, "Writing[w]": 0}
        lines = {
            "read": "Reader[r] + Slot[r] -> Reading[r]", "stop": "Reading[r] -> Reader[r] + Slot[r]",
            "write": f"Writer[w] + {slots} -> Writing[w]", "done": f"Writing[w] -> Writer[w] + {slots}",
        }  # fmt: skip
        return net(timing="duration", index={"r": 10, "w": 10}, place=places, transition=lines)
    if name.startswith("SharedMemory"):  # one's own memory is seen only when that access ends; others' are held
        places = {"Active[i]": 1, "Queue[i]": 0, "Own[i]": 0, "Outside[i, j]": 0, "Memory[i]": 1, "Bus": 1}
        lines = {
            "begin_own": "Active[i] -> Own[i]", "end_own": "Own[i] -> Active[i], while Memory[i]",
            "ask": "Active[i] -> Queue[i]", "begin": "Queue[i] + Memory[j] + Bus -> Outside[i, j], if i != j",
            "end": "Outside[i, j] -> Active[i] + Memory[j] + Bus, if i != j",
        }  # fmt: skip
        return net(timing="duration", index={"i": int(name[-6:]), "j": "i"}, place=places, transition=lines)
    if name.startswith("Eratosthenes"):  # a number strikes out its multiples
        lines = {"strike": "Number[i] ->, while Number[j], if 1 < j and j < i and i % max(j, 1) == 0"}
        return net(timing="duration", index={"i": 11, "j": "i"}, place={"Number[i]": "i > 1"}, transition=lines)
    votes = " + ".join(f"Voting[{k}]" for k in range(10))
    lines = {"call": f"Ready -> {votes}", "yes": "Voting[v] -> Yes[v]", "no": "Voting[v] -> No[v]"}
    places = {"Ready": 1, "Voting[v]": 0, "Yes[v]": 0, "No[v]": 0}
    return net(timing="duration", index={"v": 10}, place=places, transition=lines)


@pytest.mark.parametrize(("name", "constants", "measure"), EXACT)
def test_measures_are_those_of_exact_arithmetic(name, constants, measure):
    made = cluster(**constants) if name == "cluster" else load_net(name, constants)
    answer = solve_chain(made, only=list(SUM_OF[name]))
    found = low = high = 0.0
    for part, weight in SUM_OF[name].items():
        one = answer.places.get(part) or answer.transitions[part]
        mean = one.mean if part in answer.places else one.throughput
        ends = weight * one.low, weight * one.high
        found, low, high = found + weight * mean, low + min(ends), high + max(ends)
    assert found == pytest.approx(measure, rel=1e-13)
    assert low <= measure * (1 + 1e-15)
    assert high >= measure * (1 - 1e-15)
    assert high - low < 1e-9 * max(1.0, measure)


@pytest.mark.parametrize(("n", "states", "arcs"), [(2, 276, 1120), (4, 820, 3616)])
def test_the_cluster_has_the_states_of_prisms_logs(n, states, arcs):
    found = find_markings(cluster(n, probed=False))
    assert (found.states, found.arcs) == (states, arcs)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if SPACES[name][0] > 1e6 else name for name in SPACES]
)
def test_state_spaces_are_those_of_the_contest(name):
    found = find_markings(contest(name))
    assert (found.states, found.arcs, found.max_tokens_in_place, found.max_tokens_in_marking) == SPACES[name]
