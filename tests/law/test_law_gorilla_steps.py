"""Step programs on packets: what an engine's program does is what the golden router does, whatever the frame."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.gorilla_packets import KINDS
from reference.router_cases import NOTABLE, named_cases, packet
from reference.router_cases6 import MIXED, named_cases6
from reference.router_random import random_cases, random_router

from npexplore.designs.gorilla.steps import Box, accelerators, engine_program, forward, lookup
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.lookup import SixLevelTrie, Trie20_4_8
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.machine.step_programs import lower
from npexplore.testing.routers import frames, router_configurations
from npexplore.testing.strategies import addresses, routing_tables

ROUTER, CASES = named_cases()
GOLDEN = Forwarder(ROUTER, profile="rfc1812", lookup="trie20_4_8")


def held_to_the_golden_router(router, cases, counting=False):
    """Every frame: sent as the golden router sends it, dropped for its reason, or left to the control processor."""
    golden = Forwarder(router, profile="rfc1812", lookup="trie20_4_8")
    box = Box(Forwarder(router, profile="rfc1812", lookup="trie20_4_8"), source_lookup=counting)
    program, units = engine_program(box, ["ipv4"], counting), accelerators(box)
    ends = {"sent": 0, "dropped": 0, "control": 0}
    for name, port, frame in cases:
        outcome = golden.forward(port, frame)
        found = forward(program, units, port, frame).context
        if found.left_to_control:
            ends["control"] += 1
            assert not plain(outcome, port, frame), name
        elif found.sent is not None:
            ends["sent"] += 1
            assert [(sent.port, sent.frame) for sent in outcome.sent] == [found.sent], name
            assert not outcome.reason, name
        else:
            ends["dropped"] += 1
            assert outcome.reason == found.reason, name
    return ends, box


def plain(outcome, port, frame):
    """Whether a packet only went through: no options, no pieces, no redirect to think of."""
    header = read_header(frame[ETHERNET:])
    through = not outcome.reason and len(outcome.sent) == 1
    return through and header.header_length == 20 and outcome.sent[0].port != port


def test_named_cases():
    ends, _ = held_to_the_golden_router(ROUTER, CASES)
    assert min(ends.values()) > 10


@pytest.mark.parametrize("station", [ROUTER.ports[0].mac, b"\xff" * 6], ids=["own", "broadcast"])
def test_all_pairs_of_notable_addresses(station):
    """Among them 0.0.0.0 to 255.255.255.255, as DHCP asks: a broadcast of its link, and no martian source."""
    head = station + bytes(6) + b"\x08\0"
    cases = [(f"{source} to {target}", 0, head + packet(source, target)) for source in NOTABLE for target in NOTABLE]
    ends, _ = held_to_the_golden_router(ROUTER, cases)
    assert ends["dropped"] > 500


@pytest.mark.slow
def test_random_cases_with_a_real_table():
    router = random_router()
    ends, _ = held_to_the_golden_router(router, random_cases(router, 2000))
    assert min(ends.values()) > 50


@settings(max_examples=18)
@given(st.data())
def test_any_router_and_frame(data):
    router = data.draw(router_configurations(labels=True))
    cases = [("drawn", *data.draw(frames(router))) for _ in range(3)]
    held_to_the_golden_router(router, cases, counting=data.draw(st.booleans()))


def test_counting_counts_what_has_a_route_and_changes_no_answer():
    without, _ = held_to_the_golden_router(ROUTER, CASES)
    ends, box = held_to_the_golden_router(ROUTER, CASES, counting=True)
    assert ends == without
    assert box.counters._low[:, 0].sum() >= ends["sent"]


@given(routing_tables(), st.lists(addresses(), min_size=1, max_size=20))
def test_a_lookup_of_steps_is_the_tries_own(routes, asked):
    """An accelerator that is written as a step program over a memory: the same answers and the same reads."""
    trie = Trie20_4_8.from_routes(routes)
    unit = lookup(trie)
    for address in asked:
        answer = unit(address)
        assert answer.value == trie.lookup(address)
        assert answer.used == {"reads": len(trie.reads(address))}


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 64)), max_size=20), st.data())
def test_six_levels_too(drawn, data):
    routes = {f"{(v << 64 >> (128 - n)) << (128 - n):x}/{n}": k for k, (v, n) in enumerate(drawn)}
    trie = SixLevelTrie()
    for prefix, hop in routes.items():
        number, length = prefix.split("/")
        text = ":".join(f"{int(number, 16):032x}"[k : k + 4] for k in range(0, 32, 4))
        trie.insert(f"{text}/{length}", hop)
    near = [v << 64 for v, _ in drawn] or [0]
    address = data.draw(st.sampled_from(near)) ^ data.draw(st.integers(0, 2**64 - 1))
    answer = lookup(trie)(address)
    assert answer.value == trie.lookup(address)
    assert answer.used["reads"] == len(trie.reads(address))


MIXED_ROUTER = resolve_router(MIXED)
MIXED_GOLDEN = Forwarder(MIXED_ROUTER, profile="rfc1812", lookup="trie20_4_8")


def alike(port, frame, counting=False):
    """One program of all protocols against the golden router of all protocols."""
    box = Box(MIXED_GOLDEN, source_lookup=counting)
    trace = forward(engine_program(box, counting=counting), accelerators(box), port, frame)
    found, outcome = trace.context, MIXED_GOLDEN.decide(port, frame)
    if found.left_to_control:
        return "control"
    if found.sent is not None:
        assert [(sent.port, sent.frame) for sent in outcome.sent] == [found.sent]
        assert not outcome.reason
        return "sent"
    assert outcome.reason == found.reason
    return "dropped"


def test_all_protocols_named_cases():
    ends = [alike(port, frame) for _, port, frame, _ in named_cases6()]
    assert {"sent", "dropped", "control"} == set(ends)
    assert ends.count("sent") >= 10


@settings(max_examples=120)
@given(st.integers(0, 4), KINDS, st.booleans(), st.booleans())
def test_any_packet_of_any_protocol(port, drawn, counting, many):
    """Labels go round three steps each and lead to IPv4 or IPv6 below them, as the golden router has it."""
    packet, kind = drawn
    mac = b"\x33\x33\0\0\0\1" if many else MIXED_ROUTER.ports[port].mac
    alike(port, mac + bytes(6) + kind + packet, counting)


def test_paths_hold_every_packet_and_its_calls():
    box = Box(GOLDEN, source_lookup=True)
    program, units = engine_program(box, ["ipv4"], counting=True), accelerators(box)
    traces = [forward(program, units, port, frame) for _, port, frame in CASES]
    found = lower(traces)
    assert sum(path.share for path in found.paths) == pytest.approx(1)
    for k, trace in enumerate(traces):
        path = found.paths[found.columns["path"][k]]
        assert path.steps == tuple(one.name for one in trace.passed)
        assert path.calls() == len(trace.calls)
        reads = sum(
            found.columns[amount][k] if isinstance(amount, str) else amount
            for _, groups in path.waits
            for group in groups
            for name, amount in group.used.items()
            if name == "reads"
        )
        assert reads == trace.used().get("reads", 0)
