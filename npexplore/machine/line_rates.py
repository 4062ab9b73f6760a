"""Line rate: the packets a second that the wires of a machine's ports allow, preambles and gaps included.

The wires that packets come over count; where they come over none, those that they leave over (a source's card, say).
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from npexplore.machine.machine import Machine
from npexplore.machine.resources import LineCard

Rate = TypeVar("Rate", float, npt.NDArray[np.float64])


def line_rate(machine: Machine, ceilings: Mapping[str, Rate]) -> tuple[str, Rate] | None:
    """Return the wire that allows the fewest packets, and its packets a second: of one point, or of an array of points.

    ceilings: packets a second that each server alone allows (machine/under_load.py). Of points the wire is that of the
    first. None for a machine without line cards or Ethernet ports, and where packets use none of them.
    """
    cards = line_cards(machine)
    for method in LineCard.VISITS:
        rates = {name: ceilings[name] for name in (card.wire(method) for card in cards) if name in ceilings}
        if rates:
            name = min(rates, key=lambda wire: float(np.ravel(rates[wire])[0]))
            lowest = rates[name]
            for rate in rates.values():
                lowest = np.minimum(lowest, rate)
            return name, lowest
    return None


def line_cards(machine: Machine) -> list[LineCard]:
    """Return a machine's line cards and Ethernet ports, those inside of other resources too."""
    cards, left = list[LineCard](), [*machine.resources.values()]
    while left:
        resource = left.pop()
        cards += [resource] if isinstance(resource, LineCard) else []
        left += resource.inner
    return cards
