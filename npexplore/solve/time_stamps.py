"""Packets that come when a recording says so: no process describes them, their own instants do.

    T = R + mean over packets of max_k w_k + W

R is the time without contention, w_k what a packet waits at server k if that alone were in its way, behind the packets
that came just then with the lengths that they have (queueing/recorded.py): packets that follow each other through a row
of servers wait as the slowest makes them (Friedman 1965). W is what single packets that come at random at the same rate
wait beyond the slowest server's own wait, because they differ (solve/in_line.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npexplore.errors import RefusedError
from npexplore.solve.batch import Batch
from npexplore.solve.queueing.markovian import mmc
from npexplore.solve.queueing.recorded import Line, inside, kept, longest
from npexplore.solve.stations import Floats

BUSY = 0.9  # of the least ceiling: what single packets at random are asked at, at most


def calm(batch: Batch, ceilings: Mapping[str, Floats]) -> Batch:
    """Return the same packets at a rate that a machine keeps up with; raises RefusedError for a single instant."""
    if not np.all(np.isfinite(batch.offered)):
        raise RefusedError(f"queueing: {batch.like.workload.name} has one time stamp for all packets, so no rate")
    return batch.offering(np.minimum(batch.offered, BUSY * np.min([*ceilings.values()], axis=0)))


def stamped(
    batch: Batch, ceilings: Mapping[str, Floats], random: Batch, latency: Floats, room: int
) -> tuple[Floats, Floats, Floats]:
    """Return (throughput, mean time, share lost), each (1,), of one point's packets at their own instants.

    random, latency: packets that come at random, and their mean time. room: for packets, with those at work.
    """
    workload, shares = batch.like.workload, batch.like.workload.distinct()[1]
    assert workload.t_ns is not None
    at, which = (workload.t_ns - workload.t_ns[0]) * 1e-9, workload.kinds()
    alone = (batch.like.demands.clock / shares)[which]
    lines, own = [], 0.0
    for name, ceiling in ceilings.items():
        seconds = float(batch.seconds[name][0] if name in batch.seconds else batch.latency[0])
        times = batch.like.demands.apart.get(name, seconds * shares) / shares if name in batch.seconds else alone
        servers = max(round(float(ceiling[0]) * seconds), 1)
        lines.append(Line(servers, times[which] if name in batch.seconds else times))
        usual = float(mmc(random.offered[0], seconds, servers).mean_wait)
        own = max(own, usual * (1 + float(batch.spread[name][0])) / 2)
    wait = longest(at, lines)
    come = np.ones(len(at), dtype=np.bool_)
    if inside(at, at + wait + alone) > room:
        come, wait = kept(at, lines, alone, room)
    more = max(float(latency[0] - batch.latency[0]) - own, 0.0)
    last = float((at + wait + alone)[come].max())
    mean = float((alone + wait)[come].mean()) + more
    lost = 1.0 - float(come.mean())
    most = min(float(batch.offered[0]) * (1 - lost), *(float(ceiling[0]) for ceiling in ceilings.values()))
    rate = min(float(come.sum()) / last, most)
    return np.array([rate]), np.array([mean]), np.array([lost])
