"""Where the curve of a knob bends: throughput over the values of one knob, all others as they are.

knee      of a knob's curve over multiples of its value: the point farthest from the chord, ln value and rate scaled
          to 0..1 (Satopaa et al., "Finding a Kneedle in a Haystack", ICDCS Workshops 2011)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npexplore.designs import Design
from npexplore.machine.parameters import Value

WORTH = 0.01  # smaller gains and losses are no effect
BENT = 0.1  # a curve that stands less from its chord is straight


@dataclass(frozen=True)
class Knee:
    """A knob's curve: throughput (bit/s of packets) over values; knee: its bend (None: straight or flat);
    enough: the least effort that reaches 95 % of the best value's throughput.
    """

    knob: str
    unit: str
    curve: tuple[tuple[float, float], ...]
    knee: float | None
    enough: float


def knees_of(design: Design, now: float, rates: Mapping[tuple[str, Value], float]) -> list[Knee]:
    """Return the curves of the knobs that are numbers and have an effect.

    now: the rate of the machine as it is; rates: with each value of each knob (bit/s of packets).
    """
    knees: list[Knee] = []
    parameters = design.parameters.file.parameter
    for name in dict.fromkeys(knob for knob, _ in rates):
        present = design.parameters[name]
        if isinstance(present, str) or parameters[name].kind != "knob":
            continue
        curve = {float(value): rate for (knob, value), rate in rates.items() if knob == name} | {float(present): now}
        line = tuple(sorted(curve.items()))
        if len(line) > 2 and max(curve.values()) > min(curve.values()) * (1 + WORTH):
            knees.append(Knee(name, parameters[name].unit, line, knee(line), _enough(line)))
    return knees


def knee(curve: Sequence[tuple[float, float]]) -> float | None:
    """Return the value at which a curve of (value, rate), values rising and above 0, bends most to its level part.

    None if it is flat or straight, or bends the other way.
    """
    x = np.log([value for value, _ in curve])
    y = np.array([rate for _, rate in curve])
    if len(curve) < 3 or y.max() == y.min():
        return None
    x, y = (x - x[0]) / (x[-1] - x[0]), (y - y.min()) / (y.max() - y.min())
    above = y - x if y[-1] >= y[0] else y - (1 - x)
    place = int(np.argmax(above))
    return curve[place][0] if above[place] > BENT and 0 < place < len(curve) - 1 else None


def _enough(curve: Sequence[tuple[float, float]]) -> float:
    """Return the value nearest to the slow end that still has 95 % of the best throughput."""
    best = max(rate for _, rate in curve)
    good = [value for value, rate in curve if rate >= 0.95 * best]
    return good[0] if curve[-1][1] >= curve[0][1] else good[-1]
