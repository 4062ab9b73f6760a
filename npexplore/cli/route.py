"""`npexplore route`: forward captures through the golden router (docs/golden.md).

Exit status 0; 1 if a capture that is compared differs; 3 if an input was damaged (its good packets are still
forwarded).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.files import OutputFile, write_page
from npexplore.cli.options import any_station_option, profile_option
from npexplore.cli.output import emit, facts, json_option, library_option, note, table, warn
from npexplore.errors import InputError, shown
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.golden.captures.routed import Routed
    from npexplore.golden.compare.comparison import Verdict
    from npexplore.golden.router.configuration import Router

DIFFERS, DAMAGED = 1, 3
DIFFSERV_COLUMNS = (
    "port", "class", "offered", "sent", "policed", "queue_full", "early", "sent_bps", "delay_mean_ns", "delay_p99_ns",
)  # fmt: skip
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("route")
@click.option("--config", metavar="ROUTER.toml", type=FILE, help="Ports, neighbours and routes, or the example office.")
@click.option("--in", "inputs", metavar="PORT=FILE", multiple=True, help="Capture that arrives at a port; repeatable.")
@click.argument("more", metavar="[PORT=FILE]...", nargs=-1)
@click.option("--out", metavar="DIR", type=FOLDER, help="Write DIR/PORT.pcap for each port that sends something.")
@click.option("--drops", metavar="FILE.csv", type=OutputFile(), help="Write dropped packets with reason and clause.")
@profile_option
@any_station_option
@click.option("--compare", metavar="DIR", type=FOLDER, help="Compare another router's DIR/PORT.pcap with ours.")
@click.option(
    "--report", metavar="FILE.html", type=OutputFile(), help="Write an offline page on where the packets went."
)
@library_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of ROUTER.toml and do nothing else.")
@json_option
def command(
    config: Path | None,
    inputs: tuple[str, ...],
    more: tuple[str, ...],
    out: Path | None,
    drops: Path | None,
    profile: str | None,
    any_station: bool,
    compare: Path | None,
    report: Path | None,
    shared_library: bool,
    schema: bool,
    as_json: bool,
) -> int:
    """Forward captures (pcap, pcapng, gzip, zstd; - is standard input) through the golden router of ROUTER.toml."""
    from npexplore.golden.router.configuration import load_router, router_schema

    if schema:
        print(json.dumps(router_schema(), indent=2))
        return 0
    if config is None or not inputs or (out or compare or drops or report) is None:
        outputs = "--out DIR, --compare DIR, --drops FILE.csv or --report FILE.html"
        raise InputError(f"route needs --config ROUTER.toml, --in PORT=FILE, and {outputs}")
    if out is not None and compare is not None and out.resolve() == compare.resolve():
        raise InputError(f"--out and --compare must be two folders, got {out} for both")
    from npexplore.golden.captures.routed import forward_captures

    router, captures = load_router(config), split_inputs((*inputs, *more))
    with Task("forwarding packets"):
        run = forward_captures(
            router, captures, out=out, drops=drops, compare=compare, profile=profile, any_station=any_station
        )
    if report is not None:
        _write_report(run, shown(config.stem), report, shared_library)
    document = {"config": str(config), **run.document(), "compare": _compared(run, router, compare)}
    emit(document, lambda: _text(run, document), as_json=as_json)
    return _ending(run)


def split_inputs(inputs: tuple[str, ...], option: str = "--in") -> dict[str, str]:
    """Return texts PORT=FILE of an option as files by port; raises InputError."""
    files: dict[str, str] = {}
    for text in inputs:
        port, equals, file = text.partition("=")
        if not (port and equals and file):
            raise InputError(f"{option} must be PORT=FILE, got {text!r}")
        if port in files:
            raise InputError(f"{option}: port {port!r} has two captures; merge them first")
        if file == "-" and "-" in files.values():
            raise InputError(f"{option}: standard input can be read only once")
        files[port] = file
    return files


def _write_report(run: Routed, name: str, path: Path, shared_library: bool) -> None:
    from npexplore.report.route_page import route_page

    write_page(path, route_page(run, name, path if shared_library else None))
    note(f"report: {path}")


def _compared(run: Routed, router: Router, folder: Path | None) -> dict[str, Any] | None:
    """Return the result of `--compare` as a record; None without it."""
    if run.verdict is None:
        return None
    difference = run.verdict.difference
    return {
        "directory": str(folder),
        "alike": run.verdict.alike,
        "damage": run.verdict.damage,
        "difference": difference
        and {
            "port": router.ports[difference.port].name,
            "packet": difference.frame,
            "field": difference.field,
            "ours": difference.expected,
            "theirs": difference.got,
            "clause": difference.clause,
        },
    }


def _text(run: Routed, document: dict[str, Any]) -> str:
    total = document["packets"]
    shares = {name: f"{document[name]:,} ({document[name] / max(total, 1):.1%})" for name in ("forwarded", "dropped")}
    parts = [facts({"profile": run.profile, "packets": total, **shares})]
    columns = {"port": "port", "in": "in", "out": "out", "icmp": "ICMP sent", "in_bytes": "bytes in"}
    parts.append(table(document["ports"], {**columns, "out_bytes": "bytes out"}))
    if document["drops"]:
        parts.append(table(document["drops"], ["reason", "packets", "meaning", "clause"]))
    if document["diffserv"]:
        columns = {name: name.replace("_", " ") for name in DIFFSERV_COLUMNS}
        parts.append(table(document["diffserv"]["classes"], columns))
    if document["outputs"]:
        parts.append(facts(document["outputs"]))
    if run.verdict is not None:
        parts.append(_verdict_text(run.verdict, document["compare"]))
    return "\n\n".join(parts)


def _verdict_text(verdict: Verdict, comparison: dict[str, Any]) -> str:
    if comparison["difference"] is None:
        return f"compared with {comparison['directory']}: {verdict.alike:,} frames, no difference"
    lines = {name: comparison["difference"][name] for name in ("port", "packet", "field", "ours", "theirs", "clause")}
    return f"compared with {comparison['directory']}: differs\n\n{facts(lines)}"


def _ending(run: Routed) -> int:
    """Warn of damage and of packets that were cut or for other stations; return the exit status."""
    from npexplore.golden.reasons import Reason

    strange = next((row["packets"] for row in run.tally.drops() if row["reason"] == Reason.OTHER_STATION.name), 0)
    if 2 * strange > run.tally.packets or (strange and not run.tally.forwarded):
        warn(f"{strange:,} packets are for other stations than their port; --any-station takes them all the same")
    if run.tally.cut:
        warn(f"{run.tally.cut:,} packets were cut when they were captured and are dropped as truncated")
    damage = [(row["file"], scan.damage) for row, scan in zip(run.inputs(), run.replay.scans, strict=True)]
    for file, trouble in damage:
        if trouble:
            warn(f"{file}: {trouble}; the packets before it are forwarded")
    verdict = run.verdict
    for port, text in verdict.damage.items() if verdict else ():
        warn(f"capture to compare of port {port}: {text}; the packets before it are compared")
    if verdict and verdict.difference:
        return DIFFERS
    return DAMAGED if run.replay.damaged or (verdict and verdict.damage) else 0
