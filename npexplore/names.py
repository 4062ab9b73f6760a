"""Imports public names of a package on first use, so that importing the package itself is fast (PEP 562).

A package lists its names once, as imports that type checkers read and Python does not run:

    if TYPE_CHECKING:
        from npexplore.machine.machine import Machine as Machine
    else:
        __all__, __getattr__, __dir__ = on_demand(__name__)
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from sys import modules
from typing import Any, TypeGuard

_functions: dict[str, str] = {}  # method -> module:function of a higher storey


def register_functions(functions: Mapping[str, str]) -> None:
    """Register functions (`module:name`) of higher storeys under the methods of lower storeys that call them."""
    _functions.update(functions)


def registered_function(method: str) -> Callable[..., Any]:
    """Import and return the function registered for a method; raises KeyError without one."""
    module, _, name = _functions[method].partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def on_demand(
    package: str, extra: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, and the functions `__getattr__` and `__dir__` that import a package's names on first use.

    package: the module that lists its names as imports under `if TYPE_CHECKING:`. extra: an optional library -> the
    extra of npexplore that installs it.
    """
    homes = listed_imports(Path(modules[package].__file__ or "").read_text(encoding="utf-8"))
    public = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        try:
            if module == package:  # a module inside the package
                return import_module(f"{package}.{original}")
            return getattr(__import__(module, fromlist=[original]), original)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing not in (extra or {}):
                raise
            extra_name = (extra or {})[missing]
            raise ImportError(f"{package} needs {missing}: install npexplore with its extra `{extra_name}`") from error

    def names() -> list[str]:
        special = {name for name in vars(modules[package]) if name.startswith("__") and name.endswith("__")}
        return sorted(special.union(public))

    return public, get, names


def listed_imports(source: str) -> dict[str, tuple[str, str]]:
    """Return the names that a module imports under `if TYPE_CHECKING:`: name -> (module, its name there).

    A `*` stands for the names in `__all__` of that package, or, without `__all__`, for the names that it imports.
    """
    blocks = [
        node.body for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]  # fmt: skip
    return {name: home for block in blocks for name, home in _imports(block)}


def _imports(block: Iterable[ast.stmt]) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in block:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            module = getattr(node, "module", None) or ""
            if alias.name == "*":
                file = getattr(find_spec(module), "origin", None) or ""
                body = ast.parse(Path(file).read_text(encoding="utf-8")).body
                public = [ast.literal_eval(node.value) for node in body if _is_all(node)]
                yield from ((name, (module, name)) for name in public[0]) if public else _imports(body)
            else:
                yield alias.asname or alias.name, (module, alias.name)


def _is_all(node: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
