"""Statistics of a run: quantiles of the latency histogram, 95 % intervals of means and of rates by Student's t.

Bin v of the histogram is exact below 64 ticks, then 32 bins an octave (docs/engine.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

Floats = npt.NDArray[np.float64]


def bin_middle(bins: npt.NDArray[np.int64]) -> Floats:
    """Return the latency in ticks that stands for a histogram bin: exact below 32, then the middle of its span."""
    exponent = np.maximum(bins // 32 - 1, 0)
    low = np.where(bins < 32, bins, (bins - 32 * exponent)) * 2.0**exponent
    middle: Floats = low + np.where(bins < 64, 0.0, 2.0**exponent / 2)
    return middle


def quantiles(histogram: npt.NDArray[np.int64], shares: Sequence[float], tick: float) -> list[float | None]:
    """Return latency quantiles in seconds of a histogram (None if it is empty); right within 1.6 %."""
    total = int(histogram.sum())
    if not total:
        return [None for _ in shares]
    at = np.searchsorted(np.cumsum(histogram), np.ceil(np.array(shares) * total).clip(1))
    return [float(x) * tick for x in bin_middle(at)]


def interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a mean by Student's t; raises InputError for fewer than two values."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        raise InputError(f"an interval needs at least 2 values, got {n}")
    half = float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / n**0.5
    mean = float(np.mean(values))
    return mean - half, mean + half


def ratio_interval(amounts: Floats, seconds: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a rate, sum of amounts over sum of times, from batches that may differ in length.

    With r the rate and z = amount - r * time in each batch, the half width is t * s(z) / (mean time * sqrt(n)).
    """
    rate = float(amounts.sum() / seconds.sum())
    low, high = interval(amounts - rate * seconds)
    half = (high - low) / 2 / float(seconds.mean())
    return max(rate - half, 0.0), rate + half
