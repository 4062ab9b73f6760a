"""Runs functional tests of DiffServ at the IXP1200's ports: shares, latencies, limits (Figs. 7 to 9 of its paper).

Policers, quanta and queues determine the results. Receivers take no time (`bench`), or the machine is simulated with
its threads and memories (`timed`), or receivers are as fast as in the machine's simulation (`coupled`, 500 flows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.golden.diffserv import Receiver
from npexplore.golden.diffserv.experiments import DiffServBench, load_sweep, rates_of_flows
from npexplore.golden.diffserv.setup import CLASSES
from npexplore.ledger import facts
from npexplore.ledger.rules import rule
from npexplore.reads import remembered

if TYPE_CHECKING:
    import pandas as pd

FLOWS = ("EF", "AF1", "AF2", "AF3")  # one flow each from four ports to one port
ONSET_STEP = 1 / 400
SHARED = rule("ixp1200.shared")


def bench(design: Design) -> DiffServBench:
    """Return the test bench of a design's fast Ethernet ports: links, queues, packets; receivers take no time."""
    p = design.parameters
    return DiffServBench(
        f"{p.fe_mbps:g}Mb/s", p.packet_bytes, p.gap_bytes, queue_packets=p.queue_packets // len(CLASSES),
        depth_packets=p.bucket_packets, tick_ns=round(p.timer_us * 1e3),
        quantum_bytes=p.quantum_packets * p.packet_bytes, duration_s=0.4,
    )  # fmt: skip


def coupled(design: Design, receivers: int, rules: int, seed: int = 1) -> DiffServBench:
    """Return the bench with receivers as slow as the machine's: `receivers` active ports, four to an engine."""
    variant = design.with_(receivers=receivers, receiver_engines=-(-receivers // 4), rules=rules)
    rate = variant.simulate(seed=seed).rate_pps / receivers
    room = variant.parameters.mac_buffer_bytes // variant.parameters.packet_bytes
    return replace(bench(design), receiver=Receiver(round(1e9 / rate), int(room)))


def machine(design: Design, load: float = 1.0) -> Design:
    """Return the machine with four flows, one of each class, from four ports to one."""
    traffic, receivers, engines, rules = SHARED.value
    return design.with_(traffic=traffic, receivers=receivers, receiver_engines=engines, rules=rules, load=load)


def timed(design: Design, loads: Sequence[float], seed: int = 1) -> pd.DataFrame:
    """Return Figs. 7 and 8 by simulating the machine: columns load, class, sent_pps, delay_mean_ns (None: no packet).

    Further columns, equal for all classes of a load: policed, queue_full, buffer_full (packets dropped in the window).
    """
    import pandas as pd

    rows = []
    for load in loads:
        prediction = machine(design, load).simulate(seed=seed)
        lost = {"policed": prediction.drops["policer"], "queue_full": prediction.drops["out_fe"],
                "buffer_full": sum(n for name, n in prediction.drops.items() if name.startswith("mac"))}  # fmt: skip
        for name, packets in zip(FLOWS, prediction.classes.values(), strict=True):
            mean = packets.latency_s.mean
            delay = None if mean is None else mean * 1e9
            rows.append({"load": load, "class": name, "sent_pps": packets.rate_pps, "delay_mean_ns": delay, **lost})
    return pd.DataFrame(rows)


def ratio_of(values: Sequence[float]) -> float:
    """Return the mean ratio between neighbouring values, the larger over the smaller."""
    pairs = np.stack([np.asarray(values[:-1], float), np.asarray(values[1:], float)])
    return float(np.mean(pairs.max(axis=0) / pairs.min(axis=0)))


def limit_of(key: str) -> float:
    """Return a number that the paper configures: a rate limit in packets/s, or a number of flows."""
    point = facts()[f"ixp1200.{key}"].point
    assert point is not None
    return point


def shared(bench: DiffServBench, loads: Sequence[float], seed: int = 0) -> pd.DataFrame:
    """Return Figs. 7 and 8: a row for each load and class; EF is rate-limited, the AF flows are not."""
    return load_sweep(bench, loads, FLOWS, {"EF": limit_of("fig7.ef_limit")}, seed)


def flows(bench: DiffServBench, loads: Sequence[float], seed: int = 0) -> pd.DataFrame:
    """Return Fig. 9: a row for each load and flow, each flow with its own rule and limit."""
    bench = replace(bench, duration_s=2.0)  # 1 s is measured: one packet more or less is then 1 packet/s
    return rates_of_flows(bench, loads, round(limit_of("fig9.flows")), limit_of("fig9.bw_per_flow"), seed)


@remembered(32)
def at_load(bench: DiffServBench, load: float) -> pd.DataFrame:
    """Return one load of Figs. 7 and 8 by class."""
    return shared(bench, (load,)).set_index("class")


def drop_onset(bench: DiffServBench) -> float:
    """Return the lowest load at which AF3 drops packets at a full queue, on a grid of 0.25 %."""
    for load in np.arange(0.2, 1.0, ONSET_STEP):
        if at_load(bench, round(float(load), 6)).loc["AF3", "queue_full"] > 0:
            return float(load)
    return 1.0


def alike_until(bench: DiffServBench, alike: float) -> float:
    """Return the highest load up to which the flows' mean latencies differ at most by the factor `alike`."""
    last = 0.0
    for load in np.arange(0.2, 1.0, ONSET_STEP):
        delay = at_load(bench, round(float(load), 6))["delay_mean_ns"]
        if delay.max() > alike * delay.min():
            return last
        last = float(load)
    return last


def neighbours(bench: DiffServBench, column: str, load: float = 1.0) -> float:
    """Return the mean ratio of `column` between neighbouring AF classes, the larger over the smaller."""
    return ratio_of(at_load(bench, load).loc[["AF1", "AF2", "AF3"], column].to_list())


def over_queues(design: Design, packets: Sequence[int]) -> pd.DataFrame:
    """Return the results of the tests of Figs. 7 and 8 with other queue lengths.

    Columns: queue (packets of a class), ef_pps, share_ratio, latency_ratio (at full load), drop_onset (load).
    """
    import pandas as pd

    rows = []
    for length in packets:
        variant = replace(bench(design), queue_packets=length)
        rows.append({
            "queue": length, "ef_pps": float(at_load(variant, 1.0).loc["EF", "sent_pps"]),
            "share_ratio": neighbours(variant, "sent_pps"), "latency_ratio": neighbours(variant, "delay_mean_ns"),
            "drop_onset": drop_onset(variant),
        })  # fmt: skip
    return pd.DataFrame(rows)


def over_timers(design: Design, ticks_us: Sequence[float]) -> pd.DataFrame:
    """Return the effect of the StrongARM's timer period: in a tick longer than depth / rate the bucket overflows.

    Columns: tick_us, ef_pps (at full load), expected_pps (minimum of the limit and depth / tick), sram_share (time to
    write one word per tick).
    """
    import pandas as pd

    p, rows = design.parameters, []
    for tick in ticks_us:
        variant = replace(bench(design), tick_ns=round(tick * 1e3))
        expected_pps = min(limit_of("fig7.ef_limit"), variant.depth_packets / (tick * 1e-6))
        share = p.sram_word_ns / p.sram_efficiency / (tick * 1e3)
        rows.append((tick, float(at_load(variant, 1.0).loc["EF", "sent_pps"]), expected_pps, share))
    return pd.DataFrame(rows, columns=["tick_us", "ef_pps", "expected_pps", "sram_share"])
