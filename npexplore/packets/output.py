"""Where converted captures go: a file appears under its name only when it is whole, and never over its own source."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from npexplore.errors import InputError


@contextmanager
def replacing(source: str | Path | Sequence[str | Path], target: str | Path) -> Iterator[Path]:
    """Give a path to write to, and rename it to `target` at the end; after an error nothing is left of it.

    source: the file or files that are read meanwhile. Raises InputError if the target is one of them,
    or if there is no folder for it.
    """
    target = Path(target)
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written: there is no folder {target.parent}")
    sources = [source] if isinstance(source, str | Path) else source
    if target.exists() and any(str(one) != "-" and Path(one).exists() and target.samefile(one) for one in sources):
        raise InputError(f"{target}: is the input itself; choose another name for the output")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
