"""From notebooks to a folder of offline pages: run what changed, write each page when it is ready, then the index.

As many notebooks run at once as there are cores.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npexplore import signals
from npexplore.errors import NpexploreError
from npexplore.report.execute import Run, execute, stored
from npexplore.report.kept import STORE, Kept, downloads, page_of, shared_files
from npexplore.report.notebooks import Notebook, as_ipynb
from npexplore.toml import decode


@dataclass(frozen=True)
class Report:
    """The result of `build`: the index page and the runs behind the pages."""

    index: Path
    runs: tuple[Run, ...]

    def raise_for_errors(self) -> None:
        """Raise NpexploreError naming the notebook, the cell and the error of each run that failed."""
        errors = [run.error for run in self.runs if run.error]
        if errors:
            raise NpexploreError(f"{len(errors)} of {len(self.runs)} notebooks failed: {'; '.join(errors)}")


def build(notebooks: Sequence[Notebook], out: Path, *, single_file: bool = False, force: bool = False) -> Report:
    """Write one page per notebook and `index.html` into `out`, with a progress bar over the cells to run.

    A notebook whose fingerprint has not changed is not run again unless `force`, and a page that is up to date is not
    written again. Notebooks that took longest are run first. The page of a failing notebook ends at the failing cell,
    and the others go on; `raise_for_errors` of the result raises what failed.
    """
    from tqdm import tqdm

    from npexplore.report.index import index_page
    from npexplore.report.pages import page
    from npexplore.report.search import search_js
    from npexplore.report.shell import SEARCH_JS, library

    out.mkdir(parents=True, exist_ok=True)
    if not single_file:
        library(out / "index.html")
    kept = Kept(out, single_file=single_file)
    files = [notebook.path for notebook in notebooks]
    sources, every = {page_of(path): kept.source(path) for path in files}, kept.sources(files)
    known = {notebook.name: None if force else stored(notebook, out / STORE) for notebook in notebooks}
    to_run = sum(notebook.code_cells for notebook in notebooks if known[notebook.name] is None)

    def write(run: Run) -> None:
        name = page_of(run.notebook.path)
        source = sources[name]
        if run is known[run.notebook.name] and kept.good(name, source):
            return
        (out / name).write_text(page(run, single_file=single_file), encoding="utf-8")
        if run.error is None:
            kept.note(name, source, run.seconds)

    for notebook in notebooks:
        for name in downloads(notebook.path, single_file):
            (out / name).write_text(as_ipynb(notebook), encoding="utf-8")
            kept.note(name, sources[page_of(notebook.path)])
    with tqdm(total=to_run, unit="cell", desc="report", disable=None if to_run else True) as bar:
        runs = asyncio.run(_all(notebooks, longest_first(notebooks, kept), known, out / STORE, bar, write))
    index = out / "index.html"
    if not single_file:
        (out / SEARCH_JS).write_text(search_js(notebooks), encoding="utf-8")
    index.write_text(index_page(runs, single_file=single_file), encoding="utf-8")
    if not any(run.error for run in runs):
        for name in shared_files(single_file):
            kept.note(name, every)
    return Report(index, tuple(runs))


def longest_first(notebooks: Sequence[Notebook], kept: Kept) -> list[Notebook]:
    """Return the notebooks by how long they ran last, longest first, so that no long one is left for the end.

    One that never ran here stands where the seconds noted beside it would put it at this machine's pace, and without
    such a note where its text's length would.
    """
    sizes = {one.name: float(len("".join(cell.source for cell in one.cells.cells))) for one in notebooks}
    took = {one.name: seconds for one in notebooks if (seconds := kept.seconds(page_of(one.path))) is not None}
    for guess in (_noted({one.path.parent for one in notebooks}), sizes):
        both = [name for name in took if guess.get(name)]
        pace = sum(took[name] for name in both) / sum(guess[name] for name in both) if both else 1.0
        took |= {one.name: pace * guess[one.name] for one in notebooks if one.name in guess and one.name not in took}
    return sorted(notebooks, key=lambda one: took[one.name], reverse=True)


def _noted(folders: Iterable[Path]) -> dict[str, float]:
    """Return the seconds that notebooks took when they were measured, by name: `seconds.toml` beside them."""
    found = [folder / "seconds.toml" for folder in folders]
    return {
        name: seconds
        for path in found
        if path.is_file()
        for name, seconds in decode(path.read_bytes(), dict[str, float], path).items()
    }


async def _all(
    notebooks: Sequence[Notebook], begun: Sequence[Notebook], known: Mapping[str, Run | None], store: Path, bar: Any,
    write: Callable[[Run], None],
) -> list[Run]:  # fmt: skip
    """Return the runs of all notebooks in their order, as many at once as there are cores; each is written when ready.

    begun: the same notebooks in the order in which they are begun.

    Stopped from outside, the kernels are stopped too.
    """
    places = asyncio.Semaphore(os.cpu_count() or 1)
    running: list[str] = []
    loop, whole, stopped = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def stop(number: int) -> None:
        signals.note(number)
        stopped.set()
        if whole is not None:
            whole.cancel()

    def listen() -> None:
        with suppress(NotImplementedError, RuntimeError):  # no signals here: then Ctrl-C ends the process
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop, number)

    async def one(notebook: Notebook) -> Run:
        run = known[notebook.name]
        if run is None:
            async with places:
                running.append(notebook.name)
                bar.set_description(", ".join(running))
                try:
                    run = await execute(notebook, store, bar.update, listen)  # a kernel's client listens for itself
                finally:
                    listen()
                    running.remove(notebook.name)
        write(run)
        return run

    try:
        made = await asyncio.gather(*(one(notebook) for notebook in begun), return_exceptions=True)
    except asyncio.CancelledError:
        if stopped.is_set():
            raise KeyboardInterrupt from None
        raise
    runs = {}
    for run in made:
        if isinstance(run, BaseException):
            raise run
        runs[run.notebook.name] = run
    return [runs[notebook.name] for notebook in notebooks]
