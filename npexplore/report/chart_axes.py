"""Axes of SVG charts: map values to pixels and place labelled ticks, as plotly's layouts describe them.

linear: pixel = start + (value - low) / (high - low) * length; log: the same of log10(value); categories: their index
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

PREFIXES = {12: "T", 9: "G", 6: "M", 3: "k", 0: "", -3: "m", -6: "µ", -9: "n"}
LABEL_PIXELS = {"x": 70, "y": 34}  # least distance of two ticks
PADDING = 0.05  # of the range, at ends where no bar begins


@dataclass
class Axis:
    """An axis of `length` pixels from `start`; `y` axes increase upwards. low, high: exponents of ten on a log axis."""

    name: str
    spec: dict[str, Any]
    low: float = 0.0
    high: float = 1.0
    categories: list[str] = field(default_factory=list)
    start: float = 0.0
    length: float = 1.0
    margin: float = 0.0  # left of it, for labels

    @property
    def log(self) -> bool:
        """Whether the axis is logarithmic."""
        return self.spec.get("type") == "log"

    @property
    def crosses_zero(self) -> bool:
        """Whether the range extends beyond zero on both sides by more than the padding."""
        margin = 1.01 * PADDING * (self.high - self.low)
        return not self.categories and not self.log and self.low < -margin and self.high > margin

    def step(self, values: Sequence[Any]) -> float:
        """Return the least distance in pixels of two of a trace's values along the axis."""
        if self.categories or len(values) < 2:
            return self.length / max(1, len(self.categories))
        pixels = sorted(map(self.at, values))
        return min((right - left for left, right in pairwise(pixels) if right > left), default=self.length)

    def share(self, value: Any) -> float:
        """Return the position of a value on the axis, 0 to 1; nan for a value that it cannot show."""
        if value is None:
            return math.nan
        if self.categories:
            place = self.categories.index(str(value)) if isinstance(value, str) else float(value)
            share = (place + 0.5) / len(self.categories)
        elif self.log and not value > 0:
            return math.nan
        else:
            share = ((math.log10(value) if self.log else float(value)) - self.low) / ((self.high - self.low) or 1)
        return 1 - share if self.spec.get("autorange") == "reversed" else share

    def at(self, value: Any) -> float:
        """Return the pixel of a value."""
        return self.pixel(self.share(value))

    def pixel(self, share: float) -> float:
        """Return the pixel of a position (0 to 1) on the axis."""
        return self.start + self.length * (1 - share if self.name[0] == "y" else share)

    def fit(self, values: Sequence[Any], *, from_zero: bool) -> None:
        """Set the range or categories from the values along the axis. from_zero: bars begin at zero."""
        texts = [value for value in values if isinstance(value, str)]
        if texts or self.spec.get("type") == "category":
            order = self.spec.get("categoryarray") or ()
            self.categories = list(dict.fromkeys([*(name for name in order if name in texts), *texts]))
            return
        if self.spec.get("range"):
            self.low, self.high = map(float, self.spec["range"])
            return
        visible = [float(v) for v in values if v is not None and math.isfinite(v) and (not self.log or v > 0)]
        if self.log:
            visible = [math.log10(v) for v in visible]
        from_zero = (from_zero or self.spec.get("rangemode") == "tozero") and not self.log
        low, high = min(visible, default=0.0), max(visible, default=1.0)
        low, high = (min(low, 0.0), max(high, 0.0)) if from_zero else (low, high)
        pad = PADDING * ((high - low) or 1)
        self.low, self.high = (low if from_zero and low == 0 else low - pad), high + pad

    def ticks(self) -> list[tuple[float, str]]:
        """Return (position from 0 to 1, label) of each tick."""
        if self.categories:
            return [(self.share(name), name) for name in self.categories]
        if self.spec.get("tickvals"):
            rows = [(self.share(v), str(t)) for v, t in zip(self.spec["tickvals"], self.spec["ticktext"], strict=True)]
            return self._apart([row for row in rows if -1e-9 <= row[0] <= 1 + 1e-9])
        most = max(2, int(self.length / LABEL_PIXELS[self.name[0]]))
        return [(self.share(value), label(value, self.spec)) for value in (self._decades(most) or self._steps(most))]

    def _apart(self, rows: list[tuple[float, str]]) -> list[tuple[float, str]]:
        step = math.ceil(len(rows) * LABEL_PIXELS[self.name[0]] / 2 / self.length)
        return rows[:: max(1, step)]

    def _decades(self, most: int) -> list[float]:
        """Return ticks of a log axis at powers of ten, with 2 and 5 between them if there is room."""
        if not self.log or self.high - self.low < 0.7:
            return []
        exponents = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
        if 3 * (self.high - self.low) <= most or len(exponents) < 2:
            values = [d * 10.0**e for e in range(math.floor(self.low), exponents.stop) for d in (1, 2, 5)]
            return [value for value in values if self.low - 1e-9 <= math.log10(value) <= self.high + 1e-9]
        return [10.0**exponent for exponent in exponents[:: max(1, math.ceil(len(exponents) / most))]]

    def _steps(self, most: int) -> list[float]:
        """Return ticks at multiples of 1, 2 or 5 times a power of ten."""
        low, high = (10**self.low, 10**self.high) if self.log else sorted((self.low, self.high))
        least_step = (high - low) / most or 1.0
        while True:
            size = 10.0 ** math.floor(math.log10(least_step))
            step = next(size * multiple for multiple in (1, 2, 5, 10) if size * multiple >= least_step * (1 - 1e-9))
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last > first:
                return [multiple * step for multiple in range(first, last + 1)]
            least_step /= 2  # the range lies between two ticks


def label(value: float, spec: dict[str, Any]) -> str:
    """Return a tick's text: percent, SI prefixes or plain, as the axis specifies."""
    form, suffix = str(spec.get("tickformat", "")), str(spec.get("ticksuffix", ""))
    if form.endswith("%"):
        return f"{100 * value:.3g}%"
    if spec.get("exponentformat") == "SI" or form.endswith("s"):
        power = 0 if value == 0 else max(-9, min(12, 3 * math.floor(math.log10(abs(value)) / 3 + 1e-9)))
        power = power if power >= 0 or suffix else 0
        return f"{value / 10.0**power:.4g}{' ' if suffix else ''}{PREFIXES[power]}{suffix}"
    if value and not 0.99e-4 < abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.6g}" + suffix


def unpacked(values: Any) -> list[Any]:
    """Return a trace's values as a list; plotly's JSON may encode them as bytes."""
    if isinstance(values, dict):
        array = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        shape = [int(part) for part in str(values.get("shape", len(array))).split(",")]
        return list(array.reshape(shape).tolist())
    return list(values)
