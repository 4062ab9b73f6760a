"""Reports the compilation of kernels as a task, so that a long first call is not silent (npexplore/progress.py).

numba's lock is held during this, so that only one thread at a time runs this code.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from npexplore.progress import Task, is_reporting, reporting


class Kernel(Protocol):
    """A kernel that is compiled."""

    name: str

    def parts(self) -> set[Any]:
        """Return the kernel and all kernels that it calls."""


_open: list[Kernel] = []  # kernels that are being compiled, each called by the previous one
_ready: set[Kernel] = set()  # compiled parts of the outermost kernel
_reported = ExitStack()
_task: Task | None = None


@contextmanager
def part(kernel: Kernel) -> Iterator[None]:
    """Count a kernel as ready at the end of the block; the end of the outermost one ends the report."""
    global _task
    _open.append(kernel)
    try:
        yield
    finally:
        _ready.add(_open.pop())
        if _task is not None:
            _task.reach(len(_ready), _task.total)
        if not _open:
            _ready.clear()
            _task = None
            _reported.close()


def missing(kernel: Kernel) -> None:
    """Begin the report: a kernel is not on disk and will be compiled."""
    global _task
    if _task is None:
        if not is_reporting():  # in a user's own program
            _reported.enter_context(reporting("npexplore"))
        label = f"compiling kernels, once: {_open[0].name}"
        _task = _reported.enter_context(Task(label, unit="part", total=len(_open[0].parts())))
