"""Asymptotic bounds: no machine forwards faster than its most demanded server, nor than its threads without contention.

    X <= min( min_k units_k / D_k ,  N / (Z + sum of latencies) )        (Denning and Buzen 1978)

with D_k the demand at the most loaded member of server k and N the threads; where there are several pools, D_k is that
of all together and each pool limits X by its own threads and latencies. A roofline of packets that are finished in the
shares in which they come: never exceeded by a simulation that loses none, beyond its interval and the packets that were
under way when its window began (N / T). Packets that differ are not lost alike (a full buffer of bytes has room for a
short one): of those that are left, which cost less, more are finished, and D_k is to be taken of them. No lower bound
is given: the machines hold resources together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.machine import Machine
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.solve.batch import Batch
from npexplore.solve.batch_answers import Answers
from npexplore.solve.prediction import CEILING, Prediction
from npexplore.solve.residence import alone

BOUND = "upper bound for packets in the shares in which they come; latency without contention"


def bounds(machine: Machine, workload: Workload, demands: UnderLoad | None = None) -> Prediction:
    """Return the upper bound of a machine under a workload, naming the server that sets it.

    machine: what to bound. workload: the packets that come. demands: counted before (None: counted here).
    """
    point = demands or under_load(machine, workload)
    return replace(bounds_of(Batch.of([point])).prediction(0), breakdown=alone(point))


def busy_shares(point: UnderLoad, rate_pps: float) -> dict[str, float]:
    """Return the utilization law's share of the most loaded member of each server at a packet rate."""
    largest = point.largest()
    return {name: float(rate_pps * seconds / max(point.servers[name].units, 1)) for name, seconds in largest.items()}


def bounds_of(batch: Batch) -> Answers:
    """Return the upper bound at every point, and which server sets it; raises ModelError where nothing takes time."""
    ceilings = batch.ceilings()
    if not ceilings:
        raise ModelError(f"{batch.like.machine.name}: the program takes no time at any resource")
    table = np.stack(list(ceilings.values()))
    number = np.argmin(table, axis=0)
    rate = np.min(table, axis=0)
    slower = batch.offered < rate
    rate = np.where(slower, batch.offered, rate)
    return Answers(
        "bounds", batch, rate, (*ceilings, "arrivals"), np.where(slower, len(ceilings), number),
        batch.utilization(rate), batch.latency, BOUND,
        {CEILING + name: values for name, values in ceilings.items()},
    )  # fmt: skip
