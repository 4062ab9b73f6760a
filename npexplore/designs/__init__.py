"""The machines: DESIGNS lists them; a machine file or a Python file of the user's own works in a name's place."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from npexplore.designs.base import Design
from npexplore.errors import InputError, NpexploreError, UnknownNameError
from npexplore.machine.described.build import build
from npexplore.machine.machine import Machine
from npexplore.machine.parameters import MachineFile, Parameters, load_machine


def described(name: str | Path) -> Design:
    """Return the design of a machine file (name in models/machines, or path) that has pools: the whole machine."""
    file = load_machine(name)
    made = Design(file.name, Parameters(file), build)
    try:
        made.machine()  # faults of the file show when it is loaded
    except InputError as error:
        raise InputError(f"{Path(name).name}: {error}") from None
    return made


def _listed(name: str, module: str) -> Design:
    """Return the design that a module makes by a function of the design's name; only then is it imported."""
    made: Design = getattr(import_module(module), name)()
    return made


DESIGNS: dict[str, Callable[[], Design]] = {
    "ixp2400": partial(_listed, "ixp2400", "npexplore.designs.ixp2400.design"),
    "ixp2400_dram": partial(_listed, "ixp2400_dram", "npexplore.designs.ixp2400.dram"),
    "ixp1200": partial(_listed, "ixp1200", "npexplore.designs.ixp1200.design"),
    "raw": partial(_listed, "raw", "npexplore.designs.raw.design"),
    "soclib": partial(_listed, "soclib", "npexplore.designs.soclib.design"),
    "gorilla": partial(_listed, "gorilla", "npexplore.designs.gorilla.design"),
    "smartnic": partial(described, "smartnic"),
}

__all__ = ["DESIGNS", "Design", "design", "design_names"]


def design_names() -> list[str]:
    """Return the names of the listed designs."""
    return list(DESIGNS)


def design(name_or_path: str | Path) -> Design:
    """Return a listed design by name, or the design of a machine TOML or of a Python file.

    A TOML file describes the whole machine (docs/machines.md), or the listed design that it `extends` (or is named
    after) says what a packet does there. A Python file defines `design`: a Design, a Machine, or a function that
    returns one. Raises UnknownNameError, InputError.
    """
    path = Path(name_or_path)
    if path.suffix == ".py":
        return _of_python(path)
    if path.suffix == ".toml":
        return _of_toml(path)
    if str(name_or_path) not in DESIGNS:
        raise UnknownNameError("design", str(name_or_path), DESIGNS)
    return DESIGNS[str(name_or_path)]()


def _of_toml(path: Path) -> Design:
    file = load_machine(path)
    if file.pool:
        return described(path)
    base = file.extends or file.name
    if base not in DESIGNS:
        raise UnknownNameError(f"{path.name}: design", base, DESIGNS)
    return replace(DESIGNS[base](), name=file.name, parameters=Parameters(file))


def _of_python(path: Path) -> Design:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise InputError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    with _first_looked_in(path.parent):
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise InputError(f"{path}: {type(error).__name__}: {error}{_line(error, path)}") from error
        found = getattr(module, "design", None)
        if callable(found):
            try:
                found = found()
            except NpexploreError:
                raise
            except Exception as error:
                raise InputError(f"{path}: design(): {type(error).__name__}: {error}{_line(error, path)}") from error
    if isinstance(found, Machine):
        machine = found
        return Design(machine.name, Parameters(MachineFile(name=machine.name, title=path.name)), lambda _: machine)
    if not isinstance(found, Design):
        got = "nothing of that name" if found is None else type(found).__name__
        raise InputError(f"{path}: design must be a function that returns a Design or a Machine, got {got}")
    return replace(found, build=partial(_built, found.build, path))


def _built(build: Callable[[Parameters], Machine], path: Path, parameters: Parameters) -> Machine:
    """Build a machine by a function of the user's own, telling where it failed."""
    try:
        return build(parameters)
    except NpexploreError:
        raise
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}{_line(error, path)}") from error


@contextmanager
def _first_looked_in(folder: Path) -> Iterator[None]:
    """Let a file import its neighbours."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))


def _line(error: BaseException, path: Path) -> str:
    """Return where in a file an error came from."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
