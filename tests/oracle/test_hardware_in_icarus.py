"""An engine made of a step program, in Icarus, with stalls: packets as the program has them; faults are seen."""

from functools import cache

import pytest
from reference.hardware_faults import differs
from reference.router_cases import named_cases

from npexplore.designs.gorilla.hardware import BENCH, ENGINE, EngineFiles, rated_and_hostile
from npexplore.designs.gorilla.steps import Box
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.golden.router.forward import Forwarder

ROUTER, CASES = named_cases()
PACKETS = [case[1:] for case in CASES]
FAULTS = {  # text of the engine -> what it is made
    "(owed[index] == 0)": "1'b1",
    "owed[chosen][0] <= 1'b1": "owed[chosen][0] <= 1'b0",
    "lookup4_0_who <= chosen": "lookup4_0_who <= turn",
    "reply_lookup4_0[lookup4_0_for]": "reply_lookup4_0[chosen]",
    "if (out_valid && out_ready) out_valid": "if (out_valid) out_valid",
    "(~out_valid || out_ready)": "(1'b1)",
    "tag[free] <= in_tag": "tag[free] <= in_tag ^ 16'd1",
    "out_tag <= tag[leaving]": "out_tag <= tag[chosen]",
    "written = editing ? chosen": "written = editing ? turn",
    "leaving_context = contexts[leaving]": "leaving_context = contexts[chosen]",
    "chosen : free;": "chosen : turn;",
    "busy[leaving] <= 1'b0;": "",
    "if (~busy[t])": "if (1'b1)",
    "if (lookup4_0_valid && lookup4_0_ready)": "if (lookup4_0_valid)",
    "lookup4_0_ask <= ask_lookup4_0": "lookup4_0_ask <= ask_lookup4_0 ^ 32'h100",
    "over[leaving] <= 1'b0;": "",
}  # fmt: skip
TAKE, STORED = "assign lookup4_0_take = 1'b1;", "if (lookup4_0_done) begin"
SLOW = "assign lookup4_0_take = slow[6];\n  reg [6:0] slow;\n  always @(posedge clk) slow <= rst ? 7'd0 : slow + 7'd1;"


@cache
def files(threads=4, counting=False):
    golden = Forwarder(ROUTER, profile="rfc1812", lookup="trie20_4_8")
    return EngineFiles(Box(golden, source_lookup=counting), counting=counting, threads=threads)


@pytest.mark.parametrize(("threads", "counting"), [(1, False), (4, False), (2, True)])
def test_every_reason_in_hardware(threads, counting, tmp_path):
    made = files(threads, counting)
    made.write(tmp_path)
    found = made.verify(tmp_path, PACKETS, PACKETS[::4], "iverilog")
    assert (found.differences, found.first) == (0, "")
    assert (found.overtaken == 0) == (threads == 1)


def test_ipv6_in_hardware(tmp_path):
    made = EngineFiles(router_tables(), ["ipv4", "ipv6"])
    made.write(tmp_path)
    rated, hostile = rated_and_hostile(made.box, made.protocols, 100)
    found = made.verify(tmp_path, hostile, rated, "iverilog")
    assert (found.differences, found.first) == (0, "")


def test_planted_faults_of_the_template_are_seen(tmp_path):
    made = files()
    (tmp_path / BENCH).write_text(made.bench())
    text = made.engine()
    assert not differs(made, tmp_path, ENGINE, text, PACKETS[::6])
    for what, instead in FAULTS.items():
        assert what in text, what
        assert differs(made, tmp_path, ENGINE, text.replace(what, instead), PACKETS[::6]), what


@pytest.mark.parametrize("threads", [1, 4])
def test_an_engine_may_let_answers_wait(threads, tmp_path):
    """An answer stays until it is taken; one that is stored and not taken comes again, for the thread's next packet."""
    made = files(threads)
    (tmp_path / BENCH).write_text(made.bench())
    text, cases = made.engine(), PACKETS[:: 6 if threads == 1 else 12]
    assert TAKE in text
    assert STORED in text
    slow = text.replace(TAKE, SLOW)
    right = slow.replace(STORED, "if (lookup4_0_done && lookup4_0_take) begin")
    assert not differs(made, tmp_path, ENGINE, right, cases)
    if threads == 1:
        assert differs(made, tmp_path, ENGINE, slow, cases)
    assert differs(made, tmp_path, ENGINE, text.replace(TAKE, "assign lookup4_0_take = 1'b0;"), cases)


def test_planted_faults_of_the_lowering_are_seen(tmp_path):
    """Comparisons of the checks turned round, one at a time; a few change nothing on these packets."""
    made = files()
    (tmp_path / BENCH).write_text(made.bench())
    lines = made.engine().splitlines()
    first = lines.index("module step_ipv4_check (")
    chosen = [k for k in range(first, lines.index("endmodule", first)) if " == " in lines[k] and "wire" in lines[k]]
    caught = []
    for k in chosen[::7]:
        changed = [*lines[:k], lines[k].replace(" == ", " != "), *lines[k + 1 :]]
        caught.append(differs(made, tmp_path, ENGINE, "\n".join(changed), PACKETS[::6]))
    assert sum(caught) >= 5
