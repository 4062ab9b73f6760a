"""Line rate: the packets per second that the wires of a machine's ports allow, preambles and gaps included.

The wires of arriving packets count. If packets arrive over no wire, as at the card of a traffic source, the wires of
departing packets count.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from npexplore.machine.machine import Machine
from npexplore.machine.resources import LineCard

Rate = TypeVar("Rate", float, npt.NDArray[np.float64])


def line_rate(machine: Machine, ceilings: Mapping[str, Rate]) -> tuple[str, Rate] | None:
    """Return the slowest wire and its packets per second, for one design point or an array of points.

    ceilings: packets per second that each server alone allows (machine/under_load.py). For an array, the wire is the
    slowest at the first point. Returns None if packets use no line card or Ethernet port.
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
    """Return a machine's line cards and Ethernet ports, including those inside other resources."""
    cards, remaining = list[LineCard](), [*machine.resources.values()]
    while remaining:
        resource = remaining.pop()
        cards += [resource] if isinstance(resource, LineCard) else []
        remaining += resource.inner
    return cards
