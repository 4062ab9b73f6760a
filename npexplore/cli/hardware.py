"""`npexplore hardware`: an engine's step program as Verilog, verified packet by packet (docs/hardware.md)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from npexplore.cli.options import apply_settings, set_option, split_settings
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError, one_of

BUILT = ("threads", "flow_counting", "source_lookup", "lookup_cycles", "core_mhz")
PROGRAMS = ("ipv4", "ipv6", "ipv4+ipv6", "mpls")


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
    """Write one engine of DESIGN (gorilla) as Verilog 2005 with a test bench and a README of its ports."""
    from npexplore.designs import design as design_of
    from npexplore.designs.gorilla.hardware import EngineFiles, rated_and_hostile
    from npexplore.designs.gorilla.traffic import box
    from npexplore.hardware.simulators import simulator

    if design != "gorilla":
        raise InputError(f"hardware is written for designs with a step program: gorilla; got {design!r}")
    protocols = one_of("program", program, PROGRAMS).split("+")
    for name in split_settings(settings):
        if name not in BUILT:
            raise InputError(f"hardware is one engine, which {name} is no part of; it takes {', '.join(BUILT)}")
    p = apply_settings(design_of("gorilla"), settings).parameters
    if verify:
        simulator(verify)
    counting = p.flow_counting == "on"
    both = p.source_lookup == "always" or (p.source_lookup == "with_counting" and counting)
    made = EngineFiles(box("deep", both), protocols, counting, int(p.threads), int(p.lookup_cycles))
    files = made.write(out)
    document: dict[str, Any] = {"files": [str(file) for file in files]}
    if verify:
        rated, hostile = rated_and_hostile(made.box, protocols, verify)
        found = made.verify(out, hostile, rated)
        rate = float(p.core_mhz) / found.cycles_per_packet
        document |= {**asdict(found), "rate_mpps": rate}
    emit(document, lambda: _told(document), as_json=as_json)
    if document.get("differences"):
        raise InputError(f"hardware and step program differ: {document['first']}")


def _told(document: dict[str, Any]) -> str:
    files = "\n".join(f"wrote {file}" for file in document["files"])
    rows = [{"what": key, "value": value} for key, value in document.items() if key not in ("files", "first")]
    return f"{files}\n\n{table(rows)}" if rows else files
