"""Results of the queueing model of a machine: rates, latencies, losses, and the network of each pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from npexplore.solve.levels import Levels
from npexplore.solve.queueing.finite_queue import chances
from npexplore.solve.stations import Floats


class Found(NamedTuple):
    """Packets of the workload per second, mean time in the machine and loss ratio in front of it: arrays (P,).

    levels: the network of each pool. slower: by server whose service slows as more packets wait, the utilization that
    this adds. stays: of each pool.
    """

    rate: Floats
    latency: Floats
    loss: Floats
    levels: Sequence[Levels]
    slower: Mapping[str, Floats] = MappingProxyType({})
    stays: Sequence[Stay] = ()


class Stay(NamedTuple):
    """The network of one pool, and the seconds (P,) that its packets spend in it and in front of it.

    name: of the pool's threads. arrivals: packets per second (P,) (None: saturated). curve: throughput (P, threads)
    with 1.. packets. longer, within: factors (P,) on the waits of exponential times: in front of threads, and inside.
    """

    name: str
    levels: Levels
    seconds: Floats
    room: int = 0  # packets that can wait in front
    arrivals: Floats | None = None
    curve: Floats | None = None
    longer: Floats | None = None
    within: Floats | None = None

    def chances(self) -> Floats:
        """Return the chances (n + 1,), at the first point, of 0..n packets in the network and in front of it."""
        places = self.levels.customers + self.room
        if self.arrivals is None or self.curve is None or self.longer is None:
            return np.append(np.zeros(places), 1.0)
        probabilities: Floats = chances(self.arrivals[:1], self.curve[:1], places, self.longer[:1])[0]
        return probabilities
