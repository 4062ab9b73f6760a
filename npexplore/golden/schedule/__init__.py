"""Schedulers choose the class that sends next. SCHEDULERS lists them; tests/law has laws for all of them.

`Shaped` limits any of them to a rate.
"""

from npexplore.golden.schedule.base import QueuedPacket, Scheduler
from npexplore.golden.schedule.drr import DeficitRoundRobin
from npexplore.golden.schedule.priority_drr import PriorityDeficitRoundRobin
from npexplore.golden.schedule.ranked import RANKED
from npexplore.golden.schedule.scfq import SelfClockedFairQueueing
from npexplore.golden.schedule.shaped import Shaped, Shaper
from npexplore.golden.schedule.strict_priority import StrictPriority
from npexplore.golden.schedule.wfq import WeightedFairQueueing
from npexplore.golden.schedule.wrr import WeightedRoundRobin

SCHEDULERS: dict[str, type[Scheduler]] = {
    "strict_priority": StrictPriority,
    "drr": DeficitRoundRobin,
    "priority_drr": PriorityDeficitRoundRobin,
    "wrr": WeightedRoundRobin,
    "scfq": SelfClockedFairQueueing,
    "wfq": WeightedFairQueueing,
    **RANKED,
}

__all__ = [
    "SCHEDULERS",
    "DeficitRoundRobin",
    "PriorityDeficitRoundRobin",
    "QueuedPacket",
    "Scheduler",
    "SelfClockedFairQueueing",
    "Shaped",
    "Shaper",
    "StrictPriority",
    "WeightedFairQueueing",
    "WeightedRoundRobin",
]
