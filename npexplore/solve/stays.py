"""What queueing finds of a machine: rates, latencies, losses, and where packets of each pool are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from npexplore.solve.levels import Levels
from npexplore.solve.queueing.finite_queue import chances
from npexplore.solve.stations import Floats


class Found(NamedTuple):
    """Packets of the workload a second, mean time in the machine, share lost in front of it: arrays (P,).

    levels: of each pool. slower: by server that takes longer the more wait for it, the share of time that this costs.
    stays: by pool, where its packets are.
    """

    rate: Floats
    latency: Floats
    loss: Floats
    levels: Sequence[Levels]
    slower: Mapping[str, Floats] = MappingProxyType({})
    stays: Sequence[Stay] = ()


class Stay(NamedTuple):
    """Packets of one pool at the first point: its network, their seconds there and in front of it (P,).

    name: of its threads. arrivals: packets a second that come (None: there are always more than threads), curve: what
    1.. of them are worked at with, longer: how many times more wait than if all times were exponential, within: the
    same of those with a thread (each (P,..)).
    """

    name: str
    levels: Levels
    seconds: Floats
    room: int = 0  # packets in front
    arrivals: Floats | None = None
    curve: Floats | None = None
    longer: Floats | None = None
    within: Floats | None = None

    def chances(self) -> Floats:
        """Return the chances (n + 1,) of 0..n packets there and in front."""
        places = self.levels.customers + self.room
        if self.arrivals is None or self.curve is None or self.longer is None:
            return np.append(np.zeros(places), 1.0)
        probabilities: Floats = chances(self.arrivals[:1], self.curve[:1], places, self.longer[:1])[0]
        return probabilities
