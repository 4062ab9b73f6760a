"""Strict priority: a class sends only while no higher one has a packet (RFC 3246 names it for expedited forwarding)."""

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.base import Scheduler


class StrictPriority(Scheduler):
    """The lower the number, the higher the class. Lower classes may starve: it promises them nothing.

    Example:
        >>> from npexplore.golden import StrictPriority
        >>> StrictPriority([1, 1]).weights
        (1, 1)
    """

    WEIGHT = "weight (not used)"
    KIND = kernels.STRICT

    def choose(self, now: int) -> int:
        """Return the highest class that has a packet."""
        return next(number for number, queue in enumerate(self.queues) if queue)
