"""Engines of all protocols in Verilator, with stalls: every reason that their graphs can give; what the kernel did."""

from functools import cache

import pytest
from reference import kernel_recording as recording
from reference.graph_router import GraphRouter
from reference.router_cases import named_cases
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs.gorilla.hardware import BENCH, EngineFiles
from npexplore.designs.gorilla.hardware_cases import CONTROL, SENT, ends, reasons_of, tried
from npexplore.designs.gorilla.steps import Box
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder

ALL = ("ipv4", "ipv6", "mpls")


def mixed():
    return Box(Forwarder(resolve_router(MIXED), profile="rfc1812", lookup="trie20_4_8"), source_lookup=True)


@cache
def cases(protocols, count):
    named = [(port, frame) for _, port, frame, _ in named_cases6()]
    return [*tried(mixed(), protocols, count), *named]


def held(protocols, threads, counting, folder, count):
    """Hold an engine against the step program; every reason must be among its ends."""
    made = EngineFiles(mixed(), protocols, counting, threads)
    made.write(folder)
    packets = cases(protocols, count)
    found = made.verify(folder, packets, packets[::9], "verilator")
    assert (found.differences, found.first) == (0, "")
    can = {reason.name for reason in reasons_of(made.program, protocols)}
    assert set(ends(made.box, protocols, packets, counting)) == can | {SENT, CONTROL}


@pytest.mark.slow
@pytest.mark.parametrize(("protocols", "threads", "counting"), [(("mpls",), 4, True), (ALL, 2, False)])
def test_every_reason_of_every_protocol(protocols, threads, counting, tmp_path):
    held(protocols, threads, counting, tmp_path, 600)


@pytest.mark.slow
def test_flows_counted_wrong_are_seen(tmp_path):
    """A bench that writes down another flow than it was asked to count."""
    made = EngineFiles(mixed(), ["labels"], True, 1)
    made.write(tmp_path)
    packets = [(port, frame) for _, port, frame, _ in named_cases6() if frame[12:14] == b"\x88\x47"]
    assert made.verify(tmp_path, packets, packets[:9], "iverilog").differences == 0
    bench = (tmp_path / BENCH).read_text()
    assert '"%h", ask' in bench
    (tmp_path / BENCH).write_text(bench.replace('"%h", ask', '"%h", ask ^ 1'))
    assert made.verify(tmp_path, packets, packets[:9], "iverilog").first.startswith("flow (")


@pytest.mark.slow
def test_what_the_kernel_sent_the_graphs_send():
    """Frames that the Linux kernel was given: what it was recorded to forward, the graphs of IPv4 send, byte by byte.

    The kernel drops some that a router of RFC 1812 sends, and those alone: sources that are its own addresses.
    """
    router, _ = named_cases()
    own = {port.address for port in router.ports}
    graphs, sent = GraphRouter(Box(Forwarder(router, profile="rfc1812", lookup="trie20_4_8"))), 0
    for name, port, frame, out in recording.read("named"):
        made = graphs.forward(port, frame)
        if made.sent is not None and int.from_bytes(frame[26:30], "big") not in own:
            assert out == [made.sent], name
            sent += 1
    assert sent > 50
