"""The functional DiffServ router: the fate of packets from their arrival to the last bit on the output link.

`simulate` takes columns (one kernel), `simulate_plainly` is the reference; both answer with an `Outcome`.
"""

from npexplore.golden.diffserv.arrivals import Arrivals
from npexplore.golden.diffserv.outcome import Fate, Outcome
from npexplore.golden.diffserv.setup import ClassQueue, DiffServ, OutputPort, Receiver, Shaping, Treatment
from npexplore.golden.diffserv.simulation import simulate_diffserv

__all__ = [
    "Arrivals",
    "ClassQueue",
    "DiffServ",
    "Fate",
    "Outcome",
    "OutputPort",
    "Receiver",
    "Shaping",
    "Treatment",
    "simulate_diffserv",
]
