"""Step programs that are not Gorilla's as hardware, in Icarus and Verilator, with stalls; planted faults are seen."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from npexplore.cli.hardware import _hardware_of, command
from npexplore.errors import InputError, ModelError, UnknownNameError
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
    """The file that the page on hardware shows: the step program of docs/machines.md."""
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
    with pytest.raises(ModelError, match="'again' is no pipeline: step 'only' jumps back to 'only'"):
        ProgramFiles(made, Knobs(template="pipeline")).design()


def test_every_end_is_come_by():
    ends = {FILTER.run(case).context.reason for case in cases()}
    assert ends == {0, 1, 2, 3}
    assert {FILTER.run(case).context.out is None for case in cases()} == {True, False}
    assert max(len(case["packet"]) for case in cases()) > 16 > min(len(case["packet"]) for case in cases())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knobs", "faults"),
    [(Knobs(threads=2, engines=2, reorder_places=4), FAULTS), (Knobs(template="pipeline", threads=2), PIPELINE_FAULTS)],
    ids=["cluster", "pipeline"],
)
def test_planted_faults_are_seen(knobs, faults, tmp_path):
    made = ProgramFiles(FILTER, knobs)
    made.write(tmp_path)
    text = made.design()
    for what, instead in faults.items():
        assert what in text, what
        (tmp_path / DESIGN).write_text(text.replace(what, instead))
        try:
            seen = made.verify(tmp_path, cases(120), "iverilog").differences > 0
        except InputError as fault:
            seen = "iverilog failed" not in str(fault)  # a text that does not compile proves nothing
        assert seen, what


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
    assert "threads must be a whole number, got 'many'" in error(file, "--set", "threads=many")
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
