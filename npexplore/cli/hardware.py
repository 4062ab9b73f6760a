"""`npexplore hardware`: a step program as Verilog, verified packet by packet (docs/hardware.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from difflib import get_close_matches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.options import apply_settings, set_option, split_settings
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError, NpexploreError, one_of
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.hardware.described import StepHardware

BUILT = ("threads", "flow_counting", "source_lookup", "lookup_cycles", "core_mhz", "scheduler", "lut_structures")
AROUND = (  # knobs of the parts around engines, which a single engine does not have
    "engines", "clusters", "lookup_delay", "balancing", "local_arbiter", "global_arbiter", "reorder", "reorder_places",
    "fifo_packets", "lanes", "memory", "memories", "channels", "internal_channels", "qdr_mhz", "qdriiplus_mops",
    "when_full", "ipv6_delay_ratio",
)  # fmt: skip
SHOWN = ("files", "first", "ends", "passed")  # shown elsewhere in the text
PROGRAMS = ("ipv4", "ipv6", "ipv4+ipv6", "mpls", "ipv4+ipv6+mpls")


@click.command("hardware")
@click.argument("design")
@set_option(several=False)
@click.option("--program", metavar="NAME", help=f"Program of gorilla: {', '.join(PROGRAMS)}; default ipv4.")
@click.option(
    "--lookups",
    default="ideal",
    show_default=True,
    type=click.Choice(["ideal", "trie"]),
    help="How a cluster's test bench looks up: comparing prefixes, or tries in memory channels.",
)
@click.option(
    "--accelerators",
    default="inside",
    show_default=True,
    type=click.Choice(["inside", "bench"]),
    help="Where a cluster's label table and flow counters are: in the design, or played by the test bench.",
)
@click.option("--frames", is_flag=True, help="Whole frames in and out of a cluster: bodies split off and joined again.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="The folder to write.")
@click.option("--verify", metavar="N", type=click.IntRange(1, 60_000), help="Simulate N packets (iverilog, verilator).")
@json_option
def command(
    design: str, settings: tuple[str, ...], program: str | None, lookups: str, accelerators: str, frames: bool,
    out: Path, verify: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Write DESIGN as Verilog 2005 with a test bench and a README of its ports.

    DESIGN is gorilla, or a Python file of your own that defines `hardware`: a StepHardware (docs/hardware.md). One
    engine; with --set engines=E a cluster of them, with --set clusters=C (gorilla) a whole processor.
    """
    if design.endswith(".py"):
        _shown(_own(Path(design), settings, program, out, verify), as_json)
        return
    from npexplore.designs import design as design_of
    from npexplore.designs.gorilla.hardware import EngineFiles, rated_and_hostile
    from npexplore.designs.gorilla.hardware_cases import ends, reasons_of
    from npexplore.designs.gorilla.system import INSIDE, SystemFiles
    from npexplore.designs.gorilla.traffic import router_tables
    from npexplore.designs.gorilla.whole import FrameFiles
    from npexplore.hardware.simulators import simulator
    from npexplore.reads import reading
    from npexplore.study.checking.labels import unprinted

    if design != "gorilla":
        raise InputError(
            "hardware can only be written for a design with a step program (gorilla), or a Python file of your own "
            f"that defines one, got {design!r}"
        )
    protocols = one_of("program", program or PROGRAMS[0], PROGRAMS).split("+")
    values_by_knob = split_settings(settings)
    alone = not {"engines", "clusters"} & set(values_by_knob)
    _check_options(values_by_knob, alone, lookups, accelerators, frames)
    if verify:
        simulator(verify)
    engine_files: EngineFiles
    with reading() as reads:
        parameters = apply_settings(design_of("gorilla"), settings).parameters
        clock_mhz, counting = float(parameters.core_mhz), parameters.flow_counting == "on"
        looks_up_source = parameters.source_lookup == "always" or (
            parameters.source_lookup == "with_counting" and counting
        )
        tables = router_tables("deep", looks_up_source, pipes=True)
        if alone:
            threads, cycles = int(parameters.threads), round(parameters.lookup_cycles)
            engine_files = EngineFiles(
                tables, protocols, counting, threads, cycles, str(parameters.scheduler), str(parameters.lut_structures)
            )
        else:
            inside, clusters = INSIDE if accelerators == "inside" else (), None if "clusters" in values_by_knob else 1
            if frames:
                engine_files = FrameFiles(parameters, tables, protocols, clusters, lookups)
            else:
                engine_files = SystemFiles(parameters, tables, protocols, clusters, lookups, inside)
        files = engine_files.write(out)
    document: dict[str, Any] = {"files": [str(file) for file in files]}
    if verify:
        rated, hostile = rated_and_hostile(engine_files.box, protocols, verify)
        with Task("simulating the hardware"):
            outcome = engine_files.verify(out, hostile, rated)
        can = {reason.name for reason in reasons_of(engine_files.program, protocols)}
        reached = ends(engine_files.box, protocols, [*rated, *hostile], counting)
        document |= {
            **asdict(outcome), "rate_mpps": clock_mhz / outcome.cycles_per_packet, "solver": "rtl",
            "label": unprinted(reads), "ends": dict(reached), "unreached": sorted(can - set(reached)),
        }  # fmt: skip
    _shown(document, as_json)


def _shown(document: dict[str, Any], as_json: bool) -> None:
    """Print the files written and the results; raises InputError for a difference."""
    emit(document, lambda: _document_text(document), as_json=as_json)
    if document.get("differences"):
        raise InputError(f"hardware and step program differ: {document['first']}")


def _document_text(document: dict[str, Any]) -> str:
    files = "\n".join(f"wrote {file}" for file in document["files"])
    values = {
        **document,
        **document.get("ends", {}),
        **document.get("passed", {}),
        "unreached": ", ".join(document.get("unreached", ())) or "none",
    }
    rows = [{"what": key, "value": value} for key, value in values.items() if key not in SHOWN]
    return f"{files}\n\n{table(rows)}" if rows else files


def _own(
    file: Path, settings: tuple[str, ...], program: str | None, out: Path, verify: int | None
) -> dict[str, Any]:  # fmt: skip
    """Write a user's step program as hardware; return the files written and the results of their verification."""
    from npexplore.hardware.program_files import ProgramFiles, knobs_of
    from npexplore.hardware.simulators import simulator

    if program is not None:
        raise InputError(f"--program is of gorilla; a file of your own is one program, got {program!r}")
    hardware = _hardware_of(file)
    values_by_knob = split_settings(settings)
    several = [name for name, values in values_by_knob.items() if len(values) > 1]
    if several:
        raise InputError(f"{several[0]} needs one value, got {', '.join(values_by_knob[several[0]])}")
    program_files = ProgramFiles(hardware, knobs_of({name: values[0] for name, values in values_by_knob.items()}))
    if verify:
        simulator(verify)
    document: dict[str, Any] = {"files": [str(path) for path in program_files.write(out)]}
    if verify:
        cases = hardware.tried(verify)
        with Task("simulating the hardware"):
            outcome = program_files.verify(out, cases)
        passed = Counter(substep.name for case in cases for substep in hardware.run(case).passed)
        never = [substep.name for substep in hardware.compiled.substeps() if substep.name not in passed]
        document |= {**asdict(outcome), "passed": dict(passed), "unreached": never}
    return document


def _hardware_of(file: Path) -> StepHardware:
    """Return the StepHardware that a Python file defines as `hardware`."""
    from npexplore.hardware.described import StepHardware

    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.exists():
        raise InputError(f"{file}: no such Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except NpexploreError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{file}: {type(error).__name__}: {error}") from error
    hardware = getattr(module, "hardware", None)
    if not isinstance(hardware, StepHardware):
        got = "nothing of that name" if hardware is None else type(hardware).__name__
        raise InputError(f"{file}: hardware must be a StepHardware, got {got}")
    return hardware


def _check_options(knobs: Iterable[str], alone: bool, lookups: str, accelerators: str, frames: bool) -> None:
    """Raise InputError for knobs and options that a single engine (`alone`) or a cluster does not take."""
    for name in knobs:
        if name not in (*BUILT, *AROUND):
            nearest = get_close_matches(name, (*BUILT, *AROUND), 3)
            meant = f" (nearest: {', '.join(nearest)})" if nearest else ""
            raise InputError(f"{name} is not a knob of hardware{meant}; those are {', '.join((*BUILT, *AROUND))}")
        if alone and name not in BUILT:
            raise InputError(
                f"{name} is not a knob of a single engine's hardware; those are {', '.join(BUILT)}; "
                "with --set engines=E it is a cluster"
            )
    if alone and lookups != "ideal":
        raise InputError("--lookups trie is of clusters; with --set engines=E it is one")
    if alone and frames:
        raise InputError("--frames is of clusters; with --set engines=E it is one")
    if frames and accelerators == "bench":
        raise InputError("--frames has the accelerators inside; --accelerators bench is without it")
