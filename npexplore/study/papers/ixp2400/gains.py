"""Analyses why modelled header buffering gains too little and first-cell buffering too much: bus times, readings.

    D = U / X           bus time per packet: utilization over packets/s (utilization law)
    o = r D / n - 64    bus overhead of an access in bytes, from FCB+TB, where all n accesses of a packet are full cells
    (r D - B) / o       accesses per packet in the base scheme; r: bus rate in bytes/s, B: bytes moved per packet

Printed numbers are compared with each other here, as in an audit; no model reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design, design
from npexplore.ledger import load
from npexplore.machine.mixes import MixFile, standing_in
from npexplore.machine.parameters import Value
from npexplore.machine.workload_sources import workload
from npexplore.study.papers.ixp2400.lengths import TRACES
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

STEPS = (("hb", "base"), ("fcb", "hb"), ("fcb_tb", "fcb"), ("fcb_tb", "base"))
READINGS: Mapping[str, dict[str, Value]] = {  # readings of unclear text; lengths.py has those of packet lengths
    "as described": {},
    "the header in its first cell's bank": {"placement": "first_cell"},
    "a slot for every thread": {"dram_slots": 16},
    "headers of 32 bytes": {"header_bytes": 32},
    "long packets' headers read twice": {"long_header_reads": 2},
}


def bus_accounts() -> pd.DataFrame:
    """Return the bus time of a packet that the printed rows imply, one row per trace.

    Columns: trace; base_ns, fcb_tb_ns: bus time per packet; overhead_bytes: bus overhead per access; extra_accesses:
    accesses of the base scheme beyond a write and a read of each cell (the program makes two); hb_least_ns, hb_most_ns:
    bus time that header buffering saves if the bus is as busy as with FCB+TB, or as in the base scheme; program_ns: bus
    time of two accesses to the header and of its bytes in the first cell.
    """
    import pandas as pd

    rows, p = load(), design("ixp2400").parameters
    rate = p.bus_bits / 8 * p.bus_clock_mhz * 1e6

    def printed(key: str) -> float:
        row = rows[f"ixp2400.{key}"]
        assert row.point is not None
        return row.si(row.point)

    accounts = []
    for trace in TRACES:
        cells = printed(f"derived.mean_cells.{trace}")
        packets = printed(f"fig13.throughput.{trace}") / (8 * p.cell_bytes * cells)
        base = packets / (1 + printed(f"improvement.total.{trace}"))
        busy = {scheme: printed(f"fig12.bus.{trace}.{scheme}") for scheme in ("base", "fcb_tb")}
        time = {"base": busy["base"] / base, "fcb_tb": busy["fcb_tb"] / packets}
        cell_accesses = printed(f"fig12.bandwidth.{trace}.fcb_tb") / (8 * p.cell_bytes * packets)
        overhead = rate * time["fcb_tb"] / cell_accesses - p.cell_bytes
        moved = printed(f"fig12.bandwidth.{trace}.base") / 8 / base
        gain = 1 + printed(f"improvement.hb.{trace}")
        saved = [1e9 * time["base"] * (1 - full / gain) for full in (busy["fcb_tb"] / busy["base"], 1.0)]
        accounts.append({
            "trace": trace, "base_ns": 1e9 * time["base"], "fcb_tb_ns": 1e9 * time["fcb_tb"],
            "overhead_bytes": overhead, "extra_accesses": (rate * time["base"] - moved) / overhead - 2 * cells,
            "hb_least_ns": saved[0], "hb_most_ns": saved[1],
            "program_ns": 1e9 * (4 * p.header_bytes + 2 * overhead) / rate,
        })  # fmt: skip
    return pd.DataFrame(accounts)


def gains(
    at: Design, readings: Mapping[str, dict[str, Value]] = READINGS, *, mixes: Iterable[MixFile] = (),
    packets: int = 4096, seed: int = 1,
) -> pd.DataFrame:  # fmt: skip
    """Return the gain of each step under each reading of the text, in per cent.

    Columns: reading, mix, scheme, baseline, gain. mixes: mixes that replace the published ones.
    """
    import pandas as pd

    with standing_in(mixes):
        loads = {trace: workload(mix=trace) for trace in TRACES}
    cells = [
        (name, trace, scheme) for name in readings for trace in TRACES for scheme in ("base", "hb", "fcb", "fcb_tb")
    ]
    points = [SweepPoint(at.with_(scheme=s, **readings[name]), loads[t], "simulation", seed) for name, t, s in cells]
    rates = dict(zip(cells, sweep(points, packets=packets)["throughput_bps"], strict=True))
    return pd.DataFrame([
        {"reading": name, "mix": trace, "scheme": scheme, "baseline": baseline,
         "gain": 100 * (rates[name, trace, scheme] / rates[name, trace, baseline] - 1)}
        for name in readings for trace in TRACES for scheme, baseline in STEPS
    ])  # fmt: skip


def beside_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return gains minus printed gains in percentage points, by reading and step, with a column per trace."""
    rows = load()
    step = {("hb", "base"): "hb", ("fcb", "hb"): "fcb", ("fcb_tb", "fcb"): "fcb_tb", ("fcb_tb", "base"): "total"}
    step_names = [step[pair] for pair in zip(table["scheme"], table["baseline"], strict=True)]
    printed = [rows[f"ixp2400.improvement.{s}.{mix}"].point for s, mix in zip(step_names, table["mix"], strict=True)]
    missed = table.assign(step=step_names, miss=table["gain"] - np.array(printed, dtype=float))
    wide = missed.pivot(index=["reading", "step"], columns="mix", values="miss")
    order = [(reading, name) for reading in dict.fromkeys(table["reading"]) for name in step.values()]
    return wide.loc[order].reset_index()
