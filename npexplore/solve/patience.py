"""How long a simulation may go without a finished packet before it has stalled: long against all that packets do.

patience = 1000 x threads x longest latency without contention + latest start + times of credits
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npexplore.errors import ModelError, RefusedError
from npexplore.machine.distributions import Batch, OnOff
from npexplore.machine.expressions import Values
from npexplore.machine.flows import flows
from npexplore.machine.machine import Machine
from npexplore.machine.workload import Workload

LATENCIES = 1000.0
LEAST_S = 1e-3
UNKNOWN_S = 1.0
NUMBER = "number of the packet"


def patience(machine: Machine, workload: Workload) -> float:
    """Return the seconds; 1 s instead of the latencies where they cannot be told without a run."""
    rows = sorted({int(f(column)) for column in workload.columns.values() for f in (np.argmin, np.argmax)})
    columns = {name: np.asarray(column)[rows].astype(np.float64) for name, column in workload.columns.items()}
    try:
        latencies = LATENCIES * machine.threads * float(_alone(machine, columns, len(rows)).max())
    except (ModelError, RefusedError):
        latencies = UNKNOWN_S
    starts = max(pool.start.latest(pool.count) for pool in machine.pools)
    credits = sum(queue.credit for queue in machine.queues().values())
    return max(latencies, LEAST_S) + 2 * starts + LATENCIES * credits + _quiet(workload)


def _alone(machine: Machine, columns: Mapping[str, Values], packets: int) -> Values:
    """Return for each packet the seconds that it takes alone, over all pools that it passes."""
    numbered = {**columns, NUMBER: np.arange(packets, dtype=np.float64)}
    latencies = np.zeros(packets)
    for passed, clock in flows(machine, numbered, np.ones(packets)).clocks:
        number = passed[NUMBER]
        assert number is not None
        np.add.at(latencies, number.astype(np.int64), clock)
    return latencies


def _quiet(workload: Workload) -> float:
    """Return how long no packet might arrive."""
    process = workload.process()
    if process is None:
        return 0.0 if workload.arrivals == "saturated" or workload.t_ns is None else float(workload.t_ns.max()) * 1e-9
    size = process.size if isinstance(process, Batch) else 1
    off = process.off if isinstance(process, OnOff) else 0.0
    return LATENCIES * size / process.rate + LATENCIES * off
