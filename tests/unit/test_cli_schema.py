"""`npexplore schema`: every kind of TOML file has a JSON Schema that its examples obey and faults do not."""

import json
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from npexplore.cli import main
from npexplore.cli.schema import SCHEMAS, kinds, schema
from npexplore.machine.resources import KINDS
from npexplore.paths import share

EXAMPLES = [
    (kind, path)
    for kind, (_, folder, _) in kinds().items()
    for path in share("models", folder).glob("*.toml")
    if path.stem != "dram_devices"
]  # devices have a schema of their own
DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTED = (DOCS / "machine_files.md").read_text().partition("```toml\nname =")[2].partition("```")[0]
PARTS = (DOCS / "parts.md").read_text()


@cache
def validator(kind):
    made = schema(kind)
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def faults(kind, document):
    return [error.message for error in validator(kind).iter_errors(document)]


@pytest.mark.parametrize(("kind", "path"), EXAMPLES, ids=lambda value: getattr(value, "stem", value))
def test_examples_obey_their_schema(kind, path):
    assert faults(kind, tomllib.loads(path.read_text())) == []


def test_a_machine_of_the_documents_obeys_the_schema_whether_a_choice_is_a_number_or_a_word():
    text = (Path(__file__).parents[2] / "docs/dpu.md").read_text(encoding="utf-8")
    machine = tomllib.loads(text.split("```toml\n")[1].partition("```")[0])
    for rate, right in ((100, True), ("100 Gb/s", True), ("fast", False)):
        machine["resource"]["port"]["gbps"] = rate
        assert (faults("machine", machine) == []) == right


def test_every_kind_has_an_example():
    assert {kind for kind, _ in EXAMPLES} == set(SCHEMAS)


def test_the_documented_machines_and_part_obey_their_schemas():
    assert faults("machine", tomllib.loads("name =" + DOCUMENTED)) == []
    for kind, name in (("part", "dma"), ("machine", "copier")):
        assert faults(kind, tomllib.loads(PARTS.partition(f"# {name}.toml")[2].partition("```")[0])) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('type = "processor"', 'type = "procesor"'),
        ("engines = 2", "engine = 2"),
        ("engines = 2", "engines = 2.5"),
        ("engines = 2\n", ""),
        ("capacity_bytes = 8192", 'capacity_bytes = { distribution = "exponential", mean = 1.0 }'),
        ("clock_hz = \"= p.clock_mhz * 1e6\"", 'clock_hz = "p.clock_mhz"'),
        ('timing = "ddr_400"', 'timing = "ddr_4000"'),
        ("entries = 8, high = 6", "entries = 8, hi = 6"),
        ('kind = "knob"', 'kind = "nob"'),
        ("capacity_bytes", "capacity"),
        ("program =", "lines ="),
    ],
)  # fmt: skip
def test_a_fault_breaks_the_schema(old, new):
    text = "name =" + DOCUMENTED
    assert old in text
    assert faults("machine", tomllib.loads(text.replace(old, new, 1)))


def test_a_file_that_extends_needs_nothing_but_values():
    changed = {"extends": "x", "set": {"a": 1}, "parameter": {"b": {"value": 2}}, "resource": {"r": {"word_s": "1 ns"}}}
    assert faults("machine", changed) == []
    for key in ("parameter", "resource"):
        assert faults("machine", {"name": "x", "title": "x", key: changed[key]})
    assert faults("machine", {**changed, "resource": {"r": {"type": "memory", "colour": "red"}}})


def test_numbers_may_be_texts_with_their_units():
    def told(**keys):
        return faults("machine", {"name": "x", "title": "x", "resource": {"r": {"type": "memory", **keys}}})

    assert told(word_bytes="4 B", word_s="4 ns") == []
    assert told(word_bytes=4, word="4 ns") == []  # the unit of a text tells which key is meant
    assert told(word_bytes=4, word=4)
    assert told(word_bytes=4)
    assert told(type="banks", word="4 ns") == []  # a name that brings values of its own
    assert told(word_bytes=4, word_s="ns")
    timing = {"t_ck": "625 ps", **dict.fromkeys(("t_rcd", "t_cl", "t_rp", "t_ras", "t_wr", "t_wl"), 10)}
    assert told(type="ddr", banks=4, bus_bytes=8, slots=8, timing=timing) == []


def test_times_may_be_distributions():
    def told(**time):
        return faults("machine", {"name": "x", "title": "x", "resource": {"r": {"type": "server", "service_s": time}}})

    assert told(distribution="exponential", mean=1e-9) == []
    assert told(distribution="exponential", low=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resource_of_each_kind_is_told(kind):
    document = {"name": "x", "title": "x", "resource": {"r": {"type": kind, "colour": "red"}}}
    assert any("colour" in message for message in faults("machine", document))


def test_the_command_prints_what_the_function_returns(capsys):
    for kind in kinds():
        assert main(["schema", kind]) == 0
        assert json.loads(capsys.readouterr().out) == schema(kind)
    assert main(["schema", "--json"]) == 0
    assert [row["kind"] for row in json.loads(capsys.readouterr().out)["kinds"]] == list(kinds())
    assert main(["schema", "machin"]) == 2
    assert "kind of file 'machin' is unknown (nearest: machine" in capsys.readouterr().err
