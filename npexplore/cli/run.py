"""`npexplore run`: a capture through a machine, and what became of each packet (docs/packet_run.md).

Exit status 0, or 3 for a damaged capture, whose good packets are run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from npexplore.cli.completions import complete_design
from npexplore.cli.files import refuse_closed
from npexplore.cli.options import DAMAGED, apply_settings, check_speed, set_option
from npexplore.cli.output import bytes_read, emit, json_option, table, warn
from npexplore.errors import InputError
from npexplore.progress import Task
from npexplore.units import readable

if TYPE_CHECKING:
    from npexplore.solve.packet_run import PacketRun


@click.command("run")
@click.argument("design", shell_complete=complete_design)
@set_option(several=False)
@click.option(
    "--trace", metavar="FILE", required=True, help="The capture (pcap, pcapng, gzip, zstd), at its own times."
)
@click.option("--speed", metavar="X", type=float, help="The capture's own timing X times as fast.")
@click.option("--rate", metavar="R", help="Scale all times to this mean rate, for example 2.5Mpps or 4Gb/s.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the random numbers.")
@click.option("--by-resource", is_flag=True, help="Also write each packet's service and waiting at each resource.")
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="Write DIR/packets.parquet, a row a packet, and the captures sent and dropped.",
)  # fmt: skip
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str, speed: float | None, rate: str | None, seed: int,
    by_resource: bool, out: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Send the packets of a capture through DESIGN, and say which were sent, which were lost, and where."""
    check_speed(rate, speed)
    if trace == "-" and out is not None:
        raise InputError("--out writes frames that are read again; standard input can be read only once")
    if by_resource and out is None:
        raise InputError("--by-resource adds columns to DIR/packets.parquet, and there is no --out DIR")
    if out is not None:
        refuse_closed(out)
    from npexplore.designs import design as design_of
    from npexplore.packets import read_capture

    made, capture = apply_settings(design_of(design), settings), read_capture(trace)
    with Task(f"packets through {made.name}"):
        result = made.run(capture, seed, speed=speed, rate=rate, by_resource=by_resource)
    files: dict[str, str] = {}
    if out is not None:
        from npexplore.packets.files import open_captures
        from npexplore.solve.packet_files import write_run

        scan = open_captures(trace)
        written = write_run(result, scan, out, bytes_read(scan, "write"))
        files = {name: str(path) for name, path in written.items()}
    document = {"trace": trace, "seed": seed, **result.to_dict(), "files": files}
    emit(document, lambda: _text(result, files), as_json=as_json)
    if capture.damage:
        warn(f"{trace}: {capture.damage}; the packets before it were run")
        return DAMAGED
    return 0


def _text(result: PacketRun, files: dict[str, str]) -> str:
    latency = result.prediction.latency_s
    shown = ", ".join(
        f"{name} {readable(value, 's')}" for name, value in latency._asdict().items() if value is not None
    )
    parts = [result.heading() + (f"\nlatency: {shown}" if shown else ""), table(result.records())]
    return "\n\n".join([*parts, *(["\n".join(f"{name}: {path}" for name, path in files.items())] if files else [])])
