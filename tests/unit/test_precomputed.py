"""Stored results are those of today's models and code; a call finds its own, and none where something differs."""

import json
from math import isclose
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.machine.workload_sources import workload
from npexplore.paths import share
from npexplore.report import precomputing
from npexplore.report.playground import landscape_record
from npexplore.report.precomputing import SETTING, compute_again, files, is_current, precomputed, same
from npexplore.study.checking.check import alternative_values
from npexplore.study.papers.ixp1200 import performance as ixp1200
from npexplore.study.papers.raw import performance as raw
from npexplore.study.papers.soclib import sets
from npexplore.study.sweeping.landscape import landscape

FILES = {path.stem: path for path in files()}
SEED = 8  # draws nodes that are solved in a second
called = []


def record(path):
    return json.loads(path.read_text())


def counted(name, machine, parts):
    """Return a table of parts; each call is noted."""
    called.append(name)
    return {"table": pd.DataFrame({"part": parts, "rate": [0.1, float("nan")]}), "machine": machine.name, "none": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An own folder of data beside the models, and no calls."""
    (tmp_path / "models").symlink_to(share("models"))
    monkeypatch.setattr(precomputing, "share", lambda *names: tmp_path.joinpath(*names))
    (tmp_path / "data").mkdir()
    called.clear()
    return tmp_path / "data" / "precomputed"


def ask(name="a", **knobs):
    return precomputed(counted, name, design("ixp2400").with_(**knobs), ["x", "y"], machines=["ixp2400"])


def test_a_call_is_written_on_request_and_then_answered_from_its_file(folder, monkeypatch):
    first = ask()
    assert not folder.exists()
    monkeypatch.setenv(SETTING, "write")
    assert same(ask(), first)
    monkeypatch.setenv(SETTING, "")
    again = ask()
    assert called == ["a", "a"]
    assert same(again, first)
    assert again["table"]["rate"].isna().tolist() == [False, True]
    ask("b")
    ask(threads=8)
    assert called == ["a", "a", "b", "a"]  # other arguments, another machine
    monkeypatch.setenv(SETTING, "0")
    ask()
    assert len(called) == 5


def test_changed_models_make_a_file_useless(folder, monkeypatch):
    monkeypatch.setenv(SETTING, "write")
    ask()
    (path,) = folder.iterdir()
    monkeypatch.setenv(SETTING, "")
    assert is_current(path)
    monkeypatch.setattr(precomputing, "models_hash", lambda _: "another")
    assert not is_current(path)
    ask()
    assert called == ["a", "a"]


def test_a_changed_number_is_seen(folder, monkeypatch):
    monkeypatch.setenv(SETTING, "write")
    ask()
    (path,) = folder.iterdir()
    assert compute_again(path, write=False)
    path.write_text(path.read_text().replace("0.1", "0.1000001"))
    assert not compute_again(path, write=True)
    assert compute_again(path, write=False)


@pytest.mark.parametrize("wrong", [{1, 2}, Path("a"), pd.DataFrame({"a": [1]}, index=["x"])], ids=str)
def test_what_has_no_form_in_json_is_refused(folder, wrong):
    with pytest.raises(InputError, match="counted: "):
        precomputed(counted, wrong, machines=[])


@pytest.mark.parametrize("name", FILES)
def test_the_models_behind_a_stored_result_are_unchanged(name):
    assert is_current(FILES[name]), "run `make precomputed` and see docs/numbers_moved.md"


@pytest.mark.parametrize("name", FILES)
def test_a_notebook_uses_each_stored_result(name):
    function = record(FILES[name])["function"].partition(":")[2]
    text = "".join(path.read_text() for path in share("notebooks").glob("*.py"))
    assert f"precomputed({function}, " in text or f".{function}, " in text


def chosen(function):
    return [name for name in FILES if name.startswith(f"{function}-")]


@pytest.mark.slow
@pytest.mark.parametrize("name", chosen("solve_landscape"))
def test_a_node_of_a_landscape_is_solved_again(name):
    stored, draw = record(FILES[name]), Random(SEED)
    machine, packets, fixed, knobs, _ = stored["arguments"]
    load = None if packets is None else workload(**packets)
    lengths = [len(values) for values in knobs.values()]
    at = [draw.randrange(count) for count in lengths]
    flat = 0
    for place, count in zip(at, lengths, strict=True):
        flat = flat * count + place
    node = {knob: [values[place]] for (knob, values), place in zip(knobs.items(), at, strict=True)}
    answer = landscape_record(landscape(design(machine).with_(**fixed), load, node, estimates=True))
    for what in {"queueing", "estimate", "bits"} & answer.keys():
        assert near(answer[what][0], stored["result"][what][flat])
    for name, rates in stored["result"]["ceilings"].items():
        assert near(answer["ceilings"].get(name, rates[flat:])[0], rates[flat]), name


def near(one, other):
    """Return whether two rates of five digits are equal, or both none."""
    return one == other or (None not in (one, other) and isclose(one, other, rel_tol=1e-4))


@pytest.mark.slow
def test_tables_of_raw_are_simulated_again():
    (name,) = (name for name in chosen("readings") if record(FILES[name])["arguments"][1] == 64)
    _, size, packets = record(FILES[name])["arguments"]
    stored = precomputing._decoded(record(FILES[name])["result"])
    again = raw.readings(["v1"], size, packets)
    assert same(again, stored[list(again)])
    assert all(compute_again(FILES[name], write=False) for name in chosen("memory_steps"))


@pytest.mark.slow
def test_the_first_fitted_set_of_soclib_is_simulated_again():
    (name,) = chosen("spread")
    stored = precomputing._decoded(record(FILES[name])["result"])
    assert same(sets.predictions(sets.load_sets()[:1]), stored.head(1))


@pytest.mark.slow
def test_structures_of_the_ixp1200_are_simulated_again(monkeypatch):
    (name,) = chosen("structures")
    stored = precomputing._decoded(record(FILES[name])["result"])
    few = dict(list(ixp1200.OTHERS.items())[:1])
    monkeypatch.setattr(ixp1200, "OTHERS", few)
    again = ixp1200.structures(design("ixp1200"))
    assert same(again, stored[stored["structure"].isin(again["structure"])].reset_index(drop=True))


@pytest.mark.slow
def test_alternatives_of_the_ixp2400_are_simulated_again():
    (name,) = chosen("alternative_values")
    designs, packets = record(FILES[name])["arguments"]
    stored, again = record(FILES[name])["result"], alternative_values(designs[1:], packets)
    assert again
    for alternative, values in again.items():
        assert values
        assert same(values, {key: stored[alternative][key] for key in values})
