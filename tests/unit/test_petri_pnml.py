"""PNML: nothing is lost on the way out and in, and every fault is one line with file and element."""

import random

import pytest
from reference.pnml_explorer import explored

from npexplore.cli import main
from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import load_net, net, read_pnml, write_pnml
from npexplore.solve.petri import find_markings, solve_chain

ODD = net(
    timing="race",
    place={"A": {"tokens": 3, "capacity": 4}, "B": 0, "C": 1},
    transition={
        "go": "2 A -> B, unless 3 B, while C, priority 2, weight 2.5",
        "back": "B -> 2 A, using C, rate 0.5, servers all",
        "far": "A -> A, for erlang(2, 3), servers 1",
    },
)  # fmt: skip
FILE = """<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
<net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
<place id="p1"><initialMarking><text>2</text></initialMarking></place><place id="p2"/>
<transition id="t1"><name><text>go</text></name></transition>
<arc id="a1" source="p1" target="t1"/><arc id="a2" source="t1" target="p2"/>
<page id="h"><referencePlace id="r" ref="p2"/><arc id="a3" source="r" target="t1"><type value="inhibitor"/></arc></page>
</page></net></pnml>"""


@pytest.mark.parametrize("made", [ODD, load_net("kanban"), load_net("philosophers"), load_net("polling_server")],
                         ids=lambda one: one.name)  # fmt: skip
def test_a_net_comes_back_as_it_was(made, tmp_path):
    path = tmp_path / "net.pnml"
    path.write_text(write_pnml(made))
    read = read_pnml(path)
    assert (read.name, read.timing, read.places) == (made.name, made.timing, made.places)
    for one, other in zip(read.transitions, made.transitions, strict=True):
        assert vars(one) == {**vars(other), "rate": one.rate}
        assert one.rate == (None if other.rate is None else pytest.approx(other.rate, rel=1e-15))


def test_a_file_of_another_tool(tmp_path, capsys):
    path = tmp_path / "other.pnml"
    path.write_text(FILE)
    assert (find_markings(read_pnml(path)).states, read_pnml(path).transitions[0].name) == (2, "go")
    assert main(["solve", str(path), "--method", "markings"]) == 0
    assert "states" in capsys.readouterr().out


FAULTS = [
    ("grammar/ptnet", "grammar/highlevelnet", "a net must be a place/transition net"),
    ("grammar/ptnet", "grammar/symmetricnet", "got 'http://www.pnml.org/version-2009/grammar/symmetricnet'"),
    ('target="t1"/>', 'target="t9"/>', "arc 'a1': target 't9' is unknown (nearest: t1"),
    ('id="a2" source="t1"', 'id="a2" source="p1"', "arc 'a2': must lead from a place to a transition or back"),
    ('value="inhibitor"', 'value="inhibitr"', "arc 'a3': type of arc 'inhibitr' is unknown (nearest: inhibitor,"),
    ("<text>2</text>", "<text>-2</text>", "place 'p1': initialMarking must be a whole number"),
    ("<text>2</text>", "<text>two</text>", "place 'p1': initialMarking must be a number, got 'two'"),
    ('id="a2"', 'id="a1"', "<arc> needs an id of its own, got 'a1'"),
    ('ref="p2"', 'ref="r"', "reference 'r' leads around to itself"),
    ("</pnml>", "", "not XML: no element found: line 7"),
    ("<pnml", "<!DOCTYPE x><pnml", "must have no document type of its own"),
    ("<name>", '<toolspecific tool="npexplore" version="1"><rate>-1</rate></toolspecific><name>',
     "transition 't1': rate must be greater than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=range(len(FAULTS)))
def test_faults_are_told_with_file_and_element(old, new, message, tmp_path):
    assert old in FILE
    path = tmp_path / "bad.pnml"
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_net(path)
    assert str(caught.value).startswith("bad.pnml:")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "message"), [("ixp2400_dram", "carry data"), ("fms_stochastic", "has a formula")])
def test_what_no_place_transition_net_can_say_is_refused(name, message):
    with pytest.raises(RefusedError, match=message):
        write_pnml(load_net(name))
    with pytest.raises(RefusedError, match="'t' has a formula"):
        write_pnml(net(timing="race", place={"A": 1}, transition={"t": "A -> A, rate 2 * A"}))


def test_times_survive(tmp_path):
    path = tmp_path / "net.pnml"
    path.write_text(write_pnml(load_net("kanban", {"t": 1})))
    assert solve_chain(read_pnml(path)).transitions["in1"].throughput == pytest.approx(0.09258463463338257, rel=1e-9)


def random_net(rng, dialect):
    """Return a net of a few places whose tokens are never more than at first, as one of four tools writes it."""
    places = range(rng.randint(2, 4))
    tokens = [rng.randint(0, 3) for _ in places]
    label = {"iso": "text", "pm4py": "text", "pipe": "value", "tapaal": ""}[dialect]

    def said(tag, n):
        default = "Default," if dialect == "pipe" else ""
        return f"<{tag}><{label}>{default}{n}</{label}></{tag}>" if label else ""

    def arc(k, source, target, weight=1, inhibits=False):
        kind = {
            "iso": '<type value="inhibitor"/>', "pm4py": "<arctype><text>inhibitor</text></arctype>",
            "pipe": '<type value="inhibitor"/>', "tapaal": "",
        }[dialect] if inhibits else ""  # fmt: skip
        mark = ""
        if dialect == "tapaal":
            mark = f' type="{"tapnInhibitor" if inhibits else "timed"}" inscription="[0,inf)" weight="{weight}"'
        return f'<arc id="a{k}" source="{source}" target="{target}"{mark}>{said("inscription", weight)}{kind}</arc>'

    parts = [
        f'<place id="p{p}">{said("initialMarking", n)}</place>' if label else f'<place id="p{p}" initialMarking="{n}"/>'
        for p, n in enumerate(tokens)
    ]
    count = 0
    for t in range(rng.randint(1, 4)):
        parts.append(f'<transition id="t{t}"/>')
        weight = rng.randint(1, 2)
        parts.append(arc(count, f"p{rng.choice(places)}", f"t{t}", weight))
        parts.append(arc(count + 1, f"t{t}", f"p{rng.choice(places)}", rng.randint(1, weight)))
        if rng.random() < 0.4:
            parts.append(arc(count + 2, f"p{rng.choice(places)}", f"t{t}", rng.randint(1, 2), inhibits=True))
        count += 3
    kind = "P/T net" if dialect in ("pipe", "tapaal") else "http://www.pnml.org/version-2009/grammar/ptnet"
    return f'<pnml><net id="n" type="{kind}">{"".join(parts)}</net></pnml>'


@pytest.mark.parametrize("dialect", ["iso", "pm4py", "pipe", "tapaal"])
def test_markings_arcs_and_dead_markings_are_those_of_an_explorer_of_the_file_itself(dialect, tmp_path):
    """120 random nets in all, by an explorer that shares nothing with the reader."""
    path, rng = tmp_path / "net.pnml", random.Random(44)
    for _ in range(30):
        text = random_net(rng, dialect)
        path.write_text(text)
        found = find_markings(read_pnml(path))
        assert (found.states, found.arcs, found.dead_markings) == explored(text), text
