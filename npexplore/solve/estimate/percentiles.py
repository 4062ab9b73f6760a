"""Percentiles over replications: from all runs' latencies in one histogram, with an interval by the jackknife.

    pseudo-value of run i = n q - (n - 1) q(without i),   interval: Student's t of the pseudo-values around q

The mean of the runs' individual percentiles would be biased if runs are short compared with relaxation times of queues.
"""

from collections.abc import Sequence

import numpy as np

from npexplore.engine.intervals import quantiles, student
from npexplore.solve.estimate.replications import Replication

FLOOR = 0.002  # smallest relative half width of a percentile, since histogram bins are 3 % wide
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def pooled(runs: Sequence[Replication], tick: float) -> tuple[dict[str, float | None], dict[str, tuple[float, float]]]:
    """Return percentiles in seconds by name, and their intervals (empty for fewer than two runs)."""
    histogram = np.sum([run.histogram for run in runs], axis=0)
    ticks = sum(run.latency_s for run in runs) / tick
    shares = [*SHARES.values()]
    all_runs = quantiles(histogram, shares, tick, ticks)
    values = dict(zip(SHARES, all_runs, strict=True))
    n = len(runs)
    if n < 2 or None in all_runs:
        return values, {}
    leave_one_out = [quantiles(histogram - run.histogram, shares, tick, ticks - run.latency_s / tick) for run in runs]
    if any(None in percentiles for percentiles in leave_one_out):
        return values, {}
    q = np.array(all_runs, dtype=float)
    pseudo = n * q - (n - 1) * np.array(leave_one_out, dtype=float)
    half = np.maximum(student(n - 1) * np.std(pseudo, axis=0, ddof=1) / n**0.5, FLOOR * q)
    return values, {
        name: (max(x - h, 0.0), x + h) for name, x, h in zip(SHARES, q.tolist(), half.tolist(), strict=True)
    }
