"""Units in formulas: products make dimensions, sums need equal ones, results are converted, faults show both."""

import pytest

import npexplore
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.described.formula import Formulas
from npexplore.rows.expressions import Expression, Variable


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
