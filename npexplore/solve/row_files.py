"""The fates of all packets as a Parquet file with a row group per part of the packets, also written during the run.

The file has only the columns and labels that its rows need. If a later part needs more, the file is written anew, so
that it is the same, byte for byte, whether rows were written during the run or after it.
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
PAGE_BYTES = 1 << 23  # of a page before encoding: large enough for a column of a part


class RowFile:
    """A Parquet file of rows: a context manager within which `write` appends parts of the rows."""

    def __init__(
        self, rows: PacketRows, path: Path, sources: list[str], totals: Totals | None = None,
        more: Callable[[slice], Columns] | None = None,
    ) -> None:  # fmt: skip
        """sources: input files, which must not be replaced. totals: of all rows, if they are known.

        more: returns further columns for a part of the rows.
        """
        self.converted = 0  # rows
        self._rows, self._path, self._sources, self._more = rows, path, sources, more
        self._known, self._totals = totals is not None, totals
        self._writer: Any = None
        self._tables: list[pa.Table] = []  # of the incomplete row group
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
        """Append all rows up to the end of a part; they must be final.

        A row group is written when it is complete, or at the end.
        """
        fates = self._rows.fates
        if not self._known:
            added_totals = fates.part(part).totals()
            all_totals = added_totals if self._totals is None else self._totals.plus(added_totals)
            if self._totals is not None and all_totals.names() != self._totals.names():
                self._close()
            self._totals = all_totals
        while self.converted < part.stop:
            stop = min(self.converted + fates.chunk_rows, part.stop)
            stop = min(stop, (self.converted // fates.part_rows + 1) * fates.part_rows)
            self._tables.append(self._table(slice(self.converted, stop)))
            self.converted = stop
            if stop % fates.part_rows == 0:
                self._write_group()
                release_pages()

    def _table(self, part: slice) -> pa.Table:
        """Return some rows as the table that `pyarrow.Table.from_pandas` makes of their data frame."""
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
        """Open the file for the columns of rows with these totals."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        none = slice(0, 0)
        frame = self._rows.frame(none, totals)
        if self._more is not None:
            frame = frame.assign(**as_pandas(self._more(none)))
        schema = pa.Schema.from_pandas(frame)
        metadata = {**(schema.metadata or {}), b"PANDAS_ATTRS": json.dumps(frame.attrs).encode()}
        self._schema = schema.with_metadata(metadata)
        times = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]  # few values repeat
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
        """Close the file; the next write starts it anew."""
        self.converted = 0
        self._tables.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class RowStream:
    """Writes rows in a background thread during a run, in chunks of packets that have all ended; a context manager.

    After an error or an interruption of the run, the file has the rows written so far.
    """

    def __init__(self, rows: PacketRows, path: Path) -> None:
        self._rows, self.file = rows, RowFile(rows, path, [])
        self._thread = ThreadPoolExecutor(1, "rows of packets")
        self._handed = 0
        self._writing: list[Future[None]] = []

    def hand_over_ended(self) -> None:
        """Hand over the chunks of rows that have ended since the last call."""
        ended, step = self._rows.fates.ended(self._handed), self._rows.fates.chunk_rows
        self._hand_over(ended // step * step)

    def finish(self, rows: int) -> None:
        """Write the first `rows` rows as far as they are not written, and wait; raises errors of the writing thread."""
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
    """Write the rows of a run that has ended.

    sources: input files, which must not be replaced. more: returns further columns for a part of the rows.
    """
    with RowFile(rows, path, sources, rows.totals, more) as file:
        for part in rows.fates.parts():
            file.write(part)
