"""Public names of a package that are imported when they are first used, so that the package itself loads at once."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def on_demand(
    package: str, homes: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` (PEP 562) that import a package's names when they are used.

    homes: public name -> the module that holds it. extra: a library that the package can do without until then -> the
    extra of npexplore that installs it.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing not in (extra or {}):
                raise
            wanted = (extra or {})[missing]
            raise ImportError(f"{package} needs {missing}: install npexplore with its extra `{wanted}`") from error

    def listed() -> list[str]:
        return sorted({*vars(modules[package]), *homes})

    return get, listed
