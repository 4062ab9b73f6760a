"""Reads a net from a TOML file, or from the same tables in Python: constants, indexes, places, lines of transitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import FaultsError, InputError, one_of, told_at
from npexplore.machine.machine_files import load_machine
from npexplore.machine.parameters import Parameters
from npexplore.machine.petri.parts import with_parts
from npexplore.machine.petri.pnml import read_pnml
from npexplore.machine.petri.tables import NetFile
from npexplore.machine.petri.unfold import unfold
from npexplore.machine.petri.unfolded import Net, Timing
from npexplore.machine.resources.dram_timing import DramTiming, dram_parts
from npexplore.paths import input_content, named_file
from npexplore.strict_input import ignore_keys
from npexplore.toml import convert, parsed


def load_net(
    path: str | Path,
    constants: Mapping[str, float] | None = None,
    parameters: Parameters | None = None,
    left_out: Collection[str] = (),
) -> Net:
    """Return a net from a file.

    path: a name of models/nets, or a file in TOML or PNML. constants: new values for some of its constants, by name.
    parameters: used instead of those of the machine that the net names. left_out: names of parts of the file that the
    user chooses to ignore.
    Raises InputError with file, place, rule and value.
    """
    file = Path(path)
    if file.suffix == ".pnml":
        if constants:
            raise InputError(f"{path}: a PNML file has no constants, got {', '.join(constants)}")
        return read_pnml(file, left_out)
    read, file = read_net_file(path, left_out=left_out)
    return _unfolded(read, constants or {}, file.name, read.name or file.stem, parameters)


def read_net_file(
    path: str | Path, inside: tuple[Path, ...] = (), left_out: Collection[str] = ()
) -> tuple[NetFile, Path]:
    """Return the tables of a net by name (models/nets) or path, with its parts inserted, and the file.

    inside: the files of the enclosing nets.
    """
    file = named_file("net", path, "models", "nets")
    read: NetFile = convert(ignore_keys(parsed(input_content(file), file), left_out, file.name), NetFile, file)
    around = (*inside, file.resolve())
    if file.resolve() in inside:
        raise InputError(f"net {path} is a part of itself")
    with told_at(file.name):
        return with_parts(read, file.parent, partial(read_net_file, inside=around)), file


def net(
    *,
    timing: Timing,
    place: Mapping[str, Any],
    transition: Mapping[str, str],
    name: str = "net",
    constant: Mapping[str, float | str] | None = None,
    index: Mapping[str, int | str] | None = None,
    token: Mapping[str, Mapping[str, int | str]] | None = None,
    measure: Mapping[str, str] | None = None,
    utilization: Mapping[str, str] | None = None,
    feed: Mapping[str, float | str] | None = None,
    part: Mapping[str, Mapping[str, Any]] | None = None,
) -> Net:
    """Return a net from the tables of a TOML file, given as mappings with the same keys and strings (docs/petri.md).

    Args:
        timing: "duration" or "race", for all transitions.
        place: name -> tokens at the start, a formula of them, or the table of a place.
        transition: name -> its line, `take -> give` with its time and conditions.
        name: the net's name in errors.
        constant: name -> number, or a formula of other constants.
        index: name -> its number of values, or another index of the same colour.
        token: type of tokens that carry data -> its fields, each an index, a number of values, or "number".
        measure: results to report: key -> formula of throughputs and tokens.
        utilization: resource -> formula of its busy share.
        feed: column of a workload -> its value without a workload.
        part: name -> the inner net, with its constants and joined places.

    Raises InputError like `load_net`.
    """
    tables = {
        "timing": timing, "place": dict(place), "transition": dict(transition), "name": name,
        "constant": dict(constant or {}), "index": dict(index or {}),
        "measure": dict(measure or {}), "utilization": dict(utilization or {}), "feed": dict(feed or {}),
        "part": dict(part or {}), "token": {key: dict(fields) for key, fields in (token or {}).items()},
    }  # fmt: skip
    read: NetFile = convert(tables, NetFile, Path(name))
    with told_at(name):
        read = with_parts(read, Path(), read_net_file)
    return _unfolded(read, {}, name, name)


def net_schema() -> dict[str, Any]:
    """Return the JSON Schema of a net file."""
    return msgspec.json.schema(NetFile)


def _unfolded(
    read: NetFile, constants: Mapping[str, float], subject: str, name: str, parameters: Parameters | None = None
) -> Net:
    try:
        if read.machine and parameters is None:
            parameters = Parameters(load_machine(read.machine))
        machine: dict[str, Any] = {} if parameters is None else {"p": parameters}
        if parameters is not None and "dram_part" in parameters.file.parameter:
            machine["t"] = DramTiming.of(dram_parts()[parameters.dram_part])
        for key in constants:
            one_of("constant", key, read.constant)
        return unfold(name, read, {**read.constant, **constants}, machine)
    except FaultsError as error:
        raise FaultsError(f"{subject}: {fault}" for fault in error.faults) from None
    except InputError as error:
        raise InputError(f"{subject}: {error}") from None
