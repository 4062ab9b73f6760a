"""`npexplore notebooks`: the notebooks of the report as .ipynb, for tools that cannot open py:percent files."""

from pathlib import Path

import click

from npexplore.cli.files import write_texts
from npexplore.cli.output import emit, json_option
from npexplore.errors import InputError


@click.command("notebooks")
@click.option("--design", "designs", multiple=True, help="Only the notebooks about this design; may be repeated.")
@click.option(
    "--out", default="notebooks", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@click.option("--force", is_flag=True, help="Overwrite notebooks that were changed.")
@json_option
def command(designs: tuple[str, ...], out: Path, force: bool, as_json: bool) -> None:
    """Write the notebooks as .ipynb files without outputs, for Jupyter, Colab, VS Code or papermill.

    A notebook in the folder that differs from ours is not overwritten.
    """
    try:
        from npexplore.report.notebooks import as_ipynb, find_files, read_notebook

        texts = {out / f"{path.stem}.ipynb": as_ipynb(read_notebook(path)) for path in find_files(designs=designs)}
    except ModuleNotFoundError as error:
        raise InputError(f"notebooks need {error.name}: install npexplore[report]") from error
    changed = [path for path, text in texts.items() if path.exists() and path.read_text(encoding="utf-8") != text]
    if changed and not force:
        raise InputError(f"{changed[0]} exists with other cells; choose another --out, or --force to overwrite it")
    write_texts(out, texts)
    emit(
        {"files": [str(path) for path in texts]}, lambda: "\n".join(f"wrote {path}" for path in texts), as_json=as_json
    )
