"""Finds the knee of a knob's curve: throughput over the values of one knob, all other knobs unchanged.

knee      the point of the curve farthest above its chord, with ln value and rate both scaled to 0..1
          (Satopaa et al., "Finding a Kneedle in a Haystack", ICDCS Workshops 2011)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npexplore.designs import Design
from npexplore.machine.parameters import Value

WORTH = 0.01  # relative changes of throughput below this count as no effect
BENT = 0.1  # a curve whose largest scaled distance from its chord is smaller counts as straight


@dataclass(frozen=True)
class Knee:
    """A knob's curve: throughput (bit/s of packets) over values; knee: the value where it bends (None: straight or
    flat); enough: the value nearest to the slow end that reaches 95 % of the best throughput.
    """

    knob: str
    unit: str
    curve: tuple[tuple[float, float], ...]
    knee: float | None
    enough: float


def knees_of(design: Design, now: float, rates: Mapping[tuple[str, Value], float]) -> list[Knee]:
    """Return the curves of the numeric knobs that have an effect.

    now: throughput of the unchanged machine; rates: throughput for each value of each knob (both bit/s of packets).
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
    """Return the value at which a curve of (value, rate), values positive and rising, bends most towards its flat part.

    None if the curve is flat or straight, or bends the other way.
    """
    x = np.log([value for value, _ in curve])
    y = np.array([rate for _, rate in curve])
    if len(curve) < 3 or y.max() == y.min():
        return None
    x, y = (x - x[0]) / (x[-1] - x[0]), (y - y.min()) / (y.max() - y.min())
    distance = y - x if y[-1] >= y[0] else y - (1 - x)
    bend = int(np.argmax(distance))
    return curve[bend][0] if distance[bend] > BENT and 0 < bend < len(curve) - 1 else None


def _enough(curve: Sequence[tuple[float, float]]) -> float:
    """Return the value nearest to the slow end that still has 95 % of the best throughput."""
    best = max(rate for _, rate in curve)
    sufficient = [value for value, rate in curve if rate >= 0.95 * best]
    return sufficient[0] if curve[-1][1] >= curve[0][1] else sufficient[-1]
