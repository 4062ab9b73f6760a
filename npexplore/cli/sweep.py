"""`npexplore sweep`: answer many design points into a Parquet file that a stopped sweep goes on from (CONTRACT.md)."""

import sys
from pathlib import Path

import click

from npexplore.cli.options import (
    check_packets,
    ending,
    read_workload,
    set_option,
    split_settings,
    warn_of_idle_knobs,
    workload_options,
)
from npexplore.cli.output import emit, json_option, note, one_line, table

SHOWN = 12  # rows of the table for people


@click.command("sweep")
@click.argument("design")
@set_option(several=True)
@workload_options
@click.option("--solver", "solvers", multiple=True, metavar="NAME",
              help="bounds, queueing or simulation (default); repeats.")  # fmt: skip
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="Simulations of each point.")
@click.option("--packets", type=click.IntRange(min=1), help="Simulated packets a point.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads; default: one for each core.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Parquet file to write.")
@click.option("--resume", is_flag=True, help="Go on with the file: what it holds is not computed again.")
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | None,
    arrivals: str | None, rate: str | None, solvers: tuple[str, ...], seeds: int, packets: int | None,
    workers: int | None, out: Path, resume: bool, as_json: bool,
) -> int:  # fmt: skip
    """Answer every combination of knob values of DESIGN: one row a point in a Parquet file."""
    import pyarrow.parquet as pq
    from tqdm import tqdm

    import npexplore.designs as designs
    from npexplore.solve.simulate import PACKETS
    from npexplore.study.sweep import grid, sweep

    knobs = split_settings(settings)
    base = designs.design(design)
    base.with_(**{name: values[0] for name, values in knobs.items()})  # a misspelt knob before a long capture
    check_packets(base, packets)
    load = read_workload(base, trace, mix, packet_bytes, arrivals, rate)
    points = grid(base, load, solver=solvers or ("simulation",), seeds=seeds, knobs=knobs)
    warn_of_idle_knobs(knobs, [(point.design, point.workload) for point in points])
    bars: list[tqdm] = []

    def progress(done: int, total: int) -> None:
        if not bars:  # rows found in the file are no speed of ours
            bars.append(tqdm(total=total, initial=done, unit="point", desc=base.name, disable=None, file=sys.stderr))
        bars[0].update(done - bars[0].n)

    try:
        rows = sweep(points, workers=workers, store=out, resume=resume, packets=packets or PACKETS, progress=progress)
    finally:
        for bar in bars:
            bar.close()
    refused = rows["refused"].dropna()
    for reason, count in refused.value_counts().items():
        note(f"{count} of {len(rows)} points have no answer: {one_line(str(reason))}")
    others = pq.read_metadata(out).num_rows - len(rows)
    if others:
        note(f"{out} also keeps {others} rows of other points, models or versions")
    summary = {"out": str(out), "points": len(rows), "refused": len(refused), "rows_in_file": len(rows) + others}

    def text() -> str:
        columns = [*knobs, "solver", "throughput_bps", "rate_mpps", "bottleneck", "latency_mean_ns"]
        best = rows.sort_values("throughput_bps", ascending=False, kind="stable").head(SHOWN)
        head = f"{len(rows)} point{'s'[: len(rows) > 1]} in {out}" + (
            f"; the {SHOWN} fastest:" if len(rows) > SHOWN else ":"
        )
        return head + "\n\n" + table(best[columns].to_dict("records"))

    emit(summary, text, as_json=as_json)
    return ending(load)
