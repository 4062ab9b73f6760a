"""Output files of commands, checked before the work starts, and the memory limit for input files."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from npexplore.errors import InputError

MIB = 1 << 20
LEAST_MEMORY = 64 * MIB

memory_option = click.option(
    "--memory", metavar="SIZE", default="1GiB", show_default=True, help="Memory limit; beyond it, flows are sampled."
)


def memory_limit(text: str) -> int:
    """Return the bytes that `--memory` allows; raises InputError."""
    from npexplore.units import quantity

    memory_bytes = int(quantity("--memory", text, "bytes"))
    if memory_bytes < LEAST_MEMORY:
        raise InputError(f"--memory must be at least {LEAST_MEMORY // MIB} MiB, got {text}")
    return memory_bytes


def write_page(path: Path, text: str) -> None:
    """Write a text file all at once: if writing is interrupted, the old file stays."""
    from npexplore.packets.output import write_text

    write_text(path, text)


def write_texts(folder: Path, texts: Mapping[Path, str]) -> None:
    """Write text files into a folder, which is created if missing; raises InputError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def refuse_closed(path: Path) -> None:
    """Raise InputError if the folder of an output file exists and is not writable."""
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


@contextmanager
def telling_what_is_kept(out: Path | None) -> Iterator[None]:
    """Add the number of rows that a study's file keeps to the message of an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        if out is None:
            raise
        from npexplore.study.sweeping.store import read_rows

        try:
            rows = read_rows(out).num_rows
        except InputError:
            rows = 0
        message = (
            f"{rows} rows are kept in {out}; --resume goes on" if rows else f"no point was finished, {out} has none"
        )
        raise KeyboardInterrupt(message) from None
