"""`npexplore compare`: compare machines on the same packets, as published or at one clock.

The JSON document: `workload{name, packets, mean_packet_bytes, mean_frame_bytes, arrivals}, clock_mhz, rows[{machine,
clock_mhz, bounds_bps, queueing_bps, simulated_bps, low_bps, high_bps, counted, rate_pps, packet_bps, line_rate_share,
bottleneck, latency_s, note, refused}]`, null where a machine has no answer.
"""

from __future__ import annotations

from typing import Any

import click

from npexplore.cli.options import ending, plain_workload, workload_options
from npexplore.cli.output import emit, json_option, table
from npexplore.errors import InputError
from npexplore.progress import Task


@click.command("compare")
@click.argument("names", metavar="[DESIGN]...", nargs=-1)
@workload_options
@click.option("--clock-mhz", type=float, help="Scale every machine to this clock; default: its own.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the simulations.")
@json_option
def command(
    names: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | str | None, arrivals: str | None,
    rate: str | None, speed: float | None, clock_mhz: float | None, seed: int, as_json: bool,
) -> int:  # fmt: skip
    """Set machines side by side on the same packets: each DESIGN, or all that are listed."""
    from npexplore.designs import DESIGNS, design
    from npexplore.study.explaining.compare import compare

    designs = [design(name) for name in names or DESIGNS]
    options = {"--trace": trace, "--mix": mix, "--packet-bytes": packet_bytes}
    if sum(value is not None for value in options.values()) != 1:
        got = " and ".join(option for option, value in options.items() if value is not None) or "none"
        raise InputError(f"compare needs one of --trace FILE, --mix NAME, --packet-bytes N, --frame-bytes N; got {got}")
    load = plain_workload(trace, mix, packet_bytes, arrivals, rate, speed)
    with Task(designs[0].name, unit="machine", total=len(designs)) as task:

        def progress(name: str) -> None:
            if (task.done, name) != (0, designs[0].name):
                task.advance()
            task.describe(name)

        table = compare(load, designs, clock_mhz=clock_mhz, seed=seed, progress=progress)
    document = {
        "workload": {
            "name": load.name, "packets": len(load.packet_bytes), "mean_packet_bytes": load.mean_packet_bytes,
            "mean_frame_bytes": load.mean_frame_bytes, "arrivals": load.arrivals,
        },
        "clock_mhz": clock_mhz,
        "rows": table.to_dict("records"),
    }  # fmt: skip
    emit(document, lambda: text(document), as_json=as_json)
    return ending(load)


def text(document: dict[str, Any]) -> str:
    """Return the machines as a table, followed by notes and refusals."""
    load, clock = document["workload"], document["clock_mhz"]
    clocks = "each as described" if clock is None else f"all at {clock:g} MHz, memories in step"
    rows = [
        {
            "machine": row["machine"], "MHz": row["clock_mhz"], "packets Mb/s": _scaled(row["packet_bps"], 1e-6),
            "Mpps": _scaled(row["rate_pps"], 1e-6), "% of line": _scaled(row["line_rate_share"], 100),
            "bounds Mb/s": _scaled(row["bounds_bps"], 1e-6),
            "queueing Mb/s": _scaled(row["queueing_bps"], 1e-6), "simulated Mb/s": _scaled(row["simulated_bps"], 1e-6),
            "counted": row["counted"], "bottleneck": row["bottleneck"], "latency us": _scaled(row["latency_s"], 1e6),
        }
        for row in document["rows"]
    ]  # fmt: skip
    notes = [
        f"{row['machine']}: {note}"
        for row in document["rows"]
        for note in (row["note"], row["refused"])
        if isinstance(note, str)
    ]
    frames = f"mean Ethernet frame {load['mean_frame_bytes']:.4g} bytes"
    return "\n\n".join(
        [f"{load['name']}, {load['arrivals']}, {clocks}; {frames}", table(rows), *(["\n".join(notes)] * bool(notes))]
    )


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
