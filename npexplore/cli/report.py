"""`npexplore report`: run the notebooks and write the offline HTML."""

import os
from pathlib import Path

import click

from npexplore.cli.output import note
from npexplore.errors import InputError


def _tell(page: Path, ready: int, count: int) -> None:
    if ready < count or page.name != "index.html":
        note(f"report: {page} stands ({ready} of {count} pages)")


@click.command("report")
@click.option("--design", "designs", multiple=True, help="Only the notebooks about this design; may be repeated.")
@click.option(
    "--out", default="reports", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@click.option("--single-file", is_flag=True, help="Put plotly.js into every page, so that one can be sent alone.")
@click.option("--force", is_flag=True, help="Run every notebook again, changed or not.")
@click.option("--compute", is_flag=True, help="As --force; also recompute results that are stored in the package.")
def command(designs: tuple[str, ...], out: Path, single_file: bool, force: bool, compute: bool) -> None:
    """Run the notebooks and write the offline HTML report; unchanged notebooks are not run again."""
    try:
        if compute:
            from npexplore.report.precomputing import SETTING

            os.environ[SETTING], force = "0", True  # each notebook runs in a process of its own
        from npexplore.report.kept import unchanged
        from npexplore.report.notebooks import find_files, read_notebook

        files = find_files(designs=designs)
        if not force and (index := unchanged(files, out, single_file=single_file)):
            note(f"report: {index} (nothing has changed)")
            return
        from npexplore.report.build import build

        report = build(
            [read_notebook(path) for path in files], out, single_file=single_file, force=force, on_page=_tell
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("notebooks that had finished are kept, and not run again") from None
    except ModuleNotFoundError as error:
        raise InputError(f"reports need {error.name}: install npexplore[report]") from error
    note(f"report: {report.index}")
    report.raise_for_errors()
