"""A capture as a Parquet table that pandas, DuckDB and Dask read as it is: one row a packet, zstd, a row group a chunk.

Columns are the packet table's, with `time` as a nanosecond time stamp beside the exact integer `t_ns` (null where a
packet has none), IPv6 addresses as 16 bytes, and VLAN id and MPLS label of the outermost tag.
The file's metadata under `npexplore` says where the packets came from: file, format, interfaces, damage, version.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from npexplore import __version__
from npexplore._kernels.capture_records import NO_TIME
from npexplore.packets.columns import STORED, PacketTable
from npexplore.packets.filters import select
from npexplore.packets.links import link_format
from npexplore.packets.output import replacing
from npexplore.packets.scan import CaptureScan, Damage

GROUP_PACKETS = 1 << 20
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


def convert(
    source: str | Path, target: str | Path, *, where: str | None = None, workers: int = 1
) -> tuple[int, Damage | None]:
    """Write a capture as Parquet; return the number of rows and the damage of the source.

    where: a filter (npexplore.packets.filters). Rows are in the order of the file, and each row group holds up to
    2^20 packets with its least and greatest time in the statistics, so that engines skip what they do not need.
    Memory does not grow with the file. Raises InputError for unreadable input.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, waiting, held = 0, [], 0
    with replacing(source, target) as path:
        scan = CaptureScan(source, workers=workers)
        schema = _arrow(_empty(scan)).schema
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for table in scan:
                part = _arrow(table)
                if where:
                    part = part.filter(pa.array(select(table, where)))
                waiting.append(part)
                held += part.num_rows
                rows += part.num_rows
                if held >= GROUP_PACKETS:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting, held = [], 0
            if waiting:
                writer.write_table(pa.concat_tables(waiting))
            writer.add_key_value_metadata({"npexplore": json.dumps(_origin(scan, where))})
    return rows, scan.damage


def _empty(scan: CaptureScan) -> PacketTable:
    return PacketTable.of_records({name: np.empty(0, dtype) for name, dtype in STORED.items()}, scan.link_types)


def _origin(scan: CaptureScan, where: str | None) -> dict[str, Any]:
    interfaces = [asdict(i) | {"link_type_name": link_format(i.link_type).name} for i in scan.interfaces]
    return {
        "version": __version__,
        "file": scan.path,
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
    tags = {name: pa.array(table[name], mask=table[name] < 0) for name in ("vlan_id", "mpls_label")}
    six = np.full((table.rows, 2), None, dtype=object)
    six[table.ipv6.packet, 0] = [row.tobytes() for row in table.ipv6.source]
    six[table.ipv6.packet, 1] = [row.tobytes() for row in table.ipv6.destination]
    addresses = {name: pa.array(six[:, at], pa.binary(16)) for at, name in enumerate(("src6", "dst6"))}
    links = {"interface": pa.array(table["interface"]), "link_type": pa.array(table["link_type"])}
    return pa.table({**times, **stored, **links, **derived, **tags, **addresses})
