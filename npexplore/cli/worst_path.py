"""`npexplore program worst`: find the packets on which a program is slowest, and the rate of a machine with them.

The JSON document: `program, design, made, rate_pps, verdict, seen, packet` (hexadecimal) of the slowest packet,
`bottleneck`, `file`, and `verdicts[{verdict, program_cycles, rate_pps, seen}]`, the slowest of each verdict.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from npexplore.cli.options import apply_settings, costs_option, map_option, router_option, section_option, set_option
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError, RefusedError

REPEATED = 64  # copies of the packet for the rate, until the maps are in their steady state
GAP_NS = 1000


@click.command("worst")
@click.argument("file", metavar="FILE.o")
@section_option
@click.option("--trace", metavar="FILE", required=True, help="The packets to begin with: a capture.")
@map_option
@costs_option
@router_option
@click.option("--on", "machine", metavar="DESIGN", default="server", show_default=True)
@set_option(several=False)
@click.option(
    "--made", "tries", default=100_000, show_default=True, type=click.IntRange(min=0), help="Packets to make and try."
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the search.")
@click.option("--out", metavar="FILE.pcap", type=click.Path(dir_okay=False, path_type=Path), help="Write the packet.")
@json_option
def command(
    file: str, section: str | None, trace: str, maps: tuple[str, ...], costs: str | None, router: str | None,
    machine: str, settings: tuple[str, ...], tries: int, seed: int, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Search for the packet on which a program is slowest, as an attacker would, and give the packet rate.

    The search starts from the packets of a capture and changes them until they take other paths.
    """
    from npexplore.designs import design
    from npexplore.packets.frames import read_frames, write_frames
    from npexplore.programs import read_costs
    from npexplore.programs.loading import program
    from npexplore.programs.map_files import read_named_maps
    from npexplore.programs.worst import slowest
    from npexplore.testing import forwarding_tables

    base, loaded = apply_settings(design(machine), settings), program(file, section)
    if base.runs is None:
        raise RefusedError(f"design {base.name} runs no packet programs; server and nfp4000 do")
    contents, prices = read_named_maps(loaded, maps), read_costs(costs or base.costs)
    fib = forwarding_tables(router) if router is not None else None
    slow = slowest(
        loaded, [frame for _, frame in read_frames(trace)], prices, maps=contents, generated=tries, seed=seed, fib=fib
    )  # fmt: skip
    if not slow:
        raise InputError(f"{trace}: the program faults on every packet")
    rows, answers = [], []
    with TemporaryDirectory() as folder:
        for slow_packet in slow:
            path = Path(folder) / f"{slow_packet.verdict}.pcap"
            write_frames(path, [slow_packet.packet] * REPEATED, [GAP_NS * number for number in range(REPEATED)])
            answers.append(base.with_program(loaded, path, maps=contents, costs=prices, router=router).bounds())
            rows.append({
                "verdict": slow_packet.verdict, "program_cycles": slow_packet.cycles, "rate_pps": answers[-1].rate_pps,
                "seen": slow_packet.seen, "bytes": len(slow_packet.packet),
            })  # fmt: skip
    worst = min(range(len(slow)), key=lambda number: answers[number].rate_pps or 0.0)
    if out is not None:
        write_frames(out, [slow[worst].packet], [0])
    document = {
        "program": loaded.name, "design": base.name, "made": tries, "rate_pps": answers[worst].rate_pps,
        "bottleneck": answers[worst].bottleneck, "verdict": slow[worst].verdict, "seen": slow[worst].seen,
        "packet": slow[worst].packet.hex(), "file": None if out is None else str(out), "verdicts": rows,
    }  # fmt: skip

    def text() -> str:
        where = "a packet of the capture" if slow[worst].seen else "a packet that the capture does not have"
        rate = (answers[worst].rate_pps or 0.0) / 1e6
        head = f"{loaded.name} on {base.name}: {rate:.4g} Mpps of {where} ({slow[worst].verdict})"
        table_rows = [{**row, "Mpps": f"{float(str(row['rate_pps'])) / 1e6:.4g}"} for row in rows]
        return f"{head}\n\n{table(table_rows, ('verdict', 'program_cycles', 'Mpps', 'seen', 'bytes'))}"

    emit(document, text, as_json=as_json)
