"""Cache hits of the tables and rings that packets access: columns of a workload for a part `cpu_caches`.

The golden router's tables are looked up for packets of many flows (real prefixes, generated rules), and its memory
accesses are recorded; rings are accessed slot by slot. The popularity of flows is Zipf, p(rank k) ~ k^-skew; flow k
belongs to core k modulo the cores. The first half of the packets fills the caches, the second half is counted.
"""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of
from npexplore.golden.classify import CLASSIFIERS
from npexplore.golden.classify.rule_generator import generate_rules, headers_within
from npexplore.golden.flow_table import TABLE as FLOWS
from npexplore.golden.flow_table import FlowTable
from npexplore.golden.ipv4.addresses import prefix_columns
from npexplore.golden.ipv4.five_tuple import FiveTuple
from npexplore.golden.lookup import LPMS
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.golden.touches import Integers, Layout, Touches, ring
from npexplore.machine.caches import Caches
from npexplore.packets.synthetic.destinations import zipf_destinations
from npexplore.paths import share

LOOKUPS = {"dir24_8": 2, "trie20_4_8": 4, "binary_trie": 12}  # bytes of a table entry in a processor's memory
RING, BUCKETS = "ring", "flow_table"
TABLES = (*LOOKUPS, *CLASSIFIERS, BUCKETS, RING)
WORD = 4  # bytes of the words that classifiers count
PACKETS = 8192  # counted packets, after at least as many that fill the caches
MOST_PACKETS = 1 << 18  # limit on the packets that fill the caches


@dataclass(frozen=True)
class Touched:
    """A table or a ring that packets access.

    what: a name of TABLES. entries: routes, rules, buckets (flow_table), or slots of a core's ring. entry_bytes: size
    of a word, bucket or slot (0: the structure's own). moved_bytes: bytes of a slot that a device writes and a core
    reads.
    """

    what: str
    entries: int
    entry_bytes: int = 0
    moved_bytes: int = 64

    def __post_init__(self) -> None:
        one_of("table that packets touch", self.what, TABLES)
        if self.entries < 1 or self.entry_bytes < 0:
            raise InputError(f"{self.what}: entries must be at least 1, got {self.entries} of {self.entry_bytes} bytes")


@lru_cache(maxsize=1)
def _prefixes() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the bundled 20,000 routes of the Internet (data/README.md), in a fixed random order."""
    lines = gzip.decompress(share("data", "routes", "internet_20000.txt.gz").read_bytes()).decode().split()
    value, length = prefix_columns(lines)
    order = np.random.default_rng(1).permutation(len(value))
    return value[order], length[order]


def _of_routes(table: Touched, flows: int, first: int) -> tuple[Touches, Layout]:
    value, length = _prefixes()
    if len(value) < table.entries:
        raise InputError(f"{table.what}: entries must be at most the {len(value)} bundled routes, got {table.entries}")
    value, length = value[: table.entries], length[: table.entries]
    lpm = LPMS[table.what].from_columns(value, length, np.arange(len(value)) % 64)
    reads = lpm.reads_many(zipf_destinations(value, length, flows, 0.0, np.random.default_rng(2)))
    size = table.entry_bytes or LOOKUPS[table.what]
    if isinstance(lpm, MultibitTrie):
        levels = zip(lpm.TABLES, lpm.nodes, lpm.STRIDES, lpm.ENTRIES_PER_WORD, strict=True)
        words = {
            name: (max(1, -(-(nodes << stride) // entries_per_word)), size)
            for name, nodes, stride, entries_per_word in levels
        }
    else:
        words = dict.fromkeys(reads.tables, (int(reads.word.max()) + 1, size))
    layout = Layout.of(words, first)
    return Touches.of_reads(reads, layout), layout


def _of_buckets(table: Touched, flows: int, first: int) -> tuple[Touches, Layout]:
    buckets = FlowTable(table.entries)
    least = -(-flows // buckets.entries)
    if table.entries < least:
        requirement = f"{least}, buckets of {buckets.entries} for {flows} flows"
        raise InputError(f"{table.what}: entries must be at least {requirement}, got {table.entries}")
    for flow in range(flows):
        buckets.insert(flow, flow)
    layout = Layout.of({FLOWS: (table.entries, table.entry_bytes or 64)}, first)
    return Touches.of_reads(buckets.reads_many(np.arange(flows)), layout), layout


def _of_rules(table: Touched, flows: int, first: int) -> tuple[Touches, Layout]:
    classifier = CLASSIFIERS[table.what](generate_rules(table.entries, seed=3), word_bits=8 * WORD)
    columns = headers_within(classifier.rules, flows, seed=4)
    headers = [FiveTuple(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    layout = Layout.of({name: (size, WORD) for name, size in classifier.storage().items()}, first)
    return Touches.of_work([classifier.work(header) for header in headers], layout), layout


@lru_cache(maxsize=16)
def _of_flows(table: Touched, flows: int, first: int) -> tuple[Touches, int]:
    """Return the memory accesses of a lookup of each flow, and the address after the table."""
    make = _of_routes if table.what in LOOKUPS else _of_buckets if table.what == BUCKETS else _of_rules
    touches, layout = make(table, flows, first)
    return touches, layout.end


def touches(tables: Sequence[Touched], flow: Integers, core: Integers, line_bytes: int = 64) -> Touches:
    """Return the memory accesses of packets of these flows by their cores, table after table; raises InputError."""
    parts: list[Touches] = []
    first, flows = 0, int(flow.max()) + 1
    for table in tables:
        if table.what == RING:
            size = table.entry_bytes or table.moved_bytes
            written, read = ring(core, table.entries, size, table.moved_bytes, first, line_bytes)
            parts = [read, *parts, written]  # the device rewrites a slot after all accesses of its packet
            first += -(-(int(core.max()) + 1) * table.entries * size // 4096) * 4096
        else:
            touched, first = _of_flows(table, flows, first)
            parts.append(touched.for_packets(flow, core))
    return Touches.in_turn(*parts)


@lru_cache(maxsize=32)
def columns(
    tables: tuple[Touched, ...], caches: Caches, flows: int, skew: float = 0.0, seed: int = 1
) -> Mapping[str, Integers]:
    """Return, per packet, the lines that hit at each level of the caches (`Caches.names`), shape (PACKETS,).

    Raises InputError if rings or flows need more than MOST_PACKETS packets to fill the caches.
    """
    if flows < 1 or skew < 0:
        raise InputError(f"flows must be at least 1 and their skew not below 0, got {flows} and {skew:g}")
    rounds = 4 * caches.cores * max((table.entries for table in tables if table.what == RING), default=0)
    half = max(PACKETS, rounds, 2 * flows)
    if half > MOST_PACKETS:
        raise InputError(f"{half} packets would be needed to fill rings and caches, {MOST_PACKETS} are the most")
    weight = np.cumsum(np.arange(1, flows + 1, dtype=float) ** -skew)
    rng = np.random.default_rng(seed)
    flow = np.minimum(np.searchsorted(weight, rng.random(2 * half) * weight[-1], side="right"), flows - 1)
    core = flow % caches.cores if flows >= caches.cores else np.arange(2 * half) % caches.cores
    levels = caches.columns(
        touches(tables, flow.astype(np.int64), core.astype(np.int64), caches.line_bytes), 2 * half, seed
    )
    return {name: column[-PACKETS:] for name, column in levels.items()}
