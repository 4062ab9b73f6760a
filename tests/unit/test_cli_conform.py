"""`npexplore conform`: table and failures of a router of any kind, as text, JSON and page; every ending in one line."""

import json
import sys

import pytest

from npexplore.cli import main
from npexplore.packets.frames import read_frames

ROUTER = """
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
"""
GOLDEN = """
from pathlib import Path
from npexplore.golden import Forwarder, load_router
golden = Forwarder(load_router(Path(__file__).with_name("router.toml")), lookup="binary_trie")
def right(port, frame):
    return [(sent.port, sent.frame) for sent in golden.forward(port, frame).sent]
def silent(port, frame):
    return [(sent.port, sent.frame) for sent in golden.forward(port, frame).sent if not sent.icmp]
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a router's configuration and a file of functions."""
    (tmp_path / "router.toml").write_text(ROUTER)
    (tmp_path / "mine.py").write_text(GOLDEN)
    return tmp_path


def conform(folder, *arguments):
    return main(["conform", "--config", str(folder / "router.toml"), *map(str, arguments)])


def test_a_right_router_is_told_right(folder, capsys):
    assert conform(folder, "--as", "function", "--frames", 1, f"{folder}/mine.py:right") == 0
    told = capsys.readouterr().out
    assert " frames, 0 failures in 0 clusters; rules: " in told
    assert "RFC 1812 section 5.3.1" in told


def test_failures_end_with_1_as_json_page_and_captures(folder, capsys):
    page, out = folder / "page.html", folder / "failures"
    words = ["--as", "function", "--frames", 1, "--report", page, "--export", out, "--json", f"{folder}/mine.py:silent"]
    assert conform(folder, *words) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "function"
    rules = {row["rule"]: row["verdict"] for row in found["rules"]}
    assert rules["the router's message is sent"] == "failed"
    assert rules["time to live of what passes"] == "held"
    assert sum(cluster["failures"] for cluster in found["clusters"]) == found["failures"] > 10
    (kept,) = [bytes(data) for _, data in read_frames(next(out.glob("01/in.*.pcap")))]
    assert kept.hex() == found["clusters"][0]["frame"]
    assert "Conformance table" in page.read_text()


def test_a_program_over_captures_that_fails_is_told_with_its_frame(folder, capsys):
    program = [sys.executable, "-c", "import sys; sys.exit('no room')", "--json", "--in={port}={file}"]
    assert conform(folder, "--frames", 1, *program) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "must return 0, got 1: no room; it does so without any frame" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "function"], "needs a command, or FILE.py:FUNCTION, after its options, got none"),
        (["--as", "capture", "x"], "--as: kind of router 'capture' is unknown (nearest: captures"),
        (["--as", "function", "{}/mine.py:rigth"], "function 'rigth' is unknown (nearest: right"),
        (["--as", "function", "{}/other.py:right"], "must be FILE.py:FUNCTION of a file that exists"),
        (["--as", "function", "{}/router.toml:right"], "is not a Python file"),
        (["--again", "x"], "--again is for --as links, got --as captures"),
        (["--as", "kernel", "x"], "conform --as kernel takes no command, got x"),
        (["--profile", "bsd", "--as", "function", "{}/mine.py:right"], "'bsd'"),
    ],
)
def test_wrong_usage_is_one_line(folder, capsys, arguments, message):
    assert conform(folder, *(word.format(folder) for word in arguments)) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ('policy = {neighbours = "resolve"}', 'neighbours = "resolve"'),
        (', {name = "v", address = "10.5.0.1/24", vlan = 5, on = "a"}', "VLANs"),
        ('label = [{label = 100, port = "b"}]', "label stacks"),
    ],
)
def test_the_kernel_is_examined_without_what_it_is_not_asked_of(folder, capsys, more, what):
    ports = ROUTER.replace("}]\nroute", f"}}{more}]\nroute") if more[0] == "," else f"{ROUTER}{more}\n"
    (folder / "router.toml").write_text(ports)
    assert conform(folder, "--as", "kernel") == 2
    told = capsys.readouterr().err
    assert f"without {what}, got" in told
    assert told.count("\n") == 1


def test_without_the_right_to_make_namespaces_the_kernel_is_one_line(folder, capsys, monkeypatch):
    monkeypatch.setattr("npexplore.testing.namespaces.shutil.which", lambda name: None)
    assert conform(folder, "--as", "kernel") == 2
    told = capsys.readouterr().err
    assert told == "npexplore: the Linux kernel cannot be asked: the program ip (iproute2) is not installed\n"


def test_a_configuration_is_needed(capsys):
    assert main(["conform", "x"]) == 2
    assert "conform needs --config ROUTER.toml" in capsys.readouterr().err
