"""Public functions: the reference lists all arguments as soon as there are three, and no module hides a name."""

import importlib
import inspect
import pkgutil

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


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_takes_the_place_of_a_public_name(package):
    """A module of the same name would, where names are imported when they are first used and it is imported before."""
    found = importlib.import_module(package)
    for name in {module.name for module in pkgutil.iter_modules(found.__path__)} & set(found.__all__):
        importlib.import_module(f"{package}.{name}")
        assert not inspect.ismodule(getattr(found, name)), name
