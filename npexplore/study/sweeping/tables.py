"""Tables of a sweep's rows: row identity, joining tables in the order of the sweep's points, and Parquet files.

The columns IDENTITY identify a row: they contain everything that could change its numbers. A row's digest is the
BLAKE2b hash (16 bytes) of these values. Digests are NumPy arrays of dtype S16. A question is the part of a row that
describes its point; the answer is the rest.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from npexplore.errors import InputError
from npexplore.packets.output import replacing
from npexplore.store import errors_named

IDENTITY = ("model", "workload_key", "solver", "seed", "packets", "version")
DIGEST_BYTES = 16
ATTRIBUTES = b"PANDAS_ATTRS"  # metadata key in which pandas stores DataFrame.attrs
ROW_GROUP_ROWS = 1 << 16
SLICE_ROWS = 2048  # rows that exist as Python objects at the same time
Row = Mapping[str, Any]
Digests = npt.NDArray[np.bytes_]
Positions = npt.NDArray[np.int64]
NO_DIGESTS: Digests = np.empty(0, f"S{DIGEST_BYTES}")


def digests(table: pa.Table) -> Digests:
    """Return the digest of each row's identity, shape (rows,)."""
    row_digests = np.empty(table.num_rows, f"S{DIGEST_BYTES}")
    for start in range(0, table.num_rows, SLICE_ROWS):
        part = table.slice(start, SLICE_ROWS)
        rows = zip(*(part[name].to_pylist() for name in IDENTITY), strict=True)
        row_digests[start : start + SLICE_ROWS] = [
            blake2b(repr(row).encode(), digest_size=DIGEST_BYTES).digest() for row in rows
        ]
    return row_digests


def concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables; a column that a table lacks is null in its rows."""
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def beside(left: pa.Table, right: pa.Table) -> pa.Table:
    """Return two tables of equal length side by side."""
    names, columns = [*left.column_names, *right.column_names], [*left.columns, *right.columns]
    return pa.table(columns, names=names)


def tabulate(rows: Sequence[Row], schema: Mapping[str, pa.DataType]) -> pa.Table:
    """Return rows as a table, columns in the order in which they appear; `schema` has the fixed column types."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([row.get(name) for row in rows], schema.get(name)) for name in names}
    return pa.table(columns)


def with_units(table: pa.Table, units: Mapping[str, str]) -> pa.Table:
    """Return the table with the units of its columns, which pandas reads as `frame.attrs["units"]`."""
    previous = json.loads((table.schema.metadata or {}).get(ATTRIBUTES, b"{}"))
    attributes = {**previous, "units": {**previous.get("units", {}), **units}}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), ATTRIBUTES: json.dumps(attributes)})


def taken(table: pa.Table, positions: Positions) -> pa.Table:
    """Return the rows at some positions; copies column by column, so that an unshared table is freed on the way."""
    if np.array_equal(positions, np.arange(table.num_rows)):
        return table
    metadata, names, columns = table.schema.metadata, table.column_names, []
    indices = pa.array(positions)
    for name in names:
        columns.append(table[name].combine_chunks().take(indices))
        table = table.drop_columns([name])
    return pa.table(columns, names=names, metadata=metadata)


def ranked(held: Digests, questions: Digests) -> tuple[Positions, Positions]:
    """Return the positions of the distinct held rows in their result order, and each row's question number (-1: none).

    Rows that answer no question come first, in the order in which they are held; the others follow in the order of the
    questions. A row that is held twice counts once.
    """
    row, first = np.unique(held, return_index=True)
    question, asked_first = np.unique(questions, return_index=True)
    if not len(question):
        order = np.sort(first)
        return order, np.full(len(order), -1)
    at = np.minimum(np.searchsorted(question, row), len(question) - 1)
    rank = np.where(question[at] == row, asked_first[at], -1)
    order = np.lexsort((first, rank))
    return first[order], rank[order]


def places(questions: Digests) -> Positions:
    """Return for each question its position among the distinct questions, in the order of first occurrence."""
    _, first, inverse = np.unique(questions, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def places_in(held: Digests, questions: Digests) -> Positions:
    """Return the position of each question's digest among the held digests; all must be held."""
    order = np.argsort(held)
    return order[np.searchsorted(held[order], questions)]


def filled(table: pa.Table, questions: pa.Table, rank: Positions) -> pa.Table:
    """Return the table with missing values filled in from its rows' questions; `rank`: as in `ranked`."""
    if not (rank >= 0).any():
        return table
    indices = pa.array(rank, mask=rank < 0)
    for name in questions.column_names:
        if name not in table.column_names:
            table = table.append_column(name, questions[name].take(indices))
        elif table[name].null_count:
            values = questions[name].take(indices)
            if values.null_count < len(values):
                k = table.column_names.index(name)
                table = table.set_column(k, name, pc.coalesce(table[name], values.cast(table[name].type)))
    return table


def read_parquet(path: Path) -> pa.Table | None:
    """Return the rows of FILE.parquet, None if it is missing or empty; raises InputError for any other file."""
    if not path.exists():
        return None
    if not path.stat().st_size:
        warnings.warn(f"{path}: is empty, as a power failure may leave a file; it is written anew", stacklevel=2)
        return None
    try:
        with path.open("rb") as file:  # pyarrow cannot open file names that are not UTF-8
            table = pq.ParquetFile(file).read()
    except (pa.ArrowException, OSError) as error:
        hint = " or was cut off (npexplore doctor moves it aside)" if is_cut_off(path) else ""
        raise InputError(f"{path}: not a Parquet file{hint}: {error}") from None
    missing = [name for name in IDENTITY if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: not the table of a sweep: no column {missing[0]!r}")
    return table


def is_cut_off(path: Path) -> bool:
    """Return whether a file begins like a Parquet file but does not end like one."""
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, path.stat().st_size - 4))
        return head == b"PAR1" and (path.stat().st_size < 12 or file.read(4) != b"PAR1")


def write_rows(table: pa.Table, path: Path) -> None:
    """Write a Parquet file atomically; raises InputError with its name, for example on a full disk."""
    with errors_named(path), replacing("-", path) as part, part.open("wb") as file:
        pq.write_table(table, file, compression="zstd", row_group_size=ROW_GROUP_ROWS)
