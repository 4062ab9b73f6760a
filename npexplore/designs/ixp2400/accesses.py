"""Access traces of the packet buffer (Fig. 5): from a CSV or Parquet file, or from golden code that runs on a capture.

    columns of a file:  time_ns or order;  address or bank;  bytes;  write (1, or 0 for a read)

Golden code forwards a capture, and each packet causes the accesses of a thread of the base scheme (Sec. 3.3): it writes
the packet's cells, reads the header, writes it back if the packet is forwarded, and reads the cells of every packet
sent. Thread k of T takes packets k, k + T, ...; threads take turns. A workload of accesses has the columns packet_bytes
(of an access), write, and address or bank.
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
ASKED = (("time_ns", "order"), ("address", "bank"), ("bytes",), ("write",))  # a file needs one column of each group


def read(p: Parameters, path: Path) -> Workload:
    """Return the accesses in a CSV or Parquet file; any other file is a capture that golden code forwards."""
    return read_accesses(path) if path.suffix.lower() in TABLES else accesses_of_capture(path, p)


def read_accesses(path: str | Path) -> Workload:
    """Return the accesses in a CSV or Parquet file, sorted by time or number; other columns are ignored.

    Raises InputError for an unreadable file, a missing column, and values out of range.
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
    """Return the accesses of forwarding a capture's packets; all accesses of a packet have the packet's time.

    path: the capture. p: parameters of `ixp2400_dram`; the knob `allocation` sets the order of packet buffers of
    `buffer_bytes`. router: its routes and rules decide (None: models/routers/through.toml, which forwards everything).
    port: the name of the input port. Raises InputError for a file that is not a capture, or has no IP packet.
    """
    steps = Replay(load_router("through") if router is None else router, {port: path}, any_station=True)
    rows: list[Integers] = []
    packets, buffers = 0, 0
    for step in steps:
        output, time = step.made, step.frames.time_ns
        packet_numbers = np.arange(len(time))
        arrived_bytes = np.maximum(step.part.length - np.where(step.part.link_type == ETHERNET_LINK, ETHERNET, 0), 1)
        header_bytes = np.minimum(p.header_bytes, arrived_bytes)
        sent_bytes = np.maximum(output.frames.length.astype(np.int64) - ETHERNET, 1)
        messages, forwarded = np.flatnonzero(output.icmp), np.flatnonzero(output.reason == 0)
        # the step in which the n-th packet that is sent for an arrived packet is written; it is read in the next
        send_turn = 3 + 2 * (np.arange(len(sent_bytes)) - np.searchsorted(output.packet, output.packet))
        buffer = np.where(output.icmp, len(packet_numbers) + np.cumsum(output.icmp) - 1, output.packet)
        for packet, turn, size, write, buffer_number in (
            (packet_numbers, 0, arrived_bytes, 1, packet_numbers),
            (packet_numbers, 1, header_bytes, 0, packet_numbers),
            (forwarded, 2, header_bytes[forwarded], 1, forwarded),
            (output.packet[messages], send_turn[messages], sent_bytes[messages], 1, buffer[messages]),
            (output.packet, send_turn + 1, sent_bytes, 0, buffer),
        ):
            columns = packet + packets, turn, size, write, buffer_number + buffers, time[packet]
            rows.append(np.stack(np.broadcast_arrays(*columns)).astype(np.int64))
        packets, buffers = packets + len(packet_numbers), buffers + len(packet_numbers) + len(messages)
    if not packets:
        raise InputError(f"capture {Path(path).name!r} has no packet")
    transfers = np.concatenate(rows, axis=1)
    transfers = transfers[:, np.lexsort((transfers[1], transfers[0]))]
    damage = next((str(scan.damage) for scan in steps.scans if scan.damage), None)
    return _workload(shown(Path(path).name), transfers, _addresses(p, buffers), p, damage)


def _workload(name: str, transfers: Integers, base: Integers, p: Parameters, damage: str | None) -> Workload:
    """Return transfers (sorted by packet and step) as accesses of at most a cell; threads take turns."""
    packet, _, size, write, buffer, time = transfers
    cells = -(-size // p.cell_bytes)
    transfer = np.repeat(np.arange(len(size)), cells)
    cell = np.arange(len(transfer)) - np.repeat(np.cumsum(cells) - cells, cells)
    columns = {
        "packet_bytes": np.minimum(p.cell_bytes, size[transfer] - cell * p.cell_bytes),
        "write": write[transfer],
        "address": base[buffer[transfer]] + cell * p.cell_bytes,
    }
    thread = packet[transfer] % p.threads
    by_thread = np.argsort(thread, kind="stable")
    turn = np.empty(len(transfer), dtype=np.int64)
    first_access = np.searchsorted(thread[by_thread], np.arange(p.threads))
    turn[by_thread] = np.arange(len(transfer)) - first_access[thread[by_thread]]
    order = np.lexsort((thread, turn))
    times = time[transfer][order]
    return Workload(
        name, {name: column[order] for name, column in columns.items()}, t_ns=times - times.min(), damage=damage,
        note=f"{int(packet[-1]) + 1:,} packets make {len(transfer):,} accesses",
        assumption=f"golden code's accesses; {p.threads} threads take turns; buffers of {p.buffer_bytes} bytes",
    )  # fmt: skip


def _addresses(p: Parameters, buffers: int) -> Integers:
    """Return the address of each buffer: the free list in order, or in random order."""
    buffer_count = max(int(p.dram_bytes) // int(p.buffer_bytes), 1)
    numbers = np.arange(buffers) % buffer_count
    if p.allocation == "random":
        numbers = np.random.default_rng(1).integers(0, buffer_count, buffers)
    return numbers * int(p.buffer_bytes)


def on_banks(p: Parameters, load: Workload) -> Workload:
    """Return accesses with their bank by the address mapping; trace_sizes `fixed`: all accesses have access_bytes.

    In a workload of plain packets, each packet is one access of its length; the knobs `read_share` and `pattern` then
    set direction and bank. Raises InputError for a bank that does not exist, and for accesses that lack a column.
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
        with path.open("rb") as file:  # pyarrow cannot open names that are not UTF-8
            return csv.read_csv(file) if path.suffix.lower() == ".csv" else pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        what = TABLES.get(path.suffix.lower(), "CSV or Parquet")
        raise InputError(f"{path}: cannot be read as {what}: {str(error).splitlines()[0]}") from None


def _integers(path: Path, name: str, column: Any) -> Integers:
    """Return a column as integers; raises InputError for other values, with the first empty row."""
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
