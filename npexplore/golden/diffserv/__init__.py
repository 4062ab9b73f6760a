"""The functional DiffServ router: simulates packets from their arrival to the last bit on the output link.

`simulate_diffserv` uses columns and one kernel, `simulate_plainly` is the reference; both return an `Outcome`.
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
