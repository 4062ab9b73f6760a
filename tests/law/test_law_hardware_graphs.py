"""Graphs of a step program: what they make of a packet is what the step bodies, and the golden router, make of it."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.gorilla_packets import KINDS
from reference.graph_router import GraphRouter
from reference.router_cases import named_cases
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.hardware_cases import reasons_of, tried
from npexplore.designs.gorilla.steps import PROTOCOLS, Box, accelerators, engine_program, forward
from npexplore.designs.gorilla.steps.mpls import DEEPEST
from npexplore.designs.gorilla.steps.outcome import TYPES
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.mpls.stack import Label, write_stack
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.hardware.graph import Graph
from npexplore.hardware.ranges import BINARY
from npexplore.testing.routers import frames, router_configurations

ROUTER, CASES = named_cases()
MIX = resolve_router(MIXED)
REASONS = {  # of IPv4, but for those that are left to the control processor
    "NOT_IPV4", "TOO_SHORT", "BAD_VERSION", "BAD_HEADER_LENGTH", "HEADER_CUT", "BAD_TOTAL_LENGTH", "TRUNCATED",
    "BAD_CHECKSUM", "MARTIAN_SOURCE", "MARTIAN_DESTINATION", "TTL_EXPIRED", "LINK_BROADCAST", "LIMITED_BROADCAST",
    "DIRECTED_BROADCAST", "NETWORK_ZERO", "MULTICAST", "NO_ROUTE", "BLACKHOLE", "UNREACHABLE", "PROHIBITED",
    "OTHER_STATION", "UNKNOWN_VLAN",
}  # fmt: skip


class Three:
    """The graphs, the bodies and the golden router of one configuration."""

    def __init__(self, router, protocols=("ipv4",), counting=False):
        golden, box = (Forwarder(router, profile="rfc1812", lookup="trie20_4_8") for _ in range(2))
        self.golden, self.box = golden, Box(box, source_lookup=counting)
        self.graphs = GraphRouter(self.box, protocols, counting)
        self.compiled, self.units = engine_program(self.box, protocols, counting), accelerators(self.box)
        self.protocols = protocols

    def agree(self, port, frame):
        """Return how a frame ends, the same for all three; frames of other protocols by graphs and bodies alone."""
        made = self.graphs.forward(port, frame)
        body = forward(self.compiled, self.units, port, frame).context
        assert (made.sent, made.reason, made.left_to_control) == (body.sent, body.reason, body.left_to_control)
        ours = {TYPES.get(frame[12:14]), *(["labels"] if frame[12:13] == b"\x88" else [])}
        if not made.left_to_control and ours & set(self.protocols):
            golden = self.golden.decide(port, frame)
            assert made.reason == golden.reason
            if made.sent or not golden.reason:  # for a reason the golden router may send a message
                assert [(one.port, one.frame) for one in golden.sent] == [made.sent]
        return "control" if made.left_to_control else made.reason.name


@pytest.mark.slow
@pytest.mark.parametrize("counting", [False, True])
def test_every_reason_of_ipv4(counting):
    three = Three(ROUTER, counting=counting)
    ends = {three.agree(port, frame) for _, port, frame in CASES}
    assert ends == REASONS | {"NONE", "control"}


def test_some_of_each_end():
    three = Three(ROUTER)
    ends = {three.agree(port, frame) for _, port, frame in CASES[::12]}
    assert {"NONE", "control", "TTL_EXPIRED"} <= ends


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocols", "counting"), [(["ipv6"], True), (["mpls"], False), (["ipv4", "ipv6", "mpls"], True)]
)
def test_every_reason_of_other_protocols(protocols, counting):
    """The reasons reached are those that the graphs can give, no more and no fewer."""
    three = Three(MIX, protocols, counting)
    cases = [*tried(three.box, protocols, 600), *((port, frame) for _, port, frame, _ in named_cases6())]
    ends = {three.agree(port, frame) for port, frame in cases}
    assert ends == {reason.name for reason in reasons_of(three.graphs.program, protocols)} | {"NONE", "control"}


@pytest.mark.slow
@settings(max_examples=250)
@given(st.integers(0, 4), KINDS, st.booleans())
def test_any_packet(port, drawn, many):
    mac = b"\x33\x33\0\0\0\1" if many else MIX.ports[port].mac
    all_protocols().agree(port, mac + bytes(6) + drawn[1] + drawn[0])


@cache
def all_protocols():
    return Three(MIX, PROTOCOLS)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4, DEEPEST, DEEPEST + 1])
def test_stacks_down_to_the_deepest(depth):
    """Labels that are looked below are popped one by one; a deeper stack is left to the control processor."""
    three = labels_alone()
    packet = write_packet(0x0A000005, 0x14000005, b"12345678")
    frame = MIX.ports[0].mac + bytes(6) + b"\x88\x47" + write_stack([Label(121)] * (depth - 1) + [Label(100)]) + packet
    assert three.agree(0, frame) == ("NONE" if depth <= DEEPEST else "control")
    cut = "LABEL_CUT" if depth == 1 else "NO_BOTTOM" if depth <= DEEPEST else "control"
    assert three.agree(0, frame[: 14 + 4 * depth - 1]) == cut


@cache
def labels_alone():
    return Three(MIX, ["labels"])


@pytest.mark.slow
@settings(max_examples=18)
@given(st.data())
def test_any_router_and_frame(data):
    """Routes that push labels, listed neighbours, further addresses: all of it is in the graphs."""
    three = Three(data.draw(router_configurations(labels=True)), counting=data.draw(st.booleans()))
    for _ in range(5):
        three.agree(*data.draw(frames(three.golden.router)))


NUMBERS = st.integers(-300, 300)


@given(st.lists(st.tuples(st.sampled_from([*BINARY, "mux"]), NUMBERS, NUMBERS, NUMBERS), max_size=8), NUMBERS, NUMBERS)
def test_folding_changes_no_value(steps, x, y):
    """Any expression of two inputs is what Python makes of it, and within its range."""
    graph = Graph()
    made = [(graph.input("x", -300, 300), x), (graph.input("y", -300, 300), y)]
    for op, a, b, c in steps:
        (left, p), (right, q), (test, r) = (made[k % len(made)] for k in (a, b, c))
        if op == "mux":
            truth = graph.binary("lt", test, graph.const(0))
            made.append((graph.mux(truth, left, right), p if r < 0 else q))
        elif op in ("shl", "shr"):
            made.append((graph.shift(op, left, abs(b) % 5), BINARY[op](p, abs(b) % 5)))
        elif op == "mod":
            made.append((graph.modulo(left, abs(b) + 1), p % (abs(b) + 1)))
        else:
            made.append((graph.binary(op, left, right), BINARY[op](p, q)))
    found = graph.evaluate({"x": x, "y": y}, [at for at, _ in made])
    for at, value in made:
        node = graph.nodes[at]
        assert found[at] == value
        assert node.lo <= value <= node.hi
        assert -(1 << node.bits - 1) <= value < 1 << node.bits


@pytest.mark.slow
def test_planted_faults_of_the_graphs_are_seen():
    """One operation made another, at every fifth node of the step that judges addresses; a few change nothing."""
    three = Three(ROUTER)
    step = three.graphs.program.steps["ipv4_check"]
    graph, caught = step.graph, []
    changes = {"and": "or", "xor": "or", "or": "and", "lt": "eq", "eq": "lt", "shr": "shl"}
    before = [(port, frame, three.graphs.forward(port, frame)) for _, port, frame in CASES[::4]]
    for at in graph.under([step.next, *step.writes.values()])[::5]:
        node = graph.nodes[at]
        if node.op in changes:
            graph.nodes[at] = node._replace(op=changes[node.op])
            caught.append(any(three.graphs.forward(port, frame) != verdict for port, frame, verdict in before))
            graph.nodes[at] = node
    assert sum(caught) >= 15
