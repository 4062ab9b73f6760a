"""The control variate: waits of the same packets before one server with the machine's rate, and their exact mean.

    w(k+1) = max(0, w(k) + s(k) - (t(k+1) - t(k)))              (Lindley, Proc. Cambridge Phil. Soc. 48, 1952)

s(k) is the demand of packet k at the machine's most loaded server, scaled to a mean of 1/S, S the saturated rate. The
mean wait V is exact: M/G/1 (Pollaczek 1930), M^X/G/1 (Burke, Operations Research 23, 1975), both by
queueing/renewal.py, and K2/G/1 for on-off arrivals (Cohen, The Single Server Queue, 1982, II.5.11):

    on-off    1/d + n2 / 2 n1,   N(z) = (a - z)(b - z) - B(z) (p a (b - z) + q b (a - z)) = n1 z + n2 z^2 / 2 + ...

d is the positive root of N. For other arrivals, a long recursion gives V with an error.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore.engine.offered import Offered, packets_offered
from npexplore.machine.under_load import UnderLoad
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Arrivals, Batch, OnOff, Poisson
from npexplore.solve.queueing.renewal import mxg1

Floats = npt.NDArray[np.float64]
LONG_RUNS = 32  # recursions that estimate V without a formula
LONG_PACKETS = 40_000  # of each recursion
BISECTIONS = 200


@dataclass(frozen=True)
class Control:
    """The control's server. by_row: service time of each row of the workload (s); wait_s, error_s: V and its error."""

    by_row: Floats
    wait_s: float
    error_s: float = 0.0

    def window_wait(self, offered: Offered, tick: float, begin: int, end: int) -> float | None:
        """Return the mean wait (s) of packets that leave the server at begin < tick <= end (None: no packet)."""
        waits, leave = lindley(offered.ticks.astype(np.float64) * tick, self.by_row[offered.rows])
        inside = (leave > begin * tick) & (leave <= end * tick)
        return float(waits[inside].mean()) if inside.any() else None


def lindley(arrivals: Floats, services: Floats) -> tuple[Floats, Floats]:
    """Return waits (n,) and departure times (n,) of packets at one server in order of arrival.

    With U the running sum of service times minus gaps, w = U - min(U so far, 0).
    """
    backlog = np.concatenate([[0.0], np.cumsum(services[:-1] - np.diff(arrivals))])
    waits = backlog - np.minimum.accumulate(backlog)
    return waits, arrivals + waits + services


def service_shapes(load: UnderLoad | None, workload: Workload) -> list[Floats]:
    """Return one or two candidates for each row's relative service time at the bottleneck, with mean 1.

    load: demands with the times of each distinct packet. If known, the demands at the most loaded server; else the time
    of a packet without contention, and equal times.
    """
    _, shares = workload.distinct()
    equal = np.ones(len(workload.packet_bytes))
    if load is None or len(shares) == 1:
        return [equal]
    ceilings = load.ceilings()
    bottleneck = min(ceilings, key=lambda name: ceilings[name], default="threads")
    bottleneck_s, latency_s = load.demands.apart.get(bottleneck), load.demands.clock
    if bottleneck_s is not None and not bottleneck.startswith("threads"):
        needs = _by_row(bottleneck_s, shares, workload)
        return [equal] if needs is None else [needs]
    needs = _by_row(latency_s, shares, workload)
    return [equal] if needs is None else [needs, equal]


def _by_row(part: object, shares: Floats, workload: Workload) -> Floats | None:
    """Return relative seconds by row, with mean 1, from seconds x share by distinct packet (None: unknown)."""
    times = np.asarray(part, dtype=np.float64)
    if times.size not in (1, len(shares)) or not np.all(np.isfinite(times)) or not times.sum() > 0:
        return None
    by_row: Floats = (np.broadcast_to(times, shares.shape) / shares)[workload.kinds()]
    return np.asarray(by_row / by_row.mean())


def control_at(workload: Workload, shape: Floats, saturated_pps: float, seed: int) -> Control | None:
    """Return the control for a workload and a saturated rate (packets/s); None without arrivals or above that rate.

    shape: relative service time of each row, with mean 1.
    """
    process, services = workload.process(), shape / saturated_pps
    if process is None or process.rate >= saturated_pps:
        return None
    exact = mean_wait(process, services)
    if exact is not None:
        return Control(services, exact)
    means = [_long_wait(workload, services, seed + k) for k in range(LONG_RUNS)]
    return Control(services, float(np.mean(means)), float(np.std(means, ddof=1)) / LONG_RUNS**0.5)


def mean_wait(process: Arrivals, services: Floats) -> float | None:
    """Return the exact mean wait (s) of packets with equally likely service times (n,) (None: no formula)."""
    if isinstance(process, Poisson | Batch):
        first, second = float(services.mean()), float((services**2).mean())
        size, scv = float(process.size) if isinstance(process, Batch) else 1.0, max(second / first**2 - 1, 0.0)
        return mxg1(process.rate, first, scv, size, size * process.dispersion()).mean_wait.item()
    return _on_off_wait(process, services) if isinstance(process, OnOff) else None


def _on_off_wait(process: OnOff, services: Floats) -> float:
    """Return the mean wait (s) with hyperexponential gaps: d by bisection, n1 and n2 by differentiation at 0."""
    law = process.interval()
    p, (a, b) = law.probability, (1 / mean for mean in law.means)
    q = 1 - p
    lengths, counts = np.unique(services, return_counts=True)
    weights = counts / counts.sum()

    first, second = float(weights @ lengths), float(weights @ lengths**2)
    mixed, other = p * a + q * b, q * a + p * b
    # N(z) / z = z - other + ((1 - B(z)) / z) (a b - mixed z),   (1 - B) / z = E[s] - E[s^2] z / 2 + ...
    n1 = first * a * b - other
    n2 = 2 * (1 - first * mixed - second * a * b / 2)
    low, high = 0.0, max(a, b)
    for _ in range(BISECTIONS):
        z = (low + high) / 2
        value = z - other + float(weights @ -np.expm1(-z * lengths)) / z * (a * b - mixed * z)
        low, high = (z, high) if value < 0 else (low, z)
    return 2 / (low + high) + n2 / (2 * n1)


def _long_wait(workload: Workload, services: Floats, seed: int) -> float:
    """Return the mean wait (s) of a long recursion without its first fifth."""
    offered = packets_offered(workload, seed, LONG_PACKETS, 1e-12)
    waits, _ = lindley(offered.ticks.astype(np.float64) * 1e-12, services[offered.rows])
    return float(waits[LONG_PACKETS // 5 :].mean())
