"""Simulates rates of Gorilla configurations: by traffic and flow counting, threads, lookup delay, schedulers, arbiters.

Covers Figs. 9, 10, 11 and 13, and statements on schedulers, arbiters and balancing (Sec. 4.5.2). Every table has one
row for each simulated point; points are simulated in parallel threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.designs import Design
from npexplore.designs.gorilla.design import residence_cycles
from npexplore.designs.gorilla.steps import PROTOCOLS
from npexplore.errors import InputError
from npexplore.machine.parameters import Value
from npexplore.machine.workload import CLASS
from npexplore.solve.prediction import Prediction
from npexplore.solve.seeds import replicate
from npexplore.study.papers.gorilla import structures
from npexplore.study.papers.gorilla.area import REFERENCE, lut_share
from npexplore.study.sweeping.answers import usable_cores

if TYPE_CHECKING:
    import pandas as pd

TRAFFIC = ("ipv4", "ipv6", "mpls_1", "mpls_2", "mpls_3", "mpls_4", "mpls_1_ipv4", "mpls_1_ipv6", "ipv4_ipv6")
FIG13: Mapping[str, Value] = {"clusters": 8, "engines": 2, "rate_mpps": 100.0}
SIX = ((4, 1), (4, 2), (4, 4), (6, 1), (6, 2), (6, 4))


def simulated(design: Design, points: Sequence[Mapping[str, Value]], seed: int = 1) -> list[Prediction]:
    """Return the simulated answers at some points (knobs to set), in their order."""

    def one(knobs: Mapping[str, Value]) -> Prediction:
        return design.with_(**knobs).simulate(seed=seed, breakdown=False)

    with ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(one, points))


def configurations(
    design: Design, clusters: int, device: str, *, traffic: Iterable[str] = TRAFFIC,
    sizes: Iterable[tuple[int, int]] = SIX, counting: Iterable[str] = ("off", "on"),
    protocols: tuple[str, ...] = PROTOCOLS, **knobs: Value,
) -> pd.DataFrame:  # fmt: skip
    """Return rates of configurations (Figs. 9 to 11): a row for each traffic, size (engines, threads) and counting.

    Columns: configuration, engines, threads, traffic, flow_counting, mpps, lost (share), bound_mpps, bottleneck,
    lut (share of the device), mpps_per_context, mpps_per_area (Mpps for each per cent of the device).
    """
    import pandas as pd

    cells = list(product(traffic, sizes, counting))
    points: list[dict[str, Value]] = [
        {"clusters": clusters, "engines": e, "threads": t, "proto": proto, "flow_counting": fc, **knobs}
        for proto, (e, t), fc in cells
    ]
    rows = []
    for (proto, (e, t), fc), knob, answer in zip(cells, points, simulated(design, points), strict=True):
        at = design.with_(**knob)
        share = lut_share(design.parameters, device, clusters * e, t, protocols)
        mpps = answer.rate_pps / 1e6
        rows.append({
            "configuration": f"{clusters}-{e}-{t}", "engines": e, "threads": t, "traffic": proto, "flow_counting": fc,
            "mpps": mpps, "lost": max(0.0, 1 - mpps / float(at.parameters.rate_mpps)),
            "bound_mpps": at.bounds().rate_pps / 1e6, "bottleneck": answer.bottleneck, "lut": share,
            "mpps_per_context": mpps / (clusters * e * t), "mpps_per_area": mpps / (100 * share),
        })  # fmt: skip
    return pd.DataFrame(rows)


def threads_and_delay(
    design: Design, threads: Iterable[int], delays: Iterable[int] = (32, 128),
    schedulers: Iterable[str] = ("ready", "ready_on_stall", "round_robin", "packet_end"), **knobs: Value,
) -> pd.DataFrame:  # fmt: skip
    """Return rates over threads (Fig. 13). Columns: threads, delay, scheduler, mpps, bound_mpps."""
    import pandas as pd

    cells = list(product(delays, schedulers, threads))
    base: dict[str, Value] = {**FIG13, "boot_us": 60.0, "window_us": 300.0, **knobs}
    points: list[dict[str, Value]] = [{**base, "lookup_delay": d, "scheduler": s, "threads": t} for d, s, t in cells]
    rows = []
    for (delay, scheduler, count), knob, answer in zip(cells, points, simulated(design, points), strict=True):
        issue, residence = residence_cycles(design.with_(**knob).parameters)
        cycles = base["clusters"] * base["engines"] * design.parameters.core_mhz  # type: ignore[operator]
        rows.append({
            "threads": count, "delay": delay, "scheduler": scheduler, "mpps": answer.rate_pps / 1e6,
            "bound_mpps": min(cycles / issue, cycles * count / residence),
        })  # fmt: skip
    return pd.DataFrame(rows)


def per_area(design: Design, table: pd.DataFrame, **knobs: Value) -> pd.DataFrame:
    """Return a table of `threads_and_delay` with areas, which show the cost and the benefit of a reorder queue.

    New columns: lut (share of the Virtex-6 HX380T), mpps_per_area (Mpps for each per cent of it).
    """
    base = {**FIG13, **knobs}
    shares = [
        structures.lut_share(design.with_(**base, scheduler=s, threads=int(t)).parameters, REFERENCE)
        for s, t in zip(table["scheduler"], table["threads"], strict=True)
    ]
    return table.assign(lut=shares, mpps_per_area=[m / (100 * x) for m, x in zip(table["mpps"], shares, strict=True)])


def compared(design: Design, choices: Mapping[str, Mapping[str, Value]], **knobs: Value) -> pd.DataFrame:
    """Return the results of one point with named choices of knobs.

    Columns: choice, mpps, p99_ns, reads_busy and writes_busy (utilization of the memory's ports), engines_busy, waiting
    (mean calls that wait for the memory), at_exit (mean headers between pre-processor and exit).
    """
    import pandas as pd

    points: list[dict[str, Value]] = [{**knobs, **choice} for choice in choices.values()]
    rows: list[dict[str, Any]] = []
    for name, answer in zip(choices, simulated(design, points), strict=True):
        busy = answer.utilization.get("order")
        p99 = answer.latency_s.p99
        rows.append({
            "choice": name, "mpps": answer.rate_pps / 1e6, "p99_ns": None if p99 is None else p99 * 1e9,
            "reads_busy": answer.utilization["qdr"].busy, "writes_busy": answer.utilization["qdr_write"].busy,
            "engines_busy": answer.utilization["engine"].busy,
            "waiting": answer.queue["qdr"].mean + answer.queue.get("qdr.group", answer.queue["qdr"]).mean,
            "at_exit": None if busy is None else busy.busy * float(design.parameters.reorder_places),
        })  # fmt: skip
    return pd.DataFrame(rows)


def fairness(design: Design, choices: Mapping[str, Mapping[str, Value]], seed: int = 1, **knobs: Value) -> pd.DataFrame:
    """Return how evenly clusters are served if headers go to them in turn, at saturation.

    Columns: choice, mpps, quickest_ns and slowest_ns (mean time of a packet in the fastest and the slowest cluster),
    even (Jain's index of the clusters' times: 1 if all are equal). Raises InputError for another balancing, or if the
    number of the workload's packets is not a multiple of the number of clusters.
    """
    import pandas as pd

    def one(chosen: Mapping[str, Value]) -> Prediction:
        at = design.with_(**{**knobs, **chosen, "rate_mpps": 0.0})
        load, clusters = at.workload(), int(at.parameters.clusters)
        packets = len(load.packet_bytes)
        if at.parameters.balancing != "in_turn" or packets % clusters:
            raise InputError(
                f"clusters are told apart where {packets} packets go round them in turn, got {clusters} clusters and "
                f"balancing {at.parameters.balancing!r}"
            )
        load = replace(load, columns={**load.columns, CLASS: np.arange(packets) % clusters})
        return replicate(at.machine(), load, [seed], packets=packets)

    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(usable_cores()) as pool:
        for name, answer in zip(choices, pool.map(one, choices.values()), strict=True):
            times = np.array([cluster.latency_s.mean for cluster in answer.classes.values()], np.float64) * 1e9
            rows.append({
                "choice": name, "mpps": answer.rate_pps / 1e6, "quickest_ns": times.min(), "slowest_ns": times.max(),
                "even": times.sum() ** 2 / (len(times) * np.square(times).sum()),
            })  # fmt: skip
    return pd.DataFrame(rows)


def fewest_threads(table: pd.DataFrame, near: float = 0.99) -> pd.DataFrame:
    """Return for each delay and scheduler the highest rate, and the fewest threads that reach its share `near`."""
    import pandas as pd

    rows = []
    for (delay, scheduler), part in table.groupby(["delay", "scheduler"], sort=False):
        top = part["mpps"].max()
        enough = part.loc[part["mpps"] >= near * top, "threads"].min()
        rows.append({"delay": delay, "scheduler": scheduler, "highest_mpps": top, "threads": int(enough)})
    return pd.DataFrame(rows)


def waits(design: Design) -> pd.DataFrame:
    """Return each traffic's steps, calls, issue and residence cycles, and reads, computed from the program."""
    import pandas as pd

    from npexplore.designs.gorilla.traffic import lowered, traces

    rows = []
    for proto in TRAFFIC:
        for counting in ("off", "on"):
            at = design.with_(proto=proto, flow_counting=counting)
            issue, residence = residence_cycles(at.parameters)
            paths = lowered(at.parameters).paths
            reads = [trace.used().get("reads", 0) for trace in traces(at.parameters)]
            rows.append({
                "traffic": proto, "flow_counting": counting,
                "steps": sum(path.share * len(path.steps) for path in paths),
                "calls": sum(path.share * path.calls() for path in paths), "issue_cycles": issue,
                "residence_cycles": residence, "reads": sum(reads) / len(reads),
            })  # fmt: skip
    return pd.DataFrame(rows)
