"""What the reference shows of a function lists all its arguments, as soon as there are three."""

import importlib
import inspect

import pytest

PACKAGES = ("npexplore", "npexplore.golden", "npexplore.testing", "npexplore.packets.statistics")


def functions():
    named = {f"{package}.{name}" for package in PACKAGES for name in importlib.import_module(package).__all__}
    for name in sorted(named):
        module, _, last = name.rpartition(".")
        found = getattr(importlib.import_module(module), last)
        if inspect.isfunction(found) and len(inspect.signature(found).parameters) > 2:
            yield pytest.param(found, id=name)


@pytest.mark.parametrize("function", list(functions()))
def test_every_argument_is_explained(function):
    told = inspect.getdoc(function)
    assert {name for name in inspect.signature(function).parameters if f"{name}:" not in told} == set()
