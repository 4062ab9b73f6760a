"""Whole frames in and out of generated hardware, in Icarus, with stalls: every byte, order, loss, bodies; faults."""

import random
import subprocess
from functools import cache

import pytest
from click.testing import CliRunner
from reference.hardware_faults import differs, impatient
from reference.router_cases6 import MIXED, named_cases6

from npexplore.cli.hardware import command
from npexplore.designs import design
from npexplore.designs.gorilla.hardware import BENCH
from npexplore.designs.gorilla.processor import PROCESSOR
from npexplore.designs.gorilla.steps import Box
from npexplore.designs.gorilla.whole import FrameFiles
from npexplore.errors import InputError
from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder

CLUSTER = {"clusters": 1, "engines": 2, "threads": 2, "reorder_places": 16}
LANES = {"clusters": 2, "lanes": 2, "engines": 1, "threads": 2, "fifo_packets": 2, "reorder_places": 16, "channels": 2}
CASES = [(port, frame) for _, port, frame, _ in named_cases6()]
LABELLED = [case for case in CASES if case[1][12:14] == b"\x88\x47"]


def with_bodies(cases):
    """Return frames with more bytes behind, as many as come in question around the words of a window of 112 bytes."""
    rng, found = random.Random(2), []
    for k, (port, frame) in enumerate(cases):
        more = (0, 112 - len(frame), 113 - len(frame), 128 - len(frame), rng.randrange(300))[k % 5]
        found.append((port, frame + rng.randbytes(max(0, more))))
    return found


LONG = with_bodies(2 * LABELLED)
FAULTS = {  # text of the design -> what it is made
    "default: if (~more) state <= FREE;": "default: state <= FREE;",  # words of a body that are left there
    "beside <= side; open <= rest;": "beside <= side; open <= 1'b0;",  # a body that is lost
    "assign body_ready = (state == DRAINS) |": "assign body_ready = ",  # one that is never thrown away
    "? body >> {carried, 3'd0}": "? body",  # one that does not move with its header
    "needs ? body << (8'd128 - {1'b0, carried, 3'd0}) : 128'd0": "128'd0",
    "carried <= have[3:0]; state <= BODY": "carried <= 4'd0; state <= BODY",
    ".rest(came > 112)": ".rest(1'b0)",
    "is_left ? came :": "is_left & is_sent ? came :",  # the length of another header
    ".head_data(is_left ?": ".head_data(~is_left ?",  # what is left to control is not as it came
    ".out_ready(goes), .out_data(kept)": ".out_ready(starts), .out_data(kept)",  # headers that run away
    ".in_valid(goes), .in_ready(t_ready)": ".in_valid(starts), .in_ready(t_ready)",  # told twice
    ".side({is_left,": ".side({~is_left,",
    "passed <= last ? 0 : passed +": "passed <= passed +",  # the length of all frames up to now
    "assign head_valid = there & told;": "assign head_valid = there;",  # a length that is not known yet
    "if (h_valid & h_ready) number <=": "if (h_valid) number <=",
    "(h_valid & g_ready), .in_ready(k_ready)": "(h_valid), .in_ready(k_ready)",  # kept more often than given
}


@cache
def tables():
    golden = Forwarder(resolve_router(MIXED), profile="rfc1812", lookup="trie20_4_8")
    return Box(golden, source_lookup=True, counters=FlowCounters(5))


def files(protocols, body_words=64, **knobs):
    p = design("gorilla").with_(**{"scheduler": "ready", "flow_counting": "on", **knobs}).parameters
    return FrameFiles(p, tables(), protocols, body_words=body_words)


@pytest.mark.parametrize("knobs", [CLUSTER, LANES])
def test_whole_frames_in_and_out(knobs, tmp_path):
    """Labels are put on, taken off, exchanged, so that bodies move by bytes; what is left to control is as it came."""
    made = files(("labels",), **knobs)
    made.write(tmp_path)
    found = made.verify(tmp_path, LONG, LONG[::3], "iverilog")
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)
    sent = [(sent, control, frame) for (sent, _, control), (_, frame) in zip(made.expected(LONG)[0], LONG, strict=True)]
    assert sum(1 for one, _, frame in sent if one and len(frame) > made.window) > 5
    assert sum(1 for _, control, frame in sent if control and len(frame) > made.window) > 2


@pytest.mark.slow
def test_frames_of_all_protocols(tmp_path):
    """Padding behind a total length is cut off, also in the body."""
    made = files(("ipv4", "ipv6", "mpls"), 128, **CLUSTER)
    made.write(tmp_path)
    found = made.verify(tmp_path, [*CASES[::2], *with_bodies(CASES[1::2])], CASES[::9], "iverilog")
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)


@pytest.mark.slow
def test_planted_faults_of_frames_are_seen(tmp_path):
    made = files(("labels",), **CLUSTER)
    (tmp_path / BENCH).write_text(impatient(made.bench()))
    text, cases = made.engine(), LONG[48:]
    assert not differs(made, tmp_path, PROCESSOR, text, cases)
    for what, instead in FAULTS.items():
        assert what in text, what
        assert differs(made, tmp_path, PROCESSOR, text.replace(what, instead), cases), what


def test_verilator_takes_whole_frames(tmp_path):
    """Words that are free in Verilog 2005 are not all free there."""
    files(("labels",), **LANES).write(tmp_path)
    lint = ["verilator", "--lint-only", "--timing", "-Wno-fatal", "--top-module", "bench", PROCESSOR, BENCH]
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_whole_frames_cannot_have(tmp_path):
    made = files(("labels",), **CLUSTER)
    assert made.longest == 112 + 63 * 16
    made.write(tmp_path)
    assert "| `in_*` | words of frames: {port" in (tmp_path / "README.md").read_text()
    assert files(("labels",), **CLUSTER).engine() == made.engine()
    with pytest.raises(InputError, match="a frame may have 1120 bytes, as many as the body queue holds, got 1121"):
        made.verify(tmp_path, [(0, bytes(1121))], None, "iverilog")
    with pytest.raises(InputError, match="reorder must be on"):
        files(("labels",), reorder="off", **CLUSTER)
    for options, what in [
        (["--frames"], "--frames is of clusters"),
        (["--set", "engines=2", "--frames", "--accelerators", "bench"], "--frames has the accelerators inside"),
    ]:
        done = CliRunner().invoke(command, ["gorilla", *options, "--out", str(tmp_path / "none")])
        assert what in str(done.exception)
