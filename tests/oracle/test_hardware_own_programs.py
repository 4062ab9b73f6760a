"""Step programs that are not Gorilla's as hardware, in Icarus and Verilator, with stalls; planted faults are seen."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from reference.hardware_faults import impatient

from npexplore.cli.hardware import _hardware_of, command
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.golden.checksum import internet_checksum
from npexplore.hardware.described import StepHardware
from npexplore.hardware.program_files import BENCH, DESIGN, Knobs, ProgramFiles, knobs_of
from npexplore.hardware.programs import Inline, Outside
from npexplore.hardware.shapes import Fixed, Octets, Whole, maybe
from npexplore.machine.step_programs import Answer, Call, Field, StepProgram, compile_steps

DOCUMENT = Path(__file__).parents[2] / "docs" / "hardware.md"
LONGEST = 60
filter_ = StepProgram("filter", "parse", [Field("first", 64, region="packet")])


@filter_.step(["first"], [Call("fault", "checked", ["first"])], goes=["ask", "drop"])
def parse(c):
    c.reason, c.out = c.fault, None
    c.source, c.target = c.packet[1], c.packet[2] << 8 | c.packet[3]
    return "drop" if c.fault else "ask"


@filter_.step(
    calls=[
        Call("rule", "rules", ["source", "target"]), Call("back", "rules", ["target", "source"]),
        Call("counted", "count", ["target"], when="source"),
    ],
    goes=["send", "drop"],
)  # fmt: skip
def ask(c):
    if c.rule is None:
        c.reason = 3
        return "drop"
    c.way = c.rule + (0 if c.back is None else c.back)
    return "send"


@filter_.step()
def send(c):
    life = c.packet[4] - 1 if c.packet[4] else 0
    c.out = c.way, c.packet[:4] + bytes([life]) + c.packet[5:]


@filter_.step()
def drop(c):
    c.out = None


def checked(first):
    if first[0] >> 4 != 4:
        return 1
    return 2 if first[7] == 0x80 else 0


def rules(a, b):
    return Answer(None if (a + b) % 5 == 0 else (a ^ b) & 7)


FILTER = StepHardware(
    compile_steps(filter_, ports={"rules": 2}),
    begins={"packet": Octets(16, (16, 16), (8, LONGEST), True), "reason": Whole(0, 0), "out": Fixed(None)},
    results=["out", "reason"],
    units={"checked": Inline(checked), "rules": Outside(maybe(7)), "count": Outside(Fixed(None))},
    accelerators={"rules": rules, "count": lambda target: Answer(None)},
)
FAULTS = {  # text of the design -> what it is made
    "(owed[index] == 0)": "1'b1",  # nobody waits for answers
    "count_0_ask <= ask_count_0": "count_0_ask <= ask_count_0 ^ 16'd1",  # another one is counted
    "owed[chosen][1] <= 1'b1": "owed[chosen][1] <= 1'b0",
    "rules_1_who <= chosen": "rules_1_who <= turn",
    "reply_rules_0[rules_0_for]": "reply_rules_0[chosen]",
    "(~out_valid || out_ready)": "(1'b1)",
    "assign ask_rules_0 = {": "assign ask_rules_0 = ~{",
    "assign when_count_0 = ": "assign when_count_0 = ~",
    "in_ready[chosen] = found & room": "in_ready[chosen] = found",
    "places[in_ticket] <= in_data": "places[in_ticket ^ 1'b1] <= in_data",
}


@pytest.fixture
def documented(tmp_path):
    """The file that the page on hardware shows: the step program of docs/step_programs.md."""
    file = tmp_path / "my_steps.py"
    file.write_text(re.search(r"^```python\n(# my_steps\.py\n.*?)^```", DOCUMENT.read_text(), re.M | re.S)[1])
    return file


PIPELINE_FAULTS = {
    "assign idle1[0] = ~busy_rules_0 | rules_0_ready": "assign idle1[0] = 1'b1",  # a call lost
    ".out_ready(go1 & head1[": ".out_ready(go1 | head1[",  # an answer of the next packet
    "wire room1 = ~full1 | ready[2];": "wire room1 = 1'b1;",  # a packet lost
    "assign join1 = there1 & (&(has1 |": "assign join1 = there1 & (|(has1 |",  # one answer is enough
    "busy_count_0 <= enter1 & want1[2]": "busy_count_0 <= want1[2]",  # a call made twice
    "out1 <= mine1 ?": "out1 <= 1'b1 ?",  # steps that a packet does not come to
}


@cache
def cases(count=300):
    return FILTER.tried(count)


def verified(knobs, folder, hardware=FILTER, simulator="iverilog", count=300):
    made = ProgramFiles(hardware, knobs)
    made.write(folder)
    return made.verify(folder, cases(count) if hardware is FILTER else hardware.tried(count), simulator)


@pytest.mark.parametrize("scheduler", ["ready", "round_robin"])
@pytest.mark.parametrize("threads", [1, 4])
def test_an_engine_of_another_program(threads, scheduler, tmp_path):
    found = verified(Knobs(threads=threads, scheduler=scheduler), tmp_path)
    assert (found.differences, found.first) == (0, "")


def test_a_cluster_of_another_program_keeps_the_order(documented, tmp_path):
    for hardware in (FILTER, _hardware_of(documented)):
        found = verified(Knobs(threads=2, engines=3, reorder_places=16), tmp_path, hardware)
        assert (found.differences, found.first, found.overtaken) == (0, "", 0)


@pytest.mark.parametrize(("places", "engines"), [(2, 1), (16, 1), (4, 2)])
def test_a_pipeline_of_another_program(places, engines, tmp_path):
    """It keeps the order by itself, and takes a packet a cycle where it has as many places as lookups take cycles."""
    knobs = Knobs(template="pipeline", threads=places, engines=engines, reorder_places=8 if engines > 1 else 0)
    found = verified(knobs, tmp_path)
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)
    assert (found.cycles_per_packet < 1.2) == (places == 16)


def test_what_jumps_back_is_no_pipeline():
    again = StepProgram("again", "only")

    @again.step(goes=["only", "last"])
    def only(c):
        c.left = max(c.left, 1) - 1
        return "only" if c.left else "last"

    @again.step()
    def last(c):
        c.out = 1

    made = StepHardware(compile_steps(again), {"left": Whole(0, 3), "out": Whole(0, 0)}, ["out"])
    with pytest.raises(ModelError, match="'again' is not a pipeline: step 'only' jumps back to 'only'"):
        ProgramFiles(made, Knobs(template="pipeline")).design()


def test_every_end_is_come_by():
    ends = {FILTER.run(case).context.reason for case in cases()}
    assert ends == {0, 1, 2, 3}
    assert {FILTER.run(case).context.out is None for case in cases()} == {True, False}
    assert max(len(case["packet"]) for case in cases()) > 16 > min(len(case["packet"]) for case in cases())


def no_fault_passes(hardware, knobs, faults, cases, folder):
    """Fail for a fault that nobody sees, or that does not compile: that would prove nothing."""
    made = ProgramFiles(hardware, knobs)
    (folder / BENCH).write_text(impatient(made.bench()))
    (folder / DESIGN).write_text(text := made.design())
    assert made.verify(folder, cases, "iverilog").differences == 0
    for what, instead in faults.items():
        assert what in text, what
        (folder / DESIGN).write_text(text.replace(what, instead))
        try:
            seen = made.verify(folder, cases, "iverilog", brief=True).differences > 0
        except InputError as fault:
            seen = "iverilog failed" not in str(fault)
        assert seen, what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knobs", "faults"),
    [(Knobs(threads=2, engines=2, reorder_places=4), FAULTS), (Knobs(template="pipeline", threads=2), PIPELINE_FAULTS)],
    ids=["cluster", "pipeline"],
)
def test_planted_faults_are_seen(knobs, faults, tmp_path):
    no_fault_passes(FILTER, knobs, faults, cases(120), tmp_path)


@pytest.mark.slow
def test_the_documented_program_by_the_command(documented, tmp_path):
    def ran(folder, *more):
        done = CliRunner().invoke(command, [str(documented), "--out", str(tmp_path / folder), *more, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    found = ran("a", "--verify", "3000")  # so many that Verilator is taken
    assert (found["differences"], found["unreached"], found["packets"]) == (0, [], 9000)
    assert found["passed"] == {"classify.1": 3000, "classify.2": 3000, "emit": 3000}
    other = [Path(file).read_text() for file in ran("b")["files"]]
    assert [Path(file).read_text() for file in found["files"]] == other


def test_what_is_refused(documented, tmp_path):
    def error(*arguments):
        return str(CliRunner().invoke(command, [*arguments, "--out", str(tmp_path / "none")]).exception)

    file = str(documented)
    assert "engnes" in error(file, "--set", "engnes=2")
    assert "threads must be a whole number" in error(file, "--set", "threads=many")
    assert "threads needs one value, got 1, 2" in error(file, "--set", "threads=1,2")
    assert "--program is of gorilla" in error(file, "--program", "ipv4")
    assert "no such Python file" in error(str(tmp_path / "nowhere.py"))
    (tmp_path / "empty.py").write_text("")
    assert "hardware must be a StepHardware, got nothing" in error(str(tmp_path / "empty.py"))
    (tmp_path / "broken.py").write_text("1 / 0")
    assert "ZeroDivisionError" in error(str(tmp_path / "broken.py"))
    assert not (tmp_path / "none").exists()
    for knobs in ({"threads": 0}, {"reorder_places": 8}):
        with pytest.raises(InputError):
            Knobs(**knobs)
    with pytest.raises(UnknownNameError, match="scheduler"):
        knobs_of({"scheduler": "chance"})
    compiled = compile_steps(filter_, ports={"rules": 2})
    with pytest.raises(UnknownNameError, match="rules"):
        StepHardware(compiled, FILTER.begins, ["out"], FILTER.units)
    with pytest.raises(ModelError, match="names of results"):
        StepHardware(compiled, FILTER.begins, [])


def test_an_accelerator_with_a_state_is_refused(tmp_path):
    said = []

    def counted(a, b):
        said.append(a)
        return Answer(len(said) % 8)

    made = ProgramFiles(StepHardware(
        FILTER.compiled, FILTER.begins, FILTER.results, FILTER.units, {**FILTER.accelerators, "rules": counted}
    ))  # fmt: skip
    made.write(tmp_path)
    assert (tmp_path / BENCH).exists()
    with pytest.raises(InputError, match="'rules' answers one call in two ways"):
        made.verify(tmp_path, [cases()[k] for k in range(200)] * 2, "iverilog")


headers = StepProgram(
    "headers", "arrive", [Field("header", 160, region="packet"), Field("behind", 24, region="packet", first_byte=20)]
)


@headers.step(
    ["header", "behind"], [Call("sum", "integrity", ["header"]), Call("more", "integrity", ["behind"])], goes=["look"]
)
def arrive(c):
    c.way = c.packet[16] << 8 | c.packet[17]
    return "look"


@headers.step(calls=[Call("port", "lookup", ["way"])])
def look(c):
    c.out = None if c.sum else c.port
    c.rest = c.sum + c.more


def summed_cases(count):
    """Return frames with right checksums, with a changed bit, of zeros, of ones, and such whose carries carry again."""
    rng, found = np.random.default_rng(3), []
    odd = [bytes(20), b"\xff" * 20, b"\xff\xff\xff\xff\0\1" + bytes(14)]
    for k in range(count):
        head = bytearray(rng.bytes(int(rng.integers(23, LONGEST))))
        head[10:12] = b"\0\0"
        head[10:12] = internet_checksum(bytes(head[:20])).to_bytes(2, "big")
        if k % 3 == 0:
            head[int(rng.integers(20))] ^= 1 << int(rng.integers(8))
        if k % 7 == 0:
            head[:20] = odd[k // 7 % 3]
        found.append({"packet": bytes(head)})
    return found


SUMMED = StepHardware(
    compile_steps(headers, width_bits=256, ports={"integrity": 2}),
    begins={"packet": Octets(32, (32, 32), (23, LONGEST), True)},
    results=["out", "rest"],
    units={"integrity": Outside(Whole(0, 0xFFFF), template="integrity"), "lookup": Outside(maybe(7))},
    accelerators={"lookup": lambda way: Answer(way % 9 if way % 9 < 8 else None)},
    cases=summed_cases,
)
SUMMED_FAULTS = {  # text of the design -> what it is made
    "told <= who;": "told <= ~who;",  # the other thread's answer
    "word <= last ? 0 : word + 1'b1;": "word <= 0;",  # the first word again and again
    "last ? BYTES - 16 * (WORDS - 1) : 16": "16",  # bytes behind a header
    "assign in_ready = ~busy | (last & room);": "assign in_ready = 1'b1;",  # a call over another
    "127 - 8*(k%16) -: 8": "8*(k%16) +: 8",  # bytes of a word the other way round
    "sum <= in_data[133] ? 16'd0 : next;": "sum <= next;",  # a sum that goes on into the next header
    "wire [15:0] next = folded[15:0] + folded[16];": "wire [15:0] next = folded[15:0];",  # a carry lost
    ".out_ready(s0_br)": ".out_ready(1'b1)",  # an answer that nobody takes
    "s1_ask[7:0]": "s0_ask[7:0]",  # a byte of another call
}


@pytest.mark.parametrize(
    "knobs", [Knobs(threads=2, engines=2, reorder_places=8), Knobs(template="pipeline", threads=4)],
    ids=["cluster", "pipeline"],
)  # fmt: skip
def test_integrity_units_answer_behind_ports(knobs, tmp_path):
    """Inside the design: their ports do not come out, and what the step program makes of a checksum, hardware makes."""
    found = verified(knobs, tmp_path, SUMMED, count=60)
    assert (found.differences, found.first) == (0, "")
    assert set(ProgramFiles(SUMMED, knobs).top.ports) == {"lookup_0"}
    ends = [SUMMED.run(case).context for case in SUMMED.tried(60)]
    assert {one.out is None for one in ends} == {True, False}
    assert {one.sum == 0 for one in ends} == {True, False}


@pytest.mark.slow
def test_planted_faults_of_integrity_units_are_seen(tmp_path):
    no_fault_passes(SUMMED, Knobs(threads=4), SUMMED_FAULTS, SUMMED.tried(120), tmp_path)


def test_what_an_integrity_unit_cannot_take_is_refused():
    def hardware(most=0xFFFF, shortest=23, template="integrity", **other):
        begins = {"packet": Octets(32, (32, 32), (shortest, LONGEST), True)}
        units = {**SUMMED.units, "integrity": Outside(Whole(0, most), template=template), **other}
        return StepHardware(SUMMED.compiled, begins, ["out", "rest"], units, SUMMED.accelerators)

    with pytest.raises(UnknownNameError, match="template of integrity"):
        hardware(template="integrety")
    with pytest.raises(ModelError, match=r"integrity answers Whole\(0, 65535\)"):
        hardware(most=255)
    with pytest.raises(ModelError, match=r"step 'arrive': .*bytes whose length is known only in hardware"):
        ProgramFiles(hardware(shortest=22))
    with pytest.raises(InputError, match="lookup: an integrity unit takes a field of bytes, got 16 bits"):
        ProgramFiles(hardware(lookup=Outside(Whole(0, 0xFFFF), template="integrity")))
