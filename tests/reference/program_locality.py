"""Lookups in maps of 8 KB to 64 MB, timed by this computer's kernel, beside what caches and pages say of them.

As root, `python tests/reference/program_locality.py` writes program_locality.csv: nanoseconds of a run with one key,
and what keys that vary add; a stored list tells their order (random, periodic, skewed, of a capture's flows). Lines of
each level and walks of page tables are those of `npexplore.machine.caches`; what each costs is fitted to random orders
of five sizes.
"""

import csv
import struct
import sys
from pathlib import Path
from time import CLOCK_THREAD_CPUTIME_ID, clock_gettime_ns

import numpy as np

from npexplore.golden.touches import Touches
from npexplore.machine.caches import Caches, Level
from npexplore.packets.frames import read_frames
from npexplore.programs.linux import LinuxProgram, _bpf
from npexplore.programs.loading import program
from npexplore.programs.micro import FRAME

FILE = Path(__file__).with_suffix(".csv")
CAPTURE = Path(__file__).parents[2] / "data/captures/zeek_workshop_2011_browse.pcap"
KB, LINE, PAGE = 1024, 64, 4096
SIZES_KB = (8, 128, 512, 2048, 4096, 8192, 16384, 65536)
FITTED_KB = (128, 512, 2048, 8192, 65536)  # of random order
ORDERS = {"array": ("random", "periodic", "skewed", "captured"), "hash": ("random", "periodic", "captured")}
SHORTEST, MIN_RUNS, ROUNDS, UPDATE_BATCH = 16384, 300_000, 3, 26
ENTRY_BYTES = {"array": 8, "hash": 64}  # a hash table's entry: 48 bytes before its key (kernel/bpf/hashtab.c)
HIERARCHY = Caches(  # AMD EPYC of family 26, two virtual cores of a machine that others use: half of its L3
    (Level("l1", 48 * KB, 12), Level("l2", 1024 * KB, 16), Level("l3", 16384 * KB, 16, shared=True)),
    inclusive=False, replacement="random",
)  # fmt: skip
PAGES = Caches((Level("translations", 1024 * PAGE, 8, shared=True),), PAGE, replacement="random")
COLUMNS = ("l2_lines", "l3_lines", "memory_lines", "page_walks")
TEXT = """.map state array 4 8 1
.map order array 4 4 {count}
.map t {kind} 4 8 {entries}
stw [r10-4], 0
lddw r1, map state
mov r2, r10
add r2, -4
call map_lookup_elem
jeq r0, 0, out
ldxdw r7, [r0+0]
mov r8, r7
add r8, 1
and r8, {last}
stxdw [r0+0], r8
stxw [r10-4], r7
lddw r1, map order
mov r2, r10
add r2, -4
call map_lookup_elem
jeq r0, 0, out
ldxw r7, [r0+0]
stxw [r10-4], r7
lddw r1, map t
mov r2, r10
add r2, -4
call map_lookup_elem
jeq r0, 0, out
ldxdw r8, [r0+0]
out: mov r0, 1
exit
"""


def order_keys(order, kind, kb):
    """Return the keys in their order, a power of two of them: as many as the table has lines, or SHORTEST."""
    entries, lines = kb * KB // ENTRY_BYTES[kind], kb * KB // LINE
    count, rng = max(SHORTEST, lines), np.random.default_rng([kb, list(ORDERS["array"]).index(order)])
    if order == "periodic":
        return np.resize(rng.permutation(lines) * (entries // lines), count)
    if order == "skewed":
        ranks = rng.zipf(1.2, 8 * count)
        return rng.permutation(entries)[ranks[ranks <= entries][:count] - 1]
    if order == "captured":
        flows = [frame[26:38] for _, frame in read_frames(CAPTURE)]
        _, number = np.unique(np.array(flows, dtype="S12"), return_inverse=True)
        return np.resize(rng.integers(0, entries, number.max() + 1)[number], count)
    return rng.integers(0, entries, count)


def events(kind, keys, kb):
    """Return the lines of each level and the walks of a lookup, in the second of two rounds through the order."""
    columns = [np.arange(len(keys)) * 4, (1 << 30) + keys * ENTRY_BYTES[kind]]
    if kind == "hash":
        buckets = 1 << int(kb * KB // ENTRY_BYTES[kind] - 1).bit_length()
        hashes = (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)).astype(np.int64)
        columns[1] = (1 << 30) + hashes % buckets * 16
        columns.append((1 << 31) + np.unique(keys, return_inverse=True)[1] * ENTRY_BYTES[kind])
    addresses = np.tile(np.stack(columns, 1), (2, 1))
    touches = Touches.of(np.repeat(np.arange(len(addresses)), len(columns)), addresses.reshape(-1))
    found, walked = (one.levels_of(touches).reshape(addresses.shape)[len(keys) :, 1:] for one in (HIERARCHY, PAGES))
    return [float((found == level).sum() / len(keys)) for level in (1, 2, 3)] + [float((walked > 0).sum() / len(keys))]


def time_order(kind, keys, entries):
    """Return nanoseconds of a run, the least of some rounds; the table holds the keys."""
    code = program(TEXT.format(count=len(keys), last=len(keys) - 1, kind=kind, entries=entries))
    with LinuxProgram(code) as loaded:
        files = {one.name: loaded.maps[number] for number, one in code.used_maps.items()}
        _fill(files["order"], np.arange(len(keys), dtype=np.uint32), keys.astype(np.uint32))
        if kind == "hash":
            held = np.unique(keys).astype(np.uint32)
            _fill(files["t"], held, np.zeros(len(held), np.uint64))
        loaded.run(FRAME, 2 * len(keys))
        return _least(loaded, max(2 * len(keys), MIN_RUNS))


def _fill(file, keys, values):
    _bpf(UPDATE_BATCH, struct.pack("<QQQQIIQQ", 0, 0, keys.ctypes.data, values.ctypes.data, len(keys), file, 0, 0))


def _least(loaded, runs):
    times = []
    for _ in range(ROUNDS):
        begin = clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID)
        loaded.run(FRAME, runs)
        times.append((clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / runs)
    return min(times)


def costs(rows):
    """Return nanoseconds by event, and of a key that varies, fitted to random orders of one kind of map."""
    from scipy.optimize import nnls

    fitted = [row for row in rows if is_fitted(row)]
    weights = np.array([1 / (row["one_key_ns"] + row["more_ns"]) for row in fitted])
    counts = np.array([[*(row[name] for name in COLUMNS), float(row["kind"] == "hash")] for row in fitted])
    return nnls(counts * weights[:, None], np.array([max(row["more_ns"], 0.0) for row in fitted]) * weights)[0]


def is_fitted(row):
    """Say whether costs are fitted to a row."""
    return row["order"] == "random" and row["kb"] in FITTED_KB


def errors(rows):
    """Return the relative errors of the time of a run, of rows that nothing is fitted to."""
    by_row = {}
    for kind in ORDERS:
        mine = [row for row in rows if row["kind"] == kind]
        price = costs(mine)
        for row in mine:
            more = np.dot([*(row[name] for name in COLUMNS), float(kind == "hash")], price)
            whole = row["one_key_ns"] + row["more_ns"]
            if not is_fitted(row):
                by_row[kind, row["order"], row["kb"]] = float((row["one_key_ns"] + more) / whole - 1)
    return by_row


def read():
    """Return the stored rows."""
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts = ("kind", "order")
    return [{name: one if name in texts else float(one) for name, one in row.items()} for row in rows]


def main():
    rows = []
    for kind, orders in ORDERS.items():
        one_key = time_order(kind, np.zeros(SHORTEST, np.int64), 1024)
        for kb in SIZES_KB:
            for order in orders:
                keys = order_keys(order, kind, kb)
                whole = time_order(kind, keys, kb * KB // ENTRY_BYTES[kind])
                counts = dict(zip(COLUMNS, (round(n, 4) for n in events(kind, keys, kb)), strict=True))
                row = {"kind": kind, "kb": kb, "order": order, "one_key_ns": round(one_key, 2)}
                rows.append({**row, "more_ns": round(whole - one_key, 2), **counts})
                print(*rows[-1].values(), file=sys.stderr, flush=True)
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for name, error in errors(read()).items():
        print(*name, f"{error:+.1%}")


if __name__ == "__main__":
    main()
