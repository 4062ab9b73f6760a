"""Packets for the RAW router: each packet's pipeline, output port and lookup cost (Sec. 2).

The published random traffic is 4,000 packets between 128 addresses. Each address is at a random port and has its own
32-bit entry in the table. The golden DIR-24-8 table routes the packets and lists the words that it reads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npexplore.golden.lookup import Dir24_8
from npexplore.golden.lookup.cache import lru_hits
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Workload

Integers = npt.NDArray[np.int64]
ROWS = 4096  # packets that represent a workload of one length
ENTRIES_PER_LINE = 16  # entries of two bytes, lines of 32 bytes
PIPELINE, OUTPUT, BANK = "pipeline", "output", "bank"
MISSES = "misses"  # column: words of a lookup that miss the tile's cache
READS = {"short": 1, "long": 2}  # words of the table that a lookup reads (DIR-24-8)


def lookup_cycles(p: Parameters, prefix: str, cache: str) -> int:
    """Return the cycles of stage 1 from Table 2; prefix: "short" or "long", cache: "hit" or "miss"."""
    cycles: dict[tuple[str, str], float] = {
        ("short", "hit"): p.lookup24_hit_cycles, ("short", "miss"): p.lookup24_miss_cycles,
        ("long", "hit"): p.lookup32_hit_cycles, ("long", "miss"): p.lookup32_miss_cycles,
    }  # fmt: skip
    return round(cycles[prefix, cache])


def miss_cycles(p: Parameters, prefix: str) -> int:
    """Return the cycles that a cache miss of one word adds to stage 1, a mean over tiles (Table 2)."""
    return (lookup_cycles(p, prefix, "miss") - lookup_cycles(p, prefix, "hit")) // READS[prefix]


def dressed(p: Parameters, load: Workload, pipelines: int, outputs: int) -> Workload:
    """Return the packets with the columns pipeline, output, bank and misses; existing columns are kept.

    A workload of one packet becomes ROWS packets. All pipelines and outputs get equally many packets; for captures,
    which keep their order, the assignment is random. Banks are random. With the knob `offered_gbps`, saturated packets
    arrive periodically instead.
    """
    p.assume("even_traffic")
    packets = len(load.packet_bytes)
    columns = {name: np.repeat(column, ROWS) if packets == 1 else column for name, column in load.columns.items()}
    rows = ROWS if packets == 1 else packets
    rng = np.random.default_rng(1)
    in_turn = pipelines > outputs  # a line card that feeds several pipelines feeds them in turn
    if in_turn and not load.ordered:
        order = rng.permutation(rows)
        columns = {name: column[order] for name, column in columns.items()}
    pipelines_in_turn = np.arange(rows, dtype=np.int64) % pipelines
    spread = pipelines_in_turn, np.arange(rows, dtype=np.int64) // pipelines % outputs
    if load.ordered and packets > 1:
        spread = rng.permutation(spread[0]), rng.permutation(spread[1])
    columns.setdefault(PIPELINE, pipelines_in_turn if in_turn else spread[0])
    columns.setdefault(OUTPUT, rng.permutation(spread[1]) if in_turn else spread[1])
    columns.setdefault(MISSES, np.full(rows, READS[p.prefix] if p.cache == "miss" else 0, dtype=np.int64))
    columns.setdefault(BANK, np.random.default_rng(2).integers(0, int(p.dram_banks), rows))
    ordered = in_turn or (load.ordered and packets > 1)
    routed_load = replace(load, columns=columns, ordered=ordered)
    if p.offered_gbps and load.arrivals == "saturated":
        return routed_load.with_arrivals("periodic", f"{p.offered_gbps}Gb/s")
    return routed_load


def published(p: Parameters, seed: int, packet_bytes: int, packets: int = 4000, addresses: int = 128) -> Workload:
    """Return one of the random traces: packets between `addresses` hosts at random ports (Sec. 2).

    The table has a 32-bit route for each host. Each word that the golden table reads hits or misses the cache of its
    stage 1 tile (`cache_lines` lines, LRU).
    """
    rng = np.random.default_rng(seed)
    hosts = np.unique(rng.integers(0x0B000000, 0xDF000000, 2 * addresses))[:addresses].astype(np.int64)
    hosts = rng.permutation(hosts)
    port_of_host = rng.integers(0, 4, addresses)
    table = Dir24_8.from_columns(hosts, np.full(addresses, 32), port_of_host)
    source, target = rng.integers(0, addresses, packets), rng.integers(0, addresses, packets)
    output = np.asarray(table.lookup_many(hosts[target].astype(np.uint32)), dtype=np.int64)
    pipeline = port_of_host[source].astype(np.int64)
    misses = table_misses(table, hosts[target], pipeline, p.cache_lines)
    columns = {
        "packet_bytes": np.full(packets, packet_bytes, dtype=np.int64), PIPELINE: pipeline, OUTPUT: output,
        MISSES: misses,
    }  # fmt: skip
    return Workload(f"{packets} random packets of {packet_bytes} bytes, seed {seed}", columns)


def table_misses(table: Dir24_8, addresses: Integers, pipeline: Integers, cache_lines: int) -> Integers:
    """Return the number of cache misses of each lookup, in the cache of the tile that looks up."""
    words = table.reads_many(addresses.astype(np.uint32)).word
    packet, level = np.nonzero(words >= 0)  # in order of packets, then of reads
    line = (level << 40) + words[packet, level] // ENTRIES_PER_LINE
    misses = np.zeros(len(addresses), dtype=np.int64)
    for tile in np.unique(pipeline):
        on_tile = pipeline[packet] == tile
        hits = lru_hits(line[on_tile], cache_lines)
        np.add.at(misses, packet[on_tile][~hits], 1)
    return misses
