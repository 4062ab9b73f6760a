"""The RAW router's curves and maps as tables: offered against forwarded, loads of links, claims; nothing here draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design, design
from npexplore.designs.raw import version_of
from npexplore.designs.raw_chip import Chip
from npexplore.machine.resources import Mesh, StaticStreams
from npexplore.machine.workload import Workload, workload
from npexplore.solve.link_loads import link_loads
from npexplore.solve.prediction import Prediction
from npexplore.study.grid import grid
from npexplore.study.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

LOSS_FREE = 0.98  # forwarded over offered: below it the line cards stall
NAMES = {
    "v1": "I", "v2": "II", "v3": "III", "v3d": "III.d", "v4": "IV", "v5": "V: two line cards", "null": "null router",
}  # fmt: skip


def offered(versions: Sequence[str], load: Workload, gbps: Sequence[float], packets: int = 1000) -> pd.DataFrame:
    """Return forwarded rates where line cards offer packets periodically; the trace has routes of 24 bits."""
    made = design("raw").with_(prefix="short" if load.name.startswith("raw_trace") else "long")
    table = sweep(grid(made, load, version=list(versions), offered_gbps=list(gbps)), packets=packets)
    bits = 8 * load.mean_packet_bytes
    return table.assign(
        forwarded_gbps=table["throughput_bps"] / 1e9, forwarded_mpps=table["rate_mpps"],
        offered_mpps=table["offered_gbps"] * 1e3 / bits,
    )  # fmt: skip


def loss_free(curves: pd.DataFrame) -> pd.DataFrame:
    """Return for each version the highest offered rate that is still forwarded, and the most that is ever forwarded."""
    import pandas as pd

    rows = []
    for version, curve in curves.groupby("design_version", sort=False):
        passed = curve[curve["forwarded_mpps"] >= LOSS_FREE * curve["offered_mpps"]]
        top = curve.iloc[-1]
        rows.append({
            "version": NAMES.get(str(version), str(version)),
            "MLFFR, Mpps": passed["offered_mpps"].max(), "MLFFR, Gb/s": passed["offered_gbps"].max(),
            "most, Mpps": curve["forwarded_mpps"].max(), "most, Gb/s": curve["forwarded_gbps"].max(),
            "at the highest load, Gb/s": top["forwarded_gbps"],
        })  # fmt: skip
    return pd.DataFrame(rows)


def networks(made: Design, answer: Prediction) -> dict[str, list[tuple[int | None, int | None, float]]]:
    """Return the loads of links by network in a prediction of the RAW router."""
    found: dict[str, dict[tuple[int | None, int | None], float]] = {}
    for resource in Chip(made.parameters, *version_of(made.parameters)).resources():
        if not isinstance(resource, Mesh | StaticStreams):
            continue
        name = {"gdn": "general dynamic network", "mdn": "memory dynamic network"}.get(
            resource.name, f"static network {resource.name[6:7]}"
        )
        links = found.setdefault(name, {})
        for link in link_loads(resource, answer):
            links[link.source, link.target] = links.get((link.source, link.target), 0.0) + link.load
    return {name: [(a, b, load) for (a, b), load in links.items()] for name, links in found.items()}


def busiest_links(versions: Sequence[str], packet_bytes: int, packets: int = 1000) -> pd.DataFrame:
    """Return for each version and network the busiest link between tiles."""
    import pandas as pd

    rows = []
    for version in versions:
        made = design("raw").with_(version=version)
        answer = made.simulate(workload(packet_bytes=packet_bytes), packets=packets)
        for name, links in networks(made, answer).items():
            a, b, load = max(
                ((a, b, x) for a, b, x in links if a is not None and b is not None), key=lambda item: item[2]
            )
            rows.append((NAMES[version], name, f"{a} to {b}", load, answer.throughput_bps / 1e9))
    return pd.DataFrame(rows, columns=["version", "network", "busiest link", "load", "throughput, Gb/s"])


def scaling(packet_bytes: int, sizes: Sequence[str] = ("4x4", "8x4", "8x8"), packets: int = 2000) -> pd.DataFrame:
    """Return Version III.d on more tiles: rates, rate a port, and the busiest link of the general network."""
    import pandas as pd

    rows = []
    for tiles in sizes:
        made = design("raw").with_(version="v3d", tiles=tiles)
        answer = made.simulate(workload(packet_bytes=packet_bytes), packets=packets)
        ports = len(version_of(made.parameters)[1].ports)
        loads = {
            name: max(x for a, b, x in links if a is not None and b is not None)
            for name, links in networks(made, answer).items()
        }
        rows.append({
            "tiles": tiles, "ports": ports, "packet_bytes": packet_bytes, "rate_mpps": answer.rate_pps / 1e6,
            "throughput_gbps": answer.throughput_bps / 1e9, "port_mpps": answer.rate_pps / 1e6 / ports, **loads,
        })  # fmt: skip
    return pd.DataFrame(rows)


def latencies(cycles: Sequence[float], clock_mhz: float) -> list[tuple[float, float, float]]:
    """Return (cycles, nanoseconds as printed: cycles x 0.425, nanoseconds: cycles / 0.425)."""
    return [(c, round(c * clock_mhz / 1e3), float(np.round(c / clock_mhz * 1e3))) for c in cycles]
