"""Builds a folder of offline pages from notebooks: writes an index at once, runs changed notebooks, writes pages.

As many notebooks run at once as there are cores.
"""

import asyncio
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npexplore import signals
from npexplore.errors import NpexploreError
from npexplore.packets.output import write_text
from npexplore.progress import Task
from npexplore.report.execute import Run, execute, stored
from npexplore.report.kept import STORE, Kept, downloads, page_of, shared_files
from npexplore.report.notebooks import Notebook, as_ipynb
from npexplore.study.sweeping.executors import usable_cores
from npexplore.toml import decode


@dataclass(frozen=True)
class Report:
    """The result of `build`: the index page and the runs of the pages."""

    index: Path
    runs: tuple[Run, ...]

    def raise_for_errors(self) -> None:
        """Raise NpexploreError naming the notebook, the cell and the error of each run that failed."""
        errors = [run.error for run in self.runs if run.error]
        if errors:
            raise NpexploreError(f"{len(errors)} of {len(self.runs)} notebooks failed: {'; '.join(errors)}")


def build(
    notebooks: Sequence[Notebook], out: Path, *, single_file: bool = False, force: bool = False,
    on_page: Callable[[Path, int, int], None] | None = None,
) -> Report:  # fmt: skip
    """Write one page per notebook and `index.html` into `out`; the index is written before the first notebook runs.

    A notebook whose fingerprint has not changed is not run again unless `force`, and a page that is up to date is not
    written again. The index is written again whenever a page is ready, and when the report is stopped. The page of a
    failing notebook ends at the failing cell, and the other notebooks go on; `raise_for_errors` names the failures.

    Args:
        notebooks: the notebooks, in the order of the index.
        out: the folder to write to.
        single_file: whether each page carries plotly.js.
        force: whether to run every notebook again.
        on_page: called with the path of the index, then of each page; the number of pages ready, and of all pages.
    """
    from npexplore.report.index import Index
    from npexplore.report.pages import page
    from npexplore.report.shell import library

    out.mkdir(parents=True, exist_ok=True)
    if not single_file:
        library(out / "index.html")
    page_cache = Kept(out, single_file=single_file)
    files = [notebook.path for notebook in notebooks]
    sources, all_sources = {page_of(path): page_cache.source(path) for path in files}, page_cache.sources(files)
    stored_runs = {notebook.name: None if force else stored(notebook, out / STORE) for notebook in notebooks}
    to_run = [notebook for notebook in notebooks if stored_runs[notebook.name] is None]
    index = Index(notebooks, out, single_file=single_file)

    def write(run: Run) -> None:
        name = page_of(run.notebook.path)
        source = sources[name]
        if run is not stored_runs[run.notebook.name] or not page_cache.good(name, source):
            write_text(out / name, page(run, single_file=single_file))
            if run.error is None:
                page_cache.note(name, source, run.seconds)
        index.put(run)

    def arrive(run: Run) -> None:
        write(run)
        tell(out / page_of(run.notebook.path))

    def begin(notebook: Notebook) -> None:
        index.begin(notebook)
        index.write()

    def tell(path: Path) -> None:
        index.write()
        if on_page is not None:
            on_page(path, index.ready, len(notebooks))

    for notebook in notebooks:
        for name in downloads(notebook.path, single_file):
            (out / name).write_text(as_ipynb(notebook), encoding="utf-8")
            page_cache.note(name, sources[page_of(notebook.path)])
    for run in stored_runs.values():
        if run is not None:
            write(run)
    tell(index.path)
    with Task("pages", unit="cell", total=sum(notebook.code_cells for notebook in to_run)) as task:
        try:
            ran = asyncio.run(_all(begin_order(to_run, page_cache), out / STORE, task, begin, arrive)) if to_run else {}
        except KeyboardInterrupt:
            index.stop()
            index.write()
            raise
    runs = tuple(run or ran[name] for name, run in stored_runs.items())
    if not any(run.error for run in runs):
        for name in shared_files(single_file):
            page_cache.note(name, all_sources)
    return Report(index.path, runs)


def begin_order(notebooks: Sequence[Notebook], page_cache: Kept) -> list[Notebook]:
    """Return the notebooks in the order of their start: the shortest one about a paper, then the longest first."""
    longest = longest_first(notebooks, page_cache)
    first = [notebook for notebook in longest if notebook.on_paper][-1:]
    return first + [notebook for notebook in longest if notebook not in first]


def longest_first(notebooks: Sequence[Notebook], page_cache: Kept) -> list[Notebook]:
    """Return the notebooks by their last run time, longest first, so that no long one is left for the end.

    The time of a notebook without a run here is estimated from `seconds.toml` in its folder, scaled to this machine,
    and without an entry there from the length of its text.
    """
    sizes = {notebook.name: float(len("".join(cell.source for cell in notebook.cells.cells))) for notebook in notebooks}
    took = {
        notebook.name: seconds
        for notebook in notebooks
        if (seconds := page_cache.seconds(page_of(notebook.path))) is not None
    }
    for guess in (_noted({notebook.path.parent for notebook in notebooks}), sizes):
        in_both = [name for name in took if guess.get(name)]
        pace = sum(took[name] for name in in_both) / sum(guess[name] for name in in_both) if in_both else 1.0
        took |= {
            notebook.name: pace * guess[notebook.name]
            for notebook in notebooks
            if notebook.name in guess and notebook.name not in took
        }
    return sorted(notebooks, key=lambda notebook: took[notebook.name], reverse=True)


def _noted(folders: Iterable[Path]) -> dict[str, float]:
    """Return the measured run times of notebooks in seconds, by name, from `seconds.toml` in their folders."""
    files = [folder / "seconds.toml" for folder in folders]
    return {
        name: seconds
        for path in files
        if path.is_file()
        for name, seconds in decode(path.read_bytes(), dict[str, float], path).items()
    }


async def _all(
    begun: Sequence[Notebook], store: Path, task: Task, begin: Callable[[Notebook], None], arrive: Callable[[Run], None]
) -> dict[str, Run]:
    """Return the runs of all notebooks by name; they start in order, as many at once as there are cores.

    begin: called with a notebook when it starts. arrive: called with each run that ended. If the process is told to
    stop, the kernels are stopped too.
    """
    free_cores = asyncio.Semaphore(usable_cores())
    running: list[str] = []
    loop, this_task, stopped = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

    def stop(number: int) -> None:
        signals.note(number)
        stopped.set()
        if this_task is not None:
            this_task.cancel()

    def listen() -> None:
        with suppress(NotImplementedError, RuntimeError):  # signals are not available here: Ctrl-C ends the process
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop, number)

    async def run_one(notebook: Notebook) -> Run:
        async with free_cores:
            running.append(notebook.name)
            begin(notebook)
            task.describe(", ".join(running))
            try:
                run = await execute(notebook, store, task.advance, listen)  # the kernel's client replaces our handlers
            finally:
                listen()
                running.remove(notebook.name)
        if stopped.is_set():  # the kernel was stopped, so the run is not complete
            raise asyncio.CancelledError
        arrive(run)
        return run

    listen()
    try:
        results = await asyncio.gather(*(run_one(notebook) for notebook in begun), return_exceptions=True)
    except asyncio.CancelledError:
        if stopped.is_set():
            raise KeyboardInterrupt from None
        raise
    runs = {}
    for result in results:
        if isinstance(result, BaseException):
            raise result
        runs[result.notebook.name] = result
    return runs
