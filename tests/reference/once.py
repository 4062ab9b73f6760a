"""What several tests need and what takes long to make, made once for all workers of a run (of pytest-xdist, too)."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MADE = ".made"  # stands in a folder whose making came to its end


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the run that `make` filled; a worker that comes while another makes it waits.

    What failed is made anew by who comes next, in the folder as it was left.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once_{name}"
    folder.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / MADE).exists():
            make(folder)
            (folder / MADE).touch()
    return folder
