"""What hardware cannot have is refused with program, step, line and why; what it can have, it computes."""

import numpy as np
import pytest
from reference.graph_router import run_graphs

from npexplore.cli import main
from npexplore.errors import ModelError, UnknownNameError
from npexplore.hardware.lowering import Inline, Outside, lower_program
from npexplore.hardware.shapes import Fixed, Octets, Whole, maybe
from npexplore.machine.step_programs import Call, Field, Kept, StepProgram, compile_steps

BEGINS = {"packet": Octets(16, (16, 16), (0, 1500), True), "port": Whole(0, 3), "out": Whole(0, 0)}
ENTRIES = np.arange(4096)
LONG = list(range(5000))


def lowered(body, units=None, keeps=(), calls=()):
    program = StepProgram("p", "only", [Field("first", 32, region="packet")])
    program.step(["first"], calls, keeps=keeps)(body)
    return lower_program(compile_steps(program), units or {}, BEGINS, ["out"])


def only(c):
    while c.packet[0] != c.port:
        c.port = c.port + 1


def test_a_loop_without_bound():
    with pytest.raises(
        ModelError, match=r"program 'p', step 'only': unit/test_hardware_refused.py:2\d: a loop without bound"
    ):
        lowered(only)


def refused(body, why):
    body.__code__ = body.__code__.replace(co_name=body.__name__)
    program = StepProgram("p", body.__name__)
    program.step()(body)
    line = rf"program 'p', step '{body.__name__}': unit/test_hardware_refused.py:\d+: {why}"
    with pytest.raises(ModelError, match=line):
        lower_program(compile_steps(program), {}, BEGINS, ["out"])


def over_all_bytes(c):
    c.out = sum(byte for byte in c.packet)


def byte_at_its_length(c):
    c.out = c.packet[len(c.packet) - 1]


def cut_at_its_length(c):
    c.out = c.packet[len(c.packet) // 2 :][0]


def beyond_the_window(c):
    c.out = c.packet[16]


def table_in_memory(c):
    c.out = ENTRIES[c.port]


def long_table(c):
    c.out = LONG[c.port]


TABLE = {k: k for k in range(2000)}


def long_dictionary(c):
    c.out = TABLE.get(c.port, 0)


def within_a_long_set(c):
    c.out = c.port in TABLE


def text_of_a_number(c):
    c.out = len(f"port {c.port}")


def to_nowhere(c):
    return "nowhere" if c.port else "only"


def too_large_for_a_byte(c):
    c.out = bytes([c.port + 254])[0]


def nobody_kept(c):
    c.out = c.something


def opened(c):
    with c.port:
        c.out = 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (over_all_bytes, "a loop without bound: it goes over all bytes of a packet"),
        (byte_at_its_length, r"a byte is read at a place .* \(an unknown length as an index\)"),
        (cut_at_its_length, r"bytes are cut .* \(an unknown length as an index\)"),
        (beyond_the_window, "byte 16 is read, but hardware keeps only the first 16 bytes"),
        (table_in_memory, "a table in memory is read outside a call"),
        (long_table, "a table of 5000 entries is read outside a call; at most 1024"),
        (long_dictionary, "a table of 2000 entries is read outside a call; at most 1024"),
        (within_a_long_set, "a table of 2000 entries is read outside a call; at most 1024"),
        (text_of_a_number, "text is made of a value known only in hardware"),
        (to_nowhere, "it does not declare that it goes to"),
        (too_large_for_a_byte, "a byte must be 0 to 255, may be 254 to 257"),
        (nobody_kept, "'something' is used, but no earlier step has kept it"),
        (opened, "hardware has no form for 'with'"),
    ],
)
def test_refused_with_step_line_and_reason(body, why):
    if body is to_nowhere:
        why, line = why, ""
        program = StepProgram("p", "to_nowhere")
        program.step()(body)
        with pytest.raises(ModelError, match=f"program 'p', step 'to_nowhere': {line}{why}"):
            lower_program(compile_steps(program), {}, BEGINS, ["out"])
        return
    refused(body, why)


def test_a_kept_value_that_grows_round_by_round():
    program = StepProgram("p", "again")

    @program.step(goes=["again"])
    def again(c):
        c.out = c.out + 1
        return "again"

    with pytest.raises(ModelError, match="program 'p': a loop without bound: out grows"):
        lower_program(compile_steps(program), {}, BEGINS, ["out"])


def test_a_kept_value_wider_than_declared():
    def wide(c):
        c.out = c.packet[0] << 8 | c.packet[1]

    with pytest.raises(ModelError, match="step 'wide': kept 'out' may be 65535, but is declared up to 255"):
        lowered_named(wide, keeps=[Kept("out", 8)])


def lowered_named(body, units=None, keeps=(), calls=()):
    program = StepProgram("p", body.__name__, [Field("first", 32, region="packet")])
    program.step(["first"], calls, keeps=keeps)(body)
    return lower_program(compile_steps(program), units or {}, BEGINS, ["out"])


def test_calls_through_ports_and_inline():
    def asks(c):
        c.out = 99 if c.found is None else c.found + c.checked

    calls = [Call("found", "table", ["port"], when="port"), Call("checked", "check", ["first"])]
    units = {"table": Outside(maybe(7)), "check": Inline(lambda first: first[3])}
    made = lowered_named(asks, units, calls=calls)
    begins = {f"packet.{k}": k + 10 for k in range(16)}

    def answers(name, given):
        assert name == "table"
        return {".kind": 1, ".is1": given[0] + 4} if given[0] != 2 else {".kind": 0, ".is1": 0}

    found = [run_graphs(made, {**begins, "port": port}, answers)[0]["out"] for port in range(4)]
    assert found == [99, 5 + 13, 99, 7 + 13]
    with pytest.raises(UnknownNameError, match="check"):
        lowered_named(asks, {"table": Outside(Fixed(None))}, calls=calls)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_window_that_moves_turn_by_turn_needs_a_bound(bounded):
    """A step that cuts four bytes off and comes back: at most two times, or until nothing is in sight."""
    program = StepProgram("p", "again")

    @program.step(goes=["again", "ends"])
    def again(c):
        c.port = c.packet[0] & 3
        if c.packet[3] and (c.left or not bounded):
            c.packet, c.left = c.packet[4:], max(c.left, 1) - 1
            return "again"
        return "ends"

    @program.step()
    def ends(c):
        c.out = c.packet[7]

    begins = {**BEGINS, "left": Whole(0, 2)}
    if not bounded:
        with pytest.raises(ModelError, match=r"step 'again': .*: byte 0 is read, but hardware keeps only the"):
            lower_program(compile_steps(program), {}, begins, ["out"])
        return
    made = lower_program(compile_steps(program), {}, begins, ["out"])
    packet = {f"packet.{k}": 20 + k for k in range(16)} | {"packet.count": 16, "packet.length": 16}
    found = [run_graphs(made, {**packet, "left": left}, dict)[0]["out"] for left in range(3)]
    assert found == [27, 31, 35]


def test_a_misspelt_knob_is_told_with_its_nearest(capsys):
    assert main(["hardware", "gorilla", "--set", "engine=2", "--out", "none"]) == 2
    assert "engine is not a knob of hardware (nearest: engines" in capsys.readouterr().err
