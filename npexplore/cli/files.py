"""Files that commands write: whether a file can be written is checked before the work, not after it."""

import os
from pathlib import Path
from typing import Any

import click

from npexplore.errors import InputError


def write_page(path: Path, text: str) -> None:
    """Write a text file all at once: if the writing is interrupted, the older file stays."""
    from npexplore.packets.output import replacing

    with replacing("-", path) as part:
        part.write_text(text, encoding="utf-8")


def refuse_closed(path: Path) -> None:
    """Raise InputError if the folder of a file to write is there and takes no files."""
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: folder {path.parent} is not writable")


class OutputFile(click.Path):
    """The path of a file to write, in a folder that exists and is writable; converted to a Path."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; raises InputError naming the folder that is missing or is not writable."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        if not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written: there is no folder {path.parent}")
        refuse_closed(path)
        return path
