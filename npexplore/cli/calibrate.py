"""`npexplore calibrate`: fit a machine's free parameters to calibration rows, and report other values that fit.

The JSON document: `design, units{parameter: unit}, free{parameter: {low, high} or values}, values, score,
evaluation_score, rows[{key, error, evaluation_error}], admissible{parameter: values}, profile{parameter: [{value,
score}]}, starts[{values, score}], fit_seeds, evaluation_seeds`; errors are relative, scores their root mean square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from npexplore.cli.completions import complete_design, complete_knob, one_of_words
from npexplore.cli.options import apply_settings, set_option, split_settings, values_or_span
from npexplore.cli.output import cell, emit, json_option, table
from npexplore.errors import one_of
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.machine.parameters import Value
    from npexplore.study.checking.calibrate import Calibration

PRINTED_VALUES = 11  # values of a profile that are printed


@click.command("calibrate")
@click.argument("design", shell_complete=complete_design)
@set_option(several=False)
@click.option("--free", "free_settings", multiple=True, required=True, metavar="NAME=LOW..HIGH",
              shell_complete=complete_knob,
              help="Parameter to fit: a span, or values NAME=V1,V2,...; repeatable.")  # fmt: skip
@click.option("--row", "keys", multiple=True, metavar="KEY",
              help="Calibration row; repeatable. Default: those the parameters were fitted to.")  # fmt: skip
@click.option("--ledger", metavar="MINE.csv", help="CSV of your own rows; those with role calibration are fitted too.")
@click.option(
    "--starts", default=3, show_default=True, type=click.IntRange(min=1), help="Starting points of the search."
)
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1, 50), help="Seeds used to fit.")
@click.option(
    "--evaluation-seeds",
    default=3,
    show_default=True,
    type=click.IntRange(1, 50),
    help="Other seeds, to judge the fit.",
)
@click.option(
    "--packets", default=2000, show_default=True, type=click.IntRange(min=1), help="Simulated packets per point."
)
@click.option(
    "--solver",
    default="simulation",
    show_default=True,
    metavar="NAME",
    shell_complete=one_of_words("bounds", "queueing", "simulation"),
    help="bounds, queueing or simulation.",
)
@click.option(
    "--no-profile", is_flag=True, help="Skip the search for other values that fit almost as well (the slow part)."
)
@json_option
def command(
    design: str, settings: tuple[str, ...], free_settings: tuple[str, ...], keys: tuple[str, ...],
    ledger: str | None, starts: int, seeds: int, evaluation_seeds: int, packets: int, solver: str,
    no_profile: bool, as_json: bool,
) -> None:  # fmt: skip
    """Fit parameters of DESIGN to calibration rows of the ledger; rows of any other role are refused."""
    import npexplore.designs as designs
    from npexplore.study.checking.calibrate import calibrate
    from npexplore.study.checking.results import read_results

    machine = apply_settings(designs.design(design), settings)
    of = designs.base_of(machine)
    if ledger is None:
        one_of("design with published rows", of, designs.DESIGNS)
    free = {name: values_or_span(name, values) for name, values in split_settings(free_settings, "--free").items()}
    with (
        designs.with_machines({of: machine}),
        Task("fit", unit="point") as task,
    ):
        own_rows = [] if ledger is None else [row for row in read_results(ledger).own if row.role == "calibration"]
        fit = calibrate(
            free, keys or ([] if own_rows else None), of=of, own=own_rows,
            starts=starts, fit_seeds=range(1, seeds + 1), packets=packets, solver=solver,
            evaluation_seeds=range(101, 101 + evaluation_seeds), profiles=not no_profile,
            progress=task.reach,
        )  # fmt: skip
    parameters = machine.parameters.file.parameter
    units = {name: parameters[name].unit for name in fit.free}
    emit({"design": of, "units": units, **fit.to_dict()}, lambda: text(fit, units), as_json=as_json)


def _few(line: Sequence[tuple[Value, float]]) -> list[tuple[Value, float]]:
    """Return a profile; of a long one its ends, its best value and eight evenly spaced values (JSON has all)."""
    if len(line) <= PRINTED_VALUES:
        return list(line)
    best = min(range(len(line)), key=lambda place: line[place][1])
    places = {best, *(round(number * (len(line) - 1) / (PRINTED_VALUES - 2)) for number in range(PRINTED_VALUES - 1))}
    return [line[place] for place in sorted(places)]


def text(fit: Calibration, units: Mapping[str, str]) -> str:
    """Return a calibration as text: fitted values, errors of the rows, other values that fit."""
    admissible = fit.admissible
    values = [
        {"parameter": name, "fitted": value, "unit": units[name],
         "admissible": " ".join(dict.fromkeys(map(cell, admissible[name])))}
        for name, value in fit.best.values.items()
    ]  # fmt: skip
    rows = [
        {"row": key, "error": f"{100 * fit.best.errors[key]:+.2f} %",
         "other seeds": f"{100 * fit.evaluation[key]:+.2f} %"} for key in fit.rows
    ]  # fmt: skip
    summary = (
        f"root mean square {100 * fit.best.score:.2f} % with the seeds of the fit, "
        f"{100 * fit.evaluation_score:.2f} % with others; {len(fit.fits)} fits"
    )
    lines = [
        {"parameter": name, "value": value, "unit": units[name], "score %": 100 * reached}
        for name, line in fit.profile.items() for value, reached in _few(line)
    ]  # fmt: skip
    return "\n\n".join([table(values), table(rows), summary, *([table(lines)] if lines else [])])
