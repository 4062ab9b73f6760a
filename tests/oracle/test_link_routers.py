"""Programs between the interfaces of a namespace: ten faults found from outside, a crash and a flood told."""

import json
import sys
from pathlib import Path

import pytest
from reference.faulty_router import FAULTS

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.golden.router.configuration import load_router
from npexplore.testing import LinkRouter, examine_router
from npexplore.testing.probes import probes

READY_S = 120  # a busy machine takes its time to start a program
PROGRAM = Path(__file__).parents[1] / "reference" / "link_router.py"
WIRE = """
import select, socket, sys
a, b = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in "ab")
a.bind(("a", 0)); b.bind(("b", 0))
while True:
    for one in select.select([a, b], [], [])[0]:
        frame = one.recv(65536)
        if b"crash" in frame: sys.exit("no room")
        for _ in range(10_000 if b"flood" in frame else 1): (b if one is a else a).send(frame)
"""


FORGETFUL = """
import socket
a, b = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in "ab")
a.bind(("a", 0)); b.bind(("b", 0))
question = bytes.fromhex("ffffffffffff020000000002080600010800060400010200000000020a0100010000000000000a010002")
asked = 0
while True:
    frame = a.recv(65536)
    if asked % 2 == 0: b.send(question); b.recv(60)
    else: b.send(frame)
    asked += 1
"""


@pytest.fixture
def kernel():
    """Links are of the kernel: tests that want them are left out where namespaces may not be made."""


@pytest.fixture
def two(tmp_path):
    """A router's file: ports a and b, routes to both sides."""
    path = tmp_path / "router.toml"
    path.write_text("""
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
""")
    return path


def test_ten_faults_between_links_are_ten_clusters(kernel, two):
    with LinkRouter([sys.executable, str(PROGRAM), str(two), *FAULTS], two, ready_s=READY_S) as mine:
        found = examine_router(mine.forward, mine.router, max_examples=1)
    assert sorted(one.smallest.rule.subject for one in found.clusters) == sorted(FAULTS.values())


def test_a_program_that_ends_or_floods_is_told_and_started_again(kernel, two):
    with LinkRouter([sys.executable, "-c", WIRE], two, quiet_s=1, ready_s=READY_S) as wire:
        plain = next(frame for _, frame in probes(wire.router))
        assert wire.forward(0, plain) == [(1, plain)]
        with pytest.raises(InputError, match=r"python\d* -c .* must keep running, it ended with 1: no room") as caught:
            wire.forward(0, plain + b"crash")
        assert "\n" not in str(caught.value)
        with pytest.raises(InputError, match="must not flood: it sent more than 256 frames for one"):
            wire.forward(0, plain + b"flood")
        assert wire.forward(0, plain) == [(1, plain)]


@pytest.mark.parametrize(
    ("words", "status", "failed"),
    [
        (["links", sys.executable, str(PROGRAM), "{}", "clears precedence"], 1, ["type of service of what passes"]),
        (["links", sys.executable, str(PROGRAM), "{}"], 0, []),
    ],
)
def test_the_command_examines_what_is_between_links(kernel, two, capsys, words, status, failed):
    command = [word.format(two) for word in words]
    options = ["--frames", "1", "--seconds", str(READY_S), "--json", "--as"]
    assert main(["conform", "--config", str(two), *options, *command]) == status
    found = json.loads(capsys.readouterr().out)
    assert [row["rule"] for row in found["rules"] if row["verdict"] == "failed"] == failed


@pytest.mark.parametrize(("again", "sent"), [(False, 0), (True, 1)])
def test_what_is_lost_while_a_program_asks_is_sent_again_where_wanted(kernel, two, again, sent):
    class Unmarked(LinkRouter):
        def _passing(self, port):
            return b""

    for quiet_s in (0.5, 5, 50):  # silence, of which a busy machine makes more
        with Unmarked([sys.executable, "-c", FORGETFUL], two, quiet_s=quiet_s, ready_s=READY_S, again=again) as mine:
            plain = next(frame for _, frame in probes(mine.router))
            found = mine.forward(0, plain)
        if len(found) == sent:
            break
    assert found == [(1, plain)] * sent


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('no port a')", "must keep running, it ended with 1: no port a"),
        (None, "cannot be run: No such"),
    ],
)
def test_a_program_that_does_not_start_is_told(kernel, program, message, two):
    words = ["/no/such/program"] if program is None else [sys.executable, "-c", program]
    with pytest.raises(InputError, match=message):
        LinkRouter(words, load_router(two)).__enter__()
