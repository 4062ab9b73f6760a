"""`npexplore load`: latency and loss against the offered load, or the highest rates within a loss (docs/load.md)."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.completions import complete_design
from npexplore.cli.files import OutputFile, refuse_closed, telling_what_is_kept, write_page
from npexplore.cli.options import (
    apply_settings,
    ending,
    program_options,
    read_workload,
    running,
    set_option,
    split_settings,
    warn_of_idle_knobs,
    workload_options,
)
from npexplore.cli.output import cell, emit, json_option, library_option, table, warn
from npexplore.errors import InputError
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.designs import Design
    from npexplore.machine.workload import Workload
    from npexplore.study.loading.curve import LoadCurve
    from npexplore.study.loading.lossless import LoadSearch
    from npexplore.study.loading.mlrsearch import Found
    from npexplore.study.loading.points import LoadPoint, Saturation


@click.command("load")
@click.argument("design", shell_complete=complete_design)
@set_option(several=False)
@workload_options
@program_options
@click.option(
    "--rates",
    metavar="A..B",
    help="Offered loads: 20 from A to B (2Mpps..8Mpps), or a list with commas; 50% is half of the highest rate.",
)
@click.option("--search", "searched", is_flag=True, help="Search for the highest rate within each loss (MLRsearch).")
@click.option("--loss", metavar="SHARES", help="Shares of lost packets, comma-separated; default 0,0.005.")
@click.option("--seeds", type=click.IntRange(min=1), help="Simulations of each load; default 1.")
@click.option(
    "--packets", type=click.IntRange(min=1), help="Packets measured per simulation, or per full-length trial."
)
@click.option(
    "--estimate/--no-estimate",
    default=None,
    help="Estimate: simulate each load until its interval is narrow (1 s); default without --packets, --seeds.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Threads; default: one for each core.")
@click.option("--out", type=click.Path(path_type=Path), help="Parquet file that keeps the simulated results.")
@click.option("--resume", is_flag=True, help="Continue the file: rows that it holds are not computed again.")
@click.option("--html", type=OutputFile(), help="Also write the curve's figure as a page.")
@library_option
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | str | None,
    arrivals: str | None, rate: str | None, speed: float | None, rates: str | None, searched: bool, loss: str | None,
    seeds: int | None, packets: int | None, estimate: bool | None, workers: int | None, out: Path | None, resume: bool,
    html: Path | None,
    shared_library: bool, as_json: bool, program: str | None, section: str | None, maps: tuple[str, ...],
    costs: str | None, router: str | None,
) -> int:  # fmt: skip
    """Show latency and loss of DESIGN against the offered load, and where it saturates; or search for rates."""
    if out is not None:
        refuse_closed(out)  # before importing kernels, whose compilation would be wasted
    from npexplore.designs import design as design_of

    for option, value, reason in (
        ("--rate", rate, "the load is what varies; give --rates A..B"),
        ("--speed", speed, "the load is what varies; give --rates A..B"),
        ("--loss", None if searched else loss, "only --search looks for a loss"),
        ("--rates", rates if searched else None, "--search finds its loads itself"),
        ("--seeds", seeds if searched else None, "each trial of --search has a seed of its own"),
        ("--workers", workers if searched else None, "the trials of --search run one after the other"),
        ("--estimate", estimate if searched else None, "the trials of --search are simulations"),
        ("--html", html if searched else None, "--search has no curve to draw"),
        ("--resume", None if out is not None or not resume else resume, "there is no --out FILE to continue"),
    ):
        if value is not None:
            raise InputError(f"{option} does not fit: {reason}")
    machine = apply_settings(design_of(design), settings)
    machine, trace = running(machine, program, trace, section, maps, costs, router), None if program else trace
    machine, load = read_workload(machine, trace, mix, packet_bytes, None, None)
    warn_of_idle_knobs(split_settings(settings), [(machine, load)])
    if searched:
        with telling_what_is_kept(out):
            search = _searched(machine, load, arrivals or "periodic", loss, packets, out, resume)
        emit(search.to_dict(), lambda: search_text(search), as_json=as_json)
        return ending(load)
    with telling_what_is_kept(out):
        curve = _curve(machine, load, arrivals or "poisson", rates, seeds or 1, packets, estimate, workers, out, resume)
    for solver, reason in curve.refused.items():
        warn(f"no answer by {solver}: {reason.removeprefix(f'{solver}: ')}")
    if html is not None:
        from npexplore.report.load_page import load_page

        write_page(html, load_page(curve, said(curve), records(curve), html if shared_library else None))
    emit(curve.to_dict(), lambda: f"{said(curve)}\n\n{table(records(curve))}", as_json=as_json)
    return ending(load)


def _curve(
    machine: Design, load: Workload | None, arrivals: str, rates: str | None, seeds: int, packets: int | None,
    estimate: bool | None, workers: int | None, out: Path | None, resume: bool,
) -> LoadCurve:  # fmt: skip
    from npexplore.study.loading.curve import load_curve

    loads = None if rates is None else _loads(rates, machine.workload(load))
    with Task(machine.name, unit="point") as task:
        return load_curve(
            machine, load, arrivals=arrivals, rates=loads, seeds=seeds, packets=packets, estimate=estimate,
            workers=workers, store=out, resume=resume, progress=task.reach,
        )  # fmt: skip


def _loads(text: str, packets: Workload) -> list[float | str]:
    """Return the loads of `A..B` (20 evenly spaced, ends included) or of a list, in packets/s; shares as text."""
    import numpy as np

    from npexplore.study.loading.curve import POINTS, share_of

    first, dots, last = text.partition("..")
    if not dots:
        return [part if part.strip().endswith("%") else packets.packets_per_s(part) for part in text.split(",")]
    if share := first.strip().endswith("%") and last.strip().endswith("%"):
        low, high = (100 * share_of(end) for end in (first, last))
    else:
        low, high = packets.packets_per_s(first), packets.packets_per_s(last)
    if not low < high:
        raise InputError(f"--rates must go upwards, got {text!r}")
    return [f"{load}%" if share else float(load) for load in np.linspace(low, high, POINTS)]


def _searched(
    machine: Design, load: Workload | None, arrivals: str, loss: str | None, packets: int | None, out: Path | None,
    resume: bool,
) -> LoadSearch:  # fmt: skip
    from npexplore.study.loading.lossless import LOSSES, search_lossless
    from npexplore.study.loading.mlrsearch import Goal

    losses = list(LOSSES) if loss is None else [_share(text) for text in loss.split(",")]
    goal = Goal()
    if packets is not None:
        goal = Goal(final=packets, total=packets, initial=min(packets, goal.initial or packets))
    with Task(machine.name, unit="trial") as task:

        def progress(rate_pps: float, length: int, trials: int) -> None:
            task.describe(f"{machine.name} at {rate_pps / 1e6:.5g} Mpps, {length:,} packets")
            task.reach(trials)

        return search_lossless(
            machine, load, losses=losses, arrivals=arrivals, goal=goal, store=out, resume=resume, progress=progress
        )


def _share(text: str) -> float:
    with suppress(ValueError):
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if 0 <= share < 1:
            return share
    raise InputError(f"--loss needs shares from 0 to below 1 such as 0,0.005 or 0.5%, got {text!r}")


def said(curve: LoadCurve) -> str:
    """Return a curve's main results as sentences."""
    full = [f"{_with_half(rate)} Mpps by {name} ({rate.bottleneck})" for name, rate in curve.saturation.items()]
    parts = [f"{curve.design} with {curve.workload}, {curve.arrivals} arrivals, saturates at {', '.join(full)}."]
    if curve.line_pps is not None and curve.full is not None:
        reached, frame = 100 * curve.full.rate_pps / curve.line_pps, cell(curve.mean_frame_bytes or 0.0)
        parts.append(f"That is {reached:.3g} % of line rate with Ethernet frames of {frame} bytes.")
    points, doubled = [point for point in curve.best if point.solver != "queueing"], curve.doubled_pps
    if doubled is not None:
        light_load_ns = cell((points[0].latency_s["mean"] or 0.0) * 1e9)
        parts.append(f"Mean latency is {light_load_ns} ns at first and twice that from {cell(doubled / 1e6)} Mpps on.")
    lost = next((point.offered_pps for point in points if point.loss), math.inf)
    full_at = math.inf if curve.full is None else curve.full.rate_pps
    if lost <= full_at:
        parts.append(f"Packets are lost from {cell(lost / 1e6)} Mpps on.")
    elif any(full_at < point.offered_pps < lost for point in points):
        parts.append("None is lost before; just above, buffers were still filling at the end (more --packets).")
    fewest, most = (end((point.packets or 0 for point in curve.of("simulation")), default=0) for end in (min, max))
    if fewest < most and not curve.of("estimate"):
        parts.append(f"{fewest:,} to {most:,} packets are measured at each load (--packets N: N at all).")
    return " ".join(parts)


def _with_half(full: Saturation) -> str:
    """Return a saturated rate in Mpps, with the half width of its interval if it has one."""
    half = "" if full.ci95 is None else f" ± {(full.ci95[1] - full.ci95[0]) / 2e6:.2g}"
    return f"{cell(full.rate_pps / 1e6)}{half}"


def records(curve: LoadCurve) -> list[dict[str, Any]]:
    """Return the table of a curve: a row per load with the best answer (its solver if solvers differ), then queueing.

    Simulations of loads that are also estimated are only in the JSON document.
    """
    estimated = bool(curve.of("estimate"))
    queueing = {round(point.offered_pps, 3): point for point in curve.of("queueing")}
    rows = []
    for point in curve.best:
        row: dict[str, Any] = {"offered Mpps": point.offered_pps / 1e6} | ({"by": point.solver} if estimated else {})
        row |= _row(point, "queueing " if point.solver == "queueing" else "", estimated)
        queueing_point = queueing.get(round(point.offered_pps, 3))
        rows.append(row if queueing_point is None else row | _row(queueing_point, "queueing "))
    return rows


def _row(point: LoadPoint, head: str, estimated: bool = False) -> dict[str, Any]:
    latency = {name: None if s is None else s * 1e9 for name, s in point.latency_s.items()}
    ends = point.ci95.get("latency_s") if point.solver == "estimate" else None
    half = {"+- ns": None if ends is None else (ends[1] - ends[0]) / 2 * 1e9} if estimated else {}
    row: dict[str, Any] = {
        f"{head}Mpps": point.rate_pps / 1e6,
        **({} if head or point.line_rate_share is None else {"% of line": 100 * point.line_rate_share}),
        f"{head}loss %": None if point.loss is None else round(100 * point.loss, 9),
        f"{head}mean ns": latency["mean"],
        **half,
    }
    return row if head else {**row, "p50 ns": latency["p50"], "p99 ns": latency["p99"], "p99.9 ns": latency["p999"]}


def search_text(search: LoadSearch) -> str:
    """Return the rates of a search, one line per goal, and its trials."""
    full, packets = search.saturation, search.found[0].goal.final
    trials = table([{"offered Mpps": p.offered_pps / 1e6, **_row(p, "")} for p in search.points])
    return (
        f"{search.design} with {search.workload}, {search.arrivals} arrivals, saturates at "
        f"{cell(full.rate_pps / 1e6)} Mpps ({full.bottleneck}).\n"
        + "\n".join(map(_answer, search.found))
        + f"\n\nTrials of up to {packets:,} packets, the longest at each load:\n\n{trials}"
    )


def _answer(one: Found) -> str:
    loss = one.goal.loss_ratio
    high = "more than was tried" if one.high is None else cell(one.high / 1e6)
    loss_text = "" if one.loses_at is None else f"; more is lost at {cell(one.loses_at / 1e6)}"
    name = f"PDR, {100 * loss:g} % lost" if loss else "NDR, none lost"
    return f"{name}: {cell(one.load / 1e6)} Mpps (95 %: {cell(one.low / 1e6)} to {high}{loss_text})"
