"""Loads of a network's links from any prediction, as data for plots and tables of meshes and streams.

Load: the share of time in which words move over the link, which is its busy share without its blocked share (bounds:
flits per second over the clock rate).
"""

from typing import NamedTuple, Protocol

from npexplore.machine.resources.grid import Link
from npexplore.solve.prediction import Prediction


class Linked(Protocol):
    """A resource that consists of links between tiles."""

    def links(self) -> list[Link]:
        """Return its links."""


class LinkLoad(NamedTuple):
    """One directed link: its tiles (None: a terminal) and its load, 0 to 1; `held` includes the holder's waits."""

    name: str
    source: int | None
    target: int | None
    load: float
    held: float


def link_loads(network: Linked, prediction: Prediction) -> list[LinkLoad]:
    """Return the load of every link of a mesh or of static streams in a prediction (0: unused)."""
    loads = []
    for link in network.links():
        utilization = prediction.utilization.get(link.name)
        busy, blocked = (utilization.busy, utilization.blocked) if utilization else (0.0, 0.0)
        loads.append(LinkLoad(link.name, link.source, link.target, busy - blocked, busy))
    return loads
