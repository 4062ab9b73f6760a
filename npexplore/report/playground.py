"""Sliders that move a machine's roofline, bottleneck and throughput on a page without Python: a landscape as JSON.

In JupyterLab the same numbers are an explorer with a slider for each knob.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np

from npexplore.machine.parameters import Value
from npexplore.plot.explorer import Explorer
from npexplore.records import content_hash
from npexplore.report.shell import as_json
from npexplore.study.sweeping.landscape import Landscape

MIME = "application/vnd.npexplore.playground+json"
POINTS, SEED = 25, 23  # random points at which interpolated values are held to the solvers


@dataclass(frozen=True)
class Playground:
    """A landscape with the machine's name in words, and the initial positions of its sliders."""

    __hash__ = content_hash

    title: str
    found: Landscape
    start: Mapping[str, Value]

    def record(self) -> dict[str, Any]:
        """Return the data for the page's script: knobs with their nodes, and rates, flat in the knobs' order."""
        missed = self.found.misses(POINTS, SEED)
        return {
            "design": self.found.design,
            "title": self.title,
            "knobs": [
                {"name": name, "values": list(values), "start": self.start[name], "between": name in self.found.between}
                for name, values in self.found.knobs.items()
            ],
            "ceilings": {name: _short(array) for name, array in self.found.ceilings.items()},
            "queueing": _short(self.found.queueing),
            "bits": _short(self.found.bits),
            "counted": self.found.counted,
            "nodes": self.found.nodes,
            "points": POINTS,
            "missed": {name: _worst(values) for name, values in missed.items()},
        }

    def explorer(self) -> Explorer:
        """Return the same numbers for JupyterLab: the highest possible rate and queueing over the first knob."""
        import pandas as pd

        names = list(self.found.knobs)
        lowest = np.minimum.reduce(list(self.found.ceilings.values()))
        rows = [
            (*values, solver, float(array[place]) / 1e6)
            for solver, array in (("bound", lowest), ("queueing", self.found.queueing))
            for place, values in zip(np.ndindex(lowest.shape), product(*self.found.knobs.values()), strict=True)
        ]
        table = pd.DataFrame(rows, columns=[*names, "solver", "mpps"])
        return Explorer(
            table, names[0], "mpps", names[1:], series="solver", title=self.title, x_title=names[0],
            y_title="million packets a second", start={name: self.start[name] for name in names[1:]},
        )  # fmt: skip

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.explorer()._repr_mimebundle_() | {MIME: self.record()}


def playground_div(record: Mapping[str, Any]) -> str:
    """Return the HTML in which the page's script puts sliders and drawings, with the data."""
    name = escape(str(record["design"]), quote=True)
    return (
        f'<div class="play" id="{name}" data-play><h3>{escape(str(record["title"]))}</h3></div>'
        f'<script type="application/json" id="{name}-play">{as_json(record)}</script>'
    )


def _short(array: np.ndarray) -> list[float | None]:
    """Return numbers of five significant digits; what is none, or has no limit, is null."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in array.ravel()]


def _worst(misses: np.ndarray) -> float:
    return float(np.abs(misses).max()) if misses.size else 0.0
