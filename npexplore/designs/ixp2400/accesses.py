"""Access traces of the packet buffer (Fig. 5): from a CSV or Parquet file, or made by golden code run on a capture.

    columns of a file:  time_ns or order;  address or bank;  bytes;  write (1, or 0 for a read)

Golden code forwards a capture, and each packet does what a thread of the base scheme does (Sec. 3.3): its cells are
written, the header is read, and, if the packet is sent, written back; the cells of what is sent are read. Thread k of T
takes the packets k, k + T, ...; threads take turns. A workload of accesses has the columns packet_bytes (of an access),
write, and address or bank.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError, shown
from npexplore.golden.captures.replay import ETHERNET_LINK, Replay
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.router.configuration import Router, load_router
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import LONGEST_PACKET

Integers = npt.NDArray[np.int64]
TABLES = {".csv": "CSV", ".parquet": "Parquet"}
ASKED = (("time_ns", "order"), ("address", "bank"), ("bytes",), ("write",))  # one column of each


def read(p: Parameters, path: Path) -> Workload:
    """Return the accesses of a file: CSV or Parquet by its name, else those that golden code makes of a capture."""
    return read_accesses(path) if path.suffix.lower() in TABLES else accesses_of_capture(path, p)


def read_accesses(path: str | Path) -> Workload:
    """Return the accesses of a CSV or Parquet file, in order of their time or number; other columns are left alone.

    Raises InputError for a file that cannot be read, a missing column, and values that describe no access.
    """
    path = Path(path)
    table = _table(path)
    names = []
    for either in ASKED:
        known = [name for name in either if name in table.column_names]
        if not known:
            got = ", ".join(table.column_names)
            raise InputError(f"{path.name}: an access trace needs a column {' or '.join(either)}, got {got}")
        names.append(known[0])
    values = {name: _integers(path, name, table.column(name)) for name in names}
    when, where = names[0], names[1]
    if not len(values[when]):
        raise InputError(f"{path.name}: an access trace needs at least one access, got none")
    _within(path, where, values[where], 0, np.iinfo(np.int64).max)
    _within(path, "bytes", values["bytes"], 1, LONGEST_PACKET)
    _within(path, "write", values["write"], 0, 1)
    order = np.argsort(values[when], kind="stable")
    columns = {"packet_bytes": values["bytes"], "write": values["write"], where: values[where]}
    times = values[when][order]
    return Workload(
        shown(path.name), {name: column[order] for name, column in columns.items()},
        t_ns=times - times[0] if when == "time_ns" else None,
    )  # fmt: skip


def accesses_of_capture(path: str | Path, p: Parameters, router: Router | None = None, port: str = "in") -> Workload:
    """Return the accesses that forwarding the packets of a capture makes; all those of a packet have its time.

    router: whose routes and rules decide, and the port that packets come in by (None: models/routers/through.toml,
    which sends everything on). Packets have buffers of `buffer_bytes`, in the order that `allocation` says.
    path: the capture. p: parameters of `ixp2400_dram`. port: the name of the input port.
    Raises InputError for a file that is not a capture, or has no IP packet.
    """
    steps = Replay(load_router("through") if router is None else router, {port: path}, any_station=True)
    rows: list[Integers] = []
    packets, buffers = 0, 0
    for step in steps:
        done, time = step.made, step.frames.time_ns
        number = np.arange(len(time))
        arrived = np.maximum(step.part.length - np.where(step.part.link_type == ETHERNET_LINK, ETHERNET, 0), 1)
        head = np.minimum(p.header_bytes, arrived)
        sent = np.maximum(done.frames.length.astype(np.int64) - ETHERNET, 1)
        own, passed = np.flatnonzero(done.icmp), np.flatnonzero(done.reason == 0)
        later = 3 + 2 * (np.arange(len(sent)) - np.searchsorted(done.packet, done.packet))  # the n-th that is sent
        buffer = np.where(done.icmp, len(number) + np.cumsum(done.icmp) - 1, done.packet)
        for packet, turn, size, write, held in (
            (number, 0, arrived, 1, number),
            (number, 1, head, 0, number),
            (passed, 2, head[passed], 1, passed),
            (done.packet[own], later[own], sent[own], 1, buffer[own]),
            (done.packet, later + 1, sent, 0, buffer),
        ):
            columns = packet + packets, turn, size, write, held + buffers, time[packet]
            rows.append(np.stack(np.broadcast_arrays(*columns)).astype(np.int64))
        packets, buffers = packets + len(number), buffers + len(number) + len(own)
    if not packets:
        raise InputError(f"capture {Path(path).name!r} has no packet")
    transfers = np.concatenate(rows, axis=1)
    transfers = transfers[:, np.lexsort((transfers[1], transfers[0]))]
    damage = next((str(scan.damage) for scan in steps.scans if scan.damage), None)
    return _workload(shown(Path(path).name), transfers, _addresses(p, buffers), p, damage)


def _workload(name: str, transfers: Integers, base: Integers, p: Parameters, damage: str | None) -> Workload:
    """Return transfers (in order of packet and step) as accesses of at most a cell, threads taking turns."""
    packet, _, size, write, buffer, time = transfers
    cells = -(-size // p.cell_bytes)
    of = np.repeat(np.arange(len(size)), cells)
    cell = np.arange(len(of)) - np.repeat(np.cumsum(cells) - cells, cells)
    columns = {
        "packet_bytes": np.minimum(p.cell_bytes, size[of] - cell * p.cell_bytes),
        "write": write[of],
        "address": base[buffer[of]] + cell * p.cell_bytes,
    }
    thread = packet[of] % p.threads
    by_thread = np.argsort(thread, kind="stable")
    turn = np.empty(len(of), dtype=np.int64)
    begins = np.searchsorted(thread[by_thread], np.arange(p.threads))
    turn[by_thread] = np.arange(len(of)) - begins[thread[by_thread]]
    order = np.lexsort((thread, turn))
    times = time[of][order]
    return Workload(
        name, {name: column[order] for name, column in columns.items()}, t_ns=times - times.min(), damage=damage,
        note=f"{int(packet[-1]) + 1:,} packets make {len(of):,} accesses",
        assumption=f"golden code's accesses; {p.threads} threads take turns; buffers of {p.buffer_bytes} bytes",
    )  # fmt: skip


def _addresses(p: Parameters, buffers: int) -> Integers:
    """Return the address of each buffer: the free list in order, or mixed by use."""
    most = max(int(p.dram_bytes) // int(p.buffer_bytes), 1)
    numbers = np.arange(buffers) % most
    if p.allocation == "random":
        numbers = np.random.default_rng(1).integers(0, most, buffers)
    return numbers * int(p.buffer_bytes)


def on_banks(p: Parameters, load: Workload) -> Workload:
    """Return accesses with the bank that the address mapping gives them (trace_sizes fixed: all of access_bytes).

    Each of plain packets is one access of its length; `read_share` and `pattern` say which way and to which bank.
    Raises InputError for a bank that does not exist, and for accesses that lack a column.
    """
    if set(load.columns) == {"packet_bytes"}:
        return replace(load, note="each packet is one access of its length")
    for either in ASKED[1:2] + ASKED[3:]:
        if not set(either) & set(load.columns):
            raise InputError(
                f"design ixp2400_dram takes packets or a trace of accesses; workload {load.name!r} "
                f"has no column {' or '.join(either)}"
            )
    sizes = load.packet_bytes
    if p.trace_sizes == "fixed":
        sizes = np.full(len(sizes), p.access_bytes, dtype=np.int64)
    if "bank" in load.columns:
        bank = load.columns["bank"]
        if int(bank.max()) >= p.banks:
            raise InputError(f"workload {load.name!r} has an access to bank {int(bank.max())}; there are {p.banks}")
    elif p.interleaving == "high_order":
        bank = load.columns["address"] % int(p.dram_bytes) * int(p.banks) // int(p.dram_bytes)
    else:
        bank = load.columns["address"] // int(p.cell_bytes) % int(p.banks)
    columns = {"packet_bytes": sizes, "write": load.columns["write"], "bank": bank}
    return replace(load, columns=columns)


def _table(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:  # pyarrow itself opens no name that is not UTF-8
            return csv.read_csv(file) if path.suffix.lower() == ".csv" else pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        what = TABLES.get(path.suffix.lower(), "CSV or Parquet")
        raise InputError(f"{path}: cannot be read as {what}: {str(error).splitlines()[0]}") from None


def _integers(path: Path, name: str, column: Any) -> Integers:
    """Return a column as whole numbers; raises InputError with the first row that is none."""
    import pyarrow as pa

    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowException as error:
        raise InputError(f"{path.name}: column {name} must hold whole numbers, got {column.type} ({error})") from None
    if numbers.null_count:
        row = int(np.flatnonzero(numbers.is_null().to_numpy())[0])
        raise InputError(f"{path.name}: column {name} must hold whole numbers, got nothing in row {row + 1}")
    integers: Integers = numbers.to_numpy()
    return integers


def _within(path: Path, name: str, column: Integers, low: int, high: int) -> None:
    wrong = np.flatnonzero((column < low) | (column > high))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(f"{path.name}: {name} must be in {low}..{high}, got {int(column[row])} in row {row + 1}")
