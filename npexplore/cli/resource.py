"""`npexplore resource`: one resource kind or shelf part alone, by each solver, and by exact theory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.files import OutputFile, write_page
from npexplore.cli.output import emit, json_option, library_option, table
from npexplore.errors import InputError

if TYPE_CHECKING:
    from npexplore.study.laboratory.points import Exploration

COLUMNS = {
    "solver": "solver", "threads": "threads", "rate_mpps": "rate Mpps", "throughput_mpps": "throughput Mpps",
    "interval": "95 %", "utilization": "utilization", "latency_ns": "mean ns", "p50_ns": "p50 ns", "p95_ns": "p95 ns",
    "p99_ns": "p99 ns", "loss": "loss", "refused": "refused",
}  # fmt: skip


@click.command("resource")
@click.argument("name", required=False)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True,
              help="Set a parameter, a key of one (policy.page=open) or a visit's operand; repeatable.")  # fmt: skip
@click.option("--visit", metavar="VISIT", help="What packets do there; default: the kind's usual visit.")
@click.option("--packet-bytes", type=click.IntRange(min=1), default=64, show_default=True, help="Length of packets.")
@click.option("--threads", metavar="N,N,...", help="Closed: so many threads always have a packet; default 1,2,4,8,16.")
@click.option("--rate", metavar="A..B", help="Open: shares of the highest rate (0.1..0.95), or rates as 2Mpps,3Mpps.")
@click.option("--arrivals", default="poisson", show_default=True, help="How packets come when --rate is given.")
@click.option("--trace", metavar="FILE", help="A capture: lengths are bytes, hashed destinations choose members.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the simulation.")
@click.option("--list", "listing", is_flag=True, help="List kinds and parts with their parameters.")
@click.option("--toml", "as_toml", is_flag=True, help="Print the machine file of what would be explored, and stop.")
@click.option("--html", type=OutputFile(), help="Also write the figure and the table as a page.")
@library_option
@json_option
def command(
    name: str | None, settings: tuple[str, ...], visit: str | None, packet_bytes: int, threads: str | None,
    rate: str | None, arrivals: str, trace: str | None, seed: int, listing: bool, as_toml: bool,
    html: Path | None, shared_library: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compare bounds, queueing, simulation and theory for resource NAME alone, closed or under an offered load."""
    from npexplore.study.laboratory.parameters import listed, named, names

    if listing:
        kinds = [name] if name is not None else names()
        rows = [{"name": kind, "kind": named(kind)[0].kind, "about": named(kind)[0].about, "parameters": listed(kind)}
                for kind in kinds]  # fmt: skip
        emit({"resources": rows}, lambda: "\n\n".join(map(_described, rows)), as_json=as_json)
        return
    if name is None:
        raise InputError("resource needs a NAME, or --list")
    from npexplore.study.laboratory.resource import resource

    lone = resource(name, visit=visit, packet_bytes=packet_bytes, **_settings(settings))
    closed = None if threads is None else [_whole(count) for count in threads.split(",")]
    if as_toml:
        if trace is not None:
            raise InputError("--toml writes a machine, and no capture; leave --trace out and give it to the machine")
        if rate is not None and closed is not None:
            raise InputError(f"{name}: give --threads (closed) or --rate (open), not both")
        from npexplore.study.laboratory.exploration import open_threads

        text = lone.to_toml(max(closed or [16]) if rate is None else open_threads(lone))
        emit({"toml": text}, lambda: text.rstrip(), as_json=as_json)
        return
    exploration = lone.explore(threads=closed, rate=rate, arrivals=arrivals, trace=trace, seed=seed)
    if html is not None:
        from npexplore.report.resource_page import resource_page

        write_page(html, resource_page(lone, exploration, html if shared_library else None))
    emit(exploration.to_dict(), lambda: said(exploration), as_json=as_json)


def said(exploration: Exploration) -> str:
    """Return an exploration as text."""
    rows = []
    for row in exploration.records():
        low, high = row["throughput_low_mpps"], row["throughput_high_mpps"]
        rows.append({**row, "interval": None if low is None else f"{low:.4g} to {high:.4g}"})
    present = {key: head for key, head in COLUMNS.items() if any(row.get(key) is not None for row in rows)}
    exact = exploration.theory
    theory = "" if exact is None else f"\n\ntheory: {exact['name']} ({exact['source']})"
    return f"{exploration.heading()}\n\n{table(rows, present)}{theory}"


def _described(row: dict[str, Any]) -> str:
    kind = "" if row["kind"] == row["name"] else f" ({row['kind']})"
    columns = {"name": "parameter", "unit": "unit", "default": "default", "min": "at least", "about": "about"}
    return f"{row['name']}{kind}: {row['about']}\n{table(row['parameters'], columns)}"


def _settings(settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of NAME=VALUE texts: TOML numbers and lists, otherwise text; TABLE.KEY is a key of a table."""
    import tomllib

    values: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set needs NAME=VALUE, got {text!r}")
        *tables, key = name.strip().split(".")
        place = values
        for name in tables:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise InputError(f"--set {text}: {name} is set to {place!r} already, and no table")
        try:
            place[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            place[key] = value.strip()
    return values


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--threads needs whole numbers such as 1,2,4, got {text!r}") from None
