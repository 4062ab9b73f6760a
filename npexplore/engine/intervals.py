"""Statistics of a run: quantiles of the latency histogram, 95 % intervals of means and of rates by Student's t.

Bin v of the histogram is exact below 64 ticks, then 32 bins an octave (docs/engine.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

Floats = npt.NDArray[np.float64]


ATOM = 0.02  # of a bin's packets: where its neighbours have fewer, all its latencies count as one value


def bin_edges(bins: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the first latency in ticks of histogram bins, and how many whole ticks each spans."""
    exponent = np.maximum(bins // 32 - 1, 0)
    width = 2.0**exponent
    return np.where(bins < 32, bins, (bins - 32 * exponent)) * width, width


def quantiles(
    histogram: npt.NDArray[np.int64], shares: Sequence[float], tick: float, total_ticks: float | None = None
) -> list[float | None]:
    """Return latency quantiles in seconds of a histogram (None if it is empty); right within 1.6 %.

    Latencies of a bin are spread evenly over it; those of a bin between two that are nearly empty are one value, which
    stands where the sum of all latencies in ticks (total_ticks) requires it (None: in the middle).
    """
    total = int(histogram.sum())
    if not total:
        return [None for _ in shares]
    bins = np.flatnonzero(histogram)
    counts = histogram[bins].astype(np.float64)
    low, width = bin_edges(bins)
    padded = np.concatenate([[0], histogram, [0]])
    atom = padded[bins] + padded[bins + 2] < ATOM * counts
    place = 0.5
    if total_ticks is not None and (room := float((counts * (width - 1))[atom].sum())) > 0:
        spread = float((counts * (low + (width - 1) / 2))[~atom].sum())
        place = min(max((total_ticks - spread - float((counts * low)[atom].sum())) / room, 0.0), 1.0)
    upto = np.cumsum(counts)
    wanted = np.array(shares) * total
    at = np.minimum(np.searchsorted(upto, wanted * (1 - 1e-12)), len(bins) - 1)
    inside = np.where(atom[at], place, (wanted - (upto[at] - counts[at])) / counts[at])
    return [float(x) * tick for x in low[at] + np.clip(inside, 0.0, 1.0) * (width[at] - 1)]


# Student's t at 97.5 % with 1 to 30 degrees of freedom, as scipy.special.stdtrit has it (a test compares them): to
# import scipy takes longer than to simulate
T = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934, 2.5705818356363146,
    2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205, 2.228138851986274,
    2.200985160091639, 2.1788128296672284, 2.1603686564627913, 2.144786687917804, 2.131449545559776,
    2.1199052992212546, 2.1098155778333156, 2.1009220402410382, 2.0930240544083087, 2.085963447265864,
    2.0796138447276795, 2.0738730679040254, 2.0686576104190486, 2.0638985616280245, 2.0595385527532972,
    2.0555294386428735, 2.0518305164802846, 2.0484071417952454, 2.045229642132703, 2.0422724563012378,
)  # fmt: skip
FIRST_ESTIMATE = 8 * 16 - 1, 1.9788195347028539  # degrees of freedom of an estimate's first runs, 16 batches each


def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    if freedom <= len(T):
        return T[freedom - 1]
    if freedom == FIRST_ESTIMATE[0]:
        return FIRST_ESTIMATE[1]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def interval(values: Floats, control: Floats | None = None) -> tuple[float, float]:
    """Return the 95 % interval of a mean by Student's t; raises InputError for fewer than two values.

    control: numbers (n,) whose sum over the values chance does not change, such as the bytes of whole passes through a
    mix: what the values follow of them (by least squares) is no error of the mean.
    """
    n, freedom = len(values), len(values) - 1
    if n < 2:
        raise InputError(f"an interval needs at least 2 values, got {n}")
    mean = float(np.mean(values))
    rest = values - mean
    if control is not None and n > 2 and np.ptp(control) > 0:
        apart = control - control.mean()
        rest, freedom = rest - apart * float(apart @ rest) / float(apart @ apart), n - 2
    half = student(freedom) * float((rest @ rest) / freedom) ** 0.5 / n**0.5
    return mean - half, mean + half


def growth(values: Floats) -> float:
    """Return by how much the mean of the second half is above that of the first quarter: 0 for little, or noise.

    Little is below 5 %; noise below four standard errors by the spread of the second half, the more settled one.
    """
    first, last = values[: len(values) // 4], values[len(values) // 2 :]
    if len(first) < 2:
        return 0.0
    more = float(last.mean() - first.mean())
    error = float(np.std(last, ddof=1)) * (1 / len(first) + 1 / len(last)) ** 0.5
    return more / float(first.mean()) if more > max(0.05 * float(first.mean()), 4 * error) else 0.0


def ratio_interval(amounts: Floats, seconds: Floats, control: Floats | None = None) -> tuple[float, float]:
    """Return the 95 % interval of a rate, sum of amounts over sum of times, from batches that may differ in length.

    With r the rate and z = amount - r * time in each batch, the half width is t * s(z) / (mean time * sqrt(n)).
    control: as in `interval`.
    """
    rate = float(amounts.sum() / seconds.sum())
    low, high = interval(amounts - rate * seconds, control)
    half = (high - low) / 2 / float(seconds.mean())
    return max(rate - half, 0.0), rate + half
