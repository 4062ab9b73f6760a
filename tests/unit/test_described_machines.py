"""Machines described in TOML alone: the same rows as the Python description, every kind, and one-line errors."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from reference.example_kinds import table_of, toml_of

import npexplore
from npexplore.cli import main
from npexplore.designs import design
from npexplore.engine.model import build
from npexplore.errors import FaultsError, InputError, ModelError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.resources import (
    KINDS,
    BoundedQueue,
    DdrController,
    DramTiming,
    FifoServer,
    Lock,
    Processor,
    WordMemory,
    WriteBuffer,
)
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.tree import visit
from npexplore.machine.workload_sources import workload
from npexplore.rows.expressions import ceildiv
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate
from npexplore.units import UnitWarning

HEAD = """
name = "small"
title = "A small forwarder"
"""
PARAMETER = """
[parameter.{name}]
kind = "knob"
value = {value}
about = "a knob"
source = "assumed"
"""
SMALL = (
    (
        HEAD
        + PARAMETER.format(name="threads", value=6)
        + PARAMETER.format(name="clock_mhz", value=600)
        + PARAMETER.format(
            name="discipline", value='"ready_on_stall"\nchoices = ["ready_on_stall", "ready_round_robin"]'
        )
        + PARAMETER.format(name="buffered", value=1)
        + """
[receive]
capacity_bytes = 8192
cell_bytes = 64

[resource.table]                  # needs the processor and the memory below it
type = "lock"
kind = "spin"
processor = "me"
gap_cycles = "= 2 * 5"
memory = { visit = "ram.read", bytes = 4 }

[resource.me]
type = "processor"
engines = 2
clock_hz = "= p.clock_mhz * 1e6"
discipline = "= p.discipline"

[resource.ram]
type = "memory"
word_bytes = 4
word_s = 5e-9
latency_s = "= 150e-9 if p.clock_mhz > 100 else 0"

[resource.dram]
type = "ddr"
timing = "ddr_400"
banks = 4
bus_bytes = 8
slots = 16
address_map = { order = "row column bank", rows = 1024 }
write_buffer = { entries = 8, high = 6 }

[resource.out]
type = "queue"
capacity = 32
carries = ["bank"]

[counted]
name = "padded cells"
cell_bytes = 64

[[pool]]
name = "process"
count = "= p.threads"
home = "me"
priority = 4
program = '''
cells = m.let(ceildiv(packet.packet_bytes, 64))
with m.loop(cells) as cell:
    m.me.compute(cycles=cell * 2 + 30)
    m.receive.free(bytes=64)
bank = m.draw(4, "bank")
a, b = m.take_all(("me", 0), ("me", 1))
m.give(a, b)
m.table.acquire()
m.table.release()
with m.branch(packet.packet_bytes > 512):
    m.dram.write(bytes=64, address=m.draw(4096, "where"))
with m.otherwise():
    m.me.compute(cycles=packet.packet_bytes * 0.1)
with m.branch(0.25, "rarely"), m.fork():
    m.ram.read(bytes=8)
if p.buffered == 1:
    m.out.put(bank=bank)
else:
    pass
'''

[[pool]]
name = "send"
count = 2
home = "me"
gets = "out"
idle = "poll"
poll_cycles = 20
start = { how = "staggered", seconds = 1e-9 }
program = "m.dram.read(bytes=64, bank=packet.bank, row=0)"
"""
    )
    .replace(', address=m.draw(4096, "where")', ", bank=1")
    .replace('address_map = { order = "row column bank", rows = 1024 }\n', "")
)


def small(threads=6, clock_mhz=600):
    """SMALL, in Python."""

    def process(m, packet):
        cells = m.let(ceildiv(packet.packet_bytes, 64))
        with m.loop(cells) as cell:
            m.me.compute(cycles=cell * 2 + 30)
            m.receive.free(bytes=64)
        bank = m.draw(4, "bank")
        a, b = m.take_all(("me", 0), ("me", 1))
        m.give(a, b)
        m.table.acquire()
        m.table.release()
        with m.branch(packet.packet_bytes > 512):
            m.dram.write(bytes=64, bank=1)
        with m.otherwise():
            m.me.compute(cycles=packet.packet_bytes * 0.1)
        with m.branch(0.25, "rarely"), m.fork():
            m.ram.read(bytes=8)
        m.out.put(bank=bank)

    def send(m, packet):
        m.dram.read(bytes=64, bank=packet.bank, row=0)

    me, ram = Processor("me", 2, clock_mhz * 1e6), WordMemory("ram", 4, 5e-9, latency_s=150e-9)
    part = DramTiming.of(dram_parts()["ddr_400"])
    resources = [
        Lock("table", "spin", processor=me, gap_cycles=10, memory=visit(ram, "read", bytes=4)), me, ram,
        DdrController("dram", part, 4, 8, 16, write_buffer=WriteBuffer(8, 6)),
        BoundedQueue("out", 32, carries=["bank"]),
    ]  # fmt: skip
    pools = [
        Pool("process", threads, process, home="me", priority=4),
        Pool("send", 2, send, "me", "out", idle="poll", poll_cycles=20, start=Start("staggered", 1e-9)),
    ]
    listed = {resource.name: resource for resource in resources}
    tick = 1e-12 / 3 if clock_mhz == 600 else 1e-12  # 600 MHz are 5000/3 ps
    return Machine("small", pools, Ingress("receive", 8192, 64), listed, "padded cells", 64, tick)


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_text_and_python_are_the_same_rows(tmp_path):
    made, load = design(written(tmp_path, SMALL)), workload(packet_bytes=600)
    for knobs in ({}, {"threads": 3, "clock_mhz": 200}):
        told, ours = build(made.with_(**knobs).machine(), load), build(small(**knobs), load)
        assert told.tick == ours.tick
        assert np.array_equal(told.rows, ours.rows)
        assert told.sources == ours.sources
        assert told.tokens == ours.tokens
        assert {name: server for name, (server, _) in told.servers.items()} == {
            name: server for name, (server, _) in ours.servers.items()
        }
    assert made.machine().counted == "padded cells"
    assert made.with_(discipline="ready_round_robin").machine().resources["me"].discipline == "ready_round_robin"
    assert made.depends_on(load) == {"threads", "clock_mhz", "discipline", "buffered"}


TIMES = {"t_ck": 1.25, "t_rcd": 13.75, "t_cl": 13.75, "t_rp": 13.75, "t_ras": 32.5, "t_wr": 15, "t_wl": 12.5}


def inline(**changed):
    """SMALL with the timing of its DRAM as a table."""
    table = ", ".join(f"{key} = {value}" for key, value in {**TIMES, **changed}.items())
    return SMALL.replace('timing = "ddr_400"', f"timing = {{ {table} }}")


def test_times_of_a_part_in_the_file_are_nanoseconds_as_on_the_shelf(tmp_path):
    plain = design(written(tmp_path, inline())).machine().resources["dram"].timing
    texts = inline(**{key: f'"{1000 * value:g} ps"' for key, value in TIMES.items()})
    texts = texts.replace('clock_hz = "= p.clock_mhz * 1e6"', 'clock_hz = "600 MHz"')
    texts = texts.replace("word_s = 5e-9", 'word_s = "5 ns"').replace("= 8192", '= "8 KiB"')
    told = design(written(tmp_path, texts)).machine()
    assert told.resources["dram"].timing == plain == DramTiming(**{k: v * 1e-9 for k, v in TIMES.items()}).in_clocks()
    assert told.resources["ram"].word == 5e-9
    assert told.resources["me"].cycle == 1 / 600e6
    assert told.ingress.capacity == 8192


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (inline(t_ck="6.25e-10"), "timing: t_ck is 6.25e-10 ns, outside 0.01..1000 ns; is it '6.25e-10 s'"),
        (inline(t_rp="0.00001375"), "timing: t_rp is 1.375e-05 ns, outside 0.01..100000 ns; is it '1.375e-05 ms'"),
        (SMALL.replace('"= p.clock_mhz * 1e6"', '"= p.clock_mhz"'), "'me': clock_hz is 600 Hz, .* is it '600 MHz'"),
        (SMALL.replace("word_s = 5e-9", "word_s = 5"), "'ram': word_s is 5 s, outside 1e-14..1 s; is it '5 ns'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*bank groups")  # of a clock that is as short as the wrong unit makes it
def test_a_number_in_another_unit_is_told(text, message, tmp_path):
    with pytest.warns(UnitWarning, match=message), suppress(InputError):  # t_cl below such a t_ck: refused as well
        design(written(tmp_path, text))


@pytest.mark.parametrize("key", ["mean", "low"])
def test_times_of_distributions_have_units(key, tmp_path):
    def spread(time):
        times = f'distribution = "exponential", mean = {time}'
        if key == "low":
            times = f'distribution = "uniform", low = {time}, high = "3 us"'
        return design(
            written(
                tmp_path,
                f'{HEAD}\n[resource.work]\ntype = "delay"\ntime_s = {{ {times} }}\n'
                '[[pool]]\nname = "t"\ncount = 1\nprogram = "m.work.wait()"\n',
            )
        ).bounds(workload(packet_bytes=64))

    assert spread('"0.02 us"') == spread("2e-8")
    with (
        pytest.warns(UnitWarning, match=f"'work': time_s.{key} is 20 s, outside 1e-14..1 s; is it '20 ns'"),
        suppress(InputError),
    ):
        spread("20")


def test_a_knob_takes_its_number_with_a_unit(tmp_path):
    text = SMALL.replace("value = 600", 'value = "0.6 GHz"\nunit = "MHz"')
    made = design(written(tmp_path, text))
    assert made.parameters.clock_mhz == 600
    assert made.with_(clock_mhz="0.2 GHz").parameters.clock_mhz == 200
    with pytest.raises(InputError, match=r"knob clock_mhz must be in MHz or another unit of frequency, got '3 ns'"):
        made.with_(clock_mhz="3 ns")
    with pytest.raises(InputError, match="knob threads must be a whole number, got '3 ns'"):
        made.with_(threads="3 ns")


def test_parameters_choose_lines(tmp_path):
    made, load = design(written(tmp_path, SMALL)), workload(packet_bytes=64)
    assert made.bounds(load).rate_pps > 0
    with pytest.raises(InputError, match="pool 'send' gets from 'out', but no pool puts into it"):
        made.with_(buffered=0).bounds(load)


def test_explained_from_the_command_line(tmp_path, capsys):
    path = written(tmp_path, SMALL)
    assert main(["explain", str(path), "--packet-bytes", "64", "--set", "threads=2", "--no-sensitivity", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["design"] == "small"
    assert document["knobs"]["threads"] == 2
    assert document["counted"] == "padded cells"


def test_a_window_and_a_file_that_extends_none(tmp_path):
    made = design(written(tmp_path, SMALL + "\n[window]\nseconds = 20e-6\nboot_s = 5e-6\n")).machine()
    assert (made.window_s, made.boot_s) == (20e-6, 5e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_written_as_a_table(kind, tmp_path):
    text = (
        HEAD
        + f"""
[receive]
[resource]
x = {toml_of(table_of(kind))}
[resource.other]
type = "server"
service_s = 1e-9
members = 2
[[pool]]
name = "threads"
count = 1
program = "m.other.serve(member=0)"
"""
    )
    text += '[[pool]]\nname = "rest"\ncount = 1\ngets = "x"\nprogram = "pass"\n' if kind.endswith("queue") else ""
    made = design(written(tmp_path, text)).machine()
    assert type(made.resources["x"]) is KINDS[kind]


FAULTS = [
    ("engines = 2", "engine = 2", "resource 'me': key 'engine' is unknown (nearest: engines"),
    ("engines = 2\n", "", "resource 'me' needs 'engines'"),
    ("engines = 2", "engines = 2.5", "resource 'me': engines: expected a whole number, got 2.5"),
    ("engines = 2", 'engines = "two"', "resource 'me': engines: expected a whole number, got 'two'"),
    ("engines = 2", "engines = 0", "me: engines must be an integer of at least 1, got 0"),
    ('type = "processor"', 'type = "procesor"', "type of resource 'me' 'procesor' is unknown (nearest: processor"),
    ('type = "processor"\n', "", "resource 'me' needs a type: accelerator, arbiter"),
    ("p.clock_mhz * 1e6", "p.clock_mz * 1e6", "clock_hz: parameter of small 'clock_mz' is unknown (nearest: clock_mhz"),
    ("p.clock_mhz * 1e6", "p.clock_mhz *", "resource 'me': clock_hz: 'p.clock_mhz *' is not a formula: invalid syntax"),
    ("p.clock_mhz * 1e6", "p.clock_mhz / 0", "resource 'me': clock_hz: formula 'p.clock_mhz / 0': division by zero"),
    ("p.clock_mhz * 1e6", "clock * 1e6", "resource 'me': clock_hz: name 'clock' is unknown"),
    ("p.clock_mhz * 1e6", "open('x')", "resource 'me': clock_hz: function 'open' is unknown"),
    ("p.clock_mhz * 1e6", "p.clock_mhz.real", "resource 'me': clock_hz: 'p.clock_mhz.real' has no meaning here"),
    ('processor = "me"', 'processor = "mee"', "resource 'table': processor: resource 'mee' is unknown (nearest: me"),
    ('processor = "me"', 'processor = "ram"', "resource 'table': processor must be a processor, got 'ram'"),
    ('visit = "ram.read"', 'visit = "ram.reed"', "visit of resource 'ram' 'reed' is unknown (nearest: read)"),
    ('visit = "ram.read"', 'visit = "rom.read"', "resource 'table': memory: resource 'rom' is unknown (nearest: ram"),
    ("memory = { ", "memory = 4 # ", 'memory must be a table { visit = "RESOURCE.VISIT", operands }, got 4'),
    ('timing = "ddr_400"', 'timing = "ddr_40"', "resource 'dram': timing: part 'ddr_40' is unknown (nearest: ddr_400"),
    ("entries = 8, high", "entries = 8, hi", "resource 'dram': write_buffer: key 'hi' is unknown (nearest: high"),
    ("write_buffer = { entries = 8, high = 6 }", "write_buffer = 8",
     "write_buffer must be a table of entries, high, low, got 8"),
    ('count = "= p.threads"', 'count = "p.threads"',
     "pool 'process': count must be a number, or a formula that begins with =, got 'p.threads'"),
    ('count = "= p.threads"', 'count = "= p.threads / 4"', "pool 'process': count must be a whole number, got 1.5"),
    ("word_s = 5e-9", 'word_s = "5 MHz"',
     "resource 'ram': word_s must be in s or another unit of time, got '5 MHz' (frequency)"),
    ("count = 2", "count = 0", "small: threads of pool 'send' must be an integer of at least 1, got 0"),
    ('gets = "out"', 'gets = "in"', "queue that pool 'send' gets from 'in' is unknown (known: out)"),
    ("capacity_bytes = 8192", "capacity = 8192", "key 'capacity' is unknown (nearest: capacity_bytes"),
    ("[[pool]]", "[[pol]]", "key 'pol' is unknown (nearest: pool"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[new or old for old, new, _ in FAULTS])
def test_a_wrong_file_is_one_line_when_it_is_loaded(old, new, message, tmp_path):
    assert old in SMALL
    with pytest.raises(InputError) as error:
        design(written(tmp_path, SMALL.replace(old, new)))
    assert message in str(error.value)
    assert str(error.value).startswith("mine.toml: ")
    assert "\n" not in str(error.value)


def test_all_faults_of_a_file_are_told_at_once(tmp_path, capsys):
    text = SMALL.replace("engines = 2", 'engines = "two"\nspeed = 3').replace('timing = "ddr_400"', 'timing = "ddr_40"')
    text = text.replace('count = "= p.threads"', 'count = "= p.thread"').replace("capacity = 32", "capacity = 0")
    path = written(tmp_path, text)
    assert main(["explain", str(path), "--packet-bytes", "64"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.removeprefix("npexplore: mine.toml: ") for line in err.splitlines()] == [
        "resource 'me': engines: expected a whole number, got 'two'",
        "resource 'me': key 'speed' is unknown (known: clock_hz, discipline, engines, pipeline, switch_cycles, threads)",  # noqa: E501
        "resource 'dram': timing: part 'ddr_40' is unknown (nearest: ddr_400, ddr_200, ddr_333)",
        "out: capacity must be an integer of at least 1, got 0",
        "pool 'process': count: parameter of small 'thread' is unknown (nearest: threads)",
    ]


def test_all_faults_of_programs_are_told_at_once_and_none_that_only_follows(tmp_path):
    text = SMALL.replace("m.me.compute(cycles=cell * 2 + 30)", "m.me.compute(cycle=cell * 2 + 30)")
    text = text.replace('bank = m.draw(4, "bank")', 'bank = m.drew(4, "bank")')
    text = text.replace("m.ram.read(bytes=8)", "m.ram.red(bytes=8)")
    text = text.replace("with m.branch(packet.packet_bytes > 512):", "with m.branch(packet.bytes > 512):")
    text = text.replace("bank=packet.bank, row=0", "bank=packet.bank, rows=0")
    with pytest.raises(FaultsError) as caught:
        design(written(tmp_path, text)).bounds(workload(packet_bytes=600))
    places = [fault.split(": ")[1:3] for fault in caught.value.faults]
    lines = ("3", "5", "10", "15", "1")
    assert [place[0] for place in places] == [
        f"program of pool {'process' if k < 4 else 'send'!r}, line {line}" for k, line in enumerate(lines)
    ]


def test_faults_of_a_file_that_extends_are_told_all_at_once(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("""
extends = "ixp2400"
set = { bankz = 3, scheme = "hbb" }
parameter.hash_nss.value = 3
parameter.bus_clock_mhz.value = "0.25 ns"
parameter.threads.value = -3
""")
    with pytest.raises(FaultsError) as caught:
        design(path)
    said = ("'bankz' is unknown", "'hash_nss' is unknown (nearest: hash_ns)", "got 'hbb'", "got '0.25 ns'", "got -3")
    assert len(caught.value.faults) == len(said)
    assert [sum(words in fault for fault in caught.value.faults) for words in said] == [1] * 5
    assert {fault.partition(": ")[0] for fault in caught.value.faults} == {"mine.toml"}


def test_a_file_that_extends_says_values_alone(tmp_path):
    written(tmp_path, SMALL, "base.toml")
    path = written(tmp_path, 'extends = "base.toml"\nset = { threads = 3, clock_mhz = "1.2 GHz" }', "mine.toml")
    assert design(path).parameters.clock_mhz == 1200  # its name tells the unit
    path.write_text('extends = "base.toml"\nset = { threads = 3 }\n[resource.ram]\nword_s = "7 ns"\n')
    made = design(path)
    assert (made.name, made.parameters.threads, made.machine().resources["ram"].word) == ("mine", 3, 7e-9)
    assert made.parameters.file.parameter["threads"].source == "set in mine.toml"
    assert made.machine().resources["ram"].latency == 150e-9
    path.write_text('extends = "base.toml"\nset = { thread = 3 }')
    with pytest.raises(InputError, match=r"mine.toml: set: knob of small 'thread' is unknown .nearest: threads"):
        design(path)
    path.write_text('name = "x"\ntitle = "x"\nset = { thread = 3 }')
    with pytest.raises(InputError, match=r"mine.toml: set needs extends, the file whose values it changes"):
        design(path)


def test_a_listed_design_is_changed_by_values_alone(tmp_path):
    path = written(
        tmp_path, 'extends = "ixp2400"\n[set]\nbanks = 8\n[parameter.hash_ns]\nvalue = "0.1 us"\n', "mine.toml"
    )
    made, base = design(path), design("ixp2400")
    assert dict(made.parameters) == {**base.parameters, "banks": 8, "hash_ns": 100}
    hashed = made.parameters.file.parameter["hash_ns"]
    assert (hashed.kind, hashed.fitted_to, hashed.chosen_after, hashed.row) == ("assumption", [], [], None)
    load = workload(packet_bytes=64)
    assert made.bounds(load).rate_pps == base.with_(banks=8, hash_ns=100).bounds(load).rate_pps
    again = written(tmp_path, 'extends = "mine.toml"\nset = { banks = 2 }\n', "other.toml")
    assert dict(design(again).parameters) == {**made.parameters, "banks": 2}
    path.write_text('extends = "other.toml"')
    with pytest.raises(InputError, match=r"extends must not be circular"):
        design(path)


def test_resources_that_need_each_other_and_none_at_all(tmp_path):
    text = SMALL.replace('visit = "ram.read"', 'visit = "table.acquire"')
    with pytest.raises(InputError, match="resource 'table' needs itself"):
        design(written(tmp_path, text))
    with pytest.raises(InputError, match=r"mine.toml: a machine with resources needs a \[\[pool\]\] of threads"):
        design(written(tmp_path, SMALL[: SMALL.index("[[pool]]")]))


LINES = [
    ("m.me.compute(cycle=3)", "operand of me.compute 'cycle' is unknown (nearest: cycles"),
    ("m.mee.compute(cycles=3)", "resource 'mee' is unknown (nearest: me"),
    ("m.drew(4, 'x')", "recorder's word 'drew' is unknown (nearest: draw"),
    ("m.draw(4)", "m.draw() missing 1 required positional argument: 'source'"),
    ("x = packet.bytes", "packet column 'bytes' is unknown (nearest: packet_bytes"),
    (
        "x = packet.packet_bytes / 2",
        "what differs between packets cannot be divided by /; use //, ceildiv or * (1 / number)",
    ),
    ("x = 'a' + 1", "text cannot be part of a calculation, got 'a' and 1"),
    ("x = y", "name 'y' is unknown"),
    ("import os", "'import os' has no meaning here; write a Python file for it"),
    ("while packet.packet_bytes > 3:\n    pass", "'while packet.packet_bytes > 3:' has no meaning here"),
    ("if packet.packet_bytes > 3:\n    pass", "record m.branch(...) instead"),
    (
        "with m.loops(3):\n    pass",
        "'m.loops(3)' opens no block (m.loop, m.branch, m.otherwise, m.fork, m.sending, m.unsent do)",
    ),
    ("m.loop(3)", "m.loop opens a block: with m.loop(...):"),
    ("with m.loop(3) as (a, b):\n    pass", "'(a, b)' is not a name"),
    ("p = 3", "'p' cannot be given another meaning"),
    ("a, b = m.take_all(('me', 0))", "zip() argument"),
    ("a, m.x = m.take_all(('me', 0), ('me', 1))", "'m.x' is not a name"),
    ("m.me.compute(*[3])", "has no meaning here"),
    ("x = ().__class__", "'().__class__' has no meaning here"),
    ("m.me.compute(cycles=1 // 0)", "integer division or modulo by zero"),
    ("with m.loop(2):\n    held = m.take('me', member=0)", "held"),
    ("with m.loop(2.5):\n    pass", "a loop runs a whole number of times, got 2.5"),
    ("m.table.acquire()", "table"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=[line.splitlines()[-1] for line, _ in LINES])
def test_a_wrong_line_is_told_with_pool_and_number(line, message, tmp_path):
    program = f"m.me.compute(cycles=1)\n{line}\n"
    text = (
        SMALL[: SMALL.index("program = '''")]
        + f"program = '''\n{program}m.receive.free(bytes=packet.packet_bytes)\nm.out.put(bank=0)\n'''\n"
        + SMALL[SMALL.index('\n[[pool]]\nname = "send"') :]
    )
    with pytest.raises(InputError) as error:
        design(written(tmp_path, text)).bounds(workload(packet_bytes=64))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    if line != "m.table.acquire()":  # what is left open is noticed at the end of the program
        assert str(error.value).startswith("small: program of pool 'process', line 2: ")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("x = (", "line 1: '(' was never closed"), ("", "has no lines"), ("# nothing", "has no lines"),
        ("m.dram.read(bytes=64, bytes=8, bank=0)", "line 1: operand 'bytes' is given twice"),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_read(program, message, tmp_path):
    text = SMALL.replace('program = "m.dram.read(bytes=64, bank=packet.bank, row=0)"', f'program = "{program}"')
    with pytest.raises(InputError) as error:
        design(written(tmp_path, text))
    assert "mine.toml: program of pool 'send'" in str(error.value)
    assert message in str(error.value)


# ---- Python files

PYTHON = """
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import FifoServer
from npexplore.machine.resources.ingress import Ingress

def forward(m, packet):
    {line}

def machine():
    return Machine("mine", Pool("thread", 2, forward), Ingress("receive"), {{"hash": FifoServer("hash", 1e-7)}})
{design}
"""


@pytest.mark.parametrize("end", ["design = machine", "design = machine()", "def design():\n    return machine()"])
def test_a_python_file_may_define_a_machine(end, tmp_path):
    made = design(written(tmp_path, PYTHON.format(line="m.hash.serve()", design=end), "mine.py"))
    assert made.name == "mine"
    assert made.bounds(workload(packet_bytes=64)).rate_pps == pytest.approx(1e7)
    with pytest.raises(InputError, match="knob 'threads': mine has no parameters to change"):
        made.with_(threads=3)


def test_a_python_file_may_import_its_neighbours(tmp_path):
    written(tmp_path, PYTHON.format(line="m.hash.serve()", design=""), "described_neighbour.py")
    made = design(written(tmp_path, "from described_neighbour import machine as design\n", "mine.py"))
    assert made.name == "mine"


WITH_KNOBS = """
from pathlib import Path
from npexplore.designs import Design

def build(p):
    return machine(3) if p.threads > 4 else machine()

design = Design.of(Path(__file__).with_name("knobs.toml"), build)
"""


def test_a_python_file_with_knobs_of_its_own(tmp_path):
    written(tmp_path, HEAD + PARAMETER.format(name="threads", value=4), "knobs.toml")
    made = design(written(tmp_path, PYTHON.format(line="m.hash.serve()", design=WITH_KNOBS), "mine.py"))
    assert made.machine().name == "mine"
    with pytest.raises(InputError, match=r"mine.py: TypeError: machine\(\) takes 0 .* \(line 16\)"):
        made.with_(threads=5).machine()


@pytest.mark.parametrize(
    ("line", "end", "message"),
    [
        ("m.hash.serve()", "def design():\n    return machine(3)", "mine.py: design(): TypeError: machine() takes 0"),
        ("m.hash.serve()", "def design():\n    return Machine('mine')", "(line 12)"),
        ("m.hash.serve()", "design = 1 / 0", "mine.py: ZeroDivisionError: division by zero (line 11)"),
        (
            "packet.packet_bytes ** 2",
            "design = machine",
            "mine: program of pool 'thread': TypeError: unsupported operand",
        ),
        ("m.hash.srve()", "design = machine", "visit of resource 'hash' 'srve' is unknown (nearest: serve)"),
    ],
)
def test_a_wrong_python_file_is_one_line(line, end, message, tmp_path, capsys):
    path = written(tmp_path, PYTHON.format(line=line, design=end), "mine.py")
    assert main(["explain", str(path), "--packet-bytes", "64"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


DOCS = Path(__file__).parents[2] / "docs" / "machine_files.md"


def test_the_documented_machine_is_one(tmp_path):
    text = DOCS.read_text()
    start = text.index("```toml\nname =") + len("```toml\n")
    made = design(written(tmp_path, text[start : text.index("```", start)]))
    answer = made.simulate(workload(packet_bytes=64), packets=500)
    assert answer.rate_pps <= made.bounds(workload(packet_bytes=64)).rate_pps


NEVER_FREES = """name = "pipe"
title = "a pipeline"
[receive]
capacity_bytes = 8192
[resource.pipe]
type = "server"
service_s = 1e-7
[[pool]]
name = "slot"
count = 4
program = "m.pipe.serve()"
"""


def test_a_program_that_never_frees_its_receive_buffer_is_a_fault_at_loading_and_in_every_solver(tmp_path):
    path, fault = tmp_path / "mine.toml", r"no program frees the receive buffer 'receive' of 8192 bytes: it fills up"
    path.write_text(NEVER_FREES, encoding="utf-8")
    with pytest.raises(ModelError, match=fault):
        npexplore.design(path)
    path.write_text(NEVER_FREES.replace('"m.pipe', '"with m.loop(packet.parts): m.pipe'), encoding="utf-8")
    with pytest.raises(ModelError, match=fault):
        npexplore.design(path)  # whatever columns its packets need
    path.write_text(NEVER_FREES.replace("capacity_bytes = 8192", ""), encoding="utf-8")
    assert npexplore.design(path).bounds(npexplore.workload(packet_bytes=64))
    pool, parts = Pool("slot", 4, lambda m, p: m.pipe.serve()), [FifoServer("pipe", 1e-7)]
    made = Machine("m", pool, Ingress("receive", 8192), parts)
    for solve in (bounds, queueing, simulate):
        with pytest.raises(ModelError, match=fault):
            solve(made, npexplore.workload(packet_bytes=64))


FAULTY = """
name = "faulty"
title = "six faults, in four kinds of tables"
[parameter.clock]
kind = "nob"
value = "1 GHz"
about = "clock"
[parameter.cores]
kind = "knob"
value = 1
about = "cores"
source = "assumed"
[resource.core]
type = "processor"
engines = "= p.coers"
clock_hz = "= p.clock"
[resource.hash]
type = "sever"
service_s = 1e-9
[resource.table]
type = "server"
service_s = 1e-9
[[pool]]
name = "packet"
count = 4
hoem = "core"
program = '''
m.core.compute(cycles=8)
m.hash.serve()
m.table.sreve()
'''
"""


def test_faults_of_all_tables_are_told_at_once_and_what_follows_from_one_is_not(tmp_path):
    path = tmp_path / "faulty.toml"
    path.write_text(FAULTY)
    with pytest.raises(FaultsError) as raised:
        design(path)
    said = [
        "'nob' is unknown (nearest: knob)", "key `source` is missing", "'hoem' is unknown (nearest: home",
        "'coers' is unknown (nearest: cores", "type of resource 'hash' 'sever' is unknown (nearest: server",
        "line 3: visit of resource 'table' 'sreve' is unknown (nearest: serve",
    ]  # fmt: skip
    assert all(any(one in fault for fault in raised.value.faults) for one in said)
    assert len(raised.value.faults) == len(said)


BANKED = """
name = "banked"
title = "a memory from a data sheet"
[resource.memory]
type = "dram_controller"
channels = 2
device = { like = "ddr5_5600", t_faw = "20 ns", source = "a vendor's sheet" }
policy = { page = "closed" }
[[pool]]
name = "packet"
count = 512
program = '''
bank = m.draw(m.memory.banks, "bank")
m.memory.read(bytes=64, bank=bank)
'''
"""


def banked(folder, old="", new=""):
    path = folder / "banked.toml"
    path.write_text(BANKED.replace(old, new) if old else BANKED)
    return design(path)


def test_a_device_of_ones_own_binds_by_its_own_rule_and_its_banks_are_known(tmp_path):
    made, load = banked(tmp_path), workload(packet_bytes=64)
    assert made.bounds(load).bottleneck == "memory.window"
    assert made.bounds(load).rate_pps == pytest.approx(2 * 4 / (57 * 0.357e-9))  # two channels, whole clocks
    assert made.machine().servers()["memory.bank"].members == 2 * 32
    assert made.demands(load).demands.servers["memory.bank"].visits == 1


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("t_faw", "t_fwa", "key 't_fwa' is unknown (nearest: t_faw"),
        ("20 ns", "20 GHz", "device: t_faw must be in ns or another unit of time"),
        ("20 ns", "1 ns", "device: t_faw must be at least t_rrd"),
        ('like = "ddr5_5600", ', "", "device needs t_ck, t_rcd, t_cl"),
        ("m.memory.banks", "m.memroy.banks", "resource 'memroy' is unknown (nearest: memory"),
    ],
)
def test_a_faulty_device_is_told_with_its_rule(tmp_path, old, new, fault):
    with pytest.raises(InputError) as raised:
        banked(tmp_path, old, new).bounds(workload(packet_bytes=64))
    assert fault in str(raised.value)


def test_a_machine_file_without_anything_is_called_by_its_name(tmp_path):
    with pytest.raises(FaultsError, match=r"bare\.toml: bare: a machine needs at least one pool"):
        design(written(tmp_path, "# nothing yet\n", "bare.toml"))
