"""Strict priority: a class sends only while no higher class has a packet (RFC 3246 names it for EF)."""

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.base import Scheduler


class StrictPriority(Scheduler):
    """Strict priority; class 0 is the highest. Lower classes may starve.

    Example:
        >>> from npexplore.golden import StrictPriority
        >>> StrictPriority([1, 1]).weights
        (1, 1)
    """

    WEIGHT = "weight (not used)"
    KIND = kernels.STRICT

    def choose(self, now: int) -> int:
        """Return the highest class with a packet."""
        return next(number for number, queue in enumerate(self.queues) if queue)
