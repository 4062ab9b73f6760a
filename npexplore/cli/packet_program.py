"""`npexplore program run`, `paths`, `list`: an eBPF/XDP program on the packets of a capture (docs/programs.md).

Exit status 0; 3 for a damaged capture, whose good packets are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from npexplore.cli.options import router_option, warn_of_cut
from npexplore.cli.output import bytes_read, emit, facts, json_option, table, warn
from npexplore.errors import InputError
from npexplore.units import quantity

if TYPE_CHECKING:
    from npexplore.programs import ProgramRun
    from npexplore.programs.running import Batch

DAMAGED = 3
SHOWN = 20  # printed paths and lines
FOLDER = click.Path(file_okay=False, path_type=Path)
F = TypeVar("F", bound=Callable[..., Any])


def _options(function: F) -> F:
    """Give a command the options of a run."""
    options = (
        click.argument("file", metavar="FILE.o"),
        click.option("--section", metavar="NAME", help="The program or its section, where FILE.o has several."),
        click.option("--trace", "trace", metavar="FILE", required=True, help="The packets: a capture; - is stdin."),
        click.option("--map", "maps", metavar="NAME=FILE", multiple=True, help="Initial contents of a map."),
        router_option,
        click.option("--out", metavar="DIR", type=FOLDER, help="Write results here."),
        click.option("--seed", type=int, default=1, show_default=True, help="Seed of get_prandom_u32."),
        click.option(
            "--limit", type=click.IntRange(min=1), default=1_000_000, show_default=True,
            help="Largest number of instructions for one packet; more is a fault.",
        ),
        click.option("--memory", metavar="SIZE", default="1GB", show_default=True, help="Limit for maps and paths."),
        json_option,
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@click.command("run")
@_options
def run_command(file: str, trace: str, out: Path | None, as_json: bool, **options: Any) -> int:
    """Run the program of an eBPF object on every packet: verdicts, faults, work.

    With --out: a capture for each verdict, packets.parquet (one row a packet), maps before and after, lines.html.
    """
    from npexplore.programs.outputs import VerdictCaptures, write_tables

    if out is None:
        run = _run(file, trace, None, **options)
        files: dict[str, Any] = {}
    else:
        with VerdictCaptures(out, trace) as captures:
            run = _run(file, trace, captures.take, **options)
        files = {f"packets with verdict {name}": path for name, path in captures.files.items()} | write_tables(run, out)
    document = run.to_dict() | {"lines": run.lines(), "files": {name: str(path) for name, path in files.items()}}
    emit(document, lambda: _text(run), as_json=as_json)
    return _end(run, trace)


@click.command("paths")
@_options
def paths_command(file: str, trace: str, out: Path | None, as_json: bool, **options: Any) -> int:
    """Group the packets by what the program did: the branches taken, and the work of each group.

    With --out: paths.pcap, the first packet of each path.
    """
    run = _run(file, trace, None, **options)
    document: dict[str, Any] = {"program": run.program.name, "packets": len(run), "paths": run.paths, "examples": None}
    if out is not None:
        from npexplore.programs.outputs import write_examples

        if trace == "-":
            raise InputError("--out reads the packets twice, which standard input cannot give; name a file")
        out.mkdir(parents=True, exist_ok=True)
        document["examples"] = str(out / "paths.pcap")
        write_examples(run, trace, out / "paths.pcap")
    emit(document, lambda: _paths(run), as_json=as_json)
    return _end(run, trace)


@click.command("list")
@click.argument("file", metavar="FILE.o")
@click.option("--section", metavar="NAME", help="The program or its section, where FILE.o has several.")
@json_option
def list_command(file: str, section: str | None, as_json: bool) -> None:
    """List the programs of an eBPF object with their maps and helpers; says what cannot run."""
    from npexplore.programs.elf import program_names
    from npexplore.programs.loading import program

    names = [section] if section or not file.endswith(".o") else program_names(file)
    rows = [program(file, name).to_dict() for name in names]

    def text() -> str:
        return table([row | {"maps": [map_row["name"] for map_row in row["maps"]]} for row in rows], LISTED)

    emit({"programs": rows}, text, as_json=as_json)


LISTED = {"program": "program", "instructions": "instructions", "helpers": "helpers", "maps": "maps"}


def _run(
    file: str, trace: str, take: Callable[[Batch], None] | None, *, section: str | None, maps: Iterable[str], seed: int,
    limit: int, memory: str, router: str | None,
) -> ProgramRun:  # fmt: skip
    from npexplore.packets.files import open_captures
    from npexplore.programs.loading import program
    from npexplore.programs.map_files import read_named_maps

    loaded = program(file, section)
    memory_bytes = int(quantity("--memory", memory, "bytes"))
    contents = read_named_maps(loaded, maps)
    fib = None
    if router is not None:
        from npexplore.testing import forwarding_tables

        fib = forwarding_tables(router)
    scan = open_captures(trace)
    return loaded.run(
        scan, maps=contents, seed=seed, instruction_limit=limit, take=take, wrap=bytes_read(scan, "run"),
        memory_bytes=memory_bytes, fib=fib,
    )  # fmt: skip


def _text(run: ProgramRun) -> str:
    document = run.to_dict()
    values = {
        "program": run.program.name, "packets": len(run), **run.verdicts,
        "instructions": document["instructions"], "paths": len(document["paths"]),
    }  # fmt: skip
    faults = "".join(
        f"\n{fault['packets']:,} packets fault, the first is {fault['example']}: {fault['fault']}"
        for fault in run.faults
    )
    lines = table([line | {"share": f"{100 * line['share']:.1f} %"} for line in run.lines()[:SHOWN]], ("share", "line"))
    return f"{facts(values)}{faults}\n\n{_paths(run)}\n\n{lines}"


def _paths(run: ProgramRun) -> str:
    paths = run.paths
    columns = ("path", "packets", "verdict", "instructions", "branches_taken", "classes", "helpers", "example")
    remaining = f"\n{len(paths) - SHOWN:,} more paths" if len(paths) > SHOWN else ""
    return table(paths[:SHOWN], columns) + remaining


def _end(run: ProgramRun, trace: str) -> int:
    warn_of_cut(run, trace)
    if run.damage is None:
        return 0
    warn(f"{trace}: {run.damage}; the {len(run):,} packets before it are run")
    return DAMAGED
