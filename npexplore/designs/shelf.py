"""The designs by name (DESIGNS, NETS), and `design`, which also takes a user's machine file, Python file or object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from npexplore.designs.base import Design
from npexplore.designs.listed import LISTED
from npexplore.errors import Faults, InputError, NpexploreError, UnknownNameError
from npexplore.machine.described.build import build, touched
from npexplore.machine.machine import Machine
from npexplore.machine.machine_files import load_machine
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.petri.tables import extended, is_net_file
from npexplore.reads import forget

DesignLike: TypeAlias = Design | Machine | str | Path | Callable[..., Machine | Design]


def described(name: str | Path) -> Design:
    """Return the design of a machine file (name in models/machines, or path) that describes a whole machine."""
    file = load_machine(name)
    dress = None if file.touching is None else touched
    machine, faults = Design(file.name, Parameters(file), build, dress=dress), Faults()
    with faults.one():
        machine.machine()  # building it now reports the file's faults when it is loaded
    faults.tell(Path(name).name)
    return machine


def _made_by(module: str, name: str) -> Design:
    """Import a module and return the result of its function of the design's name."""
    design: Design = getattr(import_module(module), name)()
    return design


DESIGNS: dict[str, Callable[[], Design]] = {
    name: partial(described, name) if entry.module is None else partial(_made_by, entry.module, name)
    for name, entry in LISTED.items()
}

# designs that simulate a paper's Petri net: test oracles for the listed designs, with the same machine files
NETS: dict[str, Callable[[], Design]] = {
    "ixp2400_net": partial(_made_by, "npexplore.designs.ixp2400.nets", "ixp2400_net"),
    "ixp2400_dram_net": partial(_made_by, "npexplore.designs.ixp2400.nets", "ixp2400_dram_net"),
}

_standing_in: ContextVar[Mapping[str, Design]] = ContextVar("machines", default=MappingProxyType({}))


def design_names() -> list[str]:
    """Return the names of the listed designs.

    Example:
        >>> import npexplore as npx
        >>> npx.design_names()[:3]
        ['ixp2400', 'ixp2400_dram', 'ixp1200']
    """
    return list(DESIGNS)


def known_designs() -> list[str]:
    """Return the names that `design` knows: the listed designs, and those set by `with_machines`."""
    return list(dict.fromkeys([*DESIGNS, *NETS, *_standing_in.get()]))


def own_names() -> dict[str, str]:
    """Return machine name -> replaced name, for machines set by `with_machines` whose own name is not a known one."""
    stand_ins = {machine.name: name for name, machine in _standing_in.get().items() if machine.name != name}
    return {machine_name: name for machine_name, name in stand_ins.items() if machine_name not in known_designs()}


@contextmanager
def with_machines(machines: Mapping[str, Design]) -> Iterator[None]:
    """Inside the block, let `design` return these machines by name, so that studies, which take names, use them."""
    before = _standing_in.set({**_standing_in.get(), **machines})
    forget()
    try:
        yield
    finally:
        _standing_in.reset(before)
        forget()


def base_of(design: Design) -> str:
    """Return the name of the listed design that a machine extends; the machine's own name if it extends none."""
    file = design.parameters.file
    return next((name for name in (file.name, file.extends) if name in DESIGNS), design.name)


def design(name_or_path: DesignLike) -> Design:
    """Return a listed design by its name, or the design that a file, a function or a machine describes.

    Args:
        name_or_path: a listed name (`design_names`), the path of a TOML or Python file, a `Machine`, or a function
            that returns one: its arguments with defaults become knobs (docs/machine_files.md). A TOML file describes
            a whole machine (docs/machine_files.md), or changes the listed design that it `extends`, or is a Petri net
            with a table [measure] (docs/petri.md). A Python file defines `design`: a `Design`, a `Machine`, or a
            function that returns one.

    Raises:
        UnknownNameError: the text is neither a listed name nor a file.
        InputError: the file does not describe a machine.

    Example:
        >>> import npexplore as npx
        >>> machine = npx.design("ixp2400").with_(banks=2)
        >>> print(machine.bounds(npx.workload(packet_bytes=64)))
        bounds: 2.133 Gb/s (padded cells), 4.167 Mpps, bottleneck dram.bank
    """
    if not isinstance(name_or_path, str | Path):
        from npexplore.designs.python_machines import of_object

        described_design = of_object(name_or_path, "design()")
        return described_design if described_design is name_or_path else _loaded(described_design)
    path = Path(name_or_path)
    if path.suffix == ".py":
        from npexplore.designs.python_machines import of_file

        return _loaded(of_file(path))
    listed = {**DESIGNS, **NETS}
    if path.suffix == ".toml" and (path.exists() or path.stem not in listed):
        return _of_toml(path)
    if str(name_or_path) in _standing_in.get():
        return _standing_in.get()[str(name_or_path)]
    if str(name_or_path) not in listed:
        if path.exists():
            what = "a folder" if path.is_dir() else "no machine: the name of its file must end in .toml or .py"
            raise InputError(f"{path} is {what}")
        if path.suffix or len(path.parts) > 1:  # probably a path
            beside = [str(file) for file in (*path.parent.glob("*.toml"), *path.parent.glob("*.py"))]
            raise UnknownNameError("design or TOML file", str(name_or_path), [*beside, *listed])
        raise UnknownNameError("design", str(name_or_path), listed)
    return listed[str(name_or_path)]()


def _loaded(design: Design) -> Design:
    """Return a user's design; raises ModelError if its programs never free its receive buffer."""
    try:
        machine = design.with_().machine()
    except NpexploreError:  # reported when the design is solved
        return design
    machine.check_freed()
    return design


def _of_toml(path: Path) -> Design:
    if is_net_file(path):
        from npexplore.designs.nets import net_design

        return net_design(path)
    file = load_machine(path, behind=_behind_a_net)
    if file.pool:
        return _loaded(described(path))
    net = _net_extended(path)
    if net is not None:
        return replace(net, name=file.name, parameters=Parameters(file))
    base = file.extends or file.name
    if base not in DESIGNS:
        raise UnknownNameError(f"{path.name}: design", base, DESIGNS)
    return replace(DESIGNS[base](), name=file.name, parameters=Parameters(file))


def _net_extended(path: Path) -> Design | None:
    """Return the design of the net that a file extends, directly or through other files; None if it extends no net."""
    base = extended(path)
    if base in NETS:
        return NETS[base]()
    beside = path.parent / base
    if not base.endswith(".toml"):
        return None
    return _of_toml(beside) if is_net_file(beside) else _net_extended(beside)


def _behind_a_net(wanted: str) -> MachineFile | None:
    """Return the machine file of a net by the net's name or path; None if it is not a net."""
    net = NETS[wanted]() if wanted in NETS else _of_toml(Path(wanted)) if is_net_file(Path(wanted)) else None
    return None if net is None else net.parameters.file
