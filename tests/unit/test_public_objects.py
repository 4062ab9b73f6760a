"""Objects that users hold: equal ones have equal hashes, and every one of them prints as what it is."""

from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import isclass, ismodule

import pytest

import npexplore as npx
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.units import readable

SERVER, LOAD = npx.design("smartnic"), npx.workload(packet_bytes=64)


def test_equal_designs_hash_equal_and_comparing_reads_no_parameter():
    again, other = npx.design("smartnic").with_(cores=2).with_(cores=SERVER.parameters["cores"]), SERVER.with_(cores=2)
    assert (again, hash(again)) == (SERVER, hash(SERVER))
    assert other != SERVER
    assert len({SERVER, again, other}) == 2
    fresh = npx.design("ixp2400")
    assert fresh == npx.design("ixp2400")
    assert not fresh.parameters.read
    assert SERVER.parameters == dict(SERVER.parameters)


def test_equal_predictions_hash_equal():
    for ask in (SERVER.bounds, SERVER.queueing, lambda load: SERVER.simulate(load, packets=300)):
        first, second = ask(LOAD), ask(64)
        assert (first, hash(first)) == (second, hash(second))
        assert first != ask(65)


def test_parameters_show_and_complete_their_names():
    p = npx.design("ixp2400").parameters
    text, page = repr(p), p._repr_html_()
    for name in p:
        assert f"\n{name} " in text
        assert f"<td>{name}</td>" in page
    assert p._ipython_key_completions_() == list(p)
    assert set(p) <= set(dir(p))
    assert not p.read
    assert repr(Parameters(MachineFile(name="bare", title=""))) == "bare has no parameters"


def test_values_are_shown_in_units_of_sensible_size():
    cases = {
        (4.45e-7, "s"): "445 ns", (2.6448e-6, "s"): "2.645 us", (0.0, "s"): "0 s", (3e-13, "s"): "0.3 ps",
        (2.1333e9, "bit/s"): "2.133 Gb/s", (12.3e12, "bit/s"): "12,300 Gb/s", (19.6, "packets/s"): "19.6 packets/s",
        (857_873, "packets/s"): "857.9 kpps", (None, "s"): "-", (float("nan"), "s"): "-",
    }  # fmt: skip
    assert {key: readable(*key) for key in cases} == cases
    assert readable(3.105e9, "bit/s", 0.13e9) == "3.105 ± 0.13 Gb/s"


PACKAGES = [npx, *(getattr(npx, name) for name in npx.__all__ if ismodule(getattr(npx, name)))]
CLASSES = {
    value for package in PACKAGES for name in package.__all__
    if isclass(value := getattr(import_module(package.__name__), name)) and not issubclass(value, BaseException)
}  # fmt: skip
UNHASHABLE = ("Mapping", "dict", "list", "Sequence", "set[")
ARRAYS = ("NDArray", "ndarray", "Integers", "Floats", "Ints", "Column")  # have no equality of their own


def test_many_public_classes_are_walked():
    assert len(CLASSES) > 150


@pytest.mark.parametrize("kind", sorted(CLASSES, key=lambda kind: kind.__qualname__))
def test_a_public_class_prints_and_hashes_as_it_compares(kind):
    assert kind.__repr__ is not object.__repr__, "it prints as <object at 0x...>: see npexplore/display.py"
    if not is_dataclass(kind) or not (kind.__dataclass_params__.frozen and kind.__dataclass_params__.eq):
        return
    types = [str(field.type) for field in fields(kind) if field.compare]
    if any(word in text for text in types for word in UNHASHABLE) and kind is not npx.Design:
        generated = getattr(kind.__hash__, "__code__", None) and kind.__hash__.__code__.co_filename == "<string>"
        assert not generated or any(word in text for text in types for word in ARRAYS), "see npexplore/records.py"
