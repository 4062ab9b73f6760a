"""`npexplore optimise`: the machines that are best for their cost, out of every combination of knob values.

The JSON document: `design, workload, costs, merits, points{points, impossible, pruned_by_bounds, ranked_lower,
queueing, simulated}, machines_built, simulations_saved, unconfirmed, tolerance, cost_sources, cost_units,
recommendation{knobs, reason}, front[{knobs, costs, throughput_bps, throughput_low_bps, throughput_high_bps, latency_ns,
bottleneck, bounds_bps, queueing_bps}]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from npexplore.cli.completions import complete_design, one_of_words
from npexplore.cli.options import (
    ending,
    program_options,
    read_workload,
    running,
    set_option,
    split_settings,
    values_or_span,
    workload_options,
)  # fmt: skip
from npexplore.cli.output import emit, json_option, table
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.study.optimising.optimise import Optimum

SHOWN = 40  # rows of the printed table


@click.command("optimise")
@click.argument("design", shell_complete=complete_design)
@set_option(several=True)
@workload_options
@click.option("--prices", "price_files", multiple=True, metavar="TOML",
              help="What a unit of each resource costs you, in any unit (docs/sweeps.md); repeatable.")  # fmt: skip
@click.option("--cost", "cost_names", multiple=True, metavar="NAME",
              shell_complete=one_of_words("memory_bits", "banks", "bus_pins", "threads", "luts"),
              help="memory_bits, banks, bus_pins, threads or luts; repeatable. Default: all that differ.")  # fmt: skip
@click.option("--merit", "merits", multiple=True, metavar="NAME", shell_complete=one_of_words("throughput", "latency"),
              help="throughput (default) or latency; repeatable.")  # fmt: skip
@click.option("--tolerance", default=0.05, show_default=True, type=float, help="Ignore gains below this share.")
@click.option(
    "--queueing",
    default=400,
    show_default=True,
    type=click.IntRange(min=0),
    help="Largest number of points for the queueing model.",
)
@click.option(
    "--simulations",
    type=click.IntRange(min=1),
    help="Largest number of points to confirm; default: all of up to 500 points, else 100.",
)
@click.option("--packets", type=click.IntRange(min=1),
              help="Confirm by one simulation of so many packets a point, not by an estimate.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the simulations.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads; default: one for each core.")
@program_options
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | str | None,
    arrivals: str | None, rate: str | None, speed: float | None, price_files: tuple[str, ...],
    cost_names: tuple[str, ...], merits: tuple[str, ...], tolerance: float, queueing: int, simulations: int | None,
    packets: int | None, seed: int, workers: int | None, as_json: bool, program: str | None,
    section: str | None, maps: tuple[str, ...], costs: str | None, router: str | None,
) -> int:  # fmt: skip
    """Find the machines of DESIGN that are best for their cost.

    Up to 500 points are all estimated. With more points, bounds prune, queueing ranks, and estimates confirm the front.
    """
    import npexplore.designs as designs
    from npexplore.study.optimising.costs import UNITS, sources
    from npexplore.study.optimising.optimise import PACKETS, optimise
    from npexplore.study.optimising.prices import load_prices, sources_of
    from npexplore.study.sweeping.grid import listed

    knobs = {name: values_or_span(name, values) for name, values in split_settings(settings).items()}
    base, prices = designs.design(design), [load_prices(path) for path in price_files]
    for name, values in knobs.items():
        listed(base, name, values)  # reports wrong values before a long capture is read
    base, trace = running(base, program, trace, section, maps, costs, router), None if program else trace
    base, load = read_workload(base, trace, mix, packet_bytes, arrivals, rate, speed)
    with Task(base.name, unit="point") as task:

        def progress(level: str, done: int) -> None:
            task.describe(level)
            task.reach(done)

        optimum = optimise(
            base, load, knobs=knobs, costs=cost_names or None, merits=merits or ("throughput",),
            prices=prices, tolerance=tolerance,
            queueing=queueing, simulations=simulations, packets=packets or PACKETS, seed=seed,
            confirm="estimate" if packets is None else "simulation", workers=workers, progress=progress,
        )  # fmt: skip
    price_sources = {file.name: sources_of(file) for file in prices}
    cost_sources = {**sources(tuple(name for name in optimum.costs if name not in price_sources)), **price_sources}
    units = {name: UNITS.get(name) or next(file.unit for file in prices if file.name == name) for name in optimum.costs}
    document = {**optimum.to_dict(), "cost_sources": cost_sources, "cost_units": units}
    emit(document, lambda: text(optimum, units), as_json=as_json)
    return ending(load)


def text(optimum: Optimum, units: Mapping[str, str]) -> str:
    """Return the optimum as text: recommendation and reason, the front, and the number of points at each stage."""
    recommended = optimum.recommended()
    head = (f"{recommended[1]}\n" if recommended else "") + (
        f"{optimum.design} under {optimum.workload}. {optimum.searched} Rates that differ by less than "
        f"{optimum.tolerance:.0%} count as equal: the cheaper machine stands for both."
    )
    if optimum.unconfirmed:
        head += (
            f"\nPoints that may be on the front too: {optimum.unconfirmed:,}; name fewer costs (--cost), a larger "
            "--tolerance, or more --simulations."
        )
    rows = [
        {**best.knobs, **{_cost(name, units[name]): best.costs[name] for name in optimum.costs},
         "Mb/s": best.throughput / 1e6,
         "+-": None if best.interval is None else (best.interval[1] - best.interval[0]) / 2e6,
         "latency ns": None if best.latency is None else best.latency * 1e9, "bottleneck": best.bottleneck}
        for best in optimum.front
    ]  # fmt: skip
    remaining = f"\n... and {len(rows) - SHOWN} more (--json has all)" if len(rows) > SHOWN else ""
    return f"{head}\n\n{table(rows[:SHOWN])}{remaining}"


def _cost(name: str, unit: str) -> str:
    """Return the heading of a cost, which differs from that of a knob of the same name."""
    return f"cost {name.removesuffix('_bits')}" + (f" ({unit})" if unit not in ("1", "pins") else "")
