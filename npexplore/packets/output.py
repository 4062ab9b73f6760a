"""Where converted captures go: a file appears under its name only when it is whole, and never over its own source."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npexplore.errors import InputError


@contextmanager
def replacing(source: str | Path, target: str | Path) -> Iterator[Path]:
    """Give a path to write to, and rename it to `target` at the end; after an error nothing is left of it.

    Raises InputError if source and target are one file, or if there is no folder for the target.
    """
    target = Path(target)
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written: there is no folder {target.parent}")
    if str(source) != "-" and target.exists() and target.samefile(source):
        raise InputError(f"{target}: is the input itself; choose another name for the output")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
