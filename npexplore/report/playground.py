"""Sliders that move a machine's roofline, bottleneck and throughput on a page without Python, from a solved landscape.

JupyterLab shows the same numbers as an explorer with a slider for each knob.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np

from npexplore.designs import design
from npexplore.machine.parameters import Value
from npexplore.machine.workload_sources import workload
from npexplore.plot.explorer import Explorer
from npexplore.records import content_hash
from npexplore.report.shell import as_json
from npexplore.study.sweeping.landscape import Landscape, landscape

MIME = "application/vnd.npexplore.playground+json"
SOLVERS = ("queueing", "estimate")
POINTS, SEED = 25, 23  # random points at which interpolated values are compared with the solvers


@dataclass(frozen=True)
class Playground:
    """The record of a solved landscape, the title of its machine, and the initial positions of the sliders.

    Example:
        >>> from npexplore.report import Playground
        >>> Playground("DRAM", {}, {"banks": 4}).start
        {'banks': 4}
    """

    __hash__ = content_hash

    title: str
    solved: Mapping[str, Any]
    start: Mapping[str, Value]

    def record(self) -> dict[str, Any]:
        """Return the data for the page's script: knobs with their nodes, and rates, flattened in knob order."""
        knobs = [{**knob, "start": self.start[knob["name"]]} for knob in self.solved["knobs"]]
        return {**self.solved, "title": self.title, "knobs": knobs}

    def explorer(self) -> Explorer:
        """Return the same numbers for JupyterLab: bound, queueing and estimate over the first knob."""
        import pandas as pd

        values = {knob["name"]: knob["values"] for knob in self.solved["knobs"]}
        names = list(values)
        nodes = zip(*self.solved["ceilings"].values(), strict=True)
        bounds = [min(filter(None, ceilings), default=float("nan")) for ceilings in nodes]
        curves = {"bound": bounds} | {name: self.solved[name] for name in SOLVERS if name in self.solved}
        rows = [
            (*point, solver, float("nan") if rate is None else rate / 1e6)
            for solver, rates in curves.items()
            for rate, point in zip(rates, product(*values.values()), strict=True)
        ]
        table = pd.DataFrame(rows, columns=[*names, "solver", "mpps"])
        return Explorer(
            table, names[0], "mpps", names[1:], series="solver", title=self.title, x_title=names[0],
            y_title="million packets a second", start={name: self.start[name] for name in names[1:]},
        )  # fmt: skip

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.explorer()._repr_mimebundle_() | {MIME: self.record()}


def solve_landscape(
    name: str, packets: Mapping[str, Any] | None, fixed: Mapping[str, Value], knobs: Mapping[str, Sequence[Value]],
    between: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the record of a listed design's landscape, for a `Playground`.

    Args:
        name: the design.
        packets: arguments of `npexplore.workload` (None: the design's own packets).
        fixed: knobs that have no slider, and their values.
        knobs: knob with a slider -> the nodes of the slider.
        between: knobs whose sliders also take values between nodes.
    """
    load = None if packets is None else workload(**packets)
    return landscape_record(landscape(design(name).with_(**fixed), load, knobs, between=between, estimates=True))


def landscape_record(solved: Landscape) -> dict[str, Any]:
    """Return a landscape with numbers of five digits, and the interpolation errors between its nodes."""
    interpolation_errors = solved.misses(POINTS, SEED)
    return {
        "design": solved.design,
        "knobs": [
            {"name": name, "values": list(values), "between": name in solved.between}
            for name, values in solved.knobs.items()
        ],
        "ceilings": {name: _short(array) for name, array in solved.ceilings.items()},
        "queueing": _short(solved.queueing),
        **({} if solved.estimate is None else {"estimate": _short(solved.estimate)}),
        "bits": _short(solved.bits),
        "counted": solved.counted,
        "nodes": solved.nodes,
        "points": POINTS,
        "missed": {name: _worst(values) for name, values in interpolation_errors.items()},
    }


def playground_div(record: Mapping[str, Any]) -> str:
    """Return the HTML element for the sliders and drawings of the page's script, with the data."""
    name = escape(str(record["design"]), quote=True)
    return (
        f'<div class="play" id="{name}" data-play><h3>{escape(str(record["title"]))}</h3></div>'
        f'<script type="application/json" id="{name}-play">{as_json(record)}</script>'
    )


def _short(array: np.ndarray) -> list[float | None]:
    """Return numbers of five significant digits; None for nan and infinity."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in array.ravel()]


def _worst(misses: np.ndarray) -> float:
    return float(np.abs(misses).max()) if misses.size else 0.0
