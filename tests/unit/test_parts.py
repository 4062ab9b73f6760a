"""Parts in TOML: the same as a Python kind, composed of others, beside a machine file; faults in one line."""

import inspect
import json
import pickle
import random
import tomllib
from dataclasses import asdict

import jsonschema
import numpy as np
import pytest
from numpy.testing import assert_equal
from reference.example_kinds import operands_of, table_of
from reference.pcie_link import PcieLink
from reference.random_kinds import GIVEN
from reference.small_machines import NS, QUIET, machine, packets, solo, told

from npexplore.cli import main
from npexplore.designs import design
from npexplore.engine.model import build
from npexplore.errors import InputError, ModelError, RefusedError
from npexplore.machine.described.build import build as build_machine
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.part_files import PARTS, parts_beside, shelf_part
from npexplore.machine.described.parts import ACROSS, Part, Parts, part
from npexplore.machine.described.records import PartFile, VisitTable
from npexplore.machine.described.resources import ResourceTables
from npexplore.machine.described.schema import machine_schema, part_schema
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.resources import KINDS, Delay
from npexplore.machine.tree import visit
from npexplore.machine.workload_sources import workload
from npexplore.paths import share
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate
from npexplore.study.explaining.compare import compare
from npexplore.study.loading.curve import load_curve
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.identity import model_key
from npexplore.study.sweeping.sweep import sweep

# ---- the shelf


def test_the_list_is_what_is_on_the_shelf():
    files = {path.stem for path in share("models", "parts").glob("*.toml")}
    assert files == {*PARTS, "ddr_sdram", "dram_devices"}
    assert not set(PARTS) & set(KINDS)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_short_and_every_fact_has_a_source(name):
    text = share("models", "parts", f"{name}.toml").read_text()
    assert len([line for line in text[text.index("[visits.") :].splitlines() if line.strip()]) <= 45
    assert shelf_part(name).source.strip()
    assert all(one.source.strip() and one.about.strip() for one in shelf_part(name).parameters.values())


# ---- the same as a kind in Python


def links(**more):
    """The link as a part and as a Python kind, with these credits."""
    headers, data = more.pop("credits", (64, 1024))
    mine = part("pcie_link", "link", generation=3, lanes=8, header_credits=headers, data_credits=data)
    return mine, PcieLink("link", 3, 8, headers, data)


def both(m, packet):
    m.link.read(bytes=64)
    m.link.write(bytes=packet.packet_bytes)


def test_the_kind_in_python_is_short_too():
    assert len([line for line in inspect.getsource(PcieLink).splitlines() if line.strip()]) <= 25


@pytest.mark.parametrize("credits", [(64, 1024), (2, 256)])
@pytest.mark.parametrize("threads", [1, 24])
def test_text_and_python_are_the_same_link(threads, credits):
    load = packets(1, 64, 256, 257, 1500, 9000)
    ours, theirs = (machine([link], both, threads) for link in links(credits=credits))
    assert_equal(asdict(told(ours, load)), asdict(told(theirs, load)))
    mine, python = build(ours, load), build(theirs, load)
    assert np.array_equal(mine.rows, python.rows)
    assert {name: one for name, (one, _) in mine.servers.items()} == {n: o for n, (o, _) in python.servers.items()}
    for solve in (bounds, lambda m, w: simulate(m, w, packets=3000)):
        assert_equal(asdict(solve(ours, load)), asdict(solve(theirs, load)))
    if threads == 1 and credits[0] == 2:  # a packet of 36 pieces waits for its own two credits
        for made in (ours, theirs):
            with pytest.raises(RefusedError, match=r"comes to 'link\.header' again"):
                queueing(made, load)
    else:
        assert_equal(asdict(queueing(ours, load)), asdict(queueing(theirs, load)))


@pytest.mark.parametrize("size", [0, 1, 256, 257, 4096])
@pytest.mark.parametrize("method", ["read", "write"])
def test_a_visit_of_both_uses_the_same(method, size):
    ours, theirs = (unloaded_visit(visit(link, method, bytes=size)) for link in links())
    assert (ours.latency, ours.spent, ours.overlap, ours.counts) == (
        theirs.latency, theirs.spent, theirs.overlap, theirs.counts
    )  # fmt: skip


def test_credits_that_are_few_bound_the_link():
    """Two credits for headers, each back after packet, flight, draining and flight: 2 packets in that time."""
    link, _ = links(credits=(2, 256))
    made = machine([link], lambda m, packet: m.link.write(bytes=256), 8)
    expected = 2 / (280 * 8 / (8 * 8e9 * 128 / 130 * (1 - 2 * 8 / 203 - 4 / 1538)) + 200 * NS + 256 / 25.6e9)
    limit, answer = bounds(made, packets(64)), simulate(made, packets(64), packets=5000)
    assert limit.rate_pps == pytest.approx(expected)
    assert limit.bottleneck == answer.bottleneck == "link.header"
    assert answer.rate_pps == pytest.approx(expected, rel=2e-3)


# ---- parts of one's own

MACHINE = """
name = "small"
title = "One part"

[parameter.slots]
kind = "knob"
value = 2
about = "slots of the part"
source = "assumed"

[resource.link]
type = "link.toml"
slots = "= p.slots"

[[pool]]
name = "thread"
count = 4
program = '''
m.link.send(bytes=packet.packet_bytes, channel=m.draw(2, "channel"))
m.link.hold()
m.link.leave()
'''
"""
PART = """
title = "A link to a memory of its own"
source = "assumed"

[parameters.slots]
whole = true
min = 1
max = 8
about = "requests under way"
source = "assumed"

[parameters.word_ns]
default = 2.0
min = 0.0
unit = "ns"
about = "time of a word"
source = "assumed"

[parameters.order]
default = "straight"
choices = ["straight", "crossed"]
about = "a choice"
source = "assumed"

[values]
word_s = "= p.word_ns * 1e-9"

[servers]
wire = { members = 2 }
slot = { units = "= p.slots", role = "limit" }
key = {}

[inner.ram]
type = "memory"
word_bytes = 4
word_s = "= p.word_s"

[inner.crypt]
type = "byte_engine"
bytes_per_s = 1e9

[visits.send]
operands = ["bytes"]
optional = { channel = 0 }
chance = ["channel"]
program = '''
slot = m.take("slot")
m.serve("wire", ceildiv(v.bytes, 4) * p.word_s, member=v.channel)
if p.order == "crossed":
    m.ram.write(bytes=8)
m.ram.read(bytes=8)
with m.fork(slot) as slot:
    m.crypt.process(bytes=64)
    m.give(slot)
'''

[visits.hold]
closed_by = "leave"
program = "m.open('key')"

[visits.leave]
program = "m.close('key')"
"""


def written(folder, part_text=PART, machine_text=MACHINE):
    (folder / "link.toml").write_text(part_text)
    path = folder / "mine.toml"
    path.write_text(machine_text)
    return path


def test_a_part_beside_a_machine_file_is_composed_of_others(tmp_path):
    made, load = design(written(tmp_path)), workload(packet_bytes=64)
    link = made.machine().resources["link"]
    assert [server.name for server in link.servers()] == [
        "link.wire", "link.slot", "link.key", "link.ram", "link.crypt.engine"
    ]  # fmt: skip
    uses = unloaded_visit(visit(link, "send", bytes=64, channel=1))
    assert uses.latency == pytest.approx((16 * 2 + 2 * 2) * NS)
    slot = next(hold for hold in uses.holds if hold.server == "link.slot")
    assert slot.seconds == pytest.approx((16 * 2 + 2 * 2 + 64) * NS)
    answer = made.simulate(load, packets=2000)
    assert answer.rate_pps == pytest.approx(1 / (64 * NS), rel=5e-3)  # the engine is busy
    assert made.bounds(load).bottleneck == "link.crypt.engine"
    assert made.with_(slots=1).bounds(load).rate_pps == pytest.approx(1 / (100 * NS))


def test_a_changed_part_is_read_again(tmp_path):
    path, load = written(tmp_path), workload(packet_bytes=64)
    before = design(path)
    written(tmp_path, PART.replace("bytes_per_s = 1e9", "bytes_per_s = 2e9"))
    after = design(path)
    assert after.bounds(load).rate_pps > before.bounds(load).rate_pps
    assert model_key(after) != model_key(before) == model_key(pickle.loads(pickle.dumps(before)))
    sent = pickle.loads(pickle.dumps(after.parameters))
    assert build_machine(sent).resources.keys() == after.machine().resources.keys()


@pytest.mark.parametrize("unit", ["B/s", "bytes/s"])
@pytest.mark.parametrize("given", ['"= p.bus"', '"4 GB/s"', '"32 Gb/s"', "4e9"])
def test_a_parameter_has_the_unit_that_its_table_tells(tmp_path, unit, given):
    """Whatever the key is called, however people write the unit, and in whatever unit the machine's parameter is."""
    part_text = f'{PART}\n[parameters.pace]\nunit = "{unit}"\nabout = "rate"\nsource = "assumed"\n'
    machine_text = MACHINE.replace('slots = "= p.slots"', f'slots = "= p.slots"\npace = {given}')
    machine_text += '[parameter.bus]\nkind = "knob"\nvalue = "4 GB/s"\nabout = "rate"\nsource = "assumed"\n'
    made = design(written(tmp_path, part_text, machine_text)).machine().resources["link"]
    assert made.parameters.pace == 4e9


def test_a_parameter_in_a_unit_of_another_kind_is_refused(tmp_path):
    machine_text = MACHINE.replace('slots = "= p.slots"', 'slots = "= p.slots"\nword_ns = "4 GB/s"')
    with pytest.raises(InputError, match=r"word_ns must be in ns or another unit of time, got '4 GB/s' \(bit rate\)"):
        design(written(tmp_path, PART, machine_text)).machine()


def test_a_part_is_explained_like_any_resource(tmp_path, capsys):
    path = written(tmp_path)
    assert main(["explain", str(path), "--packet-bytes", "64", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "link.crypt.engine" in json.dumps(document)


def obeys(schema, document):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(document)


def test_the_schemas_know_parts():
    assert obeys(part_schema(), tomllib.loads(PART))
    assert obeys(machine_schema(), tomllib.loads(MACHINE))
    for old, new in (("whole", "hole"), ('"memory"', '"lock"'), ("operands", "operand"), ('"limit"', '"limits"')):
        assert not obeys(part_schema(), tomllib.loads(PART.replace(old, new)))
    listed = MACHINE.replace('type = "link.toml"\nslots = "= p.slots"', 'type = "hash_unit"\nclock_mhz = 200')
    assert not obeys(machine_schema(), tomllib.loads(listed))
    assert obeys(machine_schema(), tomllib.loads(listed.replace("= 200", "= 200\nlatency_clocks = 3")))
    assert not obeys(machine_schema(), tomllib.loads(listed.replace("= 200", "= 0.5\nlatency_clocks = 3")))


OPERANDS = {
    "posted": 64, "share": 0.5, "told": 8, "reports": 1,
    "l2_lines": 1, "l3_lines": 2, "memory_lines": 2, "page_walks": 1,
    "cycles": 17, "member": 0, "words": 3, "tokens": 2, "requester": 1, "seconds": 1e-8, "bytes": 24, "bank": 1,
    "pieces": 2, "source": 0, "target": 3, "path": 0, "tile": 1, "address": 4096, "flow": 0,
}  # fmt: skip
ALSO = {
    "delay": ("seconds",),
    "ddr": ("address",),
    "dram_controller": ("address",),
    "server": ("member",),
}  # optional operands that are given
INSIDE = [kind for kind in KINDS if kind not in ACROSS]


@pytest.mark.parametrize("kind", [*INSIDE, *PARTS])
def test_a_visit_inside_a_part_takes_what_it_takes_outside(kind):
    """Of every kind that may stand inside: the same latency, servers, and time of a lone thread."""
    table = {"type": kind, **GIVEN[kind](random.Random(3))} if kind in PARTS else table_of(kind)
    tables = ResourceTables({"x": table}, Formulas({}), Parts())
    outside = tables.one("x")
    for method, operands in outside.VISITS.items():
        if kind == "streams" and method == "receive":
            continue  # it waits for what a send brings
        needed = [name for name in operands if name not in outside.OPTIONAL or name in ALSO.get(kind, ())]
        known = {**OPERANDS, **operands_of(outside)}
        given = {name: known[name] for name in needed}
        line = f"m.x.{method}({', '.join(f'{name}=v.{name}' for name in needed)})"
        file = PartFile("wrapped", "none", {"go": VisitTable(line, needed, chance=needed)}, inner={"x": table})
        inside = Part("w", "wrapped", file, {}, Parts())
        uses = [unloaded_visit(visit(one, name, **given)) for one, name in ((outside, method), (inside, "go"))]
        assert uses[0].latency == pytest.approx(uses[1].latency)
        assert [(f"w.{hold.server}", hold.seconds) for hold in uses[0].holds] == [
            (hold.server, hold.seconds) for hold in uses[1].holds
        ]
        alone = [
            solo(machine([one, Delay("quiet")], waiting(one.name, name, given)), packets(64)).latency
            for one, name in ((outside, method), (inside, "go"))
        ]
        assert alone[0] == pytest.approx(alone[1], rel=1e-12)


def waiting(resource, method, given):
    def program(m, packet):
        m.quiet.wait(seconds=QUIET)
        getattr(getattr(m, resource), method)(**given)

    return program


SEND = "link.toml: visit 'send', line "
FAULTS = [
    # words and names
    ("m.give(slot)", "m.gave(slot)", SEND + "8: recorder's word 'gave' is unknown (nearest: give"),
    ("m.ram.read(bytes=8)", "m.ram.reed(bytes=8)", "visit of resource 'link.ram' 'reed' is unknown (nearest: read"),
    ("m.ram.read(bytes=8)", "m.rim.read(bytes=8)", "word or resource inside link 'rim' is unknown (nearest: ram"),
    ("m.ram.read(bytes=8)", "m.ram.read(byte=8)", "operand of link.ram.read 'byte' is unknown (nearest: bytes"),
    ('m.take("slot")', 'm.take("slit")', SEND + "1: server of link 'slit' is unknown (nearest: slot"),
    ("p.word_s, member", "p.word_z, member", SEND + "2: parameter of link.toml 'word_z' is unknown (nearest: word_s"),
    ("v.bytes, 4", "v.byte, 4", SEND + "2: operand of link.send 'byte' is unknown (nearest: bytes"),
    (", member=v.channel", "", SEND + "2: link.wire needs member=...: there are 2"),
    ("m.ram.read(bytes=8)", "import os", SEND + "5: 'import os' has no meaning here"),
    ('slot = m.take("slot")', 'slot = m.take("slot"', "link.toml: visit 'send', line 1: '(' was never closed"),
    ("p.word_s, member", "p.__class__, member", SEND + "2: 'p.__class__' has no meaning here"),
    ("if p.order", "if v.bytes < p.slots or p.order", "has no meaning here"),
    # takes and gives
    ("    m.give(slot)\n", "", "is still held at the end of a fork"),
    ("m.give(slot)", "m.give(slit)", "name 'slit' is unknown (nearest: slot"),
    ('slot = m.take("slot")\n', "", SEND + "5: name 'slot' is unknown"),
    ("with m.fork(slot) as slot:\n", "with m.fork() as slot:\n", "what is given must come from m.take or m.take_all"),
    ("m.ram.read(bytes=8)\n", "m.ram.read(bytes=8)\nlost = m.take('key')\n",
     SEND + "6: 'link.key' is taken here and never given"),
    ("units = \"= p.slots\"", "units = 0", "link.toml: server 'slot': units must be an integer of at least 1, got 0"),
    ("program = \"m.close('key')\"", "program = 'pass'",
     "link.toml: visit 'hold' opens 'link.key', and no visit closes it"),
    ("program = \"m.open('key')\"", "program = 'pass'",
     "link.toml: visit 'leave' closes 'link.key', and no visit opens it"),
    ('closed_by = "leave"', 'closed_by = "leaf"', "visit that closes 'hold' 'leaf' is unknown (nearest: leave"),
    # values
    ("m.crypt.process(bytes=64)", "m.wait(-1e-9)", "line 7: link: a time must be at least 0 s, got -1e-09"),
    ('"= p.word_ns * 1e-9"', '"= p.word_ns / 0"', "value 'word_s': formula 'p.word_ns / 0': "),
    ('"= p.word_ns * 1e-9"', '"= p.word * 1e-9"', "value 'word_s': parameter of link.toml 'word' is unknown (nearest"),
    ('"= p.word_ns * 1e-9"', '"= p.order"', "value 'word_s' must be a number, or a formula that begins with =, got"),
    ("default = 2.0", "default = -2.0", "link.toml: parameter 'word_ns' must be at least 0 ns, got -2.0"),
    ('default = "straight"', 'default = "bent"', "parameter 'order' must be one of straight, crossed, got 'bent'"),
    ("word_s = \"= p", "slots = \"= p", "link.toml: value 'slots' has a name that stands in parameters too"),
    ('source = "assumed"\n\n[values]', 'source = " "\n\n[values]', "link.toml: parameter 'order' has no source"),
    ('memory"\nword_bytes = 4', 'memory"\nword_bytes = 0',
     "link.toml: link.ram: word_bytes must be an integer of at least 1, got 0"),
    ("bytes_per_s = 1e9", "byte_per_s = 1e9",
     "resource 'crypt': parameter of byte_engine.toml 'byte_per_s' is unknown (nearest: bytes_per_s"),
    # shapes
    ('type = "byte_engine"\nbytes_per_s = 1e9', 'type = "link.toml"\nslots = 1',
     "resource 'crypt': part 'link.toml' needs itself"),
    ('type = "memory"', 'type = "memori"', "type of resource 'ram' 'memori' is unknown (nearest: memory"),
    ('type = "memory"\nword_bytes = 4\nword_s = "= p.word_s"', 'type = "lock"\nclock_hz = 1e9',
     "link.toml: inner 'ram': a lock belongs to programs and cannot be inside a part"),
    ('type = "memory"\nword_bytes = 4\nword_s = "= p.word_s"', 'type = "line_card"\nbytes_per_s = 1e9\n'
     'buffer_bytes = 64\nwhen_full = "drop"\n[visits.sent]\nprogram = "m.ram.send(bytes=64)"',
     "link.toml: visit 'sent': link.ram.send may end the packet, and cannot be inside a part"),
    ("[inner.ram]", "[inner.key]", "link.toml: resource inside 'key' has a name that stands in servers too"),
    ("[visits.send]", '[visits."send it"]', "link.toml: 'send it' is not a name (letters, digits, _; a letter first)"),
    ("whole = true", "hole = true", "link.toml: key 'hole' is unknown (nearest: whole"),
    ('role = "limit"', 'role = "limits"', "link.toml: role 'limits' is unknown (nearest: limit"),
    ('chance = ["channel"]', 'chance = ["chanel"]', "operand of visit 'send' 'chanel' is unknown (nearest: channel"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[new or old for old, new, _ in FAULTS])
def test_a_wrong_part_is_one_line_when_the_machine_is_loaded(old, new, message, tmp_path):
    assert old in PART
    with pytest.raises(InputError) as error:
        design(written(tmp_path, PART.replace(old, new, 1)))
    said = str(error.value)
    assert message in said
    assert said.startswith(("mine.toml: resource 'link': link.toml: ", "link.toml: ", "mine.toml: "))
    assert "\n" not in said


USES = [
    (
        'slots = "= p.slots"',
        "",
        "resource 'link': link.toml needs the parameter 'slots': requests under way",
    ),
    ('slots = "= p.slots"', "slot = 3", "parameter of link.toml 'slot' is unknown (nearest: slots"),
    ('slots = "= p.slots"', "slots = 9", "link.toml: parameter 'slots' must be in 1..8, got 9"),
    ('slots = "= p.slots"', "slots = 1.5", "link.toml: parameter 'slots' must be a whole number in 1..8, got 1.5"),
    ('slots = "= p.slots"', "slots = [1]", "link.toml: parameter 'slots' must be a number or a word, got [1]"),
    ('type = "link.toml"', 'type = "lynk.toml"', "mine.toml: part 'lynk.toml' is unknown (nearest: link.toml"),
    ('type = "link.toml"', 'type = "../link.toml"', "mine.toml: part '../link.toml' is unknown"),
    ('type = "link.toml"', 'type = "pcie_lnk"', "type of resource 'link' 'pcie_lnk' is unknown (nearest: pcie_link"),
    ("[parameter.slots]", "[part.x]\n[parameter.slots]", "mine.toml: key 'part' is unknown"),
]


@pytest.mark.parametrize(("old", "new", "message"), USES, ids=[new or old for old, new, _ in USES])
def test_a_wrong_use_of_a_part_is_one_line(old, new, message, tmp_path):
    assert old in MACHINE
    with pytest.raises(InputError) as error:
        design(written(tmp_path, machine_text=MACHINE.replace(old, new, 1)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_visit_is_told_where_the_program_asks_for_it(tmp_path):
    path = written(tmp_path, machine_text=MACHINE.replace("m.link.hold()", "m.link.held()"))
    with pytest.raises(InputError, match=r"line 2: visit of resource 'link' 'held' is unknown \(nearest: hold"):
        design(path).bounds(workload(packet_bytes=64))


def test_a_time_that_is_negative_for_some_packets_is_refused(tmp_path):
    path = written(tmp_path, PART.replace("ceildiv(v.bytes, 4)", "(v.bytes - 100)"))
    assert design(path).bounds(workload(packet_bytes=128)).rate_pps > 0
    with pytest.raises(InputError, match=r"link\.send takes a negative time for some packets"):
        design(path).bounds(workload(packet_bytes=64))


def test_units_that_a_part_inside_keeps_for_its_next_visit_are_refused(tmp_path):
    inner = PART[: PART.index("[inner.ram]")] + PART[PART.index("[visits.hold]") :]
    (tmp_path / "other.toml").write_text(inner.replace('closed_by = "leave"\n', ""))
    other = PART.replace('"byte_engine"\nbytes_per_s = 1e9', '"other.toml"\nslots = 1')
    path = written(tmp_path, other.replace("m.crypt.process(bytes=64)", "m.crypt.hold()"))
    with pytest.raises(InputError, match=r"visit 'send': link\.crypt\.hold takes or gives for another visit"):
        design(path)


def test_parts_of_parts_in_a_circle_are_named(tmp_path):
    inner = PART[: PART.index("[inner.ram]")] + PART[PART.index("[inner.crypt]") :]
    inner = inner.replace('"byte_engine"\nbytes_per_s = 1e9', '"link.toml"\nslots = 1').replace("m.ram", "m.crypt")
    (tmp_path / "other.toml").write_text(inner)
    path = written(tmp_path, PART.replace('"byte_engine"\nbytes_per_s = 1e9', '"other.toml"\nslots = 1'))
    with pytest.raises(InputError, match=r"part 'link\.toml' needs itself \(by link\.toml and other\.toml\)"):
        design(path)


# ---- what has no end


@pytest.mark.parametrize("digits", [-99_999_999, -401, 401, 10**12])
def test_round_takes_as_many_digits_as_a_number_has(digits):
    with pytest.raises(InputError, match="round takes from -400 to 400 digits"):
        Formulas({}).text(f"round(1, {digits})")


def test_a_device_is_no_part(tmp_path):
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"part 'endless\.toml' is unknown"):
        list(parts_beside({"one": {"type": "endless.toml"}}, tmp_path))


# ---- defaults as parameters of the machine

LINKED = """
name = "linked"
title = "a link to a host"
[resource.core]
type = "processor"
engines = 1
clock_hz = 1e9
[resource.pcie]
type = "pcie_link"
generation = 3
lanes = 8
flight_ns = 50
[[pool]]
name = "packet"
count = 4
home = "core"
program = '''
m.core.compute(cycles=10)
m.pcie.write(bytes=packet.packet_bytes)
'''
"""
DRAIN = "pcie.drain_bytes_per_s"


def linked(folder, text=LINKED):
    path = folder / "linked.toml"
    path.write_text(text)
    return design(path)


def test_every_default_of_a_part_is_a_parameter_of_the_machine(tmp_path):
    p, shelf = linked(tmp_path).parameters, shelf_part("pcie_link").parameters
    left = {f"pcie.{name}" for name, one in shelf.items() if one.default is not None and name != "flight_ns"}
    assert set(p) == left
    assert (p.file.parameter[DRAIN].kind, p.file.parameter["pcie.tags"].kind) == ("assumption", "fact")
    assert p.file.parameter[DRAIN].source.startswith("assumed: one channel")


def test_a_default_that_is_set_changes_the_ceiling(tmp_path):
    made, load = linked(tmp_path), workload(packet_bytes=64)
    slow = made.with_(**{DRAIN: 64e6})
    assert slow.bounds(load).bottleneck == "pcie.far"
    assert slow.bounds(load).rate_pps == pytest.approx(1e6)
    said = linked(tmp_path, LINKED.replace("flight_ns = 50", "drain_bytes_per_s = 64e6"))
    assert said.with_(**{"pcie.flight_ns": 50}).bounds(load).rate_pps == slow.bounds(load).rate_pps
    assert DRAIN not in said.parameters


def test_only_defaults_that_visits_of_the_program_need_are_read(tmp_path):
    read = linked(tmp_path).depends_on(workload(packet_bytes=64))
    assert {DRAIN, "pcie.framing_bytes"} <= read
    assert not {"pcie.answer_ns", "pcie.request_bytes", "pcie.completion_header_bytes"} & read


def test_a_file_that_extends_may_set_or_state_a_default(tmp_path):
    linked(tmp_path)
    (tmp_path / "other.toml").write_text(f'extends = "linked.toml"\nset = {{ "{DRAIN}" = 64e6 }}\n')
    assert design(tmp_path / "other.toml").bounds(workload(packet_bytes=64)).rate_pps == pytest.approx(1e6)
    (tmp_path / "other.toml").write_text('extends = "linked.toml"\n[resource.pcie]\ndrain_bytes_per_s = 64e6\n')
    assert DRAIN not in design(tmp_path / "other.toml").parameters


def test_an_explanation_counts_what_the_shelf_assumes(tmp_path):
    said = linked(tmp_path).explain(workload(packet_bytes=64), packets=500, elasticities=False)
    assert {one.name for one in said.assumptions if one.shelf} >= {DRAIN, "pcie.payload_bytes"}
    assert f"{len(said.assumptions)} assumptions ({len(said.assumptions)} from shelf parts)" in str(said)


PORTS = """
name = "ports"
title = "two ports of a rate that no clause lists"
[resource.port]
type = "ethernet_port"
ports = 2
rate = "200 Gb/s"
[[pool]]
name = "packet"
count = 64
program = '''
side = m.draw(2, "port")
m.port.receive(bytes=packet.packet_bytes, member=side)
'''
"""


def test_ports_of_any_rate_and_number_share_the_frames_of_line_rate(tmp_path):
    said = linked(tmp_path, PORTS).explain(workload(frame_bytes=64), packets=500, elasticities=False)
    assert said.line.wire == "port.wire.in"
    assert said.line.pps == pytest.approx(2 * 200e9 / 8 / 84)  # 64, preamble 8, gap 12
    assert "of the 595.2 Mpps of line rate (port.wire.in)" in str(said)


def test_every_command_tells_frame_bytes_and_the_share_of_line_rate(tmp_path):
    """Of bounds, queueing, simulation and estimates; the frames of shorter packets are padded to 64 bytes."""
    load, line_pps = workload(frame_bytes=64), 2 * 200e9 / 8 / 84
    core = '[resource.core]\ntype = "processor"\nengines = 4\nclock_hz = "1 GHz"\n[[pool]]\nhome = "core"'
    text = PORTS.replace("member=side)", "member=side)\nm.core.compute(cycles=100)").replace("[[pool]]", core)
    made = linked(tmp_path, text)
    rows = sweep(grid(made, load, solver=["bounds", "queueing", "simulation", "estimate"]))
    assert set(rows["mean_frame_bytes"]) == {64}
    assert rows["line_rate_mpps"].tolist() == pytest.approx([line_pps / 1e6] * 4)
    assert rows["line_rate_share"].tolist() == pytest.approx([4e7 / line_pps] * 4, rel=0.02)
    curve = load_curve(made, load, rates=["50%"])
    assert (curve.mean_frame_bytes, curve.counted, curve.line_pps) == (64, "packet bytes", pytest.approx(line_pps))
    assert curve.best[0].line_rate_share == pytest.approx(2e7 / line_pps, rel=0.02)
    assert compare(load, [made])["line_rate_share"].tolist() == pytest.approx([4e7 / line_pps], rel=0.02)
    assert workload(packet_bytes=40).mean_frame_bytes == 64
    assert sweep(grid("ixp2400", load, solver="bounds"))["line_rate_share"].isna().all()  # it has no port


def test_each_visit_of_several_ports_names_one(tmp_path):
    made = linked(tmp_path, PORTS.replace(", member=side", ""))
    with pytest.raises(ModelError, match="operand member, which each visit of several ports must have"):
        made.bounds(workload(frame_bytes=64))


def test_a_parameter_has_one_value_under_all_its_names(tmp_path):
    both = PORTS.replace("ports = 2", "ports = 2\ngbps = 200")
    with pytest.raises(InputError, match="'gbps' and 'rate' are one parameter"):
        linked(tmp_path, both)
    other = linked(tmp_path, PORTS.replace('rate = "200 Gb/s"', "gbps = 200"))
    assert other.bounds(workload(frame_bytes=64)).rate_pps == pytest.approx(2 * 200e9 / 8 / 84)
