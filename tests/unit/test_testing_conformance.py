"""A router with ten faults: each is found, clustered and shrunk; the table and its exports; crashes and wrong ports."""

import html
import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from reference.faulty_router import FAULTS, FaultyRouter

from npexplore.errors import InputError
from npexplore.golden.router.configuration import PortRecord, RouteRecord, RouterFile, load_router, resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.packets.frames import read_frames
from npexplore.report.conformance_page import write_conformance_page
from npexplore.testing import (
    Bench,
    CounterexampleError,
    check_captures,
    check_router,
    examine_captures,
    examine_router,
    write_captures,
    write_tests,
)
from npexplore.testing.probes import probes

ROUTER = resolve_router(
    RouterFile(
        port=[
            PortRecord(name="a", address="10.0.0.1/24", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:01:01"),
            PortRecord(name="b", address="10.1.0.1/24", mtu=576, mac="02:00:00:00:00:02", peer_mac="02:00:00:00:01:02"),
        ],
        route=[RouteRecord(prefix="20.0.0.0/8", via="10.1.0.2"), RouteRecord(prefix="21.0.0.0/8", via="10.0.0.2")],
    )
)
FEW = 100  # drawn beside the probes


def golden(port, frame):
    """Forward as the golden router does."""
    return [(sent.port, sent.frame) for sent in Forwarder(ROUTER).forward(port, frame).sent]


@pytest.fixture(scope="module")
def ten():
    """What is found in a router with all ten faults."""
    return examine_router(FaultyRouter(ROUTER), ROUTER, max_examples=FEW)


def test_ten_faults_are_ten_clusters(ten):
    assert sorted(one.smallest.rule.subject for one in ten.clusters) == sorted(FAULTS.values())
    assert sum(one.failures for one in ten.clusters) == ten.failures > 100
    longest = {one.smallest.rule.subject: len(one.smallest.frame) for one in ten.clusters}
    assert longest.pop(FAULTS["cuts what must not be cut"]) == 14 + 577
    assert max(longest.values()) < 50


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_alone_is_one_cluster(name):
    found = examine_router(FaultyRouter(ROUTER, [name]), ROUTER, max_examples=1)
    assert [one.smallest.rule.subject for one in found.clusters] == [FAULTS[name]]
    assert [row.rule.subject for row in found.rows if row.failed] == [FAULTS[name]]


def test_a_right_router_holds_what_is_tried():
    found = examine_router(golden, ROUTER, max_examples=FEW)
    assert not found.clusters
    verdicts = {row.rule.subject: row.verdict for row in found.rows}
    assert verdicts["dropped: no time to live is left"] == "held"
    assert verdicts["dropped: the route to the source leads out of another port"] == "not exercised"
    found.raise_if_failed()


def test_the_table_is_text_and_json_and_html(ten):
    text, read = str(ten), json.loads(ten.to_json())
    assert text.startswith(f"{ten.frames} frames, {ten.failures} failures in 10 clusters")
    assert sum(row["failed"] for row in read["rules"]) == read["failures"] == ten.failures
    assert all(row["tried"] == row["held"] + row["failed"] for row in read["rules"])
    assert len(read["clusters"]) == 10
    for row in read["rules"]:
        assert row["rule"] in text
    assert ten._repr_html_().count("<tr>") == len(read["rules"]) + 1


def test_the_page_has_clusters_and_table_and_loads_nothing(ten, tmp_path):
    write_conformance_page(ten, tmp_path / "page.html", "<mine>")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<details>") == 10
    assert "Conformance of &lt;mine&gt;" in page
    assert not re.search(r"(src|href)=.https?:", page)
    for row in ten.rows:
        assert html.escape(row.rule.subject) in page
    for one in ten.clusters:
        assert one.smallest.frame.hex()[:100] in page


def test_failures_are_exported_as_captures_and_as_tests(ten, tmp_path):
    written = write_captures(ten, tmp_path)
    assert len({path.parent for path in written}) == len(ten.clusters)
    for number, one in enumerate(ten.clusters, start=1):
        name = ROUTER.ports[one.smallest.port].name
        assert [frame for _, frame in read_frames(tmp_path / f"{number:02d}/in.{name}.pcap")] == [one.smallest.frame]
    write_tests(ten, tmp_path / "test_mine.py", "my_router:forward")
    for right in (True, False):
        module = ModuleType("my_router")
        module.forward = golden if right else FaultyRouter(ROUTER)
        with patch.dict(sys.modules, my_router=module):
            made = runpy.run_path(str(tmp_path / "test_mine.py"))
        wrong = 0
        for case in made["CASES"]:
            try:
                made["test_forwarded_as_it_must_be"](case)
            except CounterexampleError:
                wrong += 1
        assert wrong == (0 if right else 10)


def test_faults_of_ipv6_and_labels_are_found_by_probes():
    router = load_router("multiservice")
    right = Forwarder(router)

    def wrong(port, frame):
        for sent in right.forward(port, frame).sent:
            data = bytearray(sent.frame)
            if data[12:14] == b"\x86\xdd" and not sent.icmp:
                data[15] &= 0x0F  # half of the traffic class
            if data[12:14] == b"\x88\x47":
                data[17] |= 0x80  # the time to live
            yield sent.port, bytes(data)

    found = examine_router(wrong, router, max_examples=1)
    subjects = {row.rule.subject for row in found.rows if row.failed}
    assert subjects == {"traffic class of what passes", "label stack of what passes"}
    assert max(len(one.smallest.frame) for one in found.clusters) < 70


def test_only_as_many_failures_as_asked_for():
    found = examine_router(lambda port, frame: [], ROUTER, max_examples=FEW, failures=7)
    assert found.failures == 7
    with pytest.raises(CounterexampleError, match=r"7 of \d+ frames come out otherwise"):
        check_router(lambda port, frame: [], ROUTER, max_examples=FEW, failures=7)


def test_a_crash_shows_line_and_frame():
    def crashes(port, frame):
        return golden(port, frame) if len(frame) < 40 else 1 // 0

    found = examine_router(crashes, ROUTER, max_examples=1)
    one = next(one.smallest for one in found.clusters if one.smallest.difference is None)
    assert one.what.startswith("ZeroDivisionError at test_testing_conformance.py:")
    assert len(one.frame) == 40
    assert one.frame.hex() in str(one)
    with pytest.raises(ZeroDivisionError) as caught:
        check_router(crashes, ROUTER, max_examples=50)
    assert caught.value.__notes__[0].startswith("the router got, by port ")


@pytest.mark.parametrize("port", [2, -1])
def test_a_port_that_does_not_exist_is_refused(port):
    message = rf"by ports 0 to 1 \(a, b\), got port {port} for "
    for check in (check_router, examine_router):
        with pytest.raises(InputError, match=message):
            check(lambda _, frame: [(port, frame)], ROUTER, max_examples=5)
    with pytest.raises(InputError, match=message):
        Bench(ROUTER).drive(port, bytes(60))
    with pytest.raises(InputError, match=message):
        Bench(ROUTER).expect(port, bytes(60))


TOML = """
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
"""
PROGRAM = Path(__file__).parents[1] / "reference" / "capture_router.py"


@pytest.mark.slow
def test_a_program_with_ten_faults_has_ten_clusters(tmp_path):
    path = tmp_path / "router.toml"
    path.write_text(TOML)
    command = [sys.executable, str(PROGRAM), str(path), "--faults", "--in={port}={file}", "--out={out}"]
    found = examine_captures(command, path, count=FEW)
    assert sorted(one.smallest.rule.subject for one in found.clusters) == sorted(FAULTS.values())
    assert sum(len(one.smallest.frame) < 50 for one in found.clusters) == 7


# A shell begins in milliseconds: on a busy machine, too, the second that it is given ends in the sleep alone.
SLEEPS = 'shift; test "$(cat "$@" < /dev/null | wc -c)" -le 900 || exec sleep 60'


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            SLEEPS,
            r"must end within 1 s, it is still running; it got, (on its own|after \d+ others), by port [ab]: 0200",
        ),
        (
            "import sys; sys.exit(len(sys.argv) > 2 and 'no such rule')",
            "got 1: no such rule; it got, on its own, by port",
        ),
        (
            "pass",
            "must write what it sends, wrote no frame at all; the first that makes it send one came by port a: 0200",
        ),
        ("import sys; open(sys.argv[1] + '/a.pcap', 'wb').write(bytes(1 << 30))", "must not flood: it wrote"),
        ("while True: print('round and round ' * 999)", "must not flood: it wrote"),
        ("import sys; open(sys.argv[1] + '/aa.pcap', 'wb')", r"wrote aa\.pcap: port 'aa' is unknown \(nearest: a\)"),
    ],
)
def test_a_program_that_goes_wrong_is_told_in_one_line(program, message):
    words = ["sh", "-c", program, "sh"] if program == SLEEPS else [sys.executable, "-c", program]
    with pytest.raises(InputError, match=message) as caught:
        check_captures([*words, "{out}", "{file}"], ROUTER, count=20, timeout_s=1 if program == SLEEPS else 120)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FAULTS)
def test_a_bench_goes_on_and_clusters(name):
    bench, device = Bench(ROUTER, failures=1000), FaultyRouter(ROUTER, [name])
    for port, frame in probes(ROUTER):
        for out, sent in device(port, bench.drive(port, frame)):
            bench.expect(out, sent)
    found = bench.conformance()
    assert [one.smallest.rule.subject for one in found.clusters] == [FAULTS[name]]
    with pytest.raises(CounterexampleError, match="in 1 clusters"):
        bench.done()


def test_a_bench_notices_the_order():
    bench = Bench(ROUTER, failures=10)
    plain = [(0, frame) for port, frame in probes(ROUTER) if port == 0 and [out for out, _ in golden(0, frame)] == [1]]
    sent = [row for port, frame in plain[:2] for row in golden(port, bench.drive(port, frame))]
    for port, frame in reversed(sent):
        bench.expect(port, frame)
    assert {row.rule.subject for row in bench.conformance().rows if row.failed} == {"frames of a port keep their order"}
