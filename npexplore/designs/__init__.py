"""The machines: DESIGNS lists them; a machine file or a Python file of the user's own works in a name's place."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from npexplore.designs.base import Design
from npexplore.designs.ixp2400 import ixp2400
from npexplore.designs.ixp2400_dram import ixp2400_dram
from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.parameters import Parameters, load_machine

DESIGNS: dict[str, Callable[[], Design]] = {"ixp2400": ixp2400, "ixp2400_dram": ixp2400_dram}

__all__ = ["DESIGNS", "Design", "design", "design_names"]


def design_names() -> list[str]:
    """Return the names of the listed designs."""
    return list(DESIGNS)


def design(name_or_path: str | Path) -> Design:
    """Return a listed design by name, or the design of a machine TOML or of a Python file that defines `design()`.

    A TOML file is a machine file; the listed design it `extends` (or is named after) says what a packet does there.
    Raises UnknownNameError, InputError.
    """
    path = Path(name_or_path)
    if path.suffix == ".py":
        return _of_python(path)
    if path.suffix == ".toml":
        file = load_machine(path)
        base = file.extends or file.name
        if base not in DESIGNS:
            raise UnknownNameError(f"{path.name}: design", base, DESIGNS)
        return replace(DESIGNS[base](), name=file.name, parameters=Parameters(file))
    if str(name_or_path) not in DESIGNS:
        raise UnknownNameError("design", str(name_or_path), DESIGNS)
    return DESIGNS[str(name_or_path)]()


def _of_python(path: Path) -> Design:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise InputError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}") from error
    made = getattr(module, "design", None)
    if not callable(made):
        raise InputError(f"{path}: a design file must define a function design() that returns a Design")
    result = made()
    if not isinstance(result, Design):
        raise InputError(f"{path}: design() must return a Design, got {type(result).__name__}")
    return result
