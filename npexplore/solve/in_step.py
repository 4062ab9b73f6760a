"""Queueing of a machine whose services hardly vary, its threads always busy: they fall into step and do not wait.

    B = min( min_k units_k / D_k ,  N / R ),      X = B - (B - X_mva) / 5

N customers that go round a closed network of constant services follow each other at the pace of its slowest station
after a while, and nobody waits anywhere else: they attain the asymptotic bounds B. Mean value analysis, which lets
customers arrive at random, is up to a quarter low where N / R and the slowest station are about even. Where packets
vary the truth lies between. The fifth is post hoc: it was chosen after simulating `pcie` and `server`, whose answers
are then within 7 % in every corner looked at (tests/agree/test_agree_in_step.py), and is no law. Packets that arrive
by themselves meet as many customers at random as carry so much (queueing_model.py).
"""

from __future__ import annotations

from dataclasses import replace

from npexplore.machine.parameters import Parameters
from npexplore.machine.under_load import UnderLoad
from npexplore.solve.bounds import bounds
from npexplore.solve.breakdown import Breakdown
from npexplore.solve.prediction import Latency, Prediction, Utilization
from npexplore.solve.queueing_model import queueing

RANDOM = 0.2  # of the way from step to random arrivals


def in_step(_: Parameters, found: UnderLoad) -> Prediction:
    """Return the queueing answer of a machine of regular services; raises RefusedError as `queueing` does."""
    if found.workload.arrivals != "saturated":
        return queueing(found.machine, found.workload, found, random=RANDOM)
    usual = queueing(found.machine, found.workload, found)
    most = bounds(found.machine, found.workload, found).rate_pps
    rate = most - (most - usual.rate_pps) * RANDOM
    more, latency = rate / usual.rate_pps, found.machine.threads / rate
    busy = {name: Utilization(u.busy * more, u.blocked * more) for name, u in usual.utilization.items()}
    return replace(
        usual, rate_pps=rate, throughput_bps=usual.throughput_bps * more, utilization=busy,
        latency_s=Latency(mean=latency), rates={name: value * more for name, value in usual.rates.items()},
        approximation=f"threads nearly in step (asymptotic bounds, less a fifth of what lacks to them by "
        f"{usual.approximation}; the fifth was chosen after simulating pcie and server)",
        breakdown=_shorter(usual.breakdown, latency),
    )  # fmt: skip


def _shorter(usual: Breakdown | None, latency_s: float) -> Breakdown | None:
    """Return a breakdown whose waiting is as much shorter as the latency says."""
    if usual is None:
        return None
    served = sum(part.service_s for part in usual.parts)
    share = max(0.0, latency_s - served) / max(usual.latency_s - served, 1e-18)
    parts = [p._replace(waiting_s=p.waiting_s * share, held_s=p.held_s * share) for p in usual.parts]
    return Breakdown.of(parts, latency_s)
