"""Which structures of a machine do the calibration rows admit? Every combination is predicted and scored on them alone.

score = root mean square of the relative errors over the calibration rows of the search. Only readable rows are asked
for (ledger.facts), so that no check can steer a choice. A structure is admissible if its score is within `SLACK` of the
best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.ledger import Facts, Row, facts
from npexplore.machine.parameters import Value
from npexplore.solve.prediction import Prediction
from npexplore.study.points import Point, Predictions
from npexplore.study.quantities import Quantity, quantity_of

if TYPE_CHECKING:
    import pandas as pd

SLACK = 0.005  # of the score: half a percent is what the seeds of a short run leave open

# What the search of the IXP2400's packet buffer varied, and the calibration rows that judged it.
IXP2400_SPACE: Mapping[str, Sequence[Value]] = {
    "dram_part": ("ddr_200", "ddr_266", "ddr_266a", "ddr_333", "ddr_400"),
    "gating": ("before_bus", "whole", "with_bus"),
    "writes": ("like_reads", "bus_first"),
    "precharge_command": ("free", "on_bus"),
    "dram_slots": (6, 7, 8, 16),
    "window": (5, 6, 7, 8),
}
IXP2400_ROWS = (
    "ixp2400.fig9.bandwidth.n0",
    "ixp2400.fig9.bandwidth.n50",
    "ixp2400.fig15.throughput.w128_b4",
    "ixp2400.fig15.bank.w128_b4",
    "ixp2400.fig15.bus.w64_b8",
)


@dataclass(frozen=True)
class Scored:
    """One structure: the parameters set, relative error of each calibration row, and their root mean square."""

    structure: dict[str, Value]
    errors: dict[str, float]
    score: float


def search(
    space: Mapping[str, Sequence[Value]] = IXP2400_SPACE,
    keys: Sequence[str] = IXP2400_ROWS,
    *,
    known: Facts | None = None,
    seeds: int = 1,
    packets: int = 4000,
    executor: Executor | None = None,
) -> list[Scored]:
    """Return every structure of a space with its score, best first.

    Raises InputError if a key is not a calibration row: a search may not read checks.
    """
    readable = known or facts()
    rows = [readable[key] for key in keys]
    found: dict[tuple[tuple[str, Value], ...], dict[str, float]] = {}
    for values in product(*space.values()):
        chosen = dict(zip(space, values, strict=True))
        found[tuple(chosen.items())] = {}
    for name in dict.fromkeys(row.design for row in rows):
        mine = [row for row in rows if row.design == name]
        parameters = design(name).parameters.file.parameter
        cache: dict[tuple[tuple[str, Value], ...], dict[str, float]] = {}
        for structure, errors in found.items():
            part = tuple((knob, value) for knob, value in structure if knob in parameters)
            if part not in cache:
                cache[part] = _errors(mine, dict(part), seeds, packets, executor)
            errors.update(cache[part])
    scored = [Scored(dict(s), e, float(np.sqrt(np.mean(np.square(list(e.values())))))) for s, e in found.items()]
    return sorted(scored, key=lambda item: item.score)


def _errors(
    rows: Sequence[Row], chosen: Mapping[str, Value], seeds: int, packets: int, executor: Executor | None
) -> dict[str, float]:
    predictions = Predictions(
        seeds=tuple(range(1, seeds + 1)), packets=packets, overrides=chosen, solvers=("simulation",)
    )
    rules = [(row, _rule(row)) for row in rows]
    points = [point for row, rule in rules for point in rule.points(row)]
    predictions.fetch(points, executor, label="structures")
    errors = {}
    for row, rule in rules:
        values = [rule.value(row, partial(_known, predictions, seed)) for seed in predictions.seeds]
        assert row.point is not None
        errors[row.key] = row.from_si(float(np.mean(values))) / row.point - 1
    return errors


def _rule(row: Row) -> Quantity:
    rule = quantity_of(row)
    if rule is None:
        raise InputError(f"row {row.key}: no rule says how {row.quantity!r} follows from a run")
    return rule


def _known(predictions: Predictions, seed: int, point: Point) -> Prediction:
    prediction = predictions.at(point, "simulation", seed)
    assert prediction is not None
    return prediction


def admissible(scored: Sequence[Scored]) -> list[Scored]:
    """Return the structures whose score is within SLACK of the best."""
    return [item for item in scored if item.score <= scored[0].score + SLACK]


def frame(scored: Sequence[Scored]) -> pd.DataFrame:
    """Return structures as a table: parameters, relative error of each row, score."""
    import pandas as pd

    return pd.DataFrame([{**item.structure, **item.errors, "score": item.score} for item in scored])
