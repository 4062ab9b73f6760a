"""`npexplore study`: answer the usual questions about one machine on one page (docs/machine_files.md).

The JSON document: `design, rates[{workload, Mpps, ...}], explanations[...], load, front, refused`; the parts are the
documents of `explain`, `load` and `optimise`. Exit status 3 if the capture is damaged.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from npexplore.cli.completions import complete_design
from npexplore.cli.files import OutputFile, refuse_closed, write_page
from npexplore.cli.options import apply_settings, ending, plain_workload, set_option
from npexplore.cli.output import emit, json_option, library_option, say, table
from npexplore.errors import InputError
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.study.explaining.explain import Explanation
    from npexplore.study.machine_study import MachineStudy


@click.command("study")
@click.argument("design", shell_complete=complete_design)
@set_option(several=False)
@click.option("--trace", metavar="FILE", help="Also study the packets of a capture; the page is then about these.")
@click.option("--prices", "price_files", multiple=True, metavar="TOML",
              help="What resources cost you (docs/sweeps.md): adds the cost front; repeatable.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of all runs.")
@click.option(
    "--budget",
    "budget_s",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Seconds after which no further question is begun.",
)
@click.option("--html", type=OutputFile(), help="The page; default: NAME_study.html in this folder.")
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the page and its document, NAME_study.html and NAME_study.json, into this folder.",
)
@library_option
@json_option
def command(
    design: str, settings: tuple[str, ...], trace: str | None, price_files: tuple[str, ...], seed: int,
    budget_s: float, html: Path | None, folder: Path | None, shared_library: bool, as_json: bool,
) -> int:  # fmt: skip
    """Write one page about DESIGN: rates, what binds, latency under load, what would help, cost, assumptions.

    Packets are Ethernet frames of 64 bytes, the IMIX of testers, and those of --trace.
    """
    import npexplore.designs as designs
    from npexplore.report.study_page import study_page
    from npexplore.study.machine_study import study_machine, usual_workloads
    from npexplore.study.optimising.prices import load_prices

    prices = [load_prices(path) for path in price_files]
    machine = apply_settings(designs.design(design), settings)
    if html is not None and folder is not None:
        raise InputError("a study is written to --html FILE or into --out DIR, got both")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    page = (folder or Path()) / f"{machine.name}_study.html" if html is None else html
    refuse_closed(page)
    capture = None if trace is None else plain_workload(trace, None, None, None, None, design=machine)

    def answered(e: Explanation) -> None:
        if not as_json:
            say(rate_line(e))

    with Task(machine.name, unit="point") as task:

        def progress(question: str, done: int, total: int) -> None:
            task.describe(question)
            task.reach(done, total or None)

        study = study_machine(
            machine,
            usual_workloads(machine, capture),
            prices=prices,
            seed=seed,
            budget_s=budget_s,
            answered=answered,
            progress=progress,
        )
    words = shlex.join(["npexplore", "study", design, *(word for text in settings for word in ("--set", text)),
                        *(() if trace is None else ("--trace", trace)),
                        *(word for path in price_files for word in ("--prices", path))])  # fmt: skip
    write_page(page, study_page(study, words, page if shared_library else None))
    document = study.to_dict() | {"page": str(page)}
    if folder is not None:
        write_page(page.with_suffix(".json"), json.dumps(document, indent=1, allow_nan=False) + "\n")
    emit(document, lambda: text(study, page), as_json=as_json)
    return 0 if capture is None else ending(capture)


def rate_line(e: Explanation) -> str:
    """Return the rate of a machine with one workload, in a line."""
    from npexplore.study.machine_study import rate_row

    row = rate_row(e)
    line = "" if row["% of line rate"] is None else f", {row['% of line rate']:.3g} % of line rate"
    return f"{row['workload']}: {row['Mpps']:.4g} Mpps{line}; what binds: {row['binds']}"


def text(study: MachineStudy, page: Path) -> str:
    """Return the text for the terminal: rate, advice, latency under load, recommended machine for its cost."""
    from npexplore.report.study_page import latency_rows

    parts = ["\n".join(str(study.subject).split("\n")[:3])]
    parts += [] if study.load is None else [table(latency_rows(study.load))]
    chosen = None if study.front is None else study.front.recommended()
    parts += [] if chosen is None else [chosen[1]]
    parts += [f"No answer, {question}: {reason}" for question, reason in study.refused.items()]
    return "\n\n".join([*parts, f"{page}: all answers, single changes, assumptions"])
