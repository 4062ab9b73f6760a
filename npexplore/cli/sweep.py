"""`npexplore sweep`: predict many points into a Parquet file; a stopped sweep can be resumed (docs/sweeps.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.completions import complete_design, one_of_words
from npexplore.cli.files import refuse_closed, telling_what_is_kept
from npexplore.cli.options import (
    check_packets,
    ending,
    program_options,
    read_workloads,
    running,
    set_option,
    several_workloads_options,
    split_settings,
    values_or_span,
    warn_of_idle_knobs,
)
from npexplore.cli.output import emit, json_option, note, one_line, table, warn
from npexplore.errors import InputError
from npexplore.progress import Task
from npexplore.solve.solvers import ASKABLE

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.study.optimising.prices import PriceFile
    from npexplore.study.sweeping.grid import SweepPoint

SHOWN = 12  # rows of the printed table


@click.command("sweep")
@click.argument("design", shell_complete=complete_design)
@set_option(several=True)
@several_workloads_options
@click.option("--solver", "solvers", multiple=True, metavar="NAME", shell_complete=one_of_words(*ASKABLE),
              help="bounds, queueing, simulation (default), estimate or rtl (generated hardware); several with "
              "commas.")  # fmt: skip
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="Simulations of each point.")
@click.option("--packets", type=click.IntRange(min=1), help="Simulated packets per point.")
@click.option("--sample", metavar="METHOD:N", help="N points of the space instead of all: random, latin_hypercube or "
              "sobol; a knob's span is LOW..HIGH or LOW..HIGH:log.")  # fmt: skip
@click.option("--sample-seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the sample.")
@click.option("--front", metavar="MERIT:COST", help="Show the points that are best for their cost: throughput or "
              "latency, and memory_bits, banks, bus_pins, threads, luts, or cost with --prices.")  # fmt: skip
@click.option("--prices", "price_file", metavar="TOML", help="What a unit of each resource costs you, for --front.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads (or processes); default: one for each core.")
@click.option("--processes", is_flag=True, help="Processes instead of threads.")
@click.option("--cluster", metavar="tcp://HOST:PORT", help="Use the workers of the Dask scheduler at this address.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Parquet file to write.")
@click.option("--resume", is_flag=True, help="Continue the file: rows that it holds are not computed again.")
@program_options
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: tuple[str, ...], mix: tuple[str, ...],
    packet_bytes: tuple[str, ...], arrivals: str | None, rate: tuple[str, ...], speed: float | None,
    solvers: tuple[str, ...], seeds: int, packets: int | None, sample: str | None, sample_seed: int,
    front: str | None, price_file: str | None,
    workers: int | None, processes: bool, cluster: str | None, out: Path, resume: bool, as_json: bool,
    program: str | None, section: str | None, maps: tuple[str, ...], costs: str | None, router: str | None,
) -> int:  # fmt: skip
    """Answer every combination of knob values of DESIGN: one row per point in a Parquet file."""
    refuse_closed(out)  # before importing kernels, whose compilation would be wasted

    import npexplore.designs as designs
    from npexplore.solve.simulate import PACKETS
    from npexplore.study.sweeping.grid import grid
    from npexplore.study.sweeping.samples import sample as some_of
    from npexplore.study.sweeping.sweep import sweep

    _check_cluster(cluster, workers, processes)
    knobs = {name: values_or_span(name, values) for name, values in split_settings(settings).items()}
    base = designs.design(design)
    if out.suffix not in ("", ".parquet", ".pq"):
        warn(f"{out} is written as Parquet, whatever its ending says")
    merit, cost, prices = _front(front, price_file)
    solvers = tuple(name for listed in solvers for name in listed.split(",")) or ("simulation",)
    method, size = _sample(sample)
    for name in sorted({*knobs} - {*base.parameters}):
        base.with_(**{name: 0})  # raises for a misspelt knob before a long capture is read
    if program is not None and len(trace) > 1:
        raise InputError(f"--program runs on the packets of one --trace, got {len(trace)}")
    base = running(base, program, next(iter(trace), None), section, maps, costs, router)
    trace = () if program else trace
    if "simulation" in solvers:
        check_packets(base, packets)
    loads = read_workloads(base, trace, mix, packet_bytes, arrivals, rate, speed)
    if method is None:
        points = [
            point for machine, load in loads for point in grid(machine, load, solver=solvers, seeds=seeds, knobs=knobs)
        ]
    else:
        drawn = partial(
            some_of, n=size, method=method, sample_seed=sample_seed, solver=solvers, seeds=seeds, knobs=knobs
        )
        points = [point for machine, load in loads for point in drawn(machine, load)]
    warn_of_idle_knobs(knobs, points)
    with ExitStack() as opened, telling_what_is_kept(out):
        rows = sweep(
            _handed_over(points), executor=cluster or ("processes" if processes else None), workers=workers,
            store=out, resume=resume, packets=packets or PACKETS, progress=_bar(opened, base.name),
        )  # fmt: skip
    summary = _summary(rows, out)
    best: Any = None
    if front is not None:
        from npexplore.study.optimising.of_sweep import front_of

        best = front_of(rows, base, list(knobs), merit, cost, prices)
        summary["front"] = best.to_dict("records")

    def text() -> str:
        if best is not None:
            return f"{len(best)} of {len(rows)} points in {out} {_best(best, knobs, cost, prices)}"
        workload = [] if len(loads) == 1 else ["workload", *(["offered_mpps"] if rate else [])]
        return _fastest(rows, [*knobs, *workload], out)

    emit(summary, text, as_json=as_json)
    return max(ending(load) for _, load in loads)


def _front(text: str | None, price_file: str | None) -> tuple[str, str, PriceFile | None]:
    """Return merit, cost and prices of a front before anything is computed; raises InputError."""
    if text is None:
        if price_file is not None:
            raise InputError("--prices does not fit: there is no --front MERIT:cost")
        return "", "", None
    from npexplore.study.optimising.of_sweep import split_front
    from npexplore.study.optimising.prices import load_prices

    prices = None if price_file is None else load_prices(price_file)
    return *split_front(text, prices), prices


def _handed_over(points: list[SweepPoint]) -> Iterator[SweepPoint]:
    """Yield points and remove them from the list, so that each is freed after its answer."""
    points.reverse()
    while points:
        yield points.pop()


def _sample(text: str | None) -> tuple[str | None, int]:
    """Return the method and size of a sample (None: a whole grid)."""
    if text is None:
        return None, 0
    method, _, size = text.partition(":")
    if not size.isdigit():
        raise InputError(f"--sample needs METHOD:N, as in sobol:256, got {text!r}")
    return method, int(size)


def _bar(opened: ExitStack, name: str) -> Callable[[int, int], None]:
    """Return a progress callback for answered points; `opened` closes its bar."""
    tasks: list[Task] = []

    def progress(done: int, total: int) -> None:
        if not tasks:  # rows already in the file do not count for the speed
            task = Task(name, unit="point", total=total, initial=done, keep_bar=True)
            tasks.append(opened.enter_context(task))
        tasks[0].reach(done, total)

    return progress


def _summary(rows: pd.DataFrame, out: Path) -> dict[str, Any]:
    """Return the summary of a sweep; print notes on points without an answer and on other rows of the file."""
    import pyarrow.parquet as pq

    refused = rows["refused"].dropna()
    for reason, count in refused.value_counts().items():
        having = "points have" if len(rows) > 1 else "point has"
        note(f"{count} of {len(rows)} {having} no answer: {one_line(str(reason))}")
    with out.open("rb") as file:  # pyarrow cannot open names that are not UTF-8
        other_rows = pq.read_metadata(file).num_rows - len(rows)
    if other_rows:
        note(f"{out} also keeps {other_rows} row{'s'[: other_rows > 1]} of other points, models or versions")
    return {"out": str(out), "points": len(rows), "refused": len(refused), "rows_in_file": len(rows) + other_rows}


def _fastest(rows: pd.DataFrame, varied: list[str], out: Path) -> str:
    """Return a table of the fastest points: varied knobs and answers."""
    shares = ["line_rate_share"] if rows["line_rate_share"].notna().any() else []
    columns = [*varied, "solver", "throughput_bps", "rate_mpps", *shares, "bottleneck", "latency_mean_ns"]
    fastest = rows.sort_values("throughput_bps", ascending=False, kind="stable").head(SHOWN)
    head = f"{len(rows)} point{'s'[: len(rows) > 1]} in {out}"
    head += f"; the {SHOWN} fastest:" if len(rows) > SHOWN else ":"
    return head + "\n\n" + table(fastest[columns].to_dict("records"))


def _check_cluster(cluster: str | None, workers: int | None, processes: bool) -> None:
    """Raise InputError for a misspelt cluster address, or for --workers or --processes with a cluster."""
    from npexplore.study.sweeping.executors import place_of

    if cluster is None:
        return
    if workers is not None or processes:
        raise InputError("--cluster brings its own workers; leave --workers and --processes out")
    place_of(cluster)


def _best(best: pd.DataFrame, knobs: Iterable[str], cost: str, prices: PriceFile | None) -> str:
    """Return a table of the points that are best for their cost, with its heading."""
    cost_text = cost if prices is None or cost not in ("cost", prices.name) else f"{prices.name}, {prices.unit}"
    columns = [*knobs, "cost", "throughput_bps", "rate_mpps", "bottleneck", "latency_mean_ns"]
    return f"are best for their cost ({cost_text}), gains above 5 %:\n\n{table(best[columns].to_dict('records'))}"
