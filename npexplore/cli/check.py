"""`npexplore check`: every published number beside its predictions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from npexplore.cli.files import OutputFile
from npexplore.cli.output import emit, json_option, table, warn

SHOWN = {
    "key": "key", "published": "published", "unit": "unit", "bounds": "bounds", "queueing": "queueing",
    "simulated": "simulated", "frozen": "frozen", "error": "error", "label": "label", "verdict": "verdict",
}  # fmt: skip


@click.command(help="Compare every published number with its prediction.")
@click.option("--design", "designs", multiple=True, help="Only rows of this design; may repeat. Default: all papers.")
@click.option("--seeds", type=click.IntRange(2, 1000), default=3, show_default=True, help="Replications.")
@click.option(
    "--results",
    type=click.Path(dir_okay=False),
    help="CSV of your own numbers (docs/studies.md): beside published ones and ours.",
)
@click.option("--sets", is_flag=True, help="Also over the parameter sets that calibration admits (minutes).")
@click.option("--why", metavar="KEY", help="What the value of this row was read from, as sentences.")
@click.option("--markdown", type=OutputFile(), help="Also write the table as a Markdown page.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a check row is off.")
@json_option
def command(
    designs: tuple[str, ...], seeds: int, results: str | None, sets: bool, why: str | None, markdown: Path | None,
    strict: bool, as_json: bool,
) -> int:  # fmt: skip
    """Print the cross-check table; with --strict, status 1 if a check is off."""
    from npexplore.study.checking.check import check
    from npexplore.study.checking.results import read_results

    theirs = read_results(results) if results else None
    wanted = designs or (None if theirs is None else theirs.designs)
    found = check(wanted, seeds=seeds, results=theirs, sets=sets, keys=None if why is None else [why])
    if why is not None:
        from npexplore.study.checking.why import why as told

        emit(found.to_dict(), lambda: told(found, why), as_json=as_json)
        return 0
    document = found.to_dict()
    emit(document, lambda: _text(found.rows, found.results, document["scores"]), as_json=as_json)
    if markdown is not None:
        from npexplore.ledger import load
        from npexplore.report.accuracy import accuracy

        markdown.write_text(accuracy(found, load()))
    off = [row["key"] for row in found.rows if row["verdict"] == "off" and row["role"] == "check"]
    if off and (strict or theirs is None):
        warn(f"{len(off)} checks are off; their reasons are in the column `reason` of --json")
    return 1 if strict and off else 0


MINE = {
    "line": "line", "what": "number", "unit": "unit", "value": "yours", "published": "published", "error": "error",
    "verdict": "verdict", "predicted": "predicted", "difference": "yours - predicted",
}  # fmt: skip


def _mine(results: list[dict[str, Any]]) -> str:
    """Return a user's numbers as a table: beside the published ones, and beside ours."""
    rows = []
    for result in results:
        told = " ".join(f"{knob}={value}" for knob, value in result["conditions"].items() if knob != "design")
        what = result["key"] or f"{result['design']} {result['quantity']} {told}".strip()
        shares = {
            key: None if result[key] is None else f"{100 * result[key]:+.1f} %" for key in ("error", "difference")
        }
        rows.append({**result, "what": what, **shares})
    return table(rows, MINE)


def _scoreboard(lines: list[dict[str, Any]]) -> str:
    """Return one line a paper; what has no skill is marked."""
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
    shown = [{**row, "error": None if row["error"] is None else f"{100 * row['error']:+.1f} %"} for row in modelled]
    counts = Counter(row["verdict"] for row in rows)
    told = table(shown, SHOWN) + "\n\n" + ", ".join(f"{n} {name}" for name, n in counts.most_common())
    return f"{told}\n\n{_scoreboard(scores)}" if scores else told
