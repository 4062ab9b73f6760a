"""Asymptotic bounds: the rate is limited by the server with the largest demand, and by the threads without contention.

    X <= min( min_k units_k / D_k ,  N / (Z + sum of latencies) )        (Denning and Buzen 1978)

D_k is the demand at the most loaded member of server k and N the number of threads. With several pools, D_k is the sum
over pools, and each pool limits X by its own threads and latency. The bound assumes that packet kinds finish in the
shares in which they arrive. A simulation without losses exceeds it only by its interval and by the packets that were in
the machine when its window began (N / T). Losses can change the shares (a full buffer of bytes still has room for a
short packet); then D_k must be taken for the packets that remain. There is no lower bound, because machines hold
several resources at once.
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
    """Return the upper bound of a machine under a workload, with the server that sets it as bottleneck.

    machine: what to bound. workload: its packets. demands: the machine's demands (None: computed here).
    """
    point = demands or under_load(machine, workload)
    return replace(bounds_of(Batch.of([point])).prediction(0), breakdown=alone(point))


def busy_shares(point: UnderLoad, rate_pps: float) -> dict[str, float]:
    """Return the utilization of the most loaded member of each server at a packet rate."""
    largest = point.largest()
    return {name: float(rate_pps * seconds / max(point.servers[name].units, 1)) for name, seconds in largest.items()}


def bounds_of(batch: Batch) -> Answers:
    """Return the upper bound and its server at every point; raises ModelError for a program that takes no time."""
    ceilings = batch.ceilings()
    if not ceilings:
        raise ModelError(f"{batch.like.machine.name}: the program takes no time at any resource")
    table = np.stack(list(ceilings.values()))
    index = np.argmin(table, axis=0)
    rate = np.min(table, axis=0)
    is_below = batch.offered < rate
    rate = np.where(is_below, batch.offered, rate)
    return Answers(
        "bounds", batch, rate, (*ceilings, "arrivals"), np.where(is_below, len(ceilings), index),
        batch.utilization(rate), batch.latency, BOUND,
        {CEILING + name: values for name, values in ceilings.items()},
    )  # fmt: skip
