"""Runs a notebook in a kernel of this interpreter, and stores the result until its fingerprint changes."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npexplore.packets.output import replacing
from npexplore.report.fingerprint import fingerprint
from npexplore.report.notebooks import Notebook

CELL_TIMEOUT_S = 1800
_MARK = "npexplore"  # our key in the metadata of an executed notebook
# Start-up code of each kernel. With the default threshold (700 new objects) Python's cycle collector takes a tenth of
# the pages' time, because a page keeps its machines. Figures need no grammar of IRIs.
_STARTUP = """\
import gc
from npexplore.imports import spare_iri_grammar
gc.set_threshold(20_000, 20, 10)
spare_iri_grammar()
del gc, spare_iri_grammar
"""


@dataclass(frozen=True)
class Run:
    """An executed notebook: cells with outputs, time of the end, run time, and the first error in one line, if any."""

    notebook: Notebook
    cells: Any  # nbformat.NotebookNode
    finished: str  # UTC, to the second
    seconds: float
    error: str | None = None


def stored(notebook: Notebook, store: Path) -> Run | None:
    """Return the stored run of a notebook; None if there is none, if it is outdated or if it cannot be read."""
    import nbformat

    path = store / f"{notebook.name}.ipynb"
    if not path.exists():
        return None
    try:
        cells = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception:  # nbformat raises many kinds of errors for a damaged file
        return None
    our_metadata = cells.metadata.get(_MARK, {})
    if our_metadata.get("fingerprint") != fingerprint(notebook.path):
        return None
    return Run(notebook, cells, our_metadata["finished"], our_metadata["seconds"])


async def execute(
    notebook: Notebook, store: Path, on_cell: Callable[[], None], on_start: Callable[[], None] = lambda: None
) -> Run:
    """Run all cells; a run without error is stored. `on_start` is called when the kernel has started, `on_cell` after
    each executed cell.

    Several notebooks may run at once. The kernel is reached through sockets in a private folder (no network) and
    ignores the user's IPython profile.
    """
    import copy

    import nbclient
    import nbformat
    from traitlets.config import Config

    print_id = fingerprint(notebook.path)
    cells = copy.deepcopy(notebook.cells)
    began = time.monotonic()
    failed: list[int] = []
    error = None
    with tempfile.TemporaryDirectory(prefix="npx-") as folder:
        startup = Path(folder, "ipython", "profile_default", "startup", "00_npexplore.py")
        startup.parent.mkdir(parents=True)
        startup.write_text(_STARTUP, encoding="utf-8")
        client = nbclient.NotebookClient(
            cells,
            timeout=CELL_TIMEOUT_S,
            kernel_name="python3",
            shutdown_kernel="immediate",
            resources={"metadata": {"path": str(notebook.path.parent)}},
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/k"}}),
            on_notebook_start=lambda **_: on_start(),
            on_cell_executed=lambda **_: on_cell(),
            on_cell_error=lambda cell_index, **_: failed.append(cell_index),
        )
        try:
            await client.async_execute(env=_kernel_environment(folder))
        except nbclient.exceptions.CellExecutionError as failure:
            error = f"{_place(notebook, cells, failed)}: {failure.ename}: {' '.join(failure.evalue.split())}"
        except (nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError) as failure:
            error = f"{notebook.path.name}: {' '.join(str(failure).split())}"
    finished = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    seconds = round(time.monotonic() - began, 1)
    if error is None:
        cells.metadata[_MARK] = {"fingerprint": print_id, "finished": finished, "seconds": seconds}
        store.mkdir(parents=True, exist_ok=True)
        with replacing("-", store / f"{notebook.name}.ipynb") as part:
            nbformat.write(cells, part)  # type: ignore[no-untyped-call]
    return Run(notebook, cells, finished, seconds, error)


def _kernel_environment(folder: str) -> dict[str, str]:
    """Return an environment in which figures are data, progress bars are off and no user profile is read."""
    return {
        **os.environ,
        "IPYTHONDIR": f"{folder}/ipython",
        "PLOTLY_RENDERER": "plotly_mimetype",
        "TQDM_DISABLE": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def _place(notebook: Notebook, cells: Any, failed: list[int]) -> str:
    """Return the name of the failing cell: its number among the code cells, and its first line."""
    if not failed:
        return notebook.path.name
    number = sum(cell.cell_type == "code" for cell in cells.cells[: failed[0] + 1])
    first_line = cells.cells[failed[0]].source.strip().splitlines()[0]
    return f"{notebook.path.name}, code cell {number} ({first_line})"
