"""`npexplore hardware`: a step program as Verilog, verified packet by packet (docs/hardware.md)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from npexplore.cli.options import apply_settings, set_option, split_settings
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError, one_of

BUILT = ("threads", "flow_counting", "source_lookup", "lookup_cycles", "core_mhz", "scheduler", "lut_structures")
AROUND = (  # engines; what an engine alone has no use for
    "engines", "clusters", "lookup_delay", "balancing", "local_arbiter", "global_arbiter", "reorder", "reorder_places",
    "fifo_packets", "lanes", "memory", "memories", "channels", "internal_channels", "qdr_mhz", "qdriiplus_mops",
    "when_full", "ipv6_delay_ratio",
)  # fmt: skip
PROGRAMS = ("ipv4", "ipv6", "ipv4+ipv6", "mpls", "ipv4+ipv6+mpls")


@click.command("hardware")
@click.argument("design")
@set_option(several=False)
@click.option("--program", default="ipv4", show_default=True, metavar="NAME", help=f"One of {', '.join(PROGRAMS)}.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="The folder to write.")
@click.option("--verify", metavar="N", type=click.IntRange(1, 60_000), help="Simulate N packets (iverilog, verilator).")
@json_option
def command(
    design: str, settings: tuple[str, ...], program: str, out: Path, verify: int | None, as_json: bool
) -> None:  # fmt: skip
    """Write DESIGN (gorilla) as Verilog 2005 with a test bench and a README of its ports.

    One engine; with --set engines=E a cluster of them, with --set clusters=C a whole processor.
    """
    from npexplore.designs import design as design_of
    from npexplore.designs.gorilla.hardware import EngineFiles, rated_and_hostile
    from npexplore.designs.gorilla.hardware_cases import ends, reasons_of
    from npexplore.designs.gorilla.processor import ProcessorFiles
    from npexplore.designs.gorilla.traffic import box
    from npexplore.hardware.simulators import simulator

    if design != "gorilla":
        raise InputError(f"hardware can only be written for a design with a step program (gorilla), got {design!r}")
    protocols = one_of("program", program, PROGRAMS).split("+")
    given = split_settings(settings)
    alone = not {"engines", "clusters"} & set(given)
    for name in given:
        if name not in (*BUILT, *AROUND):
            raise InputError(f"{name} is not a knob of hardware; those are {', '.join((*BUILT, *AROUND))}")
        if alone and name not in BUILT:
            raise InputError(
                f"{name} is not a knob of a single engine's hardware; those are {', '.join(BUILT)}; "
                "with --set engines=E it is a cluster"
            )
    p = apply_settings(design_of("gorilla"), settings).parameters
    if verify:
        simulator(verify)
    counting = p.flow_counting == "on"
    both = p.source_lookup == "always" or (p.source_lookup == "with_counting" and counting)
    made: EngineFiles
    if alone:
        threads, cycles = int(p.threads), round(p.lookup_cycles)
        made = EngineFiles(
            box("deep", both), protocols, counting, threads, cycles, str(p.scheduler), str(p.lut_structures)
        )
    else:
        made = ProcessorFiles(p, box("deep", both), protocols, None if "clusters" in given else 1)
    files = made.write(out)
    document: dict[str, Any] = {"files": [str(file) for file in files]}
    if verify:
        rated, hostile = rated_and_hostile(made.box, protocols, verify)
        found = made.verify(out, hostile, rated)
        rate = float(p.core_mhz) / found.cycles_per_packet
        can = {reason.name for reason in reasons_of(made.program, protocols)}
        reached = ends(made.box, protocols, [*rated, *hostile], counting)
        document |= {**asdict(found), "rate_mpps": rate, "ends": dict(reached), "unreached": sorted(can - set(reached))}
    emit(document, lambda: _told(document), as_json=as_json)
    if document.get("differences"):
        raise InputError(f"hardware and step program differ: {document['first']}")


def _told(document: dict[str, Any]) -> str:
    files = "\n".join(f"wrote {file}" for file in document["files"])
    shown = {**document, **document.get("ends", {}), "unreached": ", ".join(document.get("unreached", ())) or "none"}
    rows = [{"what": key, "value": value} for key, value in shown.items() if key not in ("files", "first", "ends")]
    return f"{files}\n\n{table(rows)}" if rows else files
