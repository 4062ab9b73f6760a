"""A capture as a Parquet table for pandas, DuckDB and Dask: one row per packet, zstd, row groups by time.

The columns are those of the packet table, plus `time` (`t_ns` as a nanosecond time stamp; both null for a packet
without one), IPv6 addresses as 16 bytes, the flow label, and VLAN id and MPLS label of the outermost tag. The file's
metadata under `npexplore` describe the source: file, format, interfaces, damage, version.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore import __version__
from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import shown
from npexplore.packets.columns import STORED, PacketTable
from npexplore.packets.files import Files, Scan, open_captures, paths_of
from npexplore.packets.filters import matching_packets
from npexplore.packets.links import link_format
from npexplore.packets.output import replacing
from npexplore.packets.scan import Damage

GROUP_PACKETS = 1 << 18
WINDOW_PACKETS = 1 << 19
FLAGS = (
    "ipv4",
    "ipv6",
    "arp",
    "checksum_good",
    "checksum_bad",
    "malformed",
    "is_fragment",
    "nonfirst",
    "df",
    "options",
)


def convert_to_parquet(
    source: Files | Scan,
    target: str | Path,
    *,
    where: str | None = None,
    workers: int = 1,
    wrap: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> tuple[int, Damage | None]:
    """Write a capture as Parquet; return the number of rows and the damage of the source.

    source: a file, several as one, or what `open_captures` returned for them. where: a filter
    (npexplore.packets.filters); wrap: wraps the iteration, as in a progress bar. Rows are in order of time within a
    window (TimeOrder), and each row group holds up to 2^18 packets with its least and greatest time in the statistics,
    so that query engines can skip row groups. Memory does not grow with the file. Raises InputError for unreadable
    input.
    target: the Parquet file. workers: processes that decode at once.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 0
    with closing(open_captures(source, workers=workers)) as scan, replacing(paths_of(scan), target) as path:
        schema = _arrow(PacketTable.empty(scan.link_types)).schema
        with path.open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            order = TimeOrder(writer.write_table, GROUP_PACKETS, WINDOW_PACKETS)
            for table in wrap(scan):
                part = _arrow(table)
                if where:
                    part = part.filter(pa.array(matching_packets(table, where)))
                order.add(part)
                rows += part.num_rows
            order.finish()
            written = {"by": "time", "window_packets": WINDOW_PACKETS, "late_packets": order.late}
            writer.add_key_value_metadata({"npexplore": json.dumps({**_origin(scan, where), "order": written})})
    return rows, scan.damage


class TimeOrder:
    """Write arrow tables in row groups, sorted by time within a window.

    The latest `window` rows are held back, because rows with earlier times may follow. `late` counts the rows that came
    too late for the window and are stored after rows with later times; the row groups then overlap in time, as their
    statistics show. Rows without a time stay after the row before them. Rows of equal time keep the order of the file.
    """

    def __init__(self, write: Callable[[Any], None], group: int, window: int) -> None:
        self.late = 0
        self._write, self._group, self._window = write, group, window
        self._tables: list[Any] = []
        self._times: list[NDArray[np.int64]] = []
        self._held = 0
        self._before = self._latest = int(NO_TIME)

    def add(self, table: Any) -> None:
        """Add the next rows of the file."""
        if not table.num_rows:
            return
        times = table["t_ns"].fill_null(int(NO_TIME)).to_numpy()
        timed_row = np.where(times != NO_TIME, np.arange(len(times)), -1)
        latest_timed_row = np.maximum.accumulate(timed_row)
        times = np.where(latest_timed_row >= 0, times[latest_timed_row], self._before)
        self._before = int(times[-1])
        self._tables.append(table)
        self._times.append(times)
        self._held += len(times)
        if self._held >= self._window + self._group:
            self._hand_on(self._window)

    def finish(self) -> None:
        """Write the remaining rows."""
        if self._held:
            self._hand_on(0)

    def _hand_on(self, keep: int) -> None:
        import pyarrow as pa

        table, times = pa.concat_tables(self._tables), np.concatenate(self._times)
        if (np.diff(times) < 0).any():
            order = np.argsort(times, kind="stable")
            table, times = table.take(order), times[order]
        start = 0
        while len(times) - start > keep and (keep == 0 or len(times) - start >= keep + self._group):
            part = times[start : start + self._group]
            self.late += int((part < self._latest).sum())
            self._latest = max(self._latest, int(part[-1]))
            self._write(table.slice(start, len(part)))
            start += len(part)
        self._tables, self._times, self._held = [table.slice(start)], [times[start:]], len(times) - start


def _origin(scan: Scan, where: str | None) -> dict[str, Any]:
    interfaces = [
        asdict(interface) | {"link_type_name": link_format(interface.link_type).name} for interface in scan.interfaces
    ]
    return {
        "version": __version__,
        "file": shown(scan.path),
        "format": scan.format,
        "where": where,
        "interfaces": interfaces,
        "damage": asdict(scan.damage) if scan.damage else None,
    }


def _arrow(table: PacketTable) -> Any:
    import pyarrow as pa

    missing = table["t_ns"] == NO_TIME
    times = {
        "time": pa.array(table["t_ns"], pa.timestamp("ns", tz="UTC"), mask=missing),
        "t_ns": pa.array(table["t_ns"], pa.int64(), mask=missing),
    }
    stored = {name: pa.array(table[name]) for name in STORED if name not in ("t_ns", "flags", "interface")}
    derived = {name: pa.array(table[name]) for name in (*FLAGS, "dscp", "ecn")}
    tags = {name: pa.array(table[name], mask=table[name] < 0) for name in ("vlan_id", "mpls_label", "flow_label")}
    ipv6 = table.ipv6
    addresses = {
        name: _binary16(table.rows, ipv6.packet, half)
        for name, half in (("src6", ipv6.source), ("dst6", ipv6.destination))
    }
    links = {"interface": pa.array(table["interface"]), "link_type": pa.array(table["link_type"])}
    return pa.table({**times, **stored, **links, **derived, **tags, **addresses})


def _binary16(rows: int, at: NDArray[np.int64], values: NDArray[np.uint8]) -> Any:
    """Return a column of 16 bytes a row that is null except in rows `at`."""
    import pyarrow as pa

    if not len(at):
        return pa.nulls(rows, pa.binary(16))
    data, valid = np.zeros((rows, 16), np.uint8), np.zeros(rows, bool)
    data[at], valid[at] = values, True
    bits = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(pa.binary(16), rows, [pa.py_buffer(bits), pa.py_buffer(data)])
