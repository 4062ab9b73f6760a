"""From notebooks to a folder of offline pages: run what changed, write each page when it is ready, then the index."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npexplore.errors import NpexploreError
from npexplore.report.execute import Run, execute, stored
from npexplore.report.notebooks import Notebook

STORE = ".executed"


@dataclass(frozen=True)
class Report:
    """What was written: the index page and the runs behind the pages."""

    index: Path
    runs: tuple[Run, ...]

    def raise_for_errors(self) -> None:
        """Raise NpexploreError naming the notebook, the cell and the error of each run that failed."""
        errors = [run.error for run in self.runs if run.error]
        if errors:
            raise NpexploreError(f"{len(errors)} of {len(self.runs)} notebooks failed: {'; '.join(errors)}")


def build(notebooks: Sequence[Notebook], out: Path, *, single_file: bool = False, force: bool = False) -> Report:
    """Write one page a notebook and `index.html` into `out`, with a progress bar over the cells to run.

    A notebook whose fingerprint has not changed is not run again unless `force`. A failing notebook leaves its page up
    to the failing cell and does not stop the others; ask the result with `raise_for_errors`.
    """
    from plotly.offline import get_plotlyjs
    from tqdm import tqdm

    from npexplore.report.index import index_page
    from npexplore.report.pages import PLOTLY_JS, page

    out.mkdir(parents=True, exist_ok=True)
    if not single_file:
        (out / PLOTLY_JS).write_text(get_plotlyjs(), encoding="utf-8")
    known = {notebook.name: None if force else stored(notebook, out / STORE) for notebook in notebooks}
    to_run = sum(notebook.code_cells for notebook in notebooks if known[notebook.name] is None)
    runs = []
    with tqdm(total=to_run, unit="cell", desc="report", disable=None if to_run else True) as bar:
        for notebook in notebooks:
            bar.set_description(notebook.name)
            run = known[notebook.name] or execute(notebook, out / STORE, bar.update)
            (out / f"{notebook.name}.html").write_text(page(run, single_file=single_file), encoding="utf-8")
            runs.append(run)
    index = out / "index.html"
    index.write_text(index_page(runs), encoding="utf-8")
    return Report(index, tuple(runs))
