"""Sets of parameters of the RAW router that fit its calibration rows; what the paper does not state is drawn at random.

    time of a DRAM line: by secants until Version IV has what is printed (36 %) over Version III at 1500 bytes

The line cards' rate follows from the null router alone, whatever else is assumed. Only calibration rows are read. How
stages share their time is not drawn: one reading of it alone is possible (consistency.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from npexplore.designs import Design, design
from npexplore.ledger import Facts, facts
from npexplore.machine.parameters import Value
from npexplore.machine.workload_sources import workload
from npexplore.study.checking import sets
from npexplore.study.checking.sets import ParameterSet
from npexplore.study.sweeping.answers import usable_cores

GAIN, RATE = "raw.v4.gain_1500", "raw.null.throughput"
RANGES: Mapping[str, Sequence[Value]] = {
    "queue_packets": (4, 8, 16, 32),
    "card_packets": (1, 2, 3, 4),
    "dram_latency_cycles": (31.0, 36.0, 41.0, 46.0, 51.0),
    "line_reads": (1, 2, 3, 4),
    "line_writes": ("posted", "answered"),
    "memory_manager": ("answered", "posted", "free"),
    "dram_core": ("shared", "apart"),
    "dram_banks": (2, 4, 8),
    "half_duplex": ("overlap", "exclusive"),
    "store": ("before_lookup", "beside"),
    "replicates": ("tile", "card"),
    "results": ("own", "general"),
    "switch_reset_cycles": (2.0, 3.0, 4.0, 5.0),
    "card_limit": ("pipeline", "card"),
}
LINE = (8.0, 48.0)  # cycles of a line, between which the gain is looked for
STEPS = 8
FIRST_STEP = 0.1  # of the time that the search begins with
FIT_SEEDS = (11, 12, 13, 14)  # banks are drawn: of one seed the gain is off by 1.3 points (standard deviation)
PACKETS = 3000
HEAD = """# Sets of parameters that the calibration rows of the RAW router admit, found by tests/reference/raw_sets.py.
"""
ABOUT = "what the paper leaves open drawn at random, the time of a DRAM line fitted to Version IV over Version III"


def load_sets() -> list[ParameterSet]:
    """Return the recorded sets."""
    return sets.load_sets("raw")


def written(found: Sequence[ParameterSet]) -> str:
    """Return sets as the text of models/sets/raw.toml."""
    return sets.written("raw", HEAD, ABOUT, found)


def gain(at: Design, seeds: Sequence[int] = FIT_SEEDS) -> float:
    """Return the gain of Version IV over Version III with 1500-byte packets, saturated."""
    load = workload(packet_bytes=1500)
    fourth, third = (
        sum(at.with_(version=v).simulate(load, seed, packets=PACKETS, breakdown=False).throughput_bps for seed in seeds)
        for v in ("v4", "v3")
    )
    return fourth / third - 1


def fitted(assumed: Mapping[str, Value], known: Facts | None = None) -> dict[str, Value] | None:
    """Return the assumed values with the time of a DRAM line that gives the printed gain; None if none does.

    The search begins at the time that is assumed (else the model's own) and follows the secant.
    """
    row = (known or facts())[GAIN]
    assert row.lo is not None
    assert row.hi is not None
    at = design("raw").with_(**assumed)
    line, before = float(at.parameters.line_cycles), None
    for _ in range(STEPS):
        found = row.from_si(gain(at.with_(line_cycles=line)))
        if row.lo <= found <= row.hi:
            return {**assumed, "line_cycles": line}
        off = found - (row.lo + row.hi) / 2
        if before is None:
            step = -FIRST_STEP * line if off > 0 else FIRST_STEP * line
        elif off == before[1]:
            return None
        else:
            step = -off * (line - before[0]) / (off - before[1])
        before, line = (line, off), round(min(max(line + step, LINE[0]), LINE[1]), 3)
        if line == before[0]:
            return None
    return None


def search(draws: int, seed: int, note: Callable[[str], None] = lambda text: None) -> list[ParameterSet]:
    """Return the sets that some random draws lead to, in the order of the draws."""
    rng = np.random.default_rng(seed)
    asked = [{name: choices[int(rng.integers(len(choices)))] for name, choices in RANGES.items()} for _ in range(draws)]

    def one(assumed: dict[str, Value]) -> dict[str, Value] | None:
        found = fitted(assumed)
        note("kept" if found else "no time of a line meets the gain")
        return found

    with ThreadPoolExecutor(usable_cores()) as pool:
        return [ParameterSet(fitted_to=[GAIN, RATE], set=found) for found in pool.map(one, asked) if found]
