"""Loads of a network's links as data, from any prediction: what plots and tables of meshes and streams start from.

Load = the share of time in which words move over the link: what it is held less what its holder waits (bounds: flits a
second over the clock).
"""

from typing import NamedTuple, Protocol

from npexplore.machine.resources.grid import Link
from npexplore.solve.prediction import Prediction


class Linked(Protocol):
    """A resource that consists of links between tiles."""

    def links(self) -> list[Link]:
        """Return its links."""


class LinkLoad(NamedTuple):
    """One directed link: tiles (None: a terminal's own side) and its load, 0 to 1; `held` counts waiting, too."""

    name: str
    source: int | None
    target: int | None
    load: float
    held: float


def link_loads(network: Linked, prediction: Prediction) -> list[LinkLoad]:
    """Return the load of every link of a mesh or of static streams in a prediction; 0 where nothing went."""
    loads = []
    for link in network.links():
        seen = prediction.utilization.get(link.name)
        busy, blocked = (seen.busy, seen.blocked) if seen else (0.0, 0.0)
        loads.append(LinkLoad(link.name, link.source, link.target, busy - blocked, busy))
    return loads
