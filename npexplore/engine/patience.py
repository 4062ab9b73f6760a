"""How long a simulation may run without finishing a packet before it counts as stalled.

patience = 1000 x threads x longest latency without contention + latest start + times of credits

The longest latency needs a walk through all programs; a run computes it only after it has waited `least_patience`.
"""

from __future__ import annotations

from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.mapped_arrays import extremes
from npexplore.rows.distributions import Batch, OnOff

LATENCIES = 1000.0
LEAST_S = 1e-3
UNKNOWN_S = 1.0


def patience(machine: Machine, workload: Workload, under_load: UnderLoad | None) -> float:
    """Return the patience in seconds; with unknown latencies (under_load: None), 1 s takes the place of their term."""
    latencies = UNKNOWN_S if under_load is None else LATENCIES * machine.threads * under_load.longest
    return max(latencies, LEAST_S) + _pauses(machine, workload)


def least_patience(machine: Machine, workload: Workload) -> float:
    """Return a lower bound of `patience` in seconds, for any latencies."""
    return LEAST_S + _pauses(machine, workload)


def _pauses(machine: Machine, workload: Workload) -> float:
    """Return the seconds without a packet because of late starts, credits and gaps between arrivals."""
    starts = max(pool.start.latest(pool.count) for pool in machine.pools)
    credits = sum(queue.credit for queue in machine.queues().values())
    return 2 * starts + LATENCIES * credits + _quiet(workload)


def _quiet(workload: Workload) -> float:
    """Return how long in seconds no packet might arrive."""
    process = workload.process()
    if process is None:
        if workload.arrivals == "saturated" or workload.t_ns is None:
            return 0.0
        return float(extremes(workload.t_ns)[1]) * 1e-9
    size = process.size if isinstance(process, Batch) else 1
    off = process.off if isinstance(process, OnOff) else 0.0
    return LATENCIES * size / process.rate + LATENCIES * off
