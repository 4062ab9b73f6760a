"""Rows of every packet's fate as a Parquet file, a part of the packets a row group, also while the run goes on.

Names of places and columns are those that the rows of the file need. Where a later part needs more, the file begins
anew: it is the same, byte for byte, whether its rows were written during the run or after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from npexplore.engine.fates import Totals
from npexplore.mapped_arrays import release_pages
from npexplore.packets.output import replacing
from npexplore.solve.packet_rows import Coded, Columns, PacketRows, as_pandas

if TYPE_CHECKING:
    import pyarrow as pa

ROW_FILE = "packets.parquet"
PAGE_BYTES = 1 << 23  # before it is encoded: a column of a part


class RowFile:
    """A Parquet file of rows, as a context manager; within it, `write` appends parts of them."""

    def __init__(
        self, rows: PacketRows, path: Path, sources: list[str], totals: Totals | None = None,
        more: Callable[[slice], Columns] | None = None,
    ) -> None:  # fmt: skip
        """sources: files that are read, none of which is replaced. totals: of all rows, if they are known by now.

        more: further columns of a part of the rows.
        """
        self.converted = 0  # rows
        self._rows, self._path, self._sources, self._more = rows, path, sources, more
        self._known, self._totals = totals is not None, totals
        self._writer: Any = None
        self._tables: list[pa.Table] = []  # of the row group that is not full
        self._files = ExitStack()

    def __enter__(self) -> RowFile:
        self._part = self._files.enter_context(replacing(self._sources or "-", self._path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._write_group()
        self._close()
        self._files.__exit__(kind, error, at)

    def write(self, part: slice) -> None:
        """Append the rows from those that are there to the end of a part, which change no more.

        A row group is written when all its rows are there, or at the end.
        """
        fates = self._rows.fates
        if not self._known:
            new = fates.part(part).totals()
            both = new if self._totals is None else self._totals.plus(new)
            if self._totals is not None and both.names() != self._totals.names():
                self._close()
            self._totals = both
        while self.converted < part.stop:
            stop = min(self.converted + fates.chunk_rows, part.stop)
            stop = min(stop, (self.converted // fates.part_rows + 1) * fates.part_rows)
            self._tables.append(self._table(slice(self.converted, stop)))
            self.converted = stop
            if stop % fates.part_rows == 0:
                self._write_group()
                release_pages()

    def _table(self, part: slice) -> pa.Table:
        """Return some rows as `pyarrow.Table.from_pandas` makes them of their frame."""
        import pyarrow as pa

        totals = self._totals or self._rows.totals
        if self._writer is None:
            self._begin(totals)
        columns = self._rows.columns(part, totals) | {"packet": self._rows.number[part]}
        if self._more is not None:
            columns |= self._more(part)
        kinds = {field.name: field.type for field in self._schema}
        arrays = [
            column.dictionary(kinds[name]) if isinstance(column, Coded)
            else pa.array(column, kinds[name], from_pandas=True)
            for name, column in ((name, columns[name]) for name in kinds)
        ]  # fmt: skip
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _begin(self, totals: Totals) -> None:
        """Open the file for columns that rows with these totals have."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        none = slice(0, 0)
        frame = self._rows.frame(none, totals)
        if self._more is not None:
            frame = frame.assign(**as_pandas(self._more(none)))
        schema = pa.Schema.from_pandas(frame)
        metadata = {**(schema.metadata or {}), b"PANDAS_ATTRS": json.dumps(frame.attrs).encode()}
        self._schema = schema.with_metadata(metadata)
        times = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]  # are hardly repeated
        self._writer = pq.ParquetWriter(
            self._part, self._schema, data_page_size=PAGE_BYTES, write_batch_size=self._rows.fates.part_rows,
            column_encoding={"packet": "DELTA_BINARY_PACKED"},
            use_dictionary=[name for name in frame if name not in times],
            compression={name: "none" if name in times else "snappy" for name in schema.names},
        )  # fmt: skip

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._tables:
            self._writer.write_table(pa.concat_tables(self._tables))
            self._tables.clear()

    def _close(self) -> None:
        """Close the file; what is written next begins it anew."""
        self.converted = 0
        self._tables.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class RowStream:
    """Writes rows in a thread of its own during a run, chunks of packets that have all ended; a context manager.

    After an error or an interruption of the run inside, the file has the rows that were written.
    """

    def __init__(self, rows: PacketRows, path: Path) -> None:
        self._rows, self.file = rows, RowFile(rows, path, [])
        self._thread = ThreadPoolExecutor(1, "rows of packets")
        self._handed = 0
        self._writing: list[Future[None]] = []

    def hand_over_ended(self) -> None:
        """Hand over the chunks of the rows that have ended since."""
        ended, step = self._rows.fates.ended(self._handed), self._rows.fates.chunk_rows
        self._hand_over(ended // step * step)

    def finish(self, rows: int) -> None:
        """Write those of the first `rows` rows that are not written yet, and wait; raises what writing them raised."""
        self._hand_over(rows)
        for writing in self._writing:
            writing.result()
        self._writing.clear()

    def _hand_over(self, stop: int) -> None:
        while self._writing and self._writing[0].done():
            self._writing.pop(0).result()
        step = self._rows.fates.part_rows
        for start in range(self._handed, stop, step):
            part = slice(start, min(start + step, stop))
            self._writing.append(self._thread.submit(self.file.write, part))
        self._handed = max(self._handed, stop)

    def __enter__(self) -> RowStream:
        self.file.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._thread.shutdown(cancel_futures=True)
        self.file.__exit__(kind, error, at)


def write_rows(
    rows: PacketRows, sources: list[str], path: Path, more: Callable[[slice], Columns] | None = None
) -> None:
    """Write the rows of a run that has ended; more: further columns of a part of the rows.

    sources: the files that were read, none of which is replaced.
    """
    with RowFile(rows, path, sources, rows.totals, more) as file:
        for part in rows.fates.parts():
            file.write(part)
