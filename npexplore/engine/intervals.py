"""Statistics of a run: latency quantiles from a histogram, 95 % intervals of means and rates by Student's t.

Bins of the histogram are single ticks below 64 ticks, then 32 per octave (docs/engine.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

Floats = npt.NDArray[np.float64]


ATOM = 0.02  # share of a bin's packets; if both neighbours have fewer together, the bin is taken as one value


def bin_edges(bins: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the first latency in ticks of histogram bins, and the number of whole ticks in each."""
    exponent = np.maximum(bins // 32 - 1, 0)
    width = 2.0**exponent
    return np.where(bins < 32, bins, (bins - 32 * exponent)) * width, width


def quantiles(
    histogram: npt.NDArray[np.int64], shares: Sequence[float], tick: float, total_ticks: float | None = None
) -> list[float | None]:
    """Return latency quantiles in seconds of a histogram (None if it is empty), accurate to 1.6 %.

    Latencies are spread evenly over their bin. A bin whose neighbours are nearly empty is taken as one value (an atom).
    All atoms are at the same fraction of their bins: the fraction that reproduces the sum of all latencies in ticks,
    total_ticks (None: the middle).
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
    if total_ticks is not None and (atom_ticks := float((counts * (width - 1))[atom].sum())) > 0:
        spread = float((counts * (low + (width - 1) / 2))[~atom].sum())
        place = min(max((total_ticks - spread - float((counts * low)[atom].sum())) / atom_ticks, 0.0), 1.0)
    cumulative = np.cumsum(counts)
    target_counts = np.array(shares) * total
    chosen = np.minimum(np.searchsorted(cumulative, target_counts * (1 - 1e-12)), len(bins) - 1)
    inside = np.where(atom[chosen], place, (target_counts - (cumulative[chosen] - counts[chosen])) / counts[chosen])
    return [float(x) * tick for x in low[chosen] + np.clip(inside, 0.0, 1.0) * (width[chosen] - 1)]


# Student's t at 97.5 % with 1 to 30 degrees of freedom, as in scipy.special.stdtrit (a test compares them); importing
# scipy takes longer than a simulation
T = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934, 2.5705818356363146,
    2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205, 2.228138851986274,
    2.200985160091639, 2.1788128296672284, 2.1603686564627913, 2.144786687917804, 2.131449545559776,
    2.1199052992212546, 2.1098155778333156, 2.1009220402410382, 2.0930240544083087, 2.085963447265864,
    2.0796138447276795, 2.0738730679040254, 2.0686576104190486, 2.0638985616280245, 2.0595385527532972,
    2.0555294386428735, 2.0518305164802846, 2.0484071417952454, 2.045229642132703, 2.0422724563012378,
)  # fmt: skip
FIRST_ESTIMATE = 8 * 16 - 1, 1.9788195347028539  # degrees of freedom of the first 8 runs (16 batches each), Student's t


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

    control: a control variate, shape (n,), whose sum over the values is known, such as the bytes of whole passes
    through a mix. The part of the values that a least-squares fit explains by it is removed from the error.
    """
    n, freedom = len(values), len(values) - 1
    if n < 2:
        raise InputError(f"an interval needs at least 2 values, got {n}")
    mean = float(np.mean(values))
    residual = values - mean
    if control is not None and n > 2 and np.ptp(control) > 0:
        deviation = control - control.mean()
        residual, freedom = residual - deviation * float(deviation @ residual) / float(deviation @ deviation), n - 2
    half = student(freedom) * float((residual @ residual) / freedom) ** 0.5 / n**0.5
    return mean - half, mean + half


def growth(values: Floats) -> float:
    """Return the relative increase from the mean of the first quarter to that of the second half; 0 if small or noise.

    Small: below 5 %. Noise: below four standard errors, by the spread of the second half, which is closer to steady
    state.
    """
    first, last = values[: len(values) // 4], values[len(values) // 2 :]
    if len(first) < 2:
        return 0.0
    increase = float(last.mean() - first.mean())
    error = float(np.std(last, ddof=1)) * (1 / len(first) + 1 / len(last)) ** 0.5
    return increase / float(first.mean()) if increase > max(0.05 * float(first.mean()), 4 * error) else 0.0


def ratio_interval(amounts: Floats, seconds: Floats, control: Floats | None = None) -> tuple[float, float]:
    """Return the 95 % interval of a rate, sum of amounts over sum of times, from batches that may differ in length.

    With r the rate and z = amount - r * time in each batch, the half width is t * s(z) / (mean time * sqrt(n)).
    control: as in `interval`.
    """
    rate = float(amounts.sum() / seconds.sum())
    low, high = interval(amounts - rate * seconds, control)
    half = (high - low) / 2 / float(seconds.mean())
    return max(rate - half, 0.0), rate + half
