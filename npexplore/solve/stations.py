"""A station of a machine, and the stations of one level as a closed network that residual-time MVA solves.

Exact mean value analysis applies where all service is exponential, all wait for all, and no time overlaps.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.solve.batch_decisions import agreed
from npexplore.solve.queueing.residual import Home, Residual, residual

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12


@dataclass(frozen=True)
class LoadDependent:
    """A station: seconds per packet (P,); capacity with 1, 2, .. customers, of one (1 or P, M; the last holds on)."""

    name: str
    seconds: Floats
    capacity: Floats
    scv: Floats | float = 1.0  # of the time of a visit
    home: Home | None = None  # servers that customers belong to
    waits: Floats | float = 1.0  # share of the wait that is one behind whoever comes at random


class Network(NamedTuple):
    """Stations of one level as arrays: seconds, scv and waits (P, K), think (P,), rates (1 or P, K, M); their homes."""

    stations: list[LoadDependent]
    seconds: Floats
    think: Floats
    rates: Floats
    scv: Floats
    waits: Floats

    @property
    def homes(self) -> list[Home | None]:
        """The home of the customers of each station."""
        return [station.home for station in self.stations]

    def product_form(self) -> bool:
        """Say whether mean value analysis is exact here."""
        unlike = (np.abs(self.scv - 1.0) > ROUNDING) | (np.abs(self.waits - 1.0) > ROUNDING)
        overlaps, varies = agreed(self.think < 0), agreed(np.any(unlike & (self.seconds > 0), axis=1))
        return not (any(self.homes) or overlaps or varies)

    def residual(self, most: int, weights: Floats | None = None) -> Residual:
        """Return the network with 1..most customers by residual times; weights: over which `occupancy` is a mean."""
        return residual(self.seconds, most, self.think, self.rates, self.scv_met(), self.homes, weights, self.waits)

    def scv_met(self) -> Floats:
        """Return the squared coefficients of variation (P, K) as those tell who come round in a closed network."""
        first = self.seconds / self.rates[:, :, 0]
        alone = np.maximum(self.think + first.sum(axis=1), ROUNDING)
        return scv_met(self.scv, first / alone[:, None])


def scv_met(scv: Floats | float, share: Floats) -> Floats:
    """Return the squared coefficient of variation that tells who come round; share: of a cycle alone at the station.

    Who finds another in service waits for a residual time if he comes at random, and for all of it if both have nowhere
    else to be: 1 + (c^2 - 1) (1 - share). Two customers, constant service D and exponential think time Z wait
    D - Z (1 - e^(-D/Z)): within 5 % of this.
    """
    return np.asarray(1.0 + (scv - 1.0) * (1.0 - np.minimum(share, 1.0)))
