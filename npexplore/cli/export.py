"""`npexplore export`: the rows that a sweep or a load curve has finished, as a Parquet file, while it runs or after it.

The running command is not affected (docs/sweeps.md).
"""

from pathlib import Path

import click

from npexplore.cli.files import OutputFile
from npexplore.cli.output import emit, json_option
from npexplore.errors import InputError


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=OutputFile(), help="Parquet file to write.")
@json_option
def command(file: Path, out: Path, as_json: bool) -> None:
    """Copy the finished rows of a sweep to another Parquet file; FILE is the --out file of the sweep."""
    from npexplore.study.sweeping.store import read_rows
    from npexplore.study.sweeping.tables import write_rows

    if out.resolve() == file.resolve():
        raise InputError(f"{out}: is the sweep's own file; choose another one (npexplore doctor {file} completes it)")
    rows = read_rows(file)
    write_rows(rows, out)
    document = {"file": str(file), "out": str(out), "rows": rows.num_rows}
    emit(document, lambda: f"{rows.num_rows} finished rows of {file} are in {out}", as_json=as_json)
