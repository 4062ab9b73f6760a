"""`npexplore new NAME`: write a new machine and its test from models/template."""

from __future__ import annotations

import re
import sys
from importlib.metadata import packages_distributions
from keyword import iskeyword
from pathlib import Path

import click

from npexplore.cli.files import write_texts
from npexplore.cli.output import emit, json_option
from npexplore.errors import InputError, one_of

PLACEHOLDER = "my_machine"
NAME = re.compile(r"[a-z][a-z0-9_]*")


@click.command("new")
@click.argument("name")
@click.option(
    "--python", "in_python", is_flag=True, help="Write what a packet does as a Python function beside the TOML."
)
@click.option(
    "--template",
    "kind",
    metavar="KIND",
    help="Write a machine of a kind that answers at once: dpu, switch, fpga, multicore, chiplet or ixp; or one of "
    "today by its data sheet: bluefield3, octeon10, mount_morgan, alveo_u55c or tofino.",
)
@click.option("--ledger", "of", metavar="DESIGN", help="A CSV for your own measurements of DESIGN instead (NAME.csv).")
@click.option("--folder", metavar="DIR", default=".", show_default=True, help="Folder to write to; created if missing.")
@json_option
def command(
    name: str, in_python: bool, kind: str | None, of: str | None, folder: str, as_json: bool
) -> None:  # fmt: skip
    """Start a machine of your own: NAME.toml (with --python also NAME.py) and its test, ready to run.

    Nothing that exists is overwritten.
    """
    if of is not None:
        _begin_ledger(name, of, Path(folder), as_json)
        return
    if kind is not None:
        if in_python:
            raise InputError("--template writes TOML alone; leave --python out")
        machine = write_kind(name, kind, Path(folder))
        message = f"wrote {machine}\nnext:\n  npexplore explain {machine} --frame-bytes 64"
        emit({"files": [str(machine)], "design": str(machine)}, message, as_json=as_json)
        return
    written = write(name, Path(folder), in_python=in_python)
    machine = next(path for path in written if path.suffix == (".py" if in_python else ".toml"))

    def lines() -> str:
        files = "\n".join(f"wrote {path}" for path in written)
        return (
            f"{files}\nnext:\n  npexplore explain {machine} --packet-bytes 64\n"
            f"  python -m pytest {next(path for path in written if path.name.startswith('test_'))}"
        )

    emit({"files": [str(path) for path in written], "design": str(machine)}, lines, as_json=as_json)


def _begin_ledger(name: str, of: str, folder: Path, as_json: bool) -> None:
    """Write a CSV for measurements (design points, values, intervals, roles) with one example line, our bound."""
    from npexplore.designs import design
    from npexplore.machine.workload_sources import workload

    machine, path = design(of), folder / f"{name}.csv"
    _check_name("ledger", name)
    _refuse_existing(path)
    mix = "" if machine.own is not None else "64 bytes"
    bound = machine.bounds(workload(mix=mix) if mix else None).throughput_bps / 1e6
    lines = [
        "design,mix,quantity,value,unit,lo,hi,role,where",
        f"{machine.name},{mix},throughput,{bound:.4g},Mb/s,{0.8 * bound:.4g},{bound:.4g},check,bound",
    ]
    write_texts(folder, {path: "\n".join(lines) + "\n"})
    check = f"npexplore check --design {of} --results {path}"
    text = f"wrote {path}: its line is a bound, no measurement; replace it, and add knobs as columns\nnext:\n  {check}"
    emit({"files": [str(path)], "design": of}, text, as_json=as_json)


def write_kind(name: str, kind: str, folder: Path) -> Path:
    """Write a machine of a kind and return its path; InputError and UnknownNameError are raised before writing."""
    from npexplore.paths import share, stems

    folders = "models", "template", "machines"
    text = (share(*folders) / f"{one_of('template', kind, stems(*folders))}.toml").read_text(encoding="utf-8")
    _check_name("machine", name)
    path = folder / f"{name}.toml"
    _refuse_existing(path)
    write_texts(folder, {path: text.replace(PLACEHOLDER, name)})
    return path


def write(name: str, folder: Path, *, in_python: bool = False) -> list[Path]:
    """Write the files of a new machine and return their paths; InputError is raised before writing."""
    from npexplore.paths import PACKAGE, share

    _check_name("machine", name)
    used_names = {PACKAGE.name, *sys.stdlib_module_names, *packages_distributions()} if in_python else set()
    if name in used_names or (in_python and iskeyword(name)):
        raise InputError(f"{name}.py would hide what Python calls {name!r}; choose another name")
    template = share("models", "template")
    kind = "python" if in_python else "toml"
    sources = [*sorted((template / kind).glob(f"{PLACEHOLDER}.*")), template / f"test_{PLACEHOLDER}.py"]
    texts = {folder / source.name.replace(PLACEHOLDER, name): source.read_text(encoding="utf-8") for source in sources}
    if in_python:
        test = folder / f"test_{name}.py"
        texts[test] = texts[test].replace(f"{PLACEHOLDER}.toml", f"{PLACEHOLDER}.py")
    _refuse_existing(*texts)
    write_texts(folder, {path: text.replace(PLACEHOLDER, name) for path, text in texts.items()})
    return list(texts)


def _check_name(kind: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"the name of a {kind} must be a-z, then a-z, 0-9 or _, got {name!r}")


def _refuse_existing(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists; choose another name or --folder")
