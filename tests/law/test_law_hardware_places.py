"""Registers that share places of a context are what they are in places of their own, whichever way a packet goes."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_router import GraphRouter
from reference.hardware_contexts import Run
from reference.router_cases import named_cases
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.lowered import registers_of
from npexplore.designs.gorilla.steps import Box
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.hardware import allocation
from npexplore.hardware.allocation import Allocation, StepBits
from npexplore.hardware.bit_sources import Sources
from npexplore.hardware.graph import Graph
from npexplore.hardware.places import NOWHERE
from npexplore.hardware.programs import ENDS, LoweredProgram, LoweredStep, Request

OPS = ("copy", "add", "xor", "cut", "join", "mux", "const", "sub")
REGISTERS = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=3, max_size=6)


@st.composite
def programs(draw):
    """Steps that jump anywhere and write registers: copies, parts, parts put together, choices, what is computed."""
    leaves = tuple(
        (f"r{k}", -(1 << bits - 1) if signed and bits > 1 else 0, (1 << (bits - (signed and bits > 1))) - 1)
        for k, (bits, signed) in enumerate(draw(REGISTERS))
    )
    names, steps = [f"s{k}" for k in range(draw(st.integers(2, 5)))], {}
    some = st.sampled_from(range(len(leaves)))
    for name in names:
        graph = Graph()
        every = [graph.input(*leaf) for leaf in leaves]
        requests = ()
        if draw(st.booleans()):
            reply = ("reply.a", 0, 7)
            requests = (Request("a", "unit", graph.binary("and", every[draw(some)], graph.const(1)),
                                (every[draw(some)],), (reply,)),)  # fmt: skip
            every.append(graph.input(*reply))
        writes = {}
        for k in draw(st.lists(some, unique=True, max_size=4)):
            one, other, test = (every[draw(st.sampled_from(range(len(every))))] for _ in range(3))
            made, by = draw(st.sampled_from(OPS)), draw(st.integers(1, 4))
            if made in ("add", "xor", "sub"):
                one = graph.binary(made, one, other)
            elif made == "cut":
                one = graph.binary("and", graph.shift("shr", one, by), graph.const(draw(st.integers(1, 15))))
            elif made == "join":
                low = graph.binary("and", other, graph.const((1 << by) - 1))
                one = graph.binary(draw(st.sampled_from(["or", "add"])), graph.shift("shl", one, by), low)
            elif made == "mux":
                one = graph.mux(graph.binary("and", test, graph.const(1)), one, other)
            elif made == "const":
                one = graph.const(by)
            writes[leaves[k][0]] = _within(graph, one, leaves[k])
        goes = tuple(draw(st.lists(st.sampled_from([*names, ENDS]), unique=True, min_size=1, max_size=3)))
        following = graph.modulo(every[draw(some)], len(goes))
        steps[name] = LoweredStep(name, graph, requests, writes, following, goes)
    all_names = [leaf[0] for leaf in leaves]
    begins = frozenset(draw(st.lists(st.sampled_from(all_names), unique=True, min_size=2)))
    results = tuple(draw(st.lists(st.sampled_from(all_names), unique=True, min_size=1)))
    return LoweredProgram("any", "s0", steps, leaves, {}, begins, results)


def _within(graph, at, leaf):
    """Return a node cut to the bits of a register, with its sign."""
    _, lo, hi = leaf
    if graph.range(at)[0] >= lo and graph.range(at)[1] <= hi:
        return at
    low = graph.binary("and", at, graph.const(hi - lo))
    return graph.binary("add", low, graph.const(lo)) if lo else low


def begins_of(data, program):
    return {name: data.draw(st.integers(lo, hi)) for name, lo, hi in program.registers if name in program.begins}


@settings(max_examples=80)
@given(st.data())
def test_any_program_is_the_same_on_shared_places(data):
    program = data.draw(programs())
    made = Allocation(program)
    assert made.places.bits <= max(1, sum(made.sizes.values()))
    answers = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=8))
    for _ in range(4):
        begins = begins_of(data, program)
        run = Run(program, made.places, begins, lambda _, asked: {"": answers[sum(asked) % len(answers)]}, made.held)
        assert run.differs is None


@settings(max_examples=80)
@given(programs())
def test_bits_held_at_once_share_a_place_only_if_they_are_alike(program):
    made = Allocation(program)
    for point, bits in made.held.items():
        there = {}
        for name, k in bits:
            place = made.places.at[name][k]
            assert place != NOWHERE
            assert there.setdefault(place, made.alike[point][name, k]) == made.alike[point][name, k]


def computed(source):
    return isinstance(source, tuple) and isinstance(source[0], int)


# what is forgotten -> (where, what, how it is made wrong)
FAULTS = {
    "a way to a step": (allocation, "_followers", lambda old: lambda program, name: old(program, name)[:1]),
    "what a step asks and where it goes": (
        StepBits, "needs", lambda old: lambda s, bits: old(s, bits) - s.always_needed,
    ),
    "what a number is computed from": (
        StepBits, "needs", lambda old: lambda s, bits: old(s, [one for one in bits if not computed(s.source(one))]),
    ),
    "that copies end when one is written": (
        allocation, "_numbered", lambda old: lambda told: dict.fromkeys(told, 0),
    ),
    "by how much bits are moved": (
        Sources, "of", lambda old: lambda s, at, bits: (*old(s, at, bits)[1:], 0),
    ),
    "which ways a packet came": (
        Allocation, "_identity", lambda old: lambda s, point, *rest: 0 if point == "ethernet" else old(s, point, *rest),
    ),
}  # fmt: skip


@cache
def tried(program):
    """Return a router's graphs and frames."""
    router, cases = named_cases() if program == "ipv4" else (resolve_router(MIXED), [one[:3] for one in named_cases6()])
    box = Box(Forwarder(router, profile="rfc1812", lookup="trie20_4_8"), source_lookup=True)
    return GraphRouter(box, [program], True), [case[1:] for case in cases]


def differs(program, every=1):
    """Return what differs when frames go through a context, or None."""
    router, frames = tried(program)
    made = Allocation(router.program)
    for port, frame in frames[::every]:
        run = Run(router.program, made.places, registers_of(router.program, port, frame), router._answer)
        if run.differs:
            return run.differs
    return None


@pytest.mark.slow
@pytest.mark.parametrize("program", ["ipv4", "ipv6", "mpls"])
def test_a_router_is_the_same_on_shared_places(program):
    assert differs(program) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_what_is_forgotten_is_seen(name, monkeypatch):
    where, what, plant = FAULTS[name]
    monkeypatch.setattr(where, what, plant(getattr(where, what)))
    assert differs("ipv4", 3) or differs("mpls", 3)
