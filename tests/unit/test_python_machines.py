"""Machines that Python builds: the arguments of a function are knobs, and a machine without any says so."""

import pickle
import re
from pathlib import Path

import pandas as pd
import pytest

from npexplore.cli import main
from npexplore.designs import design
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import FifoServer
from npexplore.machine.resources.ingress import Ingress
from npexplore.study.explaining.explain import explain
from npexplore.study.explaining.sensitivity import sensitivity_in_stages
from npexplore.study.explaining.whatif import WhatIf, what_if
from npexplore.study.formulas.search import formulas
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.identity import model_key
from npexplore.study.sweeping.sweep import sweep

DOCS = Path(__file__).parents[2] / "docs" / "machine_files.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
OF_THE_DOCUMENT = next(text for text in EXAMPLES if "def design" in text)


def written(folder, text):
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_arguments_of_a_python_function_are_knobs(tmp_path, capsys):
    path = written(tmp_path, OF_THE_DOCUMENT)
    made = design(path)
    known = made.parameters.file.parameter
    assert {name: (p.kind, p.value, p.unit, p.min, p.max, p.choices) for name, p in known.items()} == {
        "engines": ("knob", 16, "", 1.0, 64.0, []),
        "clock_hz": ("knob", 2e9, "Hz", None, None, []),
        "memory": ("knob", 5.0, "ns", None, None, []),
        "lookup": ("knob", "memory", "", None, None, ["cached", "memory"]),
    }
    assert known["engines"].about == "processors, four threads each"
    assert (made.name, made.parameters.file.title) == ("tiles", "Tiles that forward packets.")
    assert made.bounds(64).rate_pps == pytest.approx(16 / 200e-9)
    assert made.with_(memory="0.1 us").bounds(64).rate_pps == pytest.approx(1e7)
    assert made.with_(engines=64, memory=100, lookup="cached").bounds(64).rate_pps == pytest.approx(64 / 200e-9)
    for values, message in (({"engines": 65}, "knob engines must be in 1..64"), ({"engine": 2}, "nearest: engines")):
        with pytest.raises(InputError, match=message):
            made.with_(**values)
    out = tmp_path / "a.parquet"
    asked = f"sweep {path} --packet-bytes 64 --set engines=2,4 --set clock_hz=1e9,2GHz --solver bounds --out {out}"
    assert main(asked.split()) == 0
    assert sorted(pd.read_parquet(out)["rate_mpps"]) == pytest.approx([5, 10, 10, 20])
    sent = pickle.loads(pickle.dumps(made.with_(engines=2)))
    assert sent.bounds(64) == made.with_(engines=2).bounds(64)
    capsys.readouterr()
    assert main(["explain", str(path), "--knobs"]) == 0
    assert "default of design() in mine.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("engines", "argument 'engines' of design() has no default; every knob needs one, as in engines=16"),
        ("*engines", "argument 'engines' of design() cannot be a knob"),
        ("engines=None", "argument 'engines' of design(): its default must be a number, or a text annotated"),
        ("engines='four'", "Literal['a', 'b']; got 'four'"),
        ("engines: Annotated[int, range(1, 3)] = 4", "knob engines must be in 1..2, got 4"),
        ("engines=4", "mine.py: design() with knobs must return a Machine, got int"),
        ("engines=0", "mine.py: design(): ZeroDivisionError: integer division or modulo by zero (line 4)"),
    ],
)
def test_an_argument_that_cannot_be_a_knob_is_named(argument, message, tmp_path):
    text = f"from typing import Annotated\n\ndef design({argument}):\n    return 8 // engines\n"
    with pytest.raises(InputError) as error:
        design(written(tmp_path, text))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(0)\n", r"mine\.py: SystemExit: 0 \(line 2\)"),
        ("def design():\n    raise SystemExit(3)\n", r"mine\.py: design\(\): SystemExit: 3 \(line 2\)"),
        (OF_THE_DOCUMENT.replace("m.", "exit() or m.", 1), "SystemExit"),
    ],
)
def test_a_file_that_exits_is_told(text, message, tmp_path):
    with pytest.raises(NpexploreError, match=message):
        design(written(tmp_path, text)).bounds(64)


def test_a_file_that_calls_its_machine_otherwise_is_told(tmp_path):
    text = OF_THE_DOCUMENT.replace("def design", "def tiles")
    with pytest.raises(InputError, match="got nothing of that name; call tiles so"):
        design(written(tmp_path, text))


def test_whatever_describes_a_machine_is_a_design_wherever_one_is_taken():
    def box(units: int = 2, fast: bool = False) -> Machine:
        def serve(m, packet):
            m.hash.serve()

        resources = {"hash": FifoServer("hash", 1e-8 if fast else 1e-7, units=units)}
        return Machine("box", Pool("thread", 8, serve), Ingress("receive"), resources)

    made = design(box)
    assert [made.with_(fast=fast).bounds(64).rate_pps for fast in (False, True)] == pytest.approx([2e7, 2e8])
    assert design(made) is made
    rates = [made.bounds(64).rate_pps, design(box()).bounds(64).rate_pps]
    asked = [(box, 64, "bounds", None), (box(), 64, "bounds", None), *grid(box, 64, solver="bounds", units=[2])]
    assert sweep(asked)["rate_mpps"].tolist() == pytest.approx([*[rate / 1e6 for rate in rates], 20.0])
    assert model_key(design(box())) != model_key(design(box(units=3)))
    assert {change.knob for change in explain(box, 64, packets=100).what_if.gains} == {"units", "fast"}
    assert not any(stage.found for stage in sensitivity_in_stages(box(), 64))
    assert what_if(box(), 64) == WhatIf()
    assert formulas(box, 64).ceilings.keys() == formulas(box(), 64).ceilings.keys()
    said = str(explain(box(), 64, packets=100))
    assert "\nThis machine has no parameters to change; to have some, give its function design() arguments" in said
    assert "single" not in said
    with pytest.raises(InputError, match="knob 'units': box has no parameters to change; to have some, give"):
        design(box()).with_(units=3)


def test_a_plain_machine_says_where_its_answers_are():
    machine = design("smartnic").machine()
    with pytest.raises(AttributeError, match=r"npexplore.design\(machine\).bounds is there"):
        _ = machine.bounds
