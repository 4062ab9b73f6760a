"""Faults planted in the lowering, one at a time: each makes graphs that differ from the step bodies, or none at all."""

import ast
from functools import cache

import pytest
from reference.graph_router import GraphRouter
from reference.router_cases import named_cases
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.steps import Box, accelerators, engine_program, forward
from npexplore.errors import ModelError
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.hardware import graph, shapes, stepping
from npexplore.hardware.expressions import Expressions
from npexplore.hardware.graph import Graph
from npexplore.hardware.interpreter import Interpreter
from npexplore.hardware.known_functions import Builtins
from npexplore.hardware.operations import Values
from npexplore.hardware.stepping import Entry
from npexplore.hardware.values import Bytes, Choice, bytes_of
from npexplore.machine.step_programs import Answer

FOUR, LABELS = "ipv4", "labels"
LONG = bytes(range(1, 120))  # behind what hardware has in sight


def swapped(old):
    return lambda self, a, b: old(self, b, a)


def first_alone(old):
    return lambda self, value, what: old(self, Choice(value.entries[:1]) if isinstance(value, Choice) else value, what)


def one_further(old):
    return lambda self, of, at: old(self, of, min(at + 1, len(of.data) - 1))


def without(name):
    def plant(old):
        return lambda self, *given: given[1] if given[0] == name else old(self, *given)

    return plant


def strict(old):
    weaker = {ast.LtE: ast.Lt, ast.GtE: ast.Gt}
    return lambda self, op, a, b: old(self, weaker.get(op, op), a, b)


def uncounted(old):
    def cut(self, of, first, end):
        made = old(self, of, first, end)
        return Bytes(made.data, of.count, made.length, made.tail) if made.tail else made

    return cut


def uncut(old):
    def cut(self, of, first, end):
        made = old(self, of, first, end)
        return Bytes(made.data, made.count, of.length, made.tail) if made.tail else made

    return cut


def unjoined(old):
    def join(self, a, b):
        made = old(self, a, b)
        return Bytes(made.data, made.count, b.length, made.tail)

    return join


def forgetful(old):
    return lambda self, test, a, b: old(self, test, a, b) if a.count == b.count else a


def backwards(old):
    return lambda self, data, order="big": old(self, Bytes(bytes_of(data).data[::-1], 4, 4), order)


def reversed_bytes(old):
    def made(self, value, size):
        found = old(self, value, size)
        return Bytes(found.data[::-1], size, size)

    return made


def last_return(old):
    return lambda self, returns: old(
        self, [(t, v, k) for (t, _, _), (_, v, k) in zip(returns, returns[::-1], strict=True)]
    )


def short_loop(old):
    return lambda self, value: old(self, value)[:-1] or old(self, value)


def off_by_one_table(old):
    return lambda self, index, values: old(self, index, [*values[1:], values[0]])


def one_more(old):
    return lambda op, value, args: old(op, value, args) + 1


def narrow_join(old):
    return lambda self, other: Entry(self.filled | other.filled, {**other.ranges, **self.ranges})


def no_length(old):
    def encoded(values, shape, value, name):
        return ((leaf, at) for leaf, at in old(values, shape, value, name) if not leaf.endswith(".length"))

    return encoded


# name -> (where, what, how it is made wrong, program)
FAULTS = {
    "a choice of two has its sides swapped": (Graph, "mux", lambda old: lambda s, t, a, b: old(s, t, b, a), FOUR),
    "not does nothing": (Graph, "invert", lambda old: lambda s, a: a, FOUR),
    "shifts are one bit short": (Graph, "shift", lambda old: lambda s, op, a, by: old(s, op, a, max(by - 1, 1)), FOUR),
    "masks are taken for their first side": (Graph, "binary", without("and"), FOUR),
    "facts are never forgotten": (Graph, "undo", lambda old: lambda s, mark: None, FOUR),
    "a passed test says it failed": (Graph, "assume", lambda old: lambda s, at, t: old(s, at, not t), FOUR),
    "a table begins with its second entry": (Graph, "table", off_by_one_table, FOUR),
    "low bits are believed to be 0": (graph, "trailing_zeros", one_more, FOUR),
    "or is taken for its first side": (Graph, "binary", without("or"), FOUR),
    "sums are taken for their first side": (Graph, "binary", without("add"), FOUR),
    "less is more": (Values, "less", swapped, FOUR),
    "all is some": (Values, "every", lambda old: lambda s, tests: s.some(tests), FOUR),
    "some is all": (Values, "some", lambda old: lambda s, tests: s.every(tests), FOUR),
    "the least is the most": (Values, "least", lambda old: lambda s, a, b: s.most(a, b), FOUR),
    "a byte is its neighbour": (Values, "item", one_further, FOUR),
    "cut bytes keep their length": (Values, "cut", uncut, FOUR),
    "joined bytes forget a length": (Values, "join", unjoined, FOUR),
    "the first of several kinds is all": (Values, "spread", first_alone, FOUR),
    "at most means below": (Expressions, "compare", strict, FOUR),
    "numbers are read backwards": (Expressions, "_number_of", backwards, FOUR),
    "numbers are written backwards": (Expressions, "_bytes_of", reversed_bytes, FOUR),
    "tests meet the returns in reverse": (Interpreter, "_joined", last_return, FOUR),
    "loops leave their last item out": (Builtins, "items", short_loop, FOUR),
    "lengths get no register": (stepping, "encoded", no_length, FOUR),
    "popped labels leave the window as it is": (Values, "cut", uncounted, LABELS),
    "merged windows keep one side": (Values, "_merged_bytes", forgetful, LABELS),
    "a step begins as after the first step before it": (Entry, "joined", narrow_join, LABELS),
}  # fmt: skip


@cache
def tried(program):
    """Return a router, frames, what the step bodies make of them, and the flows that they count."""
    router, cases = named_cases() if program == FOUR else (resolve_router(MIXED), [one[:3] for one in named_cases6()])
    box = Box(Forwarder(router, profile="rfc1812", lookup="trie20_4_8"), source_lookup=True)
    compiled, units, flows = engine_program(box, [program], True), dict(accelerators(box)), []
    units["flow_counter"] = lambda flow: flows.append(flow) or Answer(None)
    frames = [case[1:] for case in cases][:: 3 if program == FOUR else 1]
    frames += [(port, frame + LONG) for port, frame in frames if frame[12:13] == b"\x88"]
    told = [forward(compiled, units, port, frame).context for port, frame in frames]
    return box, frames, [(one.sent, one.reason, one.left_to_control) for one in told], flows


def differs(program):
    """Return whether graphs made now are not those of the step bodies, or are refused."""
    box, frames, expected, flows = tried(program)
    counted = []
    try:
        router = GraphRouter(box, [program], True)
        router.units = {**router.units, "flow_counter": counted.append}
        for (port, frame), one in zip(frames, expected, strict=True):
            made = router.forward(port, frame)
            if (made.sent, made.reason, made.left_to_control) != one:
                return True
    except (ModelError, KeyError, IndexError, RecursionError, ValueError):
        return True
    return counted != flows


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(name, monkeypatch):
    where, what, plant, program = FAULTS[name]
    monkeypatch.setattr(where, what, plant(getattr(where, what)))
    assert differs(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", [FOUR, LABELS])
def test_without_a_fault_nothing_differs(program):
    assert shapes.encoded is stepping.encoded
    assert not differs(program)
    assert len(tried(program)[3]) > 5


def test_there_are_twenty_and_more():
    assert len(FAULTS) >= 20
