"""Computes tables behind the IXP2400's figures: cells, narrow accesses, a time line of the DRAM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.engine.timeline import timeline
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.tree import visit
from npexplore.machine.workload import Workload

if TYPE_CHECKING:
    import pandas as pd


def cells(packet_bytes: Iterable[int], cell_bytes: int) -> pd.DataFrame:
    """Return packets cut into cells: columns packet_bytes, cell, bytes, sop, eop (bits of the status word)."""
    import pandas as pd

    rows = []
    for size in packet_bytes:
        count = -(-size // cell_bytes)
        rows += [
            (size, k, min(cell_bytes, size - k * cell_bytes), int(k == 0), int(k == count - 1)) for k in range(count)
        ]
    return pd.DataFrame(rows, columns=["packet_bytes", "cell", "bytes", "sop", "eop"])


def narrow_share(designs: Mapping[str, Design], packet_bytes: Iterable[int]) -> pd.DataFrame:
    """Return the DRAM accesses of a packet of each length, and the share of accesses smaller than a cell.

    designs: by their name in the column `scheme`; further columns: packet_bytes, accesses, narrow_share.
    """
    import pandas as pd

    rows = []
    for size in packet_bytes:
        load = Workload(f"{size} bytes", {"packet_bytes": np.full(1, size, dtype=np.int64)})
        for name, design in designs.items():
            counts = design.demands(load).demands.counts
            accesses = counts.get("dram.accesses", 0.0)
            rows.append((name, size, accesses, counts.get("dram.narrow", 0.0) / accesses if accesses else 0.0))
    return pd.DataFrame(rows, columns=["scheme", "packet_bytes", "accesses", "narrow_share"])


def access_steps(design: Design, access_bytes: int) -> pd.DataFrame:
    """Return the holding times of a lone access at each server of the DRAM: columns server, read_ns, write_ns."""
    import pandas as pd

    dram = design.machine().resources["dram"]
    table = {}
    for method in ("read", "write"):
        holds = unloaded_visit(visit(dram, method, bytes=access_bytes, bank=0)).holds
        occupied = {s.name: sum(1e9 * float(h.seconds) for h in holds if h.server == s.name) for s in dram.servers()}
        table[f"{method}_ns"] = {name: ns for name, ns in occupied.items() if ns}
    return pd.DataFrame(table).rename_axis("server").reset_index()


def accesses(design: Design, workload: Workload | None = None, *, start_s: float, length_s: float) -> pd.DataFrame:
    """Return a time line of the DRAM with the access of every hold.

    Columns: lane (server, with its member's number if it has several), access (1, 2, ... in order of admission),
    start_ns, end_ns, relative to `start_s`.
    """
    import pandas as pd

    table = timeline(design.machine(), design.workload(workload), start_s=start_s, length_s=length_s)
    slots = table[table["server"] == "dram.slots"].sort_values("start_s", kind="stable")
    slots = slots.assign(access=np.arange(1, len(slots) + 1))[["token", "start_s", "access"]]
    inside = table[table["server"] != "dram.slots"].sort_values("start_s", kind="stable")
    joined = pd.merge_asof(inside, slots, on="start_s", by="token").dropna(subset="access")
    several = joined.groupby("server")["member"].transform("max") > 0
    lane = joined["server"].where(~several, joined["server"] + " " + joined["member"].astype(str))
    return pd.DataFrame({
        "lane": lane,
        "access": joined["access"].astype(int),
        "start_ns": 1e9 * (joined["start_s"] - start_s),
        "end_ns": 1e9 * (joined["end_s"] - start_s),
    })  # fmt: skip


def busy_share(table: pd.DataFrame, lane: str, length_ns: float) -> float:
    """Return the share of 0 .. length_ns in which a lane of `accesses` is held."""
    holds = table[table["lane"] == lane]
    return float((holds["end_ns"].clip(0, length_ns) - holds["start_ns"].clip(0, length_ns)).sum() / length_ns)
