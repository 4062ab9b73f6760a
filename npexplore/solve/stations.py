"""A station of a machine, and the stations of one level as a closed network that residual-time MVA solves.

Exact mean value analysis applies if all service is exponential, all customers share all servers and no time overlaps.
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
    """A station: seconds per packet (P,), and service capacity with 1..M customers relative to one (1 or P, M).

    With more than M customers the capacity stays that of M.
    """

    name: str
    seconds: Floats
    capacity: Floats
    scv: Floats | float = 1.0  # of the time of a visit
    home: Home | None = None  # servers that customers belong to
    waits: Floats | float = 1.0  # the wait as a share of the wait behind random arrivals


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
        """The home of each station's customers."""
        return [station.home for station in self.stations]

    def product_form(self) -> bool:
        """Say whether mean value analysis is exact here."""
        not_exponential = (np.abs(self.scv - 1.0) > ROUNDING) | (np.abs(self.waits - 1.0) > ROUNDING)
        overlaps, varies = agreed(self.think < 0), agreed(np.any(not_exponential & (self.seconds > 0), axis=1))
        return not (any(self.homes) or overlaps or varies)

    def residual(self, most: int, weights: Floats | None = None) -> Residual:
        """Solve the network with 1..most customers by residual times; weights: of populations, for mean `occupancy`."""
        return residual(self.seconds, most, self.think, self.rates, self.scv_met(), self.homes, weights, self.waits)

    def scv_met(self) -> Floats:
        """Return the effective squared coefficients of variation (P, K) for arrivals in a closed network."""
        service_s = self.seconds / self.rates[:, :, 0]
        cycle_alone_s = np.maximum(self.think + service_s.sum(axis=1), ROUNDING)
        return scv_met(self.scv, service_s / cycle_alone_s[:, None])


def scv_met(scv: Floats | float, share: Floats) -> Floats:
    """Return the effective scv of service for closed-network arrivals; share: of a cycle alone spent at the station.

    A customer that arrives at random waits for the residual life of the service; one that has no other station to visit
    waits for all of it: 1 + (c^2 - 1) (1 - share). Two customers with constant service D and exponential think time Z
    wait D - Z (1 - e^(-D/Z)), within 5 % of this.
    """
    return np.asarray(1.0 + (scv - 1.0) * (1.0 - np.minimum(share, 1.0)))
