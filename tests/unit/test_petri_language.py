"""The language of nets: each clause does what it says, indexes unfold, and every fault is one line with its place."""

import json
from pathlib import Path

import pytest

from npexplore.cli import main
from npexplore.errors import FaultsError, InputError
from npexplore.machine.petri import load_net, net
from npexplore.paths import share
from npexplore.rows.distributions import Deterministic, Erlang, Exponential, Hyperexponential, Uniform
from npexplore.solve.petri import find_markings, find_structure, solve_chain

NETS = sorted(path.stem for path in share("models", "nets").glob("*.toml"))
TEXT = """
timing = "race"
[constant]
n = 4
[index]
b = "n"
c = "b"
k = 3
[place]
"Bank[b]" = 1
"Busy[b]" = 0
"Other[k]" = 0
Bus = { tokens = 1, capacity = 1 }
[transition]
start = "Bank[b] -> Busy[b], using Bus, if b != 1, unless Other[0], rate 2"
end = "Busy[b] -> Bank[b], rate 1"
"""


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return written


FAULTS = [
    ('timing = "race"\n', "", "key `timing` is missing"),
    ('timing = "race"', 'timing = "rase"', "'rase' is unknown (nearest: race)"),
    ("-> Busy[b], using", "-> Buzy[b], using", "transition.start: place 'Buzy' is unknown (nearest: Busy"),
    ("-> Busy[b], using", "-> Busy[b] +, using", "an arc leads nowhere: a place is missing behind the arrow"),
    ("-> Busy[b], using", "-> Busy[k], using", "index of place 'Busy' must be of the colour 'b', got 'k'"),
    ("-> Busy[b], using", "-> Busy, using", "place 'Busy' has 1 indexes, got 0"),
    ("-> Busy[b], using", "-> Busy[4], using", "index of place 'Busy' must be in 0..3, got 4"),
    ("-> Busy[b], using", "Busy[b], using", "a transition needs one arrow"),
    ("-> Busy[b], using", "-> 1.5 Busy[b], using", "an arc must be a place, such as 'A', '2 A' or 'A[i]'"),
    ("-> Busy[b], using", "-> (n / 3) Busy[b], using", "tokens of 'Busy' must be a whole number"),
    ("-> Busy[b], using", "-> (n Busy[b], using", "brackets must be closed"),
    ("using Bus", "uses Bus", "clause 'uses' is unknown (nearest: unless, set, servers)"),
    ("using Bus", "using", "clause 'using' needs something after it"),
    ("if b != 1", "if k != 1", "'k != 1' names the index 'k', which no arc of the transition has"),
    ("if b != 1, unless Other[0]", "if b != k, unless Other[k]", "must compare indexes of one colour, got 'b != k'"),
    ("if b != 1", "if b != 4", "index of colour 'b' is in 0..3, got 'b != 4'"),
    ("if b != 1", "if d != 1", "name 'd' is unknown (known: Bank, Bus"),
    ("if b != 1", "if b !!= 1", "is not a formula"),
    ("rate 2", "rate 2, rate 3", "clause 'rate' must appear only once, got it twice"),
    ("rate 2", "rate 2, for 3", "a transition has a delay ('for') or a rate, got both"),
    ("rate 2", "rate 0", "rate must be greater than 0"),
    ("rate 2", "rate 2, priority 1", "in a race, timed transitions have no priority"),
    ("rate 2", "servers 2", "servers are of timed transitions in a race"),
    ("rate 2", "for 0", "a delay must be greater than 0"),
    ("rate 2", "for erlnag(2, 3)", "distribution 'erlnag' is unknown (nearest: erlang"),
    ("rate 2", "for erlang(2)", "key `stages` is missing"),
    ("rate 2", "for uniform(3, 2)", "high must be at least low (3.0), got 2.0"),
    ("rate 2", "weight 0", "weight must be greater than 0"),
    ('b = "n"', 'b = "m"', "index.b: name 'm' is unknown (nearest: min, max)"),
    ('b = "n"', 'b = "n / 8"', "index.b: an index must be a whole number"),
    ("tokens = 1, capacity", "tokens = 2, capacity", "place.Bus: tokens must be at most the capacity (1), got 2"),
    ("tokens = 1, capacity", "tokens = -1, capacity", "place.Bus.tokens, got -1"),
    ("tokens = 1, capacity", "token = 1, capacity", "key 'token' is unknown (nearest: tokens"),
    ("Bus = {", '"Bank[k]" = {', "a place must be declared once"),
    ("Bus = {", "n = {", "'n' is a constant or an index already"),
    ("Bus = {", "rate = {", "a name must be a word without another meaning, got 'rate'"),
    ("k = 3", "k = 3000000", "a net must unfold to 1000000 places at most"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_told_in_one_line_with_file_and_place(old, new, message, write):
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        load_net(write(TEXT.replace(old, new, 1)))
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.toml: ")
    assert "\n" not in str(caught.value)


def test_every_transition_at_fault_is_told(write):
    with pytest.raises(FaultsError) as caught:
        load_net(write(TEXT.replace("using Bus", "using Buss").replace("rate 1", "rate -1")))
    assert [fault.partition(" ")[2][:16] for fault in caught.value.faults] == ["transition.start", "transition.end: "]


def test_indexes_unfold_and_go_around(write):
    made = load_net(write(TEXT.replace('end = "Busy[b] -> Bank[b]', 'end = "Busy[b] -> Bank[b + 1]')))
    assert [place.name for place in made.places][:4] == ["Bank[0]", "Bank[1]", "Bank[2]", "Bank[3]"]
    named = {one.name: one for one in made.transitions}
    assert list(named) == ["start[0]", "start[2]", "start[3]", "end[0]", "end[1]", "end[2]", "end[3]"]
    assert [made.places[arc.place].name for arc in named["end[3]"].give] == ["Bank[0]"]
    start = named["start[2]"]
    assert [made.places[arc.place].name for arc in start.take] == ["Bank[2]", "Bus"]
    assert [made.places[arc.place].name for arc in start.give] == ["Busy[2]", "Bus"]
    assert [made.places[arc.place].name for arc in start.inhibit] == ["Other[0]"]
    assert start.rate == 2
    assert len(load_net(write(TEXT), {"n": 7}).places) == 7 + 7 + 3 + 1


def test_two_indexes_of_one_colour_make_pairs():
    made = net(
        timing="race",
        index={"i": 3, "j": "i"},
        place={"At[i]": "i == 0", "Seen[i,j]": 0},
        transition={"go": "At[i] -> At[j] + Seen[i, j], if i != j, unless Seen[i, j], rate 1"},
    )
    assert [one.name for one in made.transitions] == [f"go[{i},{j}]" for i in range(3) for j in range(3) if i != j]
    assert made.marking(made.initial) == {"At[0]": 1}


@pytest.mark.parametrize(
    ("said", "delay"),
    [
        ("10", Deterministic(mean=10.0)),
        ("2 * n", Deterministic(mean=8.0)),
        ("exponential(n / 2)", Exponential(mean=2.0)),
        ("erlang(2.5, 4)", Erlang(mean=2.5, stages=4)),
        ("erlang(2.5, stages=n)", Erlang(mean=2.5, stages=4)),
        ("uniform(1, 2)", Uniform(low=1.0, high=2.0)),
        ("hyperexponential((1, 2), 0.5)", Hyperexponential(means=(1.0, 2.0), probability=0.5)),
    ],
)
def test_delays(said, delay):
    made = net(timing="duration", constant={"n": 4}, place={"A": 1}, transition={"t": f"A -> A, for {said}"})
    assert made.transitions[0].delay == delay


def test_the_same_strings_in_python_give_the_same_net():
    tables = {
        "timing": "race", "index": {"p": "n"}, "constant": {"n": 5},
        "place": {"Think[p]": 1, "Fork[p]": 1, "Left[p]": 0, "Right[p]": 0, "Eat[p]": 0},
        "transition": {
            "left": "Think[p] + Fork[p] -> Left[p], rate 1", "right": "Think[p] + Fork[p + 1] -> Right[p], rate 1",
            "then_right": "Left[p] + Fork[p + 1] -> Eat[p], rate 1",
            "then_left": "Right[p] + Fork[p] -> Eat[p], rate 1",
            "end": "Eat[p] -> Think[p] + Fork[p] + Fork[p + 1], rate 1",
        },
    }  # fmt: skip
    mine, read = net(**tables), load_net("philosophers")
    assert mine.places == read.places
    assert [vars(one) for one in mine.transitions] == [vars(one) for one in read.transitions]
    with pytest.raises(InputError, match=r"net: transition\.t: place 'A' is unknown"):
        net(timing="race", place={"B": 0}, transition={"t": "A -> B"})


def test_an_unbounded_net_has_a_witness():
    lines = {"warm": "Off -> On, rate 1", "make": "On -> On + Part + Waste, rate 1", "burn": "Waste ->, rate 1"}
    found = find_markings(net(timing="race", place={"Off": 1, "On": 0, "Part": 0, "Waste": 0}, transition=lines))
    assert found.bounded is False
    assert found.states is None
    assert (found.witness.places, found.witness.firings, found.witness.again) == (["Part", "Waste"], ["warm"], ["make"])


def test_what_an_inhibitor_bounds_is_no_witness():
    lines = {"make": "-> Part, unless 3 Part, rate 1"}
    found = find_markings(net(timing="race", place={"Part": 0}, transition=lines))
    assert (found.bounded, found.states, found.dead_markings, found.max_tokens_in_place) == (True, 4, 1, 3)


def test_too_many_markings_are_refused_with_the_number():
    found = find_markings(load_net("kanban"), most_states=100)
    assert "more than 100 states" in found.refused
    assert (found.states, found.bounded) == (None, None)


REFUSED = {
    "A Markov chain needs exponential times, got deterministic at transition 't'": ("race", {"t": "A -> A, for 2"}),
    "place 'A' is taken from by t, u": ("duration", {"t": "A -> A, rate 1", "u": "A -> B, rate 1"}),
    "transition 't' looks at other tokens": ("duration", {"t": "A -> A, unless B, rate 1"}),
    "the net is unbounded: t can go on for ever and fill 'B'": ("race", {"t": "A -> A + B, rate 1"}),
    "got erlang at transition 't'": ("duration", {"t": "A -> A, for erlang(1, 2)"}),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_no_chain_is_refused_with_the_place(message):
    timing, lines = REFUSED[message]
    answer = solve_chain(net(timing=timing, place={"A": 1, "B": 0}, transition=lines))
    assert message.lower() in answer.refused.lower()
    assert answer.places is None


def test_a_loop_in_no_time_is_told_with_its_marking():
    lines = {"go": "A -> B, rate 1", "there": "B -> C", "back": "C -> B"}
    with pytest.raises(InputError, match=r"fire for ever in zero time from the marking \(\w: 1\), reached by go"):
        solve_chain(net(timing="race", place={"A": 1, "B": 0, "C": 0}, transition=lines))


def test_a_loop_in_no_time_that_can_be_left_is_solved():
    """The number of turns is geometric: 1 / (1 - 3/4) on the mean, one of them the way out."""
    lines = {"go": "A -> B, rate 2", "turn": "B -> C, weight 3", "out": "B -> A", "back": "C -> B", "still": "B -> B"}
    answer = solve_chain(net(timing="race", place={"A": 1, "B": 0, "C": 0}, transition=lines))
    rates = {name: one.throughput for name, one in answer.transitions.items()}
    assert rates == pytest.approx({"go": 2, "turn": 6, "out": 2, "back": 6, "still": 2}, rel=1e-12)


def test_structure_of_arcs_that_the_marking_decides_is_refused():
    assert "how many tokens transition 'ship1' moves" in find_structure(load_net("fms_stochastic")).refused


def test_a_negative_rate_is_told_where_it_comes_up():
    made = net(timing="race", place={"A": 2}, transition={"t": "A ->, rate A - 2"})
    assert find_markings(made).dead_markings == 1  # a rate of 0 does not fire
    made = net(timing="race", place={"A": 2}, transition={"t": "A ->, rate A - 3"})
    with pytest.raises(InputError, match=r"transition\.t: a rate must be at least 0, got -1"):
        find_markings(made)


def run(capsys, *arguments):
    status = main(["solve", *arguments])
    return status, capsys.readouterr()


def test_the_command_has_the_fields_that_scripts_read(capsys):
    status, said = run(capsys, "kanban", "--set", "t=1", "--seeds", "2", "--customers", "20000", "--json")
    document = json.loads(said.out)
    assert status == 0
    assert (document["model"], document["method"], document["timing"]) == ("kanban", "all", "race")
    structure, markings, ctmc, simulation = document["results"]
    assert [one["solver"] for one in document["results"]] == ["structure", "markings", "ctmc", "simulation"]
    assert len(structure["p_semiflows"]) == 6
    assert {"weights": {"redo1": 1, "back1": 1}, "tokens": None} in structure["t_semiflows"]
    keys = ("states", "arcs", "dead_markings", "max_tokens_in_place", "max_tokens_in_marking", "bounded")
    assert [markings[key] for key in keys] == [160, 616, 0, 1, 4, True]
    assert ctmc["transitions"]["in1"]["throughput"] == pytest.approx(ctmc["transitions"]["out4"]["throughput"])
    assert 0 < ctmc["places"]["x1"]["mean"] < 1
    assert ctmc["error"] < 1e-9
    rate = simulation["transitions"]["in1"]
    assert rate["low"] < rate["throughput"] < rate["high"]
    assert rate["low"] <= ctmc["transitions"]["in1"]["throughput"] <= rate["high"]
    mean = simulation["places"]["x1"]
    assert mean["low"] <= ctmc["places"]["x1"]["mean"] <= mean["high"]


def test_the_command_for_people(capsys):
    status, said = run(capsys, "philosophers", "--method", "markings")
    assert status == 0
    assert "deadlock: firings      left[0], left[1], left[2], left[3], left[4]" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kanban", "--method", "bounds"], "method of a Petri net 'bounds' is unknown"),
        (["kanban", "--set", "s=1"], "kanban: constant 's' is unknown"),
        (["kanban", "--set", "t=x"], "--set needs NAME=NUMBER, got 't=x'"),
        (["mm1", "--set", "t=1"], "--set is for constants of Petri nets"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, capsys):
    status, said = run(capsys, *arguments)
    assert status == 2
    assert said.out == ""
    assert message in said.err.replace("kanban.toml", "kanban")
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("name", NETS)
def test_every_net_of_the_shelf_is_bounded_and_lives(name):
    found = find_markings(load_net(name))
    if "ixp2400" in name:
        assert "looks at what tokens carry" in found.refused
        return
    assert found.bounded
    assert (found.dead_markings > 0) == (name == "philosophers")


def test_the_page_names_every_clause_and_net():
    from npexplore.machine.petri.delays import DELAYS
    from npexplore.machine.petri.lines import CLAUSES

    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "petri.md").read_text() + (docs / "petri_nets.md").read_text()
    assert [name for name in (*CLAUSES, *DELAYS, *NETS) if f"`{name}" not in page] == []
