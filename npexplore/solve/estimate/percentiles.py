"""Percentiles over replications: of all runs' latencies in one histogram, with an interval by the jackknife.

    pseudo-value of run i = n q - (n - 1) q(without i),   interval: Student's t of the pseudo-values around q

A mean of the runs' own percentiles is biased where runs are short against the time that queues take to change.
"""

from collections.abc import Sequence

import numpy as np

from npexplore.engine.intervals import quantiles, student
from npexplore.solve.estimate.replications import Replication

FLOOR = 0.002  # of a percentile: no half width is less, for histogram bins are 3 % wide
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def pooled(runs: Sequence[Replication], tick: float) -> tuple[dict[str, float | None], dict[str, tuple[float, float]]]:
    """Return percentiles in seconds by name, and the intervals of those that have one."""
    whole = np.sum([one.histogram for one in runs], axis=0)
    ticks = sum(one.latency_s for one in runs) / tick
    shares = [*SHARES.values()]
    all_runs = quantiles(whole, shares, tick, ticks)
    values = dict(zip(SHARES, all_runs, strict=True))
    n = len(runs)
    if n < 2 or None in all_runs:
        return values, {}
    without = [quantiles(whole - one.histogram, shares, tick, ticks - one.latency_s / tick) for one in runs]
    if any(None in one for one in without):
        return values, {}
    q = np.array(all_runs, dtype=float)
    pseudo = n * q - (n - 1) * np.array(without, dtype=float)
    half = np.maximum(student(n - 1) * np.std(pseudo, axis=0, ddof=1) / n**0.5, FLOOR * q)
    return values, {
        name: (max(x - h, 0.0), x + h) for name, x, h in zip(SHARES, q.tolist(), half.tolist(), strict=True)
    }
