"""Computes the tables behind the RAW router's curves and maps: forwarded over offered load, loads of links, claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.designs import Design, design
from npexplore.designs.raw.chip import Chip
from npexplore.designs.raw.design import version_of
from npexplore.designs.raw.traffic import MISSES, PIPELINE, published
from npexplore.errors import SimulationError
from npexplore.ledger import Ledger
from npexplore.machine.resources import Mesh, StaticStreams
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.solve.link_loads import link_loads
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.raw import at
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.points import Predictions
from npexplore.study.sweeping.sweep import sweep

if TYPE_CHECKING:
    import pandas as pd

LOSS_FREE = 0.98  # smallest ratio of forwarded to offered rate that counts as loss-free; below it line cards stall
NAMES = {
    "v1": "I", "v2": "II", "v3": "III", "v3d": "III.d", "v4": "IV", "v5": "V: two line cards", "null": "null router",
}  # fmt: skip


def offered(versions: Sequence[str], load: Workload, gbps: Sequence[float], packets: int = 1000) -> pd.DataFrame:
    """Return forwarded rates over offered loads with periodic arrivals; the trace has routes of 24 bits.

    Gb/s are packets/s times the mean length, so that a short run of unequal packets is comparable with the load.
    """
    machine = design("raw").with_(prefix="short" if load.name.startswith("raw_trace") else "long")
    table = sweep(grid(machine, load, version=list(versions), offered_gbps=list(gbps)), packets=packets)
    bits = 8 * load.mean_packet_bytes
    return table.assign(
        forwarded_gbps=table["rate_mpps"] * bits / 1e3, forwarded_mpps=table["rate_mpps"],
        offered_mpps=table["offered_gbps"] * 1e3 / bits,
    )  # fmt: skip


def loss_free(curves: pd.DataFrame) -> pd.DataFrame:
    """Return for each version the highest loss-free offered rate, and the highest forwarded rate."""
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


def networks(machine: Design, answer: Prediction) -> dict[str, list[tuple[int | None, int | None, float]]]:
    """Return the loads of links by network in a prediction of the RAW router."""
    links_by_network: dict[str, dict[tuple[int | None, int | None], float]] = {}
    for resource in Chip(machine.parameters, *version_of(machine.parameters)).resources():
        if not isinstance(resource, Mesh | StaticStreams):
            continue
        name = {"gdn": "general dynamic network", "mdn": "memory dynamic network"}.get(
            resource.name, f"static network {resource.name[6:7]}"
        )
        links = links_by_network.setdefault(name, {})
        for link in link_loads(resource, answer):
            links[link.source, link.target] = links.get((link.source, link.target), 0.0) + link.load
    return {name: [(a, b, load) for (a, b), load in links.items()] for name, links in links_by_network.items()}


def crossings(answers: Mapping[str, Prediction]) -> pd.DataFrame:
    """Return by version the switches that several streams cross: shares of time moving words, and held."""
    import pandas as pd

    rows = [
        (NAMES[version], f"static network {server[6]}", int(server.partition("cross")[2]),
         100 * (use.busy - use.blocked), 100 * use.busy)
        for version, answer in answers.items()
        for server, use in answer.utilization.items() if ".cross" in server
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["version", "network", "tile", "words move, %", "held, %"])


def crossing_costs(packet_bytes: int, packets: int = 1600, done: Predictions | None = None) -> pd.DataFrame:
    """Return the cost for each version of static switches that several streams cross.

    streams: the largest number of streams at one switch; without: the rate if a change of route took no time. done: the
    simulations of a check, for reuse.
    """
    import pandas as pd

    rows = []
    for version in ("v1", "v2", "v3", "v4"):
        machine = design("raw").with_(version=version)
        networks = Chip(machine.parameters, *version_of(machine.parameters)).resources()
        passing = [
            sum(tile in tree.before for tree in net.trees)
            for net in networks if isinstance(net, StaticStreams) for tile in net.crossings
        ]  # fmt: skip
        rate, free = (
            saturated(version, packet_bytes, packets, done, **knobs).rate_pps / 1e6
            for knobs in ({}, {"switch_reset_cycles": 0.0})
        )
        costs = len(passing), max(passing, default=0), rate, free, 100 * (1 - rate / free)
        rows.append((NAMES[version], packet_bytes, *costs))
    columns = ["version", "bytes", "shared switches", "streams", "Mpps", "without, Mpps", "cost, %"]
    return pd.DataFrame(rows, columns=columns)


def crossed(packets: int = 1000) -> pd.DataFrame:
    """Return Version III as built, and with two payload streams that cross: in arrival order, and in turns (Sec. 4)."""
    import pandas as pd

    rows = []
    for load, prefix in ((workload(packet_bytes=1500), "long"), (workload(mix="raw_trace"), "short")):
        for layout in ("own", "crossed", "crossed_in_turns"):
            outcome: tuple[float, str] = (0.0, "")
            try:
                machine = design("raw").with_(layout=layout, prefix=prefix)
                answer = machine.simulate(load, packets=packets, breakdown=False)
                outcome = answer.throughput_bps / 1e9, answer.bottleneck
            except SimulationError as error:
                outcome = 0.0, str(error).partition(":")[0]
            rows.append((load.name, layout.replace("_", " "), *outcome))
    return pd.DataFrame(rows, columns=["packets", "layout", "Gb/s", "busiest, or how it ends"])


def memory_steps(packets: int = 2000, done: Predictions | None = None) -> pd.DataFrame:
    """Return rates from Version II to III at 1500 bytes, one change at a time, for each reading of the DRAM core.

    done: the simulations of a check, for reuse.
    """
    import pandas as pd

    steps: dict[str, dict[str, str]] = {
        "II": {"version": "v2"}, "III, writing lines": {"version": "v3", "write": "line"}, "III": {"version": "v3"},
    }  # fmt: skip
    cores: dict[str, dict[str, Any]] = {
        "one core, four banks": {}, "one core, no banks": {"dram_banks": 1},
        "one reads, one writes": {"dram_core": "apart"},
        "one core, lines written one at a time": {"line_writes": "answered"},
    }  # fmt: skip
    rows = []
    for name, core in cores.items():
        rate = [
            saturated(load=1500, packets=packets, done=done, **step, **core).throughput_bps / 1e9
            for step in steps.values()
        ]
        gains = [100 * (rate[k] / rate[k - 1] - 1) for k in (1, 2)]
        rows.append((name, *rate, *gains))
    columns = ["DRAM", *(f"{step}, Gb/s" for step in steps), "gain of the window, %", "gain of streams, %"]
    return pd.DataFrame(rows, columns=columns)


def traces(versions: Sequence[str], packets: int = 2000, done: Predictions | None = None) -> pd.DataFrame:
    """Return Gb/s of each version for packets of 128 bytes on average: two distributions, routes of one and two reads.

    done: the simulations of a check, for reuse.
    """
    import pandas as pd

    shapes: dict[str, tuple[int | str, float]] = {
        "97 to 159 bytes": ("trace", workload(mix="raw_trace").mean_packet_bytes),
        "all of 128 bytes": (128, 128.0),
    }
    rows = []
    for shape, (load, mean_bytes) in shapes.items():
        for prefix in ("short", "long"):
            rates = [saturated(v, load, packets, done, prefix=prefix).rate_pps * 8e-9 * mean_bytes for v in versions]
            rows.append((shape, "24 bits" if prefix == "short" else "longer", *rates))
    return pd.DataFrame(rows, columns=["lengths", "routes", *(NAMES[v] for v in versions)])


def scaling(
    packet_bytes: int, versions: Sequence[str] = ("v3", "v3d"), sizes: Sequence[str] = ("4x4", "8x4", "8x8"),
    packets: int = 2000, done: Predictions | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return Versions III and III.d on more tiles: rates, rate per port, loss of III.d, busiest links of the networks.

    done: the simulations of a check, for reuse.
    """
    import pandas as pd

    rows = []
    for tiles in sizes:
        base_pps: float | None = None
        for version in versions:
            machine = design("raw").with_(version=version, tiles=tiles)
            answer = saturated(version, packet_bytes, packets, done, tiles=tiles)
            base_pps = base_pps or answer.rate_pps
            ports = len(version_of(machine.parameters)[1].ports)
            loads = {
                f"busiest link, {name}": max(x for a, b, x in links if a is not None and b is not None)
                for name, links in networks(machine, answer).items() if "dynamic" in name
            }  # fmt: skip
            rows.append({
                "tiles": tiles, "version": NAMES[version], "bytes": packet_bytes, "ports": ports,
                "Mpps": answer.rate_pps / 1e6, "Gb/s": answer.throughput_bps / 1e9,
                "Mpps a port": answer.rate_pps / 1e6 / ports, "loss, %": 100 * (1 - answer.rate_pps / base_pps),
                **loads,
            })  # fmt: skip
    return pd.DataFrame(rows)


def random_sets(
    versions: Sequence[str], packet_bytes: int, sets: int = 4, packets: int = 2000, done: Predictions | None = None
) -> pd.DataFrame:
    """Return rates with the study's random traffic: mean and range over sets of 4,000 packets, and with even traffic.

    busiest card: its share of the packets; with 128 addresses behind random cards it is above a quarter. hits: share of
    lookups whose reads of the golden table hit the tile's cache. done: the simulations of a check, for reuse.
    """
    import pandas as pd

    rows = []
    for version in versions:
        machine = design("raw").with_(version=version)
        rates, card, hits = [], [], []
        for seed in range(1, sets + 1):
            load = published(machine.parameters, seed, packet_bytes)
            answer = machine.simulate(load, seed, packets=packets, breakdown=False)
            rates.append(answer.rate_pps / 1e6)
            card.append(np.bincount(load.columns[PIPELINE]).max() / len(load.packet_bytes))
            hits.append(np.mean(load.columns[MISSES] == 0))
        even = [saturated(version, packet_bytes, packets, done, cache=c).rate_pps / 1e6 for c in ("hit", "miss")]
        rows.append({
            "version": NAMES[version], "bytes": packet_bytes, "mean, Mpps": np.mean(rates), "least": min(rates),
            "most": max(rates), "busiest card, %": 100 * np.mean(card), "hits, %": 100 * np.mean(hits),
            "even, tables in the cache": even[0], "even, tables in memory": even[1],
        })  # fmt: skip
    return pd.DataFrame(rows)


def saturated(
    version: str, load: int | str, packets: int = 2000, done: Predictions | None = None, **knobs: str | float
) -> Prediction:
    """Return a version's saturated answer, from a check's run of at least `packets` packets, else from a new run.

    load: the length of all packets in bytes, or "trace". done: the simulations of a check (None: none).
    """
    point = at(version, load, **knobs)
    if done is not None and done.packets >= packets:
        prediction = done.answers.get((done.first(point), "simulation", done.seeds[0]))
        if prediction is not None:
            return prediction
    machine = design("raw").with_(**dict(point.knobs))
    return machine.simulate(workload(mix=point.mix), packets=packets, breakdown=False)


def by_solver(
    versions: Sequence[str], packet_bytes: int, packets: int = 2000, done: Predictions | None = None
) -> pd.DataFrame:
    """Return throughput and bottleneck by bounds and by simulation.

    done: the simulations of a check, for reuse.
    """
    import pandas as pd

    rows = []
    for version in versions:
        machine, load = design("raw").with_(version=version), workload(packet_bytes=packet_bytes)
        bound, simulated = machine.bounds(load), saturated(version, packet_bytes, packets, done)
        rates = (prediction.throughput_bps / 1e9 for prediction in (bound, simulated))
        rows.append((NAMES[version], *rates, bound.bottleneck, simulated.bottleneck))
    columns = ["version", "bound, Gb/s", "simulated, Gb/s", "bound by", "simulated: busiest"]
    return pd.DataFrame(rows, columns=columns)


def readings(versions: Sequence[str], packet_bytes: int, packets: int = 640) -> pd.DataFrame:
    """Return the rate of each version (Mpps) as it is, and with each named alternative of the machine file.

    A version is not simulated again for an alternative that only changes parameters that it does not read. nan: the
    machine is in deadlock.
    """
    import pandas as pd

    plain, load = design("raw"), workload(packet_bytes=packet_bytes)
    machines = {version: plain.with_(version=version) for version in versions}
    parameters_read = {version: machine.depends_on(load) for version, machine in machines.items()}
    as_it_is = {
        version: machine.simulate(load, packets=packets, breakdown=False).rate_pps / 1e6
        for version, machine in machines.items()
    }
    rows = [("as it is", packet_bytes, *as_it_is.values())]
    for alternative in plain.parameters.file.alternative:
        rates = dict(as_it_is)
        for version, machine in machines.items():
            if any(
                machine.parameters[name] != value
                for name, value in alternative.set.items()
                if name in parameters_read[version]
            ):
                changed = machine.with_(**alternative.set)
                try:
                    rates[version] = changed.simulate(load, packets=packets, breakdown=False).rate_pps / 1e6
                except SimulationError:
                    rates[version] = float("nan")
        rows.append((alternative.name, packet_bytes, *rates.values()))
    return pd.DataFrame(rows, columns=["reading", "bytes", *(NAMES[version] for version in versions)])


def sum_of_stages(ledger: Ledger) -> dict[str, float]:
    """Return the study's sums (Sec. 5.1) in cycles by key: the null router's latency plus the stages, as printed."""
    stages = ("stage1.lookup32.miss", "stage2.checksum", "stage3.ttl", "stage4.dequeue")
    stages_cycles = sum(float(ledger[f"raw.{stage}.cycles"].point or 0) for stage in stages)
    null = {size: ledger[f"raw.latency.null.{size}.cycles"].point for size in (64, 1500)}
    return {f"raw.latency.ipv4.{size}.cycles": float(cycles) + stages_cycles for size, cycles in null.items() if cycles}


def latencies(cycles: Sequence[float], clock_mhz: float) -> list[tuple[float, float, float]]:
    """Return (cycles, nanoseconds as printed: cycles x 0.425, nanoseconds: cycles / 0.425)."""
    return [(c, round(c * clock_mhz / 1e3), float(np.round(c / clock_mhz * 1e3))) for c in cycles]
