"""Phase-type times, made of exponential phases (Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, ch. 2).

mean = p (-T)^-1 1      E x^2 = 2 p T^-2 1      p: probabilities of the first phase, T: rates between phases
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.rows.distributions import Distribution, Erlang, Exponential, Hyperexponential

Floats = npt.NDArray[np.float64]


class Phases(NamedTuple):
    """A phase-type time: probabilities of the first phase (m,), rates between phases (m, m) with row sums at most 0."""

    first: Floats
    rates: Floats

    def moments(self) -> tuple[float, float]:
        """Return (mean, squared coefficient of variation)."""
        time_left = np.linalg.solve(-self.rates, np.ones(len(self.first)))
        mean = float(self.first @ time_left)
        return mean, float(2 * self.first @ np.linalg.solve(-self.rates, time_left)) / mean**2 - 1


def in_a_row(means: list[float], go_on: list[float]) -> Phases:
    """Return exponential phases in sequence with these means; go_on: probabilities to go on after all but the last."""
    phase_rates = 1 / np.array(means)
    rates = np.diag(-phase_rates) + np.diag(phase_rates[:-1] * np.array(go_on), 1)
    return Phases(np.eye(len(means))[0], rates)


def erlang(mean: float, stages: int) -> Phases:
    """Return `stages` equal phases in sequence, with a total mean of `mean` seconds."""
    return in_a_row([mean / stages] * stages, [1.0] * (stages - 1))


def plain_phases(time: Distribution) -> Phases | None:
    """Return the phases of an exponential, Erlang or hyperexponential time; None for other distributions."""
    match time:
        case Exponential():
            return Phases(np.ones(1), np.array([[-1 / time.mean]]))
        case Erlang():
            return erlang(time.mean, time.stages)
        case Hyperexponential():
            return Phases(np.array([time.probability, 1 - time.probability]), -np.diag(1 / np.array(time.means)))
        case _:
            return None
