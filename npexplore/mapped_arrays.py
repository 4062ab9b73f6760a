"""Arrays with a value for each packet: in memory, or in unnamed files whose pages leave memory part by part.

Within `arrays_in_files(folder)`, `empty` maps each array to an unnamed file of its own (mmap(2), MAP_SHARED);
`release_pages` removes the pages of all these arrays from memory (madvise(2), MADV_DONTNEED), while the files keep the
values.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from pathlib import Path
from threading import Lock
from typing import IO, Any
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike, NDArray

PART_ROWS = 1 << 18  # rows that are processed at a time
MIN_FILE_BYTES = 1 << 20  # smaller arrays stay in memory

_folder: ContextVar[Path | None] = ContextVar("folder of mapped arrays", default=None)
_maps: WeakSet[mmap.mmap] = WeakSet()
_lock = Lock()


@contextmanager
def arrays_in_files(folder: Path | None) -> Iterator[None]:
    """Within the block, map arrays created by `empty` to files in a folder (None: keep them in memory)."""
    before = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(before)


def in_files() -> bool:
    """Return whether `empty` currently maps arrays to files."""
    return _folder.get() is not None


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """Return an uninitialised array; raises OSError if the folder's disk has no room for it."""
    folder, size = _folder.get(), prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if folder is None or size < MIN_FILE_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        return _mapped(file, size, dtype).reshape(shape)


def named(path: Path, shape: tuple[int, ...], dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """Return a non-empty array in a file with a name; its values are those of the file, if it exists with that size.

    Raises OSError if the disk has no room for it.
    """
    with open(path, "r+b" if path.exists() else "w+b") as file:
        return _mapped(file, prod(shape) * np.dtype(dtype).itemsize, dtype).reshape(shape)


def _mapped(file: IO[bytes], size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Set the size of a file to `size` bytes; return it as an array of one dimension."""
    file.truncate(size)
    if hasattr(os, "posix_fallocate"):
        try:  # raise an error for a full disk here: later, writing to the array would cause a signal
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # unsupported by the file system
                raise
    return mapped_file(file.fileno(), dtype)


def resized(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a one-dimensional array with `rows` rows, resized in place if in memory; new rows are uninitialised."""
    if array.flags.owndata and not in_files():
        array.resize(rows, refcheck=False)
        return array
    if rows <= len(array):
        return array[:rows]
    larger = empty(rows, array.dtype)
    for part in parts(len(array)):
        larger[part] = array[part]
    return larger


def mapped_file(file: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
    """Return the contents of an open, non-empty file (its descriptor) as an array of one dimension."""
    pages = mmap.mmap(file, 0)
    with _lock:
        _maps.add(pages)
    return np.frombuffer(pages, dtype)


def release_pages() -> None:
    """Remove the pages of mapped arrays from this process's memory, if the system supports it."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with _lock:
            for pages in list(_maps):
                pages.madvise(mmap.MADV_DONTNEED)


def parts(rows: int, part_rows: int | None = None) -> Iterator[slice]:
    """Yield slices that together cover `rows` rows, and release the pages of mapped arrays after each.

    part_rows: rows of a slice (None: PART_ROWS).
    """
    step = part_rows or PART_ROWS
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
        release_pages()


def copied(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of the values, in an array created by `empty`."""
    return computed(len(values), lambda part: values[part], values.dtype)


def chosen(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values at the given rows, in their order."""
    return computed(len(rows), lambda part: values[rows[part]], values.dtype)


def cycled(values: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return `rows` rows of the values, repeated from the first."""
    return computed(rows, lambda part: values[np.arange(part.start, part.stop) % len(values)], values.dtype)


def extremes(values: NDArray[Any]) -> tuple[int, int]:
    """Return the smallest and the largest of one or more whole numbers."""
    ends = [(int(values[part].min()), int(values[part].max())) for part in parts(len(values))]
    return min(low for low, _ in ends), max(high for _, high in ends)


def is_ascending(values: NDArray[Any]) -> bool:
    """Return whether no value is smaller than its predecessor."""
    return not any((np.diff(values[max(part.start - 1, 0) : part.stop]) < 0).any() for part in parts(len(values)))


def stacked(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return columns of shape (n,) side by side, shape (n, columns)."""
    table = empty((len(columns[0]), len(columns)))
    for part in parts(len(table)):
        table[part] = np.stack([column[part] for column in columns], axis=1)
    return table


def computed(rows: int, values: Callable[[slice], Any], dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """Return an array of `rows` values; `values` computes each part, with the same parts in memory and in files."""
    result = empty(rows, dtype)
    for part in parts(rows):
        result[part] = values(part)
    return result
