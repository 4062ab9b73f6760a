"""Rows of every packet's fate as a Parquet file, a part of the packets a row group, also while the run goes on.

Names of places and columns are those that the rows of the file need. Where a later part needs more, the file begins
anew: it is the same, byte for byte, whether its rows were written during the run or after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from npexplore.engine.fates import Totals
from npexplore.mapped_arrays import release_pages
from npexplore.packets.output import replacing
from npexplore.solve.packet_rows import PacketRows

ROW_FILE = "packets.parquet"
PAGE_BYTES = 1 << 23  # before it is encoded: a column of a part


class RowFile:
    """A Parquet file of rows, as a context manager; within it, `write` appends parts of them."""

    def __init__(
        self, rows: PacketRows, path: Path, sources: list[str], totals: Totals | None = None,
        more: Callable[[slice], Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        """sources: files that are read, none of which is replaced. totals: of all rows, if they are known by now.

        more: further columns of a part of the rows.
        """
        self.written = 0  # rows
        self._rows, self._path, self._sources, self._more = rows, path, sources, more
        self._known, self._totals = totals is not None, totals
        self._writer: Any = None
        self._files = ExitStack()

    def __enter__(self) -> RowFile:
        self._part = self._files.enter_context(replacing(self._sources or "-", self._path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()
        self._files.__exit__(kind, error, at)

    def write(self, part: slice) -> None:
        """Append the rows from those that are written to the end of a part; they change no more."""
        if not self._known:
            new = self._rows.fates.part(part).totals()
            both = new if self._totals is None else self._totals.plus(new)
            if self._totals is not None and both.names() != self._totals.names():
                self._close()
                self.written = 0
            self._totals = both
        step = self._rows.fates.part_rows
        for start in range(self.written, part.stop, step):
            self._append(slice(start, min(start + step, part.stop)))
            release_pages()

    def _append(self, part: slice) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame = self._rows.frame(part, self._totals)
        if self._more is not None:
            frame = frame.assign(**self._more(part))
        table = pa.Table.from_pandas(frame, nthreads=1)  # the engine has the other cores
        if self._writer is None:
            metadata = {**(table.schema.metadata or {}), b"PANDAS_ATTRS": json.dumps(frame.attrs).encode()}
            times = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]  # are hardly repeated
            self._writer = pq.ParquetWriter(
                self._part, table.schema.with_metadata(metadata), data_page_size=PAGE_BYTES,
                write_batch_size=self._rows.fates.part_rows, column_encoding={"packet": "DELTA_BINARY_PACKED"},
                use_dictionary=[name for name in frame if name not in times],
                compression={name: "none" if name in times else "snappy" for name in table.column_names},
            )  # fmt: skip
        self._writer.write_table(table)
        self.written = part.stop

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class RowStream:
    """Writes rows in a thread of its own during a run, whole parts of packets that have all ended; a context manager.

    After an error or an interruption of the run inside, the file has the rows that were written.
    """

    def __init__(self, rows: PacketRows, path: Path) -> None:
        self._rows, self.file = rows, RowFile(rows, path, [])
        self._thread = ThreadPoolExecutor(1, "rows of packets")
        self._handed = 0
        self._writing: list[Future[None]] = []

    def hand_over_ended(self) -> None:
        """Hand over the parts of the rows that have ended since."""
        ended, step = self._rows.fates.ended(self._handed), self._rows.fates.part_rows
        self._hand_over(ended // step * step)

    def finish(self, rows: int) -> None:
        """Write those of the first `rows` rows that are not written yet, and wait; raises what writing them raised."""
        self._hand_over(rows)
        for writing in self._writing:
            writing.result()
        self._writing.clear()

    def _hand_over(self, stop: int) -> None:
        if self._writing and self._writing[0].done():
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
    rows: PacketRows, sources: list[str], path: Path, more: Callable[[slice], Mapping[str, Any]] | None = None
) -> None:
    """Write the rows of a run that has ended; more: further columns of a part of the rows.

    sources: the files that were read, none of which is replaced.
    """
    with RowFile(rows, path, sources, rows.totals, more) as file:
        for part in rows.fates.parts():
            file.write(part)
