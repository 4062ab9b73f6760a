"""Units in formulas: products make dimensions, sums need equal ones, results are converted, faults show both."""

import re

import pytest

import npexplore
from npexplore.dimensions import AS_WRITTEN, BARE
from npexplore.errors import InputError, NpexploreError
from npexplore.machine import Delay, FifoServer, Ingress, Machine, Pool, Processor, quantity
from npexplore.machine.described.formula import Formulas
from npexplore.machine.tree import Let
from npexplore.rows.expressions import Expression, Variable, column, evaluate


class Declared:
    """`p` of a formula: values with their units."""

    def __init__(self, **known):
        self.known = known

    def __getattr__(self, name):
        return self.known[name][0]

    def _unit_of(self, name):
        return self.known[name][1]


P = Declared(
    depth=(60, "cycles"), clock=(322, "MHz"), clock_hz=(1e9, "Hz"), wait=(40, "ns"), pause=(2, "us"),
    line=(64, "bytes"), cell=(2, "KB"), port=(100, "Gb/s"), bus=(16, "bytes/s"), pieces=(3, ""), share=(50, "%"),
    rate=(2.5, "Mpps"),
)  # fmt: skip
FORMULAS = [  # formula, unit it is meant in, value
    ("p.depth / p.clock", "s", 60 / 322e6),
    ("p.depth / p.clock", "ns", 60e3 / 322),
    ("1 / p.clock", "s", 1 / 322e6),
    ("p.clock", "Hz", 322e6),
    ("p.clock * 1e6", "Hz", 322e6),  # the conversion that the writer did by hand
    ("1e6 * p.clock", "Hz", 322e6),
    ("p.depth / (p.clock * 1e6)", "s", 60 / 322e6),
    ("1e-6 / p.clock", "s", 1 / 322e6),
    ("p.depth * 1e-6 / p.clock", "s", 60 / 322e6),
    ("p.depth * 1e3 / p.clock", "ns", 60e3 / 322),
    ("p.wait * 1e-9", "s", 40e-9),
    ("p.wait / 1e9", "s", 40e-9),
    ("2 * p.wait", "s", 80e-9),
    ("p.wait + p.pause", "s", 2.04e-6),
    ("p.wait + p.pause * 1000", "ns", 2040),
    ("p.wait * 1e-9 + p.pause * 1e-6", "s", 2.04e-6),
    ("p.wait + 5", "ns", 45),  # a plain number has the unit of the other
    ("p.pause - p.wait", "us", 1.96),
    ("p.line / p.port", "s", 64 * 8 / 100e9),
    ("p.line * 8 / p.port", "s", 64 * 8 / 100e9),
    ("p.line * 8 / (p.port * 1e9)", "s", 64 * 8 / 100e9),
    ("p.port * 1e9 / 8", "bytes/s", 12.5e9),
    ("p.port", "bytes/s", 12.5e9),
    ("p.line / p.bus", "s", 4.0),
    ("p.line / (p.port / 8)", "s", 64 * 8 / 100e9),
    ("p.port / (p.line * 8)", "Hz", 100e9 / 512),
    ("8 * p.line", "bytes", 512),
    ("8 * p.line", "bit", 512),
    ("p.cell", "bytes", 2048),
    ("p.cell + p.line", "bytes", 2048 + 64),
    ("ceildiv(p.cell, p.line)", None, 32),
    ("p.cell // p.line", None, 32),
    ("ceildiv(p.line, 16)", "cycles", 4),
    ("maximum(p.wait, p.pause)", "ns", 2000),
    ("minimum(p.wait, 30)", "ns", 30),
    ("p.wait * p.clock", "cycles", 12.88),
    ("p.wait * p.clock / 1000", "cycles", 12.88),
    ("p.pieces * p.pause", "s", 6e-6),
    ("p.share / 100", None, 0.5),
    ("p.line * 0.05", "cycles", 3.2),  # a literal may be cycles a byte
    ("p.line * 8e-10", "s", 51.2e-9),  # or seconds a byte
    ("1 if p.wait < p.pause else 0", None, 1),
    ("1 / p.rate", "s", 4e-7),
    ("-p.wait", "ns", -40),
    ("round(p.depth / p.clock * 1e3)", "ns", 186),
]


@pytest.mark.parametrize(("text", "unit", "value"), FORMULAS, ids=[f"{row[0]} in {row[1]}" for row in FORMULAS])
def test_formulas_carry_their_units(text, unit, value):
    assert Formulas({"p": P}).text(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "both"),
    [
        ("p.wait + p.line", "s", ("p.wait (time)", "p.line (bytes or bits)")),
        ("p.clock", "s", ("(time)", "p.clock (frequency or rate)")),
        ("2 * p.clock", "s", ("(time)", "(frequency or rate)")),
        ("p.depth", "s", ("(time)", "p.depth (cycles)")),
        ("p.wait", "cycles", ("(cycles)", "p.wait (time)")),
        ("p.port", "bytes", ("(bytes or bits)", "p.port (bit rate)")),
        ("p.depth * p.clock", "s", ("(time)", "(frequency or rate)")),
        ("p.line * p.wait", "s", ("(time)", "(time x bytes)")),
        ("maximum(p.depth, p.wait)", "s", ("p.depth (cycles)", "p.wait (time)")),
        ("1 if p.wait > p.line else 0", None, ("p.wait (time)", "p.line (bytes or bits)")),
        ("p.cell - p.pause", None, ("p.cell (bytes or bits)", "p.pause (time)")),
    ],
)
def test_unlike_dimensions_are_refused_and_both_are_shown(text, unit, both):
    with pytest.raises(InputError) as caught:
        Formulas({"p": P}).text(text, unit)
    assert all(word in str(caught.value) for word in both), str(caught.value)


@pytest.mark.parametrize(
    ("text", "unit", "got"),
    [
        ("p.clock", None, "p.clock (frequency or rate)"),
        ("p.wait + p.pause", None, "(time)"),
        ("p.port", BARE, "p.port (bit rate)"),
        ("p.cell", BARE, "p.cell (bytes or bits)"),
    ],
)
def test_a_quantity_is_no_plain_number(text, unit, got):
    with pytest.raises(InputError, match=re.escape(f"formula {text!r} must be a plain number, got {got}")):
        Formulas({"p": P}).text(text, unit)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [("p.line", None, 64), ("p.depth", BARE, 60), ("p.pieces", BARE, 3), ("p.clock", AS_WRITTEN, 322)],
)
def test_what_counts_is_a_plain_number(text, unit, value):
    assert Formulas({"p": P}).text(text, unit) == value


def test_what_differs_between_packets_has_units_too():
    packet = Declared(packet_bytes=(Variable("packet_bytes"), "bytes"))
    formulas = Formulas({"p": P, "packet": packet}, frozenset({"p", "packet"}))
    assert isinstance(formulas.text("packet.packet_bytes * (1 / p.port)", "s"), Expression)
    assert isinstance(formulas.text("8 + packet.packet_bytes * 0.05", "cycles"), Expression)
    with pytest.raises(InputError, match=r"adding packet.packet_bytes \(bytes or bits\) and p.wait \(time\)"):
        formulas.text("packet.packet_bytes + p.wait", "s")


MACHINE = """name = "pipe"
title = "a pipeline"
[parameter]
clock = {{ kind = "knob", value = "322 MHz", about = "clock", source = "x" }}
depth = {{ kind = "assumption", value = 60, unit = "cycles", about = "depth", source = "x" }}
[receive]
capacity_bytes = "64 KiB"
[resource.pipe]
type = "delay"
[[pool]]
name = "slot"
count = 4
program = \"\"\"
m.pipe.wait(seconds={})
m.receive.free(bytes=packet.packet_bytes)
\"\"\"
"""


def test_a_program_waits_for_the_time_that_its_units_say(tmp_path):
    path = tmp_path / "pipe.toml"
    path.write_text(MACHINE.format("p.depth / p.clock"), encoding="utf-8")
    told = npexplore.design(path).simulate(npexplore.workload(packet_bytes=64), seed=1, packets=200)
    assert told.latency_s.mean == pytest.approx(60 / 322e6, rel=0.01)
    path.write_text(MACHINE.format("p.clock"), encoding="utf-8")
    with pytest.raises(NpexploreError) as caught:
        npexplore.design(path).bounds(npexplore.workload(packet_bytes=64))
    assert "line 1: m.pipe.wait: seconds must be in s (time), got p.clock (frequency or rate)" in str(caught.value)


PLAIN = [  # a line of MACHINE, the line in its place, what must be a plain number there
    ("count = 4", 'count = "= p.clock"', "pool 'slot': count"),
    ('type = "delay"', 'type = "processor"\nengines = "= p.clock"\nclock_hz = 1e9', "resource 'pipe': engines"),
    ('type = "delay"', 'type = "processor"\nengines = "= p.cell"\nclock_hz = 1e9', "resource 'pipe': engines"),
    ('type = "delay"', 'type = "processor"\nengines = "= p.share"\nclock_hz = 1e9', "resource 'pipe': engines"),
    ("m.pipe.wait", "with m.loop(p.clock):\n    m.pipe.wait", "line 1: m.loop: count"),
    ("m.pipe.wait", 'm.draw(p.clock, "x")\nm.pipe.wait', "line 1: m.draw: below"),
]


@pytest.mark.parametrize(("old", "new", "place"), PLAIN, ids=[row[1] for row in PLAIN])
def test_a_machine_takes_no_quantity_for_a_number(old, new, place, tmp_path):
    path = tmp_path / "pipe.toml"
    more = 'cell = { kind = "knob", value = "2 KB", about = "x", source = "x" }\n'
    more += 'share = { kind = "knob", value = "50 %", about = "x", source = "x" }\n[receive]'
    text = MACHINE.format("p.depth / p.clock").replace("[receive]", more).replace(old, new)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NpexploreError, match=rf"{place}.* must be a plain number, got .*p\.(clock|cell|share)"):
        npexplore.design(path).bounds(npexplore.workload(packet_bytes=64))


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ('type = "delay"\ntime_s = { distribution = "exponential", mean = "= p.depth / p.clock" }', "m.pipe.wait()"),
        ('type = "delay"', "t = m.let(p.depth / p.clock)\nm.pipe.wait(seconds=t)"),
    ],
)
def test_units_reach_distributions_and_names_of_lines(table, line, tmp_path):
    path = tmp_path / "pipe.toml"
    text = MACHINE.replace('type = "delay"', table.replace("{", "{{").replace("}", "}}"))
    path.write_text(text.replace("m.pipe.wait(seconds={})", line).format(), encoding="utf-8")
    assert npexplore.design(path).bounds(npexplore.workload(packet_bytes=64)).latency_s.mean == pytest.approx(
        60 / 322e6
    )


# ---- machines and programs in Python

CLOCK, DEPTH, WAIT = quantity("322 MHz"), quantity(60, "cycles"), quantity("40 ns")
PIPE = Delay("pipe")
CORE = Processor("me", engines=2, clock_hz=1e9)
COLUMNS = {name: column(name) for name in ("packet_bytes", "gap_us", "kind")}


def recorded(line):
    """The first visit of a program of one line."""
    parts = {"pipe": PIPE, "me": CORE}
    return Machine("small", Pool("slot", 4, line), Ingress("receive", None, 64), parts).record(COLUMNS)


def seconds(make):
    steps = recorded(lambda m, packet: m.pipe.wait(seconds=make(m, packet)))
    values = {one: 64.0 if name == "packet_bytes" else 3.0 for name, one in COLUMNS.items()}
    for step in steps:
        if isinstance(step, Let):
            values[step.variable] = evaluate(step.value, values)
    visit = next(step for step in steps if getattr(step, "resource", None) is PIPE)
    return float(evaluate(visit.operands["seconds"], values))


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda m, p: DEPTH / CLOCK, 60 / 322e6),
        (lambda m, p: WAIT + 2 * quantity("1 us"), 2.04e-6),
        (lambda m, p: p.packet_bytes * (1 / quantity("100 Gb/s")), 64 * 8 / 100e9),
        (lambda m, p: p.gap_us + WAIT, 3.04e-6),
        (lambda m, p: WAIT + p.gap_us, 3.04e-6),
        (lambda m, p: p.gap_us * 1e-6, 3e-6),  # the conversion done by hand
        (lambda m, p: m.let(p.gap_us * 2) + WAIT, 6.04e-6),
        (lambda m, p: p.packet_bytes * 1e-9, 64e-9),  # a literal may be seconds a byte
        (lambda m, p: p.kind * WAIT, 120e-9),
        (lambda m, p: p.packet_bytes * 1, 64),  # one second a byte
        (lambda m, p: 2e-9, 2e-9),
    ],
)  # fmt: skip
def test_programs_in_python_carry_units(make, value):
    assert seconds(make) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("line", "both"),
    [
        (lambda m, p: m.pipe.wait(seconds=CLOCK), ("pipe.wait: seconds", "s (time)", "322 MHz (frequency or rate)")),
        (lambda m, p: m.pipe.wait(seconds=p.packet_bytes), ("s (time)", "packet_bytes (bytes or bits)")),
        (lambda m, p: m.pipe.wait(seconds=m.let(p.packet_bytes)), ("s (time)", "(bytes or bits)")),
        (lambda m, p: m.me.compute(cycles=p.gap_us), ("cycles (cycles)", "gap_us (time)")),
        (lambda m, p: m.let(p.packet_bytes + WAIT), ("adding packet_bytes (bytes or bits)", "40 ns (time)")),
        (lambda m, p: m.let(WAIT - p.packet_bytes), ("subtracting 40 ns (time)", "packet_bytes (bytes or bits)")),
        (lambda m, p: m.let(p.packet_bytes + p.gap_us), ("packet_bytes (bytes or bits)", "gap_us (time)")),
        (lambda m, p: m.branch(p.packet_bytes > WAIT), ("comparing packet_bytes (bytes or bits)", "40 ns (time)")),
        (lambda m, p: WAIT + quantity("64 bytes"), ("40 ns (time)", "64 bytes (bytes or bits)")),
        (lambda m, p: FifoServer("table", CLOCK), ("table: service time", "s (time)", "(frequency or rate)")),
        (lambda m, p: m.draw(CLOCK, "bank"), ("limit of draw 'bank'", "a plain number", "322 MHz (frequency or rate)")),
        (lambda m, p: m.priority(p.gap_us), ("a priority", "a plain number", "gap_us (time)")),
        (lambda m, p: WAIT.to("bytes"), ("bytes (bytes or bits)", "40 ns (time)")),
    ],
)  # fmt: skip
def test_unlike_dimensions_in_python_are_refused(line, both):
    with pytest.raises(NpexploreError) as caught:
        recorded(line)
    assert all(word in str(caught.value) for word in both), str(caught.value)


def test_quantities_are_knobs_of_machines_in_python(tmp_path):
    path = tmp_path / "pipe.py"
    path.write_text(
        """from npexplore.machine import Delay, Ingress, Machine, Pool, quantity


def design(clock=quantity("322 MHz"), depth=quantity(60, "cycles")) -> Machine:
    def forward(m, packet):
        m.pipe.wait(seconds=depth / clock)

    return Machine("pipe", Pool("slot", 4, forward), Ingress("receive", None, 64), {"pipe": Delay("pipe")})
""",
        encoding="utf-8",
    )
    pipe = npexplore.design(path)
    assert pipe.parameters.file.parameter["clock"].unit == "MHz"
    load = npexplore.workload(packet_bytes=64)
    assert pipe.bounds(load).latency_s.mean == pytest.approx(60 / 322e6)
    assert pipe.with_(clock=161).bounds(load).latency_s.mean == pytest.approx(120 / 322e6)


def test_quantities_compare_by_what_they_are():
    assert quantity("1 us") == quantity("1000 ns") != quantity("1 ns")
    assert quantity("1 us") != quantity("1 bytes") != 1
    assert hash(quantity("1 us")) == hash(quantity("1000 ns"))
    for text, unit in (("fast", ""), ("3 parsecs", ""), ("3 ns", "bytes"), (3, ""), (3, "parsecs")):
        with pytest.raises(InputError):
            quantity(text, unit)
