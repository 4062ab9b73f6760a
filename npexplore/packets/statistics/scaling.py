"""How bursts scale with time: variance-time plot, and the Hurst parameter by wavelets with a confidence interval.

variance-time:  Var[mean of m bins] ~ m^(2H - 2)
Abry, Veitch (IEEE Trans. Inf. Theory 44(1), 1998), Haar wavelet: the mean square detail mu_j at octave j grows as
2^(j (2H - 1)); y_j = log2 mu_j - g_j is regressed on j with weights 1 / var_j, where for n_j details
g_j = psi(n_j / 2) / ln 2 - log2(n_j / 2) and var_j = zeta(2, n_j / 2) / ln^2 2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError

Z95 = 1.959963984540054
LEAST_DETAILS = 8


@dataclass(frozen=True)
class HurstEstimate:
    """Hurst parameter with its 95 % interval, and the octaves (log2 of bins) it was estimated over.

    Example:
        >>> from npexplore.packets import HurstEstimate
        >>> HurstEstimate(0.8, 0.75, 0.85, 3, 12).hurst
        0.8
    """

    hurst: float
    low: float
    high: float
    first_octave: int
    last_octave: int


def variance_time(counts: NDArray[np.int64], least_blocks: int = 16) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return block sizes m (powers of two) and variances of the means of m consecutive counts, relative to m = 1."""
    values = np.asarray(counts, float)
    sizes, variances = [], []
    size = 1
    while len(values) >= least_blocks:
        sizes.append(size)
        variances.append(float(values.var(ddof=1)))
        values = values[: len(values) // 2 * 2].reshape(-1, 2).mean(axis=1)
        size *= 2
    scale = variances[0] if variances and variances[0] > 0 else 1.0
    return np.array(sizes, np.int64), np.array(variances) / scale


def hurst(counts: NDArray[np.int64], *, first_octave: int = 3, last_octave: int | None = None) -> HurstEstimate:
    """Estimate the Hurst parameter of a series of counts from the energy of its wavelet details, octave by octave.

    Args:
        counts: packets or bytes in consecutive bins, int64 (n,).
        first_octave: lower octaves are left out, because short-range correlations dominate them.
        last_octave: the last octave used (None: the largest with at least 8 details).

    Raises:
        InputError: a constant series, or one too short for three octaves with 8 details each.
    """
    values = np.asarray(counts, float)
    octaves, energies, numbers = [], [], []
    octave = 1
    while len(values) // 2 >= LEAST_DETAILS and (last_octave is None or octave <= last_octave):
        pairs = values[: len(values) // 2 * 2].reshape(-1, 2)
        detail = (pairs[:, 0] - pairs[:, 1]) / np.sqrt(2)
        values = pairs.sum(axis=1) / np.sqrt(2)
        if octave >= first_octave:
            octaves.append(octave)
            energies.append(float((detail**2).mean()))
            numbers.append(len(detail))
        octave += 1
    if len(octaves) < 3 or min(energies) <= 0:
        raise InputError(
            f"a Hurst parameter needs a varying series of at least {LEAST_DETAILS * 2 ** (first_octave + 2)} counts, "
            f"got {len(counts)}"
        )
    digamma, trigamma = np.array([gamma_derivatives(n) for n in numbers]).T
    log_energy = np.log2(energies) - (digamma / np.log(2) - np.log2(np.array(numbers) / 2))
    variance = trigamma / np.log(2) ** 2
    octave_number, precision = np.array(octaves, float), 1 / variance
    precision_sum, sx, sxx = (
        precision.sum(),
        (precision * octave_number).sum(),
        (precision * octave_number * octave_number).sum(),
    )
    weights = precision * (precision_sum * octave_number - sx) / (precision_sum * sxx - sx**2)
    slope, error = float((weights * log_energy).sum()), float(np.sqrt((weights**2 * variance).sum()))
    estimate = (slope + 1) / 2
    return HurstEstimate(estimate, estimate - Z95 * error / 2, estimate + Z95 * error / 2, octaves[0], octaves[-1])


def gamma_derivatives(n: int) -> tuple[float, float]:
    """Return psi(n / 2) and zeta(2, n / 2) = psi'(n / 2) by psi(x + 1) = psi(x) + 1 / x, from psi(1/2) or psi(1) on.

    scipy has them too, but importing it would take longer than counting a million packets.
    """
    odd = n % 2
    x = np.arange(0.5 if odd else 1.0, n / 2)
    psi_start = -np.euler_gamma - (2 * np.log(2) if odd else 0.0)
    return float(psi_start + (1 / x).sum()), float(np.pi**2 / (2 if odd else 6) - (1 / x**2).sum())


def interarrivals(t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the times between packets in nanoseconds, in order of time; packets without a time stamp are left out."""
    timed = t_ns[t_ns != np.iinfo(np.int64).min]
    return np.diff(np.sort(timed))
