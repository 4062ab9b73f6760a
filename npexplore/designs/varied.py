"""Variants of a design's functions: other arrivals of its own packets, and measuring by packets instead of a window.

They compare by value, so that the cache of prepared machines (prepared.py) finds them again.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

from npexplore.machine.machine import Machine
from npexplore.machine.parameters import Parameters
from npexplore.machine.workload import Workload


@dataclass(frozen=True)
class Arriving:
    """A design's own packets with another arrival process, rate, or speed factor (None: unchanged)."""

    function: Callable[[Parameters], Workload]
    arrivals: str | None = None
    rate: str | float | None = None
    speed: float | None = None

    def __call__(self, parameters: Parameters) -> Workload:
        """Return the packets; raises InputError for an arrival process that these packets cannot have."""
        load = self.function(parameters)
        if self.arrivals is not None or self.rate is not None:
            load = load.with_arrivals(self.arrivals or load.arrivals, self.rate)
        return load if self.speed is None else load.at_speed(self.speed)


@dataclass(frozen=True)
class ByPackets:
    """A machine without its fixed time window: simulations measure a number of packets."""

    function: Callable[[Parameters], Machine]

    def __call__(self, parameters: Parameters) -> Machine:
        """Return a copy of the machine without its window."""
        machine = copy(self.function(parameters))
        machine.window_s, machine.boot_s = None, 0.0
        return machine
