"""Computes proposals that the paper did not build: hierarchical flow counting and compressed tables (Secs. 4.2, 4.4).

    counters    a small counter per flow inside the device; at each b-th packet the largest counter is moved to memory.
                After a move no counter exceeds ln(b N) / ln(b / (b - 1))    (Shah, Iyer, Prabhakar, McKeown, IEEE Micro
                22(1), 2002); packets until the next move may add to it
    first level one bit per entry that says whether it differs from the previous entry, one entry per run of equal
                entries, and a count of runs for each 64 bits       (Degermark, Brodnik, Carlsson, Pink, SIGCOMM 1997)

Nothing here is compared with the paper. An update of counters then takes 3 / b reads, a lookup one read less. `budget`
counts these reads, and the machine's knobs `counter_flush`, `first_level` and `cache_entries` simulate them. The hit
ratio of a cache depends on the traffic; here all of 64 routes are equally likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore.designs.gorilla.memory import reads_per_s
from npexplore.designs.gorilla.traffic import cached_share
from npexplore.errors import InputError, one_of
from npexplore.golden.flow_counters import COUNTERS
from npexplore.golden.lookup import Trie20_4_8
from npexplore.machine.parameters import Parameters, Value
from npexplore.study.papers.gorilla.channels import LEVELS, OPERATIONS

if TYPE_CHECKING:
    import pandas as pd

WORD_BITS, GROUP = 18, 64
FLOWS = 1 << 20
CHOICES: Mapping[str, Mapping[str, Value]] = {
    "as built": {}, "low-order counters": {"counter_flush": 16}, "compressed first level": {"first_level": "chip"},
    "both": {"counter_flush": 16, "first_level": "chip"}, "caches of half the routes": {"cache_entries": 32},
}  # fmt: skip


def largest_small(flows: int, every: int) -> float:
    """Return the largest value of a small counter: the bound after a flush, plus `every` packets until the next."""
    return 1.0 if every == 1 else every + math.log(every * flows) / math.log(every / (every - 1))


def small_bits(flows: int, every: int) -> int:
    """Return the bits of a small counter."""
    return math.floor(largest_small(flows, every)).bit_length()


@dataclass(frozen=True)
class CompressedLevel:
    """A trie level as runs of equal entries: bits that begin a run, runs before each group of 64, the runs' entries."""

    begins: npt.NDArray[np.bool_]
    before: npt.NDArray[np.int64]
    runs: npt.NDArray[np.int64]

    @classmethod
    def of(cls, entries: npt.NDArray[np.integer]) -> CompressedLevel:
        """Return the compressed level; entries: the level's entry at each index."""
        if not len(entries):
            raise InputError("a level to compress must have at least 1 entry")
        begins = np.concatenate([[True], np.diff(entries) != 0])
        starts = np.arange(0, len(entries), GROUP)
        before = np.concatenate([[0], np.cumsum(begins)])[starts]
        return cls(begins, before.astype(np.int64), np.asarray(entries[begins], np.int64))

    def entry(self, at: int) -> int:
        """Return the entry at an index, from the count before its group and the bits of the group up to the index."""
        group = at // GROUP
        return int(self.runs[self.before[group] + self.begins[group * GROUP : at + 1].sum() - 1])

    @property
    def bits(self) -> int:
        """Bits of memory of the map, the counts and the runs together."""
        return len(self.begins) + len(self.before) * len(self.runs).bit_length() + WORD_BITS * len(self.runs)


def compressed_first_level(trie: Trie20_4_8) -> CompressedLevel:
    """Return the compressed first level of a trie."""
    return CompressedLevel.of(trie.level(0))


def reads_of(p: Parameters, proto: str, op: str) -> float:
    """Return a packet's reads of external memory with the parameters' counters, first level and cache."""
    levels = LEVELS[one_of("protocol", proto, LEVELS)]
    one_of("operation", op, OPERATIONS)
    lookups = 0 if not levels else 2 if op == "lufc" else 1
    reads_per_lookup = levels - (1 if levels and p.first_level == "chip" else 0)
    counting = COUNTERS / float(p.counter_flush) if op == "lufc" else 0.0
    flow_counting = "on" if op == "lufc" else "off"
    miss_share = 1 - cached_share(p.with_(proto=proto, flow_counting=flow_counting)) if lookups else 1.0
    return lookups * reads_per_lookup * miss_share + counting


def budget(
    p: Parameters, rate_pps: float, protocols: Iterable[str] = ("ipv4", "ipv6"), op: str = "lufc"
) -> pd.DataFrame:
    """Return the memory channels that each of CHOICES needs. Columns: traffic, built, reads, channels, most_mpps."""
    import pandas as pd

    rows = []
    for proto in protocols:
        for name, knobs in CHOICES.items():
            reads = reads_of(p.with_(**knobs), proto, op)
            rows.append({
                "traffic": proto, "built": name, "reads": reads, "channels": rate_pps * reads / reads_per_s(p),
                "most_mpps": p.channels * reads_per_s(p) / reads / 1e6,
            })  # fmt: skip
    return pd.DataFrame(rows)
