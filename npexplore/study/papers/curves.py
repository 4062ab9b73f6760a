"""Tables behind figures: one tidy row a point, units in the column names; nothing here draws.

ceiling of resource k = bits per packet x units_k / D_k    (solve.bounds, one resource at a time)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.ledger import Row
from npexplore.machine.lone import lone
from npexplore.machine.parameters import Value
from npexplore.machine.tree import visit
from npexplore.machine.workload import Workload
from npexplore.solve.timeline import timeline
from npexplore.study.explaining.explain import assumptions
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.study.checking.check import Check


def swept(points: Iterable[SweepPoint]) -> pd.DataFrame:
    """Return a sweep's table with rates in Gb/s beside: throughput_gbps, low_gbps, high_gbps, offered_gbps, lost.

    lost: share of the packets that were dropped (simulation only).
    """
    asked = list(points)
    table = sweep(asked)
    loads = [(point.design.machine(), point.design.workload(point.workload)) for point in asked]
    bits = np.array([8 * float(np.mean(machine.counted_bytes(load.packet_bytes))) for machine, load in loads])
    return table.assign(
        throughput_gbps=table["throughput_bps"] / 1e9,
        low_gbps=table["throughput_low_bps"] / 1e9,
        high_gbps=table["throughput_high_bps"] / 1e9,
        offered_gbps=table["offered_mpps"].astype(float) * bits / 1e3,
        lost=table["dropped"] / (table["dropped"] + table["packets"]),
    )


def demands(design: Design, workload: Workload | None = None) -> pd.DataFrame:
    """Return what a packet asks of every server: time, visits, and the packet rate at which the server is full.

    Columns: server, members, units, ns_per_packet, visits, ceiling_mpps, load (share of the tightest ceiling).
    """
    import pandas as pd

    found = design.demands(workload)
    ceilings = found.ceilings()
    rows = [
        (name, found.servers[name].members, found.servers[name].units, 1e9 * demand.seconds, demand.visits,
         ceilings[name] / 1e6)
        for name, demand in found.demands.servers.items() if name in ceilings
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["server", "members", "units", "ns_per_packet", "visits", "ceiling_mpps"])
    return frame.assign(load=frame["ceiling_mpps"].min() / frame["ceiling_mpps"]).sort_values("ceiling_mpps")


def ceilings(design: Design, workload: Workload | None, knob: str, values: Iterable[Value]) -> pd.DataFrame:
    """Return the ceiling that each resource alone sets, against a knob.

    Columns: the knob, resource, ceiling_gbps, binding (whether it is the lowest there), counted.
    """
    import pandas as pd

    rows = []
    for value in values:
        found = design.with_(**{knob: value}).demands(workload)
        limits = {name: rate * found.counted_bits / 1e9 for name, rate in found.ceilings().items()}
        lowest = min(limits, key=limits.__getitem__)
        rows += [(value, name, limit, name == lowest, found.machine.counted) for name, limit in limits.items()]
    return pd.DataFrame(rows, columns=[knob, "resource", "ceiling_gbps", "binding", "counted"])


def narrow_share(designs: Mapping[str, Design], packet_bytes: Iterable[int]) -> pd.DataFrame:
    """Return the DRAM accesses a packet of each length causes, and the share of them below the cell size.

    designs: by the name they have in the column `scheme`; further columns: packet_bytes, accesses, narrow_share.
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


def lengths(workloads: Iterable[Workload]) -> pd.DataFrame:
    """Return the cumulative shares of packet lengths, from 0 on: columns source, length_bytes, share (no longer)."""
    import pandas as pd

    parts = []
    for load in workloads:
        size, count = np.unique(load.packet_bytes, return_counts=True)
        share = np.concatenate([[0.0], np.cumsum(count) / count.sum()])
        parts.append(pd.DataFrame({"source": load.name, "length_bytes": [size[0], *size], "share": share}))
    return pd.concat(parts, ignore_index=True)


def accesses(design: Design, workload: Workload | None = None, *, start_s: float, length_s: float) -> pd.DataFrame:
    """Return a time line of the DRAM in which every hold knows its access.

    Columns: lane (server, with its number where there are several), access (1, 2, ... in order of admission),
    start_ns, end_ns counted from `start_s`.
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
    chosen = table[table["lane"] == lane]
    return float((chosen["end_ns"].clip(0, length_ns) - chosen["start_ns"].clip(0, length_ns)).sum() / length_ns)


def compared(check: Check, ledger: Iterable[Row], where: str) -> pd.DataFrame:
    """Return the rows of one figure or section of a cross-check, with their conditions as columns."""
    import pandas as pd

    rows = {row.key: row for row in ledger if row.where == where}
    frame = check.frame()
    frame = frame[frame["key"].isin(rows)].reset_index(drop=True)
    conditions = pd.DataFrame([dict(rows[key].conditions) for key in frame["key"]])
    return pd.concat([frame, conditions], axis=1)


def cells(packet_bytes: Iterable[int], cell_bytes: int) -> pd.DataFrame:
    """Return packets cut into cells: columns packet_bytes, cell, bytes, sop, eop (the bits of the status word)."""
    import pandas as pd

    rows = []
    for size in packet_bytes:
        count = -(-size // cell_bytes)
        rows += [
            (size, k, min(cell_bytes, size - k * cell_bytes), int(k == 0), int(k == count - 1)) for k in range(count)
        ]
    return pd.DataFrame(rows, columns=["packet_bytes", "cell", "bytes", "sop", "eop"])


def access_steps(design: Design, access_bytes: int) -> pd.DataFrame:
    """Return how long a lone access holds each part of the DRAM: columns server, read_ns, write_ns."""
    import pandas as pd

    dram = design.machine().resources["dram"]
    table = {}
    for method in ("read", "write"):
        holds = lone(visit(dram, method, bytes=access_bytes, bank=0)).holds
        occupied = {s.name: sum(1e9 * float(h.seconds) for h in holds if h.server == s.name) for s in dram.servers()}
        table[f"{method}_ns"] = {name: ns for name, ns in occupied.items() if ns}
    return pd.DataFrame(table).rename_axis("server").reset_index()


def unstated(design: Design, workload: Workload | None = None) -> pd.DataFrame:
    """Return what no source states: columns name, kind, value, instead (choices, or how many rows it was fitted to),
    about, source.
    """
    import pandas as pd

    known = design.parameters.file.parameter
    rows = []
    for found in assumptions(design, workload):
        parameter = known.get(found.name)
        fitted = len(parameter.fitted_to) if parameter is not None else 0
        others = [choice for choice in (parameter.choices if parameter is not None else []) if choice != found.value]
        rows_of = f"fitted to {fitted} row{'s'[: fitted > 1]}"
        told = [f"or {', '.join(others)}"] * bool(others) + [rows_of] * bool(fitted)
        value = "" if found.value is None else f"{found.value} {found.unit}".strip()
        rows.append((found.name, found.kind, value, "; ".join(told), found.about, found.source))
    return pd.DataFrame(rows, columns=["name", "kind", "value", "instead", "about", "source"])
