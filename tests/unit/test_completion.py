"""Completion in IPython, by its own completer on a real shell, with jedi and without."""

import ast
import inspect

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import npexplore as npx
from npexplore.completion import evaluated, innermost_call, register
from npexplore.designs import known_designs
from npexplore.machine.mixes import mix_names
from npexplore.machine.workload_sources import workload
from npexplore.packets.columns import PacketTable

DESIGN = npx.design("ixp2400")
KNOBS = [f"{name}=" for name in sorted(DESIGN.parameters.file.parameter)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    InteractiveShell.clear_instance()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))  # no home is needed
        made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    register()
    register()
    assert len(made.Completer.custom_matchers) == 1
    made.user_ns |= {"npx": npx, "m": DESIGN, "d": {"m": DESIGN}, "columns": PacketTable.empty()}
    yield made
    InteractiveShell.clear_instance()


def offered(shell, text, *, jedi=False):
    shell.Completer.use_jedi = jedi
    with provisionalcompleter():
        return [one.text for one in shell.Completer.completions(text, len(text))]


CASES = {
    "m.with_(": KNOBS,
    "m.with_(thr": ["threads="],
    "m.with_(threads=4, thr": [],
    "d['m'].with_(scheme='fc": ["fcb", "fcb_tb"],
    "print(m.with_(banks=2).with_(seg": ["segment_bytes=", "segments="],
    "npx.design('smartnic').with_(co": ["cores="],
    'm.with_(scheme="': ["base", "fcb", "fcb_tb", "hb"],
    'npx.design("ix': sorted(name for name in known_designs() if name.startswith("ix")),
    "npx.explain('smar": ["smartnic"],
    'npx.workload(mix="': sorted(mix_names()),
    "npx.workload('ps": ["psc"],
    "m.bounds('ps": ["psc"],
    "m.bounds(npx.workload(64, arrivals='p": ["periodic", "poisson"],
    "npx.grid(m,\n   solver='bo": ["bounds"],
    "npx.grid(m, solver=['bounds', 'q": ["queueing"],
    "npx.grid('ixp2400', ban": ["banks="],
    "npx.grid('ixp2400', scheme=['f": ["fcb", "fcb_tb"],
    "npx.sample(m, method='l": ["latin_hypercube"],
    "m.parameters['thr": ["threads"],
    "m.parameters['banks'] + m.with_(thr": ["threads="],
    "columns['tcp": ["tcp_flags"],
    "m.parameters.thr": [".threads"],
}


@pytest.mark.parametrize("text", CASES)
def test_what_may_follow_is_offered(text, shell):
    assert [one for one in offered(shell, text) if one[0] != "%"] == CASES[text]


@pytest.mark.parametrize(
    "text", ["m.with_(thr", "columns['tcp", "m.parameters['thr", 'npx.design("smart', "npx.workload(mix='ps"]
)
def test_jedi_changes_nothing(text, shell):
    assert offered(shell, text, jedi=True) == offered(shell, text) != []


@pytest.mark.parametrize("text", ["open('npx.design(", "len('i", "x = [m.with_(banks=2)]; 'sche"])
def test_nothing_of_ours_is_offered_elsewhere(text, shell):
    assert not {*KNOBS, *known_designs()} & set(offered(shell, text))


def test_completing_runs_no_other_code(shell):
    called = []
    shell.user_ns["spy"] = lambda: called.append(1)
    for text in (
        "spy().with_(",
        "npx.check(",
        "npx.design(spy()).with_(",
        "npx.sweep([spy()]).with_('",
        "m.explain(64).plot(",
    ):
        offered(shell, text)
    assert not called


class _Foreign:
    """An object of somebody else's."""

    name = "x"


def test_attributes_of_other_objects_and_properties_are_not_read():
    space = {"theirs": _Foreign(), "ours": workload(packet_bytes=64), "m": DESIGN}
    assert evaluated(ast.parse("m.name", mode="eval").body, space) == "ixp2400"
    for text in ("theirs.name", "ours.packet_bytes"):
        with pytest.raises(ValueError, match=text.rpartition(".")[2]):
            evaluated(ast.parse(text, mode="eval").body, space)


def test_a_method_lists_the_knobs_in_its_signature():
    signature = inspect.signature(DESIGN.with_(banks=2).with_)
    assert [f"{name}=" for name in sorted(signature.parameters)] == KNOBS
    assert signature.parameters["banks"].default == 2
    assert signature.parameters["scheme"].default == "base"
    assert "banks: int = 2" in repr(DESIGN.with_(banks=2).with_)


def test_the_call_around_the_cursor():
    call = innermost_call("f(1)\ng.h(a, [1, 2], k={'x': \"b\\\"'(\", 'y")
    assert (call.callee, call.quoted) == ("g.h", "y")
    assert call.arguments == ["a", " [1, 2]", " k={'x': \"b\\\"'(\", 'y"]
    assert innermost_call("f(1) + 2") is None
    assert (
        innermost_call(
            'f("""a',
        ).quoted
        == "a"
    )
