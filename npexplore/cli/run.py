"""`npexplore run`: send a capture through a machine, with the fate of each packet (docs/packet_run.md).

With --each, every capture is a separate run (npexplore/study/packet_runs.py). Exit status 0, or 3 for a damaged
capture, whose good packets are run, and for one of several that cannot be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.completions import complete_design
from npexplore.cli.files import OutputFile, refuse_closed, write_page
from npexplore.cli.options import DAMAGED, any_station_option, apply_settings, check_speed, set_option
from npexplore.cli.output import bytes_read, emit, json_option, library_option, table, warn
from npexplore.cli.route import split_inputs
from npexplore.errors import InputError, one_of
from npexplore.progress import Task
from npexplore.units import readable

if TYPE_CHECKING:
    from npexplore.designs import Design
    from npexplore.golden.captures.routed import Routed
    from npexplore.golden.router.configuration import Router
    from npexplore.solve.packet_run import PacketRun


@click.command("run")
@click.argument("design", shell_complete=complete_design)
@set_option(several=False)
@click.option("--trace", metavar="FILE", help="The capture (pcap, pcapng, gzip, zstd), at its own times.")
@click.option(
    "--each", metavar="FILES", multiple=True,
    help="In place of --trace: captures (a file, folder or pattern; repeatable), a run each, into DIR/CAPTURE.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), help="Runs of --each at once; default: one for each core.")
@click.option("--cluster", metavar="tcp://HOST:PORT", help="Run --each on the workers of the Dask scheduler there.")
@click.option(
    "--resume", is_flag=True,
    help="Go on from the checkpoint in DIR; of --each, captures whose results are in DIR are not run again.",
)  # fmt: skip
@click.option("--speed", metavar="X", type=float, help="The capture's own timing X times as fast.")
@click.option("--rate", metavar="R", help="Scale all times to this mean rate, for example 2.5Mpps or 4Gb/s.")
@click.option("--loops", metavar="N", type=click.IntRange(min=1), default=1, help="The packets N times in a row.")
@click.option("--memory", metavar="SIZE", help="Refuse a run that needs more, such as 4GiB; default: what is there.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the random numbers.")
@click.option("--by-resource", is_flag=True, help="Also write each packet's service and waiting at each resource.")
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="Write DIR/packets.parquet, a row a packet, and the captures sent and dropped.",
)  # fmt: skip
@click.option(
    "--html", type=OutputFile(), help="Write a page: packets over time, the worst hundred and their waits, flows."
)
@library_option
@click.option("--router", metavar="FILE", help="Golden router that forwards what leaves the machine, into DIR/ports.")
@click.option(
    "--port", "named", metavar="NAME[=FILE]", multiple=True,
    help="A capture that arrives at port NAME; repeatable. NAME alone: the router's port at which --trace arrives.",
)  # fmt: skip
@any_station_option
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str | None, each: tuple[str, ...], workers: int | None,
    cluster: str | None, resume: bool, speed: float | None, rate: str | None, loops: int,
    memory: str | None, seed: int, by_resource: bool, out: Path | None, html: Path | None, shared_library: bool,
    router: str | None, named: tuple[str, ...], any_station: bool, as_json: bool,
) -> int:  # fmt: skip
    """Send the packets of captures through DESIGN, and say which were sent, which were lost, and where."""
    check_speed(rate, speed)
    inputs, port = _inputs(trace, each, named)
    if "-" in inputs.values() and out is not None:
        raise InputError("--out writes frames that are read again; standard input can be read only once")
    if router is None and (port is not None or any_station):
        raise InputError("--port NAME and --any-station are the router's, and there is no --router FILE")
    _check_out(out, by_resource=by_resource, router=router is not None, resume=resume, each=bool(each))
    _check_each(each, html, workers, cluster)
    for path in (out, html):
        if path is not None:
            refuse_closed(path)
    from npexplore.designs import design as design_of
    from npexplore.engine.checkpoint import forget
    from npexplore.packets import read_capture
    from npexplore.units import quantity

    config = None if router is None else _router(router, list(inputs) if trace is None else [port] if port else [])
    machine = apply_settings(design_of(design), settings)
    memory_bytes = None if memory is None else quantity("--memory", memory, "bytes")
    if each:
        assert out is not None
        options = {
            "seed": seed, "speed": speed, "rate": rate, "loops": loops, "by_resource": by_resource,
            "memory_bytes": memory_bytes, "router": config, "port": port, "any_station": any_station,
        }  # fmt: skip
        return _run_each(machine, each, out, cluster, workers, options, resume=resume, as_json=as_json)
    if out is not None and not resume:
        forget(out)
    with Task(f"packets through {machine.name}", unit="packet") as task:
        arriving = inputs if trace is None else trace if out is not None else read_capture(trace)
        by_resource = by_resource or html is not None
        result = machine.run(
            arriving, seed, speed=speed, rate=rate, loops=loops, by_resource=by_resource,
            memory_bytes=memory_bytes, folder=out, router=config, port=port, any_station=any_station,
            resume=out is not None, progress=task.reach,
        )  # fmt: skip
    capture = result.capture
    assert capture is not None
    files: dict[str, str] = {}
    routed: Routed | None = None
    if out is not None:
        written = _write_captures(result, [*inputs.values()], out)
        files = {name: str(path) for name, path in written.items()}
        if config is not None:
            from npexplore.solve.packet_router import route_run

            routed, _ = route_run(result, written, config, port or config.ports[0].name, any_station=any_station)
    if html is not None:
        files["page"] = _write_page(html, result, shared_library)
    if out is not None:
        forget(out)
    document = {"trace": trace, "inputs": inputs, "loops": loops, "seed": seed, **result.to_dict(), "files": files}
    document["router"] = None if routed is None else {"config": router, **routed.document()}
    emit(document, lambda: _text(result, files, document["router"]), as_json=as_json)
    if capture.damage:
        where = f"{trace}: " if trace is not None else ""
        warn(f"{where}{capture.damage}; the packets before it were run")
        return DAMAGED
    return 0


def _check_out(out: Path | None, *, by_resource: bool, router: bool, resume: bool, each: bool) -> None:
    """Raise InputError for options that need --out without it."""
    if out is not None:
        return
    if by_resource:
        raise InputError("--by-resource adds columns to DIR/packets.parquet, and there is no --out DIR")
    if router:
        raise InputError("--router writes DIR/ports, and there is no --out DIR")
    if resume:
        raise InputError("--resume goes on from what is in DIR, and there is no --out DIR")
    if each:
        raise InputError("--each keeps the results of each capture in DIR/CAPTURE, and there is no --out DIR")


def _check_each(each: tuple[str, ...], html: Path | None, workers: int | None, cluster: str | None) -> None:
    """Raise InputError for options of several captures with one capture, and the opposite."""
    for option, value in (("--workers", workers), ("--cluster", cluster)):
        if value is not None and not each:
            raise InputError(f"{option} is of several captures, and there is no --each FILES")
    if each and html is not None:
        raise InputError("--html writes the page of one capture; --each runs several")
    if cluster is not None and workers is not None:
        raise InputError("--cluster brings its own workers; leave --workers out")


def _router(path: str, ports: Sequence[str]) -> Router:
    """Return a router that has ports of these names; raises InputError."""
    from npexplore.golden.router.configuration import load_router

    config = load_router(path)
    for name in ports:
        one_of("port", name, [port.name for port in config.ports])
    return config


def _write_page(html: Path, result: PacketRun, shared_library: bool) -> str:
    """Write the page of a run, and return its path."""
    from npexplore.report.packet_run_page import packet_run_page

    with Task("the page of the run"):
        write_page(html, packet_run_page(result, html if shared_library else None))
    return str(html)


def _write_captures(result: PacketRun, inputs: Sequence[str], out: Path) -> dict[str, Path]:
    """Write the frames that were sent and dropped; the message of an interruption names the rows that are kept."""
    from npexplore.packets.files import open_captures
    from npexplore.solve.packet_files import write_run

    scan = open_captures(inputs)
    try:
        return write_run(result, scan, out, bytes_read(scan, "write"))
    except KeyboardInterrupt:
        if result.row_file is None:
            raise
        rows = f"{result.row_file} has the rows of all {len(result.number):,} packets; captures are missing"
        raise KeyboardInterrupt(rows) from None


def _run_each(
    machine: Design, each: tuple[str, ...], out: Path, cluster: str | None, workers: int | None,
    options: dict[str, Any], *, resume: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run several captures, print the results of each, and return the exit status."""
    from npexplore.study.packet_runs import run_each

    with Task(f"captures through {machine.name}", unit="capture", keep_bar=True) as task:
        try:
            captures = run_each(
                machine, each, out, executor=cluster, workers=workers, resume=resume, progress=task.reach, **options
            )
        except KeyboardInterrupt:
            if task.total is None:
                raise
            message = f"{task.done} of {task.total} captures are finished and kept in {out}; --resume goes on"
            raise KeyboardInterrupt(message) from None
    rows = captures.astype(object).where(captures.notna(), None).to_dict("records")
    columns = [name for name in captures if name not in ("folder", "damage", "error")]
    emit({"out": str(out), "captures": rows}, lambda: table([{name: row[name] for name in columns} for row in rows]),
         as_json=as_json)  # fmt: skip
    for row in rows:
        if row["error"]:
            warn(row["error"])
        elif row["damage"]:
            warn(f"{row['capture']}: {row['damage']}; the packets before it were run")
    return DAMAGED if any(row["error"] or row["damage"] for row in rows) else 0


def _inputs(trace: str | None, each: tuple[str, ...], named: tuple[str, ...]) -> tuple[dict[str, str], str | None]:
    """Return the captures by input port ("" for --trace), and the router's port if --port gives a name only."""
    files = split_inputs(tuple(text for text in named if "=" in text), "--port")
    names_only = [text for text in named if "=" not in text]
    if (trace is not None) + bool(each) + bool(files) != 1:
        raise InputError("packets come from --trace FILE, --each FILES, or --port NAME=FILE for each port; give one")
    if len(names_only) > (not files):
        raise InputError(f"--port {names_only[-1]}: has no capture; write --port {names_only[-1]}=FILE")
    return ({"": trace} if trace is not None else files), (names_only[0] if names_only else None)


def _text(result: PacketRun, files: dict[str, str], router: dict[str, Any] | None) -> str:
    latency = result.prediction.latency_s
    latency_text = ", ".join(
        f"{name} {readable(value, 's')}" for name, value in latency._asdict().items() if value is not None
    )
    parts = [result.heading() + (f"\nlatency: {latency_text}" if latency_text else ""), table(result.records())]
    if router is not None:
        parts.append(table(router["ports"], {"port": "port", "in": "in", "out": "out", "icmp": "ICMP sent"}))
        if router["drops"]:
            parts.append(table(router["drops"], ["reason", "packets", "meaning", "clause"]))
        files = files | {f"port {name}": path for name, path in router["outputs"].items()}
    return "\n\n".join([*parts, *(["\n".join(f"{name}: {path}" for name, path in files.items())] if files else [])])
