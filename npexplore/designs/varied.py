"""A design asked otherwise: its own packets arriving in another way, its machine measured over packets, not a window.

Values that compare by what they hold, so that machines made ready once (prepared.py) are found again.
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
    """A design's own packets with other arrivals, at a rate, or X times as fast (arrivals None: the design's own)."""

    function: Callable[[Parameters], Workload]
    arrivals: str | None = None
    rate: str | float | None = None
    speed: float | None = None

    def __call__(self, parameters: Parameters) -> Workload:
        """Return the packets; raises InputError for arrivals that these packets cannot have."""
        load = self.function(parameters)
        if self.arrivals is not None or self.rate is not None:
            load = load.with_arrivals(self.arrivals or load.arrivals, self.rate)
        return load if self.speed is None else load.at_speed(self.speed)


@dataclass(frozen=True)
class ByPackets:
    """A machine that is measured over as many packets as somebody asks for, instead of over a time of its own."""

    function: Callable[[Parameters], Machine]

    def __call__(self, parameters: Parameters) -> Machine:
        """Return the machine without its window."""
        machine = copy(self.function(parameters))
        machine.window_s, machine.boot_s = None, 0.0
        return machine
