"""Computes the tables behind figures of any machine: a tidy row for each point, units in the column names.

ceiling of resource k = bits per packet x units_k / D_k    (solve.bounds, one resource at a time)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.ledger import Row
from npexplore.machine.parameters import Value
from npexplore.machine.ranges import words
from npexplore.machine.workload import Workload
from npexplore.study.explaining.explain import assumptions
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.study.checking.check import Check


def swept(points: Iterable[SweepPoint]) -> pd.DataFrame:
    """Return a sweep's table with more columns: throughput_gbps, low_gbps, high_gbps, offered_gbps, lost.

    lost: share of dropped packets (simulation only).
    """
    sweep_points = list(points)
    table = sweep(sweep_points)
    loads = [(point.design.machine(point.workload), point.design.workload(point.workload)) for point in sweep_points]
    bits = np.array([8 * float(np.mean(machine.counted_bytes(load.packet_bytes))) for machine, load in loads])
    return table.assign(
        throughput_gbps=table["throughput_bps"] / 1e9,
        low_gbps=table["throughput_low_bps"] / 1e9,
        high_gbps=table["throughput_high_bps"] / 1e9,
        offered_gbps=table["offered_mpps"].astype(float) * bits / 1e3,
        lost=table["dropped"] / (table["dropped"] + table["packets"]),
    )


def demands(design: Design, workload: Workload | None = None) -> pd.DataFrame:
    """Return a packet's demand on every server: time, visits, and the packet rate at which the server saturates.

    Columns: server, members, units, ns_per_packet, visits, ceiling_mpps, load (share of the tightest ceiling).
    """
    import pandas as pd

    under_load = design.demands(workload)
    ceilings = under_load.ceilings()
    rows = [
        (name, under_load.servers[name].members, under_load.servers[name].units, 1e9 * demand.seconds, demand.visits,
         ceilings[name] / 1e6)
        for name, demand in under_load.demands.servers.items() if name in ceilings
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["server", "members", "units", "ns_per_packet", "visits", "ceiling_mpps"])
    return frame.assign(load=frame["ceiling_mpps"].min() / frame["ceiling_mpps"]).sort_values("ceiling_mpps")


def ceilings(design: Design, workload: Workload | None, knob: str, values: Iterable[Value]) -> pd.DataFrame:
    """Return the ceiling that each resource alone sets, over the values of a knob.

    Columns: the knob, resource, ceiling_gbps, binding (whether it is the lowest there), counted.
    """
    import pandas as pd

    rows = []
    for value in values:
        under_load = design.with_(**{knob: value}).demands(workload)
        limits = {name: rate * under_load.counted_bits / 1e9 for name, rate in under_load.ceilings().items()}
        lowest = min(limits, key=limits.__getitem__)
        rows += [(value, name, limit, name == lowest, under_load.machine.counted) for name, limit in limits.items()]
    return pd.DataFrame(rows, columns=[knob, "resource", "ceiling_gbps", "binding", "counted"])


def lengths(workloads: Iterable[Workload]) -> pd.DataFrame:
    """Return cumulative shares of packet lengths from 0 on: columns source, length_bytes, share (up to this length)."""
    import pandas as pd

    parts = []
    for load in workloads:
        size, count = np.unique(load.packet_bytes, return_counts=True)
        share = np.concatenate([[0.0], np.cumsum(count) / count.sum()])
        parts.append(pd.DataFrame({"source": load.name, "length_bytes": [size[0], *size], "share": share}))
    return pd.concat(parts, ignore_index=True)


def compared(check: Check, ledger: Iterable[Row], where: str) -> pd.DataFrame:
    """Return the rows of one figure or section of a cross-check, with their conditions as columns."""
    import pandas as pd

    rows = {row.key: row for row in ledger if row.where == where}
    frame = check.to_frame()
    frame = frame[frame["key"].isin(rows)].reset_index(drop=True)
    conditions = pd.DataFrame([dict(rows[key].conditions) for key in frame["key"]])
    return pd.concat([frame, conditions], axis=1)


def unstated(design: Design, workload: Workload | None = None) -> pd.DataFrame:
    """Return the values that no source states: columns name, kind, value, instead (other choices, or the number of rows
    that the value was fitted to), about, source.
    """
    import pandas as pd

    parameters = design.parameters.file.parameter
    rows = []
    for assumption in assumptions(design, workload):
        parameter = parameters.get(assumption.name)
        fitted = len(parameter.fitted_to) if parameter is not None else 0
        others = [
            word for word in words(parameter.choices if parameter is not None else ()) if word != assumption.value
        ]
        fitted_text = f"fitted to {fitted} row{'s'[: fitted > 1]}"
        instead = [f"or {', '.join(others)}"] * bool(others) + [fitted_text] * bool(fitted)
        value = "" if assumption.value is None else f"{assumption.value} {assumption.unit}".strip()
        rows.append((assumption.name, assumption.kind, value, "; ".join(instead), assumption.about, assumption.source))
    return pd.DataFrame(rows, columns=["name", "kind", "value", "instead", "about", "source"])
