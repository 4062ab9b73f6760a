"""Closed request loops of the RAW router's output line cards, by mean value analysis at two levels.

    lines:    n cards that read one buffer have n W requests outstanding: mu(n) = throughput of that loop (residual-time
              MVA, constant service) through the DRAM port and the busiest link; a worm's other links work beside it
    packets:  the cards are the customers, the buffers the stations with rate mu(n) (processor sharing: exact MVA with
              load-dependent rates); think time: the next header, and the first line's way there and back

Two levels because a card reads one packet at a time, all its lines from one buffer (flow-equivalent stations: Chandy,
Herzog, Woo 1975). The answer is the rate of the loops or the roofline, whichever is less.
"""

from __future__ import annotations

import numpy as np

from npexplore.designs.raw.chip import MESSAGE_WORDS, Chip
from npexplore.designs.raw.memory import lines_of, lines_to_read, reading
from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Variable, evaluate
from npexplore.solve.bounds import bounds
from npexplore.solve.prediction import Latency, Prediction, Utilization
from npexplore.solve.queueing import mva
from npexplore.solve.queueing.inputs import Floats

NAMED = (
    "closed request loops: buffers as flow-equivalent stations (exact MVA), lines of a loop by residual-time MVA, "
    "one link for a route"
)


def line_rates(chip: Chip, cards: int) -> Floats:
    """Return mu(n), the lines a second of one buffer that n = 1..cards line cards read; mean over the buffers."""
    machine, found = reading(chip), []
    for buffer in range(len(chip.layout.buffers)):
        d = under_load(machine, lines_to_read(chip, buffers=[buffer]))
        times = {name: one.largest(d.servers[name].members) for name, one in d.demands.servers.items()}
        link = max((name for name in times if name.startswith("mdn.")), key=lambda name: times[name])
        at = np.array([time for name, time in times.items() if name == link or not name.startswith("mdn.")])
        away = d.demands.latency - at.sum()
        found.append([mva(at, n * chip.window, away, scv=np.zeros(len(at))).throughput[-1]
                      for n in range(1, cards + 1)])  # fmt: skip
    mean: Floats = np.mean(found, axis=0)
    return mean


def between_packets(chip: Chip) -> float:
    """Return the seconds of a line card between two payloads: stage 4 and its header, a line's way there and back."""
    words = chip.header_words + MESSAGE_WORDS["address"]
    stage4 = max(chip.p.dequeue_cycles - words, 0) + words + 1 + 2 * chip.p.hop_cycles
    return float(stage4 * chip.cycle) + float(under_load(reading(chip), lines_to_read(chip)).demands.latency)


def loops(chip: Chip, machine: Machine, load: Workload) -> Prediction:
    """Return the queueing answer where packets wait in memory; raises RefusedError where there is no loop."""
    roof = bounds(machine, load)
    if load.arrivals != "saturated":
        raise RefusedError(f"queueing: {load.arrivals} arrivals at closed request loops; take saturated")
    size = Variable("packet_bytes")
    lengths: Floats = np.asarray(load.packet_bytes, dtype=np.float64)
    lines = float(np.mean(np.asarray(evaluate(lines_of(chip, size), {size: lengths}))))
    if chip.version.payload != "memory" or lines == 0:
        raise RefusedError("queueing: no packet waits in memory, so that there is no request loop; take bounds")
    cards, buffers = len(chip.ports), len(chip.layout.buffers)
    rates = line_rates(chip, cards)
    demand = lines / rates[0] / buffers
    solved = mva(np.full(buffers, demand), cards, between_packets(chip), np.tile(rates / rates[0], (buffers, 1)))
    rate = float(solved.throughput[-1])
    bound = roof.rate_pps <= rate
    rate = min(rate, roof.rate_pps)
    return Prediction(
        solver="queueing",
        throughput_bps=rate * roof.throughput_bps / roof.rate_pps,
        rate_pps=rate,
        counted=machine.counted,
        bottleneck=roof.bottleneck if bound else "dram_read",
        utilization={n: Utilization(u.busy * rate / roof.rate_pps) for n, u in roof.utilization.items()},
        latency_s=Latency(),
        approximation=NAMED,
        about={"loop_pps": float(solved.throughput[-1]), "lines": lines},
    )
