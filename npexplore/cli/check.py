"""`npexplore check`: compare every published number with its predictions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore import __version__
from npexplore.cli.completions import complete_design
from npexplore.cli.files import OutputFile, write_page
from npexplore.cli.options import set_option, split_settings
from npexplore.cli.output import emit, json_option, library_option, table, warn
from npexplore.errors import InputError

if TYPE_CHECKING:
    from npexplore.study.checking.check import Check

SHOWN = {
    "key": "key", "published": "published", "unit": "unit", "bounds": "bounds", "queueing": "queueing",
    "simulated": "simulated", "frozen": "frozen", "error": "error", "label": "label", "verdict": "verdict",
}  # fmt: skip


@click.command(help="Compare every published number with its prediction.")
@click.option(
    "--design",
    "designs",
    multiple=True,
    shell_complete=complete_design,
    help="Only rows of this design (its name, or a file that extends it); repeatable. Default: all papers.",
)
@set_option(several=False)
@click.option("--against", metavar="TOML", help="Compare a changed machine with this one. Default: as listed.")
@click.option(
    "--html", type=OutputFile(), help="Also write a page: errors before and after a change, or your own numbers."
)
@library_option
@click.option("--seeds", type=click.IntRange(2, 1000), default=3, show_default=True, help="Replications.")
@click.option(
    "--results",
    type=click.Path(dir_okay=False),
    help="CSV of your own numbers (docs/checking.md), shown beside the published and the predicted ones.",
)
@click.option("--sets", is_flag=True, help="Also predict with each parameter set that calibration admits (minutes).")
@click.option("--rtl", is_flag=True, help="Also measure rates in generated hardware (Verilator; minutes).")
@click.option("--estimate", is_flag=True, help="Also estimate each row: simulate to a narrow interval (minutes).")
@click.option("--why", metavar="KEY", help="Explain in sentences which inputs the prediction of this row used.")
@click.option("--markdown", type=OutputFile(), help="Also write the table as a Markdown page.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a check row is off.")
@json_option
def command(
    designs: tuple[str, ...], settings: tuple[str, ...], against: str | None, html: Path | None,
    shared_library: bool, seeds: int,
    results: str | None, sets: bool, rtl: bool, estimate: bool, why: str | None, markdown: Path | None,
    strict: bool, as_json: bool,
) -> int:  # fmt: skip
    """Print the cross-check table; with --strict, status 1 if a check is off."""
    from npexplore.designs import NETS

    files = any(Path(name).suffix or name in NETS for name in designs)
    own_page = html is not None and results is not None
    if settings or against is not None or (html is not None and not own_page) or (files and results is None):
        refuse_with_a_change(results=results, sets=sets, rtl=rtl, estimate=estimate, why=why, markdown=markdown)
        return _changed(designs, settings, against, html, shared_library, seeds, strict, as_json)
    from npexplore.designs import with_machines
    from npexplore.study.checking.changed import changed_machines
    from npexplore.study.checking.check import check
    from npexplore.study.checking.results import read_results

    machines = changed_machines(designs, {}) if files else None
    with with_machines(machines or {}):
        user_results = read_results(results) if results else None
    names = (
        list(dict.fromkeys(name for name in (*(machines or {}), *designs) if not (Path(name).suffix or name in NETS)))
        or None
    )
    names = names or (None if user_results is None else user_results.designs)
    chosen = None if why is None else [why]
    checked = check(
        names, seeds=seeds, results=user_results, sets=sets, rtl=rtl, estimate=estimate, keys=chosen, machines=machines
    )
    if why is not None:
        from npexplore.study.checking.why import why as reasons

        emit(checked.to_dict(), lambda: reasons(checked, why), as_json=as_json)
        return 0
    document = checked.to_dict()
    if html is not None:
        from npexplore.report.results_page import results_page

        beside = html if shared_library else None
        write_page(html, results_page(checked.results or [], f"{Path(results or '').name} against predictions", beside))
    emit(document, lambda: _text(checked.rows, checked.results, document["scores"]), as_json=as_json)
    if markdown is not None:
        _write_accuracy(markdown, checked, names, sets)
    for row in checked.rows:  # a quantity whose name is probably misspelt
        if "; is it" in (row["reason"] or ""):
            warn(f"{row['key']} has no prediction: {row['reason']}")
    off = [row["key"] for row in checked.rows if row["verdict"] == "off" and row["role"] == "check"]
    if off and (strict or user_results is None):
        warn(f"{len(off)} checks are off; their reasons are in the column `reason` of --json")
    return 1 if strict and off else 0


def refuse_with_a_change(**options: object) -> None:
    """Raise InputError if an option of the plain check is combined with a changed machine."""
    for name, value in options.items():
        if value:
            raise InputError(f"--{name} works with the machines as they are listed, not with a changed one")


MOVES = {
    "key": "key", "change": "change", "published": "published", "unit": "unit", "before": "before", "after": "after",
    "error_before": "error before", "error_after": "error after",
}  # fmt: skip


def _changed(
    designs: tuple[str, ...], settings: tuple[str, ...], against: str | None, html: Path | None,
    shared_library: bool, seeds: int,
    strict: bool, as_json: bool,
) -> int:  # fmt: skip
    """Print the rows that agree now, break or move; with --strict, return 1 if a row breaks."""
    from npexplore.designs import base_of, design
    from npexplore.study.checking.changed import CHANGES, changed_machines, compare_checks, knob_changes

    values_by_knob = split_settings(settings)
    for name, values in values_by_knob.items():
        if len(values) > 1:
            raise InputError(f"--set {name} takes one value here, got {','.join(values)}")
    machines = changed_machines(designs, {name: values[0] for name, values in values_by_knob.items()})
    against_machines = {}
    if against is not None:
        changed_design = design(against)
        machines = machines or {base_of(changed_design): design(base_of(changed_design))}
        if base_of(changed_design) not in machines:
            raise InputError(
                f"--against {against} is a {base_of(changed_design)} and cannot be compared with {', '.join(machines)}"
            )
        machines = {base_of(changed_design): machines[base_of(changed_design)]}
        against_machines = {base_of(changed_design): changed_design}
    changes = compare_checks(machines, against_machines, seeds=seeds)
    document = changes.to_dict()
    change_text = "; ".join(knob_changes(name, machine) for name, machine in machines.items())
    if not document["rows"]:
        raise InputError(f"no published row belongs to {', '.join(machines)}")

    def text() -> str:
        from npexplore.report.changed_page import said

        order = [row for change in CHANGES[:-1] for row in document["rows"] if row["change"] == change]
        table_rows = [
            {
                **row,
                **{key: None if row[key] is None else f"{100 * row[key]:+.1f} %" for key in MOVES if "error" in key},
            }
            for row in order
        ]
        return f"{change_text}\n{said(changes)}" + (f"\n\n{table(table_rows, MOVES)}" if table_rows else "")

    emit({"version": __version__, "changed": change_text, **document}, text, as_json=as_json)
    if html is not None:
        from npexplore.report.changed_page import changed_page

        write_page(html, changed_page(changes, change_text, html if shared_library else None))
    return 1 if strict and document["counts"]["breaks"] else 0


MINE = {
    "line": "line", "what": "number", "unit": "unit", "value": "yours", "published": "published", "error": "error",
    "verdict": "verdict", "predicted": "predicted", "difference": "yours - predicted", "our_verdict": "our verdict",
}  # fmt: skip


def _mine(results: list[dict[str, Any]]) -> str:
    """Return a user's numbers as a table with the published and the predicted numbers."""
    rows = []
    for result in results:
        conditions = " ".join(f"{knob}={value}" for knob, value in result["conditions"].items() if knob != "design")
        what = result["key"] or f"{result['design']} {result['quantity']} {conditions}".strip()
        shares = {
            key: None if result[key] is None else f"{100 * result[key]:+.1f} %" for key in ("error", "difference")
        }
        rows.append({**result, "what": what, **shares})
    return table(rows, MINE)


def _scoreboard(lines: list[dict[str, Any]]) -> str:
    """Return one line per paper; scores without skill are marked."""
    from npexplore.plot.scoreboard import NONE, papers

    rows = [
        {
            name: "" if text == NONE else f"{text} !" if red and name != "off" else text
            for name, (text, red) in row.items()
        }
        for row in papers(lines)
    ]
    return table(rows, {name: name for name in rows[0]}) + "\n(!: no better than a reader without a model)"


def _text(rows: list[dict[str, Any]], results: list[dict[str, Any]] | None, scores: list[dict[str, Any]]) -> str:
    if results is not None:
        return _mine(results)
    modelled = [row for row in rows if row["verdict"] != "not_modelled"]
    printed = [{**row, "error": None if row["error"] is None else f"{100 * row['error']:+.1f} %"} for row in modelled]
    counts = Counter(row["verdict"] for row in rows)
    text = table(printed, SHOWN) + "\n\n" + ", ".join(f"{count} {name}" for name, count in counts.most_common())
    if several := [row["key"] for row in rows if row["modes"]]:
        text += f"\n\nof one of several modes (column `modes` of --json): {', '.join(several)}"
    return f"{text}\n\n{_scoreboard(scores)}" if scores else text


def _write_accuracy(path: Path, checked: Check, wanted: list[str] | None, sets: bool) -> None:
    """Write the accuracy page; with `sets` also distances of solvers and, for all designs, errors of the DRAM model."""
    from npexplore.designs import design_names
    from npexplore.ledger import load
    from npexplore.report.accuracy import accuracy
    from npexplore.study.checking.solvers import distances

    solver_distances = distances(design_names() if wanted is None else wanted) if sets else []
    memory = []
    if sets and set(wanted or design_names()) >= set(design_names()):
        from npexplore.study.dram import experiments, table

        memory = table([(experiment, experiment.error()) for experiment in experiments()])
    write_page(path, accuracy(checked, load(), solver_distances, memory))
