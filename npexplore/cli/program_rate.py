"""`npexplore program cost`, `compare`, `measure`: time of a packet program on a core, and packets per second.

Fields: docs/program_rate.md. `measure` needs root, because it loads programs into the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.options import (
    apply_settings,
    costs_option,
    map_option,
    router_option,
    running,
    section_option,
    set_option,
)  # fmt: skip
from npexplore.cli.output import emit, facts, json_option, table
from npexplore.errors import InputError

if TYPE_CHECKING:
    from npexplore.programs.measuring import Timed

SHOWN = 20  # printed paths
trace_option = click.option("--trace", metavar="FILE", required=True, help="The packets: a capture.")
on_option = click.option("--on", "machine", metavar="DESIGN", default="server", show_default=True)


@click.command("cost")
@click.argument("file", metavar="FILE.o")
@section_option
@trace_option
@map_option
@costs_option
@router_option
@on_option
@set_option(several=False)
@json_option
def cost_command(
    file: str, section: str | None, trace: str, maps: tuple[str, ...], costs: str | None, router: str | None,
    machine: str, settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Show the time of one packet on a core for each program path; the slowest path, an attacker's choice, comes first.

    Lines are those of the source, by their share of a core's time for a mean packet.
    """
    from npexplore.designs import design

    loaded = running(apply_settings(design(machine), settings), file, trace, section, maps, costs, router)
    assert loaded.program is not None
    rows, lines = loaded.program.rows(loaded.parameters), loaded.program.lines(loaded.parameters)
    document = {
        "program": loaded.program.run.program.name,
        "costs": loaded.program.costs.name,
        "paths": rows,
        "lines": lines,
    }

    def text() -> str:
        path_rows = [
            {**_percent(row), "one_core_mpps": f"{float(str(row['one_core_pps'])) / 1e6:.2f}"} for row in rows[:SHOWN]
        ]  # fmt: skip
        more = f"\n{len(rows) - SHOWN:,} faster paths" if len(rows) > SHOWN else ""
        return f"{table(path_rows, COLUMNS)}{more}\n\n{table([_percent(line) for line in lines[:SHOWN]], LINE_COLUMNS)}"

    emit(document, text, as_json=as_json)


LINE_COLUMNS = ("share", "cycles", "line")
COLUMNS = ("path", "share", "verdict", "program_cycles", "cycles", "one_core_mpps", "example")


def _percent(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "share": f"{100 * float(row['share']):.1f} %"}


@click.command("compare")
@click.argument("first", metavar="A.o")
@click.argument("second", metavar="B.o")
@section_option
@trace_option
@map_option
@costs_option
@router_option
@on_option
@set_option(several=False)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the estimates.")
@json_option
def compare_command(
    first: str, second: str, section: str | None, trace: str, maps: tuple[str, ...], costs: str | None,
    router: str | None, machine: str, settings: tuple[str, ...], seed: int, as_json: bool,
) -> None:  # fmt: skip
    """Say which of two programs carries more packets on a machine, by how much, and which work makes the difference."""
    from npexplore.designs import design

    base = apply_settings(design(machine), settings)
    rows: list[dict[str, Any]] = []
    events: list[dict[str, float]] = []
    for file in (first, second):
        loaded = running(base, file, trace, section, maps, costs, router)
        answer = loaded.estimate(budget="1 s", seed=seed)
        low, high = answer.ci95["rate_pps"]
        assert loaded.program is not None
        events.append(loaded.program.mean_cycles())
        rows.append({
            "program": Path(file).name, "rate_pps": answer.rate_pps, "low_pps": low, "high_pps": high,
            "program_cycles": sum(events[-1].values()), "bottleneck": answer.bottleneck,
        })  # fmt: skip
    ratio = rows[1]["rate_pps"] / rows[0]["rate_pps"]
    span = [rows[1]["low_pps"] / rows[0]["high_pps"], rows[1]["high_pps"] / rows[0]["low_pps"]]
    differ = {name: events[1].get(name, 0.0) - events[0].get(name, 0.0) for name in {**events[0], **events[1]}}
    differences = [
        {"event": name, "cycles": differ[name]}
        for name in sorted(differ, key=lambda event: -abs(differ[event]))
        if differ[name]
    ]
    document = {"programs": rows, "ratio": ratio, "ratio_ci95": span, "differences": differences}

    def text() -> str:
        change = f"{100 * (ratio - 1):+.1f} % ({100 * (span[0] - 1):+.1f} to {100 * (span[1] - 1):+.1f})"
        faster = (
            "as many packets as"
            if span[0] <= 1 <= span[1]
            else "more packets than"
            if ratio > 1
            else "fewer packets than"
        )
        first_line = f"{rows[1]['program']} carries {faster} {rows[0]['program']} on {base.name}: {change}"
        return f"{first_line}\n\n{table(rows)}\n\n{table(differences[:SHOWN], ('event', 'cycles'))}"

    emit(document, text, as_json=as_json)


@click.command("measure")
@click.option("--out", metavar="FILE.toml", type=click.Path(dir_okay=False, path_type=Path), help="Write the table.")
@click.option("--program", "file", metavar="FILE.o", help="Also time this program beside its prediction.")
@section_option
@click.option("--trace", metavar="FILE", help="The packets for --program: a capture.")
@map_option
@json_option
def measure_command(
    out: Path | None, file: str | None, section: str | None, trace: str | None, maps: tuple[str, ...], as_json: bool
) -> None:
    """Measure what the events of packet programs cost on this computer (root; about half a minute).

    Small programs that each do one thing run in the kernel (BPF_PROG_TEST_RUN).
    """
    from npexplore.programs.costs import as_toml
    from npexplore.programs.measuring import measure

    if file is not None and trace is None:
        raise InputError("--program needs --trace FILE, the packets that it is timed on")
    measured = measure()
    if out is not None:
        out.write_text(as_toml(measured.costs), encoding="utf-8")
    timed = [] if file is None else _timed(file, section, str(trace), maps, measured.costs)
    rows = [{"path": path.name, "measured_ns": path.measured_ns, "predicted_ns": path.predicted_ns} for path in timed]

    def text() -> str:
        events = [
            {"event": name, "ns": cost.ns, "low": cost.low, "high": cost.high}
            for name, cost in measured.costs.event.items()
        ]
        head = facts(
            {"clock": f"{measured.costs.clock_mhz:,.0f} MHz", "empty program": f"{measured.costs.empty_ns} ns"}
        )
        return f"{head}\n\n{table(events)}" + (f"\n\n{table(rows)}" if rows else "")

    emit(measured.to_dict() | {"paths": rows}, text, as_json=as_json)


def _timed(file: str, section: str | None, trace: str, maps: Iterable[str], costs: Any) -> list[Timed]:
    from npexplore.packets.frames import read_frames
    from npexplore.programs.loading import program
    from npexplore.programs.map_files import read_named_maps
    from npexplore.programs.measuring import time_paths

    loaded = program(file, section)
    packets = [frame for _, frame in read_frames(trace)]
    return time_paths(loaded, packets, costs, read_named_maps(loaded, maps))
