"""A resource alone and machines of steps: what they are called with, what they refuse, what a capture drives."""

import json
import random

import pytest
from reference.theory_rows import DRAWS

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import InputError, NpexploreError, RefusedError, SimulationError, UnknownNameError
from npexplore.machine.described.examples import DEFAULTS, usual_values
from npexplore.machine.described.named import NAMED, short_key
from npexplore.machine.described.part_files import PARTS
from npexplore.machine.resources import KINDS, FifoServer
from npexplore.report.resource_page import resource_page
from npexplore.study.laboratory.parameters import names
from npexplore.units import unit_of

ALONE = [name for name in names() if not DEFAULTS[NAMED[name].kind if name in NAMED else name].alone]


ALONE_FILE = 'name = "m"\nresource.x = {{ {} }}\npool = [{{ name = "t", count = 3, steps = ["x"] }}]'


def test_every_kind_and_part_has_a_default():
    assert DEFAULTS.keys() == {*KINDS, *PARTS}


def test_a_policer_alone_loses_what_finds_no_token():
    lone = npx.resource("policer", rates_pps=[1e6])
    (point,) = lone.explore(rate=["2Mpps"], solvers=["simulation"]).points
    assert 0.5 < point.loss < 0.7
    queueing, theory = lone.explore(rate=["2Mpps"], solvers=["queueing", "theory"]).points
    assert queueing.refused == "queueing: no packet waits at a policer that drops; use `simulate`"
    assert theory.loss == pytest.approx(2 / 3)  # Erlang's formula: one place, load 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kind": "bank"}, "resource 'bank' is unknown (nearest: banks"),
        ({"kind": "banks", "wrd": 3}, "parameter of banks (banked_memory) 'wrd' is unknown"),
        (
            {"kind": "banks", "precharge": "-3 ns"},
            "banks (banked_memory): precharge_s must be at least 0 s, got '-3 ns'",
        ),
        ({"kind": "banks", "word": 3}, "word must be a text with a unit, or be given as word_bytes in bytes or word_s"),
        ({"kind": "hash", "clock": "0.1 MHz"}, "hash (hash_unit): clock_mhz must be at least 1 MHz, got '0.1 MHz'"),
        ({"kind": "banks", "bank": 7}, "banks (banked_memory): banks.read: banks.bank has members 0..3, got 7"),
        ({"kind": "banks", "bank": "hot:0.1"}, "bank hot:0.1 must be at least 1 of 4"),
        ({"kind": "banks", "bank": "hot:2"}, "banks (banked_memory): bank must be hot:SHARE"),
        ({"kind": "banks", "banks": 2.5}, "banks (banked_memory): banks must be a whole number of at least 1, got 2.5"),
        (
            {"kind": "banks", "banks": "many"},
            "banks (banked_memory): banks must be a whole number of at least 1, got 'many'",
        ),
        ({"kind": "crossing", "words": 0}, "crossing (streams): words must be a number of at least 1, got 0"),
        ({"kind": "pcie_link", "bytes": "0"}, "bytes must be a number of at least 1, got '0'"),
        ({"kind": "lock", "held": "-1 ns"}, "lock: held must be at least 0 s, got '-1 ns'"),
        ({"kind": "banks", "bank": "3ns"}, "banks (banked_memory): bank must be a number without a unit, a formula"),
        ({"kind": "crossing", "paths": "two"}, "crossing (streams): paths must be a whole number in 1..4, got 'two'"),
        ({"kind": "server", "service": "0 ns"}, "server (server): a visit takes no time with service_s = 0.0"),
        ({"kind": "dram_controller", "row": "hot:7"}, "row must be hot:SHARE with a share of the visits from 0 to 1"),
        ({"kind": "queue"}, "queue cannot be explored alone"),
        (
            {"kind": "crossing", "visit": "send"},
            "send alone never ends, since no thread does its other half; use visit",
        ),
        ({"kind": "crossing", "paths": [[0, 1]]}, "crossing (streams): paths[0][0]: expected a list, got [[0, 1]]"),
        (
            {"kind": "crossing", "words": "packet.packet_bytes"},
            "crossing (streams): m.crossing.stream: words must be in",
        ),
        ({"kind": "crossing", "paths": 9}, "crossing (streams): paths must be in 1..4, got 9"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, told):
    with pytest.raises(InputError) as caught:
        npx.resource(**arguments)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_machine_whose_steps_take_no_time_is_an_error():
    machine = npx.machine_of([FifoServer("free", 0.0)], ["free"], threads=1)
    with pytest.raises(SimulationError, match=r"composed: .* packets went through in no time"):
        machine.simulate(npx.workload(packet_bytes=64))


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("banks", {"rate": "0.1..0.9x"}, r"^banks: .*0\.9x"),
        ("banks", {"rate": [0.5], "arrivals": "often"}, "^banks: .*often"),
        ("banks", {"rate": "0..1"}, "above 0 and at most 2, or have a unit such as 2Mpps, got '0'"),
        ("delay", {"rate": 0.5}, "^delay has no highest rate to take a share of: rate needs a unit, 2Mpps, got 0.5"),
    ],
)
def test_a_wrong_rate_names_the_resource(name, arguments, told):
    with pytest.raises(NpexploreError, match=told):
        npx.resource(name).explore(**arguments)


def test_a_share_may_be_per_cent():
    table = npx.resource("bus").explore(rate="10%..50%", solvers=["bounds"])
    assert [table.points[k].rate_pps / table.ceiling_pps for k in (0, -1)] == pytest.approx([0.1, 0.5])


def test_a_time_in_the_wrong_unit_is_told_before_a_simulation_that_does_not_end():
    points = npx.resource("bus", word="1 s").explore(threads=4, solvers=["queueing", "simulation"]).points
    assert points[0].throughput_pps == pytest.approx(1 / 8)
    assert points[1].refused == (
        "simulation: a visit takes 8 s, which runs too slowly beyond 10 ms; check the units of times and rates"
    )


@pytest.mark.parametrize("name", ALONE)
def test_every_visit_answers_bounds_or_says_in_one_line_what_it_needs(name):
    for visit in npx.resource(name).resource.VISITS:
        said = ""
        try:
            npx.resource(name, visit=visit).explore(threads=1, solvers=["bounds"])
        except InputError as error:
            said = str(error)
        assert not said or any(word in said for word in ("never ends", "takes no time", "needs the operand"))
        assert "_alone: " not in said


@pytest.mark.parametrize(("name", "rate", "axes"), [("policer", "2Mpps", 1), ("delay", None, 1), ("hash", 0.5, 2)])
def test_a_figure_has_what_a_resource_has(name, rate, axes):
    lone = npx.resource(name)
    lone.explore(threads=None if rate else [1], rate=rate, solvers=["bounds", "theory"])
    figure = lone.plot()
    assert len([axis for axis in figure.layout if axis.startswith("yaxis")]) == axes
    assert all(trace.y and max(trace.y) > 0 for trace in figure.data)


def test_members_that_a_capture_chooses_are_no_question_for_queueing():
    capture = npx.bundled_path("data/captures/zeek_modbus_modbusBig.pcap.gz")
    (point,) = npx.resource("banks").explore(threads=[1], trace=capture, solvers=["queueing", "bounds"]).points[:1]
    assert point.refused.startswith("queueing: packets choose their bank by the destination, in the order of the")


def test_paths_at_random_over_a_switch_with_turns_have_no_steady_state():
    lone = npx.resource("crossing", paths=2, turns=[[4, 0, 1]])
    queueing, simulation = lone.explore(threads=8, solvers=["bounds", "queueing", "simulation"]).points[1:]
    assert "no steady state" in queueing.refused
    assert simulation.refused.startswith("deadlock")


def test_a_unit_chooses_the_parameter():
    lone = npx.resource("banks", word="10 ns", word_bytes=4)
    assert lone.parameters["word_s"] == pytest.approx(1e-8)
    assert lone.parameters["word_bytes"] == 4


@pytest.mark.parametrize(("drawn", "most"), [("random", 4 / 70e-9), ("hot:0.5", 2 / 70e-9), ("round_robin", 4 / 70e-9)])
def test_members_are_drawn_as_said(drawn, most):
    lone = npx.resource("banks", banks=4, word="10 ns", precharge="60 ns", bank=drawn)
    table = lone.explore(threads=8, solvers=["bounds", "simulation"])
    assert table.ceiling_pps == pytest.approx(most, rel=1e-6)
    assert table.of("simulation")[0].throughput_pps <= most * 1.02


def test_a_capture_drives_a_resource():
    capture = npx.read_capture(npx.bundled_path("data/captures/zeek_modbus_modbusBig.pcap.gz"))
    table = npx.resource("banks").explore(threads=2, trace=capture, solvers=["bounds", "theory"])
    lengths = capture.packets["l3_length"].astype(int)
    words = -(-lengths[lengths > 0] // 8)
    assert table.ceiling_pps == pytest.approx(1 / (words.mean() * 1e-8))  # words at the unit: bursts as long as packets
    assert table.points[1].refused is not None


def test_a_row_a_loop_a_fork_and_a_hold_make_a_machine():
    parts = [npx.resource("hash"), npx.resource("banks"), npx.resource("lock"), npx.resource("delay", name="work")]
    steps = ["hash", {"loop": 3, "steps": ["banks"]}, {"fork": ["banks.write(bank=1)"]}]
    steps += [{"hold": "lock", "steps": [{"branch": 0.5, "steps": ["work"], "otherwise": ["work.wait(seconds=1e-8)"]}]}]
    made = npx.machine_of(parts, steps, threads=4)
    load = npx.workload(packet_bytes=64)
    demands = made.demands(load).demands.servers
    assert demands["hash.stage"].seconds == pytest.approx(1e-8)
    assert demands["banks"].seconds == pytest.approx(4e-8)
    assert demands["lock"].seconds == pytest.approx(55e-9)
    looped = npx.machine_of(parts, ["hash", {"loop": 2, "steps": ["banks"]}])
    assert 0 < looped.queueing(load).rate_pps <= looped.bounds(load).rate_pps
    assert made.bounds(load.with_arrivals("poisson", 1e6)).latency_s.mean > 0  # nothing frees a receive buffer


def test_forked_work_that_falls_behind_at_full_load_is_told_of_arrivals():
    parts = [npx.resource("hash"), npx.resource("server", name="log", service="30 ns")]
    machine = npx.machine_of(parts, ["hash", {"fork": ["log"]}], threads=8)
    load = npx.workload(packet_bytes=64)
    with pytest.raises(SimulationError, match=r"saturation: .* wait for log"):
        machine.estimate(load)
    slow = load.with_arrivals("poisson", 1e6)
    with pytest.raises(RefusedError, match=r"runs at full load.* wait for log.*use `simulate`"):
        machine.estimate(slow)
    assert machine.simulate(slow).rate_pps == pytest.approx(1e6, rel=0.05)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("hsh", "steps[0]: resource 'hsh' is unknown (nearest: hash)"),
        ("hash(3)", "steps[0]: operands go by name"),
        ({"lop": 3}, "steps[0] needs one of loop, branch, fork, hold, got lop"),
        ({"loop": 3, "steps": []}, "steps[0].steps must be a list of steps"),
        ({"loop": 3, "stps": ["hash"]}, "key of a loop 'stps' is unknown"),
        ("hash.find", "visit of 'hash' 'find' is unknown"),
    ],
)
def test_a_wrong_step_is_said_in_one_line(step, told):
    with pytest.raises((InputError, UnknownNameError)) as caught:
        npx.machine_of([npx.resource("hash")], [step])
    assert told in str(caught.value)


def test_ten_lines_of_toml_are_the_same_machine(tmp_path):
    path = tmp_path / "row.toml"
    path.write_text("""name = "row"
resource.hash = { type = "hash_unit", clock_mhz = 200, latency_clocks = 20 }
resource.banks = { type = "banked_memory", word_bytes = 8, word_s = "10 ns", banks = 4, precharge_s = "60 ns" }
pool = [{ name = "thread", count = 4, steps = ["hash", { loop = 2, steps = ["banks"] }] }]
""")
    composed = npx.machine_of([npx.resource("hash"), npx.resource("banks")], ["hash", {"loop": 2, "steps": ["banks"]}])
    load = npx.workload(packet_bytes=64)
    assert npx.design(path).bounds(load).rate_pps == pytest.approx(composed.bounds(load).rate_pps)
    path.write_text(path.read_text().replace('"hash", {', '"hsh", {'))
    with pytest.raises(NpexploreError, match=r"pool .thread.: steps.0.: resource .hsh. is unknown"):
        npx.design(path)


def demands_of(design, lone):
    return design.demands(lone.packets()).ceilings(), design.demands(lone.packets()).demands.latency


@pytest.mark.parametrize("name", ALONE)
def test_a_machine_file_is_what_was_explored(name, tmp_path):
    """In full, and with keys as people write them, where values that are left out are the laboratory's."""
    lone, path = npx.resource(name, **DRAWS.get(name, lambda _: {})(random.Random(name))), tmp_path / "alone.toml"
    expected, text = demands_of(lone.design(3), lone), lone.to_toml(3)
    path.write_text(text)
    assert repr(npx.design(path).machine().resources[name]) == repr(lone.resource)
    assert demands_of(npx.design(path), lone) == expected
    assert name == "policer" or lone.explore(threads=2, solvers=["bounds"]).points[0].throughput_pps > 0
    usual = usual_values(name) if name in NAMED else {}
    for key, value in lone.parameters.items():
        line = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        if value == usual.get(key):
            text = text.replace(f"{line}\n", "")
        elif short_key(key) and isinstance(value, float):
            text = text.replace(line, f'{short_key(key)} = "{value!r} {unit_of(key)}"')
    path.write_text(text)
    assert demands_of(npx.design(path), lone) == expected


@pytest.mark.parametrize("name", NAMED)
def test_a_name_in_a_machine_file_brings_its_values_as_assumptions_and_its_usual_visit(name, tmp_path):
    path, lone = tmp_path / "machine.toml", npx.resource(name)
    path.write_text(ALONE_FILE.format(f'type = "{name}"'))
    design = npx.design(path)
    ceilings, latency = demands_of(lone.design(3), lone)
    assert demands_of(design, lone) == ({key.replace(name, "x", 1): most for key, most in ceilings.items()}, latency)
    known = design.parameters.file.parameter.items()
    assumed = {key for key, parameter in known if parameter.source.startswith("assumed: the value")}
    numbers = {key for key, value in usual_values(name).items() if type(value) in (int, float, str)}
    assert assumed == {f"x.{key}" for key in numbers}
    key = sorted(numbers)[0]
    value = design.parameters[f"x.{key}"]
    changed = design.with_(**{f"x.{key}": value * 2})
    assert repr(changed.machine().resources["x"]) != repr(design.machine().resources["x"])


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('type = "banks", word = 3', "word must be a text with a unit, or be given as word_bytes in bytes or word_s"),
        ('type = "banks", word = "3 ns", word_s = 1e-8', "'word' and 'word_s' are one parameter; one of them must be"),
        ('type = "banks", bank = "hot:0.5"', "steps = [\"x.read(bank='hot:0.5')\"]"),
        ('type = "hash", bytes = 4', 'bytes belongs to a visit, not to the resource: in a pool, steps = ["x.hash('),
        ('type = "lock", held = "3 ns"', 'how long it is held stands in a step: { hold = "x", steps = [...] }'),
        ('type = "crossing", paths = 9', "paths must be in 1..4, got 9"),
        ('type = "bank"', "type of resource 'x' 'bank' is unknown (nearest: banks"),
        ('type = "banks", wrd = 3', "key 'wrd' is unknown (nearest: word_s"),
    ],
)
def test_a_wrong_table_of_the_laboratory_is_said_in_one_line(table, told, tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(ALONE_FILE.format(table))
    with pytest.raises(InputError) as caught:
        npx.design(path).machine()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "full"),
    [
        ('type = "server", service = { distribution = "exponential", mean = 3e-9 }', "service_s"),
        ('type = "policer", rates = ["2 Mpps"]', "rates_pps"),
    ],
)
def test_a_list_and_a_distribution_go_by_a_key_without_its_unit(table, full, tmp_path):
    path, resources = tmp_path / "machine.toml", []
    for text in (table, table.replace(full.rpartition("_")[0], full)):
        path.write_text(ALONE_FILE.format(text))
        resources.append(repr(npx.design(path).machine().resources["x"]))
    assert resources[0] == resources[1]


def test_a_file_that_extends_another_says_a_parameter_by_either_key(tmp_path):
    (tmp_path / "base.toml").write_text("""name = "m"
resource.x = { type = "banks", word = "10 ns", precharge_s = 6e-8 }
pool = [{ name = "t", count = 3, steps = ["x"] }]
""")
    (tmp_path / "mine.toml").write_text("""extends = "base.toml"
resource.x = { word_s = "20 ns", precharge = "50 ns" }
""")
    bank = npx.design(tmp_path / "mine.toml").machine().resources["x"]
    assert (bank.word, bank.precharge) == (20e-9, 50e-9)


def test_the_command_prints_one_document(capsys):
    assert main(["resource", "banks", "--set", "banks=2", "--threads", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [point["solver"] for point in document["points"]] == ["bounds", "queueing", "simulated", "theory"]
    assert document["parameters"]["banks"] == 2
    assert main(["resource", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["resources"]
    assert {"banks", "bus", "hash", "sram", "crossing"} <= {row["name"] for row in listed}
    least = {(row["name"], one["name"]): one["min"] for row in listed for one in row["parameters"]}
    assert (least["banks", "banks"], least["banks", "word_s"], least["queue", "capacity"]) == (1, 0, 1)
    assert main(["resource", "banks", "--threads", "x"]) == 2
    assert main(["resource", "dram_controller", "--set", "policy.page=shut"]) == 2
    assert "policy: page: expected one of open, closed, adaptive, got 'shut'" in capsys.readouterr().err


def test_the_page_says_what_is_alone(tmp_path):
    lone = npx.resource("hash")
    table = lone.explore(threads=[1], solvers=["bounds", "queueing", "theory"])
    lone.explore(rate=[0.5], solvers=["bounds", "queueing", "theory"])
    text = resource_page(lone, table, tmp_path / "page.html")
    assert "<h1>hash alone</h1>" in text
    assert "<b>npexplore</b> resource" in text


def test_all_solvers_mean_one_thing_by_utilization():
    """The share of what the resource allows, also where visits use one of its members alone."""
    policy = {"page": "closed", "refresh": "none"}
    dram = npx.resource("dram_controller", device="lpddr5_6400", bank=0, policy=policy)
    points = dram.explore(threads=[1, 4]).points
    most = dram.explore(threads=[1], solvers=["bounds"]).ceiling_pps
    assert all(point.utilization == pytest.approx(point.throughput_pps / most) for point in points)
    alike = [point.utilization for point in points if point.threads == 4]
    assert max(alike) <= 1.0 + 1e-9
    assert max(alike) < 1.05 * min(alike)
