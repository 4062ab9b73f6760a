"""Finds and reads the notebooks of a report: py:percent files named NN_SUBJECT[_TOPIC].py, read with jupytext."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npexplore.errors import InputError, UnknownNameError
from npexplore.paths import share


@dataclass(frozen=True)
class Notebook:
    """One notebook: its source file and the parsed cells."""

    path: Path
    cells: Any  # nbformat.NotebookNode

    @property
    def name(self) -> str:
        """The file's name without suffix; also the name of its page."""
        return self.path.stem

    @property
    def subject(self) -> str:
        """The name without its number: `10_ixp2400_banks` is about `ixp2400_banks`."""
        return _subject(self.path)

    @property
    def title(self) -> str:
        """The first heading, or the name."""
        match = re.search(r"^# +(.+)$", self._prose, re.MULTILINE)
        return match[1].strip() if match else self.name

    @property
    def summary(self) -> str:
        """The first paragraph of prose."""
        blocks = (block.strip() for block in re.split(r"\n\s*\n|^#+ .*$", self._prose, flags=re.MULTILINE))
        return next(
            (" ".join(block.split()) for block in blocks if block and not block.startswith(("#", "|", "$"))), ""
        )

    @property
    def code_cells(self) -> int:
        """Number of cells to run."""
        return sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in self.cells.cells)

    @property
    def on_paper(self) -> bool:
        """Whether its first screen compares a machine with a paper's printed numbers."""
        return any(cell.cell_type == "code" and "paper_screen(" in cell.source for cell in self.cells.cells)

    @property
    def _prose(self) -> str:
        return "\n\n".join(cell.source for cell in self.cells.cells if cell.cell_type == "markdown")


def read_notebook(path: Path) -> Notebook:
    """Read one py:percent notebook; raises InputError if it holds no cell."""
    import jupytext

    cells = jupytext.read(path)
    if not cells.cells:
        raise InputError(f"{path.name}: a notebook needs cells (py:percent: lines that start with '# %%'), got none")
    return Notebook(path, cells)


def as_ipynb(notebook: Notebook) -> str:
    """Return a notebook as the text of an .ipynb file (nbformat 4) without outputs; it depends on the cells only."""
    import copy

    import nbformat

    cells = copy.deepcopy(notebook.cells)
    cells.metadata.pop("jupytext", None)
    cells.nbformat_minor = 5
    for number, cell in enumerate(cells.cells):
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return str(nbformat.writes(cells, version=4)) + "\n"  # type: ignore[no-untyped-call]


def find_files(folder: Path | None = None, designs: Sequence[str] = ()) -> list[Path]:
    """Return the notebook files of a folder (default: npexplore's), in order of their numbers.

    With `designs`, only those whose subject is or starts with one of the names. Raises UnknownNameError for a name
    without a notebook, InputError for a folder without notebooks.
    """
    folder = share("notebooks") if folder is None else folder
    files = sorted(folder.glob("[0-9]*_*.py"))
    if not files:
        raise InputError(f"{folder} holds no notebook named NN_SUBJECT.py")
    for name in designs:
        if not _about(name, files):
            raise UnknownNameError("design with a notebook", name, {_subject(path) for path in files})
    return _about(designs, files) if designs else files


def find_notebooks(folder: Path | None = None, designs: Sequence[str] = ()) -> list[Notebook]:
    """Read the notebooks that `find_files` returns; raises the errors of `find_files` and `read_notebook`."""
    return [read_notebook(path) for path in find_files(folder, designs)]


def _subject(path: Path) -> str:
    return re.sub(r"^\d+_", "", path.stem)


def _about(designs: str | Iterable[str], notebooks: list[Path]) -> list[Path]:
    names = {designs} if isinstance(designs, str) else set(designs)
    return [path for path in notebooks if any(f"{_subject(path)}_".startswith(f"{name}_") for name in names)]
