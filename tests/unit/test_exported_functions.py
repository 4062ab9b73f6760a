"""Public functions: the reference lists all arguments as soon as there are three, and no module hides a name."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import npexplore

HERE = Path(npexplore.__file__).parent
LISTS = re.compile(r"^(__all__|    __all__, __getattr__, __dir__) = ", re.MULTILINE)
FILES = [path for path in sorted(HERE.rglob("*.py")) if LISTS.search(path.read_text()) and path.name != "names.py"]
MODULES = [".".join(path.relative_to(HERE.parent).with_suffix("").parts).removesuffix(".__init__") for path in FILES]
PACKAGES = [name for name, path in zip(MODULES, FILES, strict=True) if path.name == "__init__.py"]


def functions():
    named = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) and len(inspect.signature(found).parameters) > 2:
                named[f"{found.__module__}.{name}"] = found
    return [pytest.param(named[name], id=name.removeprefix("npexplore.")) for name in sorted(named)]


def listed(told):
    """The names that a docstring lists, alone or several at once: `servers: (K,)`, `birth, death: (n,)`."""
    return {name for names in re.findall(r"\b((?:\w+, )*\w+):", " ".join(told.split())) for name in names.split(", ")}


@pytest.mark.parametrize("function", functions())
def test_every_argument_is_explained(function):
    told, given = inspect.getdoc(function), inspect.signature(function).parameters
    assert set(given) - listed(told) == set()
    arrays = [name for name, one in given.items() if re.search("ArrayLike|NDArray", str(one.annotation))]
    assert not arrays or re.search(r"shape|as in `|\((\w+,|\.\.\.,)", told), f"no shape of {arrays}"


def test_all_modules_with_public_names_are_looked_at():
    assert len(functions()) > 90
    assert set(PACKAGES) >= {"npexplore", "npexplore.golden", "npexplore.testing"}
    assert "npexplore.queueing" in MODULES


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_documented_and_no_other_is(package):
    found = importlib.import_module(package)
    for name in found.__all__:
        assert getattr(found, name).__doc__, name
        assert name in dir(found), name
    with pytest.raises(AttributeError, match="'no_such_name'"):
        found.no_such_name  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_takes_the_place_of_a_public_name(package):
    """A module of the same name would, where names are imported when they are first used and it is imported before."""
    found = importlib.import_module(package)
    for name in {module.name for module in pkgutil.iter_modules(found.__path__)} & set(found.__all__):
        public = getattr(found, name)
        importlib.import_module(f"{package}.{name}")
        assert getattr(found, name) is public, name
