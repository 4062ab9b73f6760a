"""Which structures of a machine fit the calibration rows? Every combination is predicted and scored on these rows.

score = root mean square of the relative errors over the calibration rows of the search. Only readable rows are asked
for (ledger.facts), so that no check can steer a choice. A structure is admissible if its score is within `SLACK` of the
best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from npexplore.designs import design
from npexplore.ledger import Facts
from npexplore.machine.parameters import Value
from npexplore.study.checking.fitted_rows import Judge, score

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
    judge = Judge.of(keys, known)
    found: dict[tuple[tuple[str, Value], ...], dict[str, float]] = {}
    for values in product(*space.values()):
        chosen = dict(zip(space, values, strict=True))
        found[tuple(chosen.items())] = {}
    for name in judge.designs:
        mine = Judge(tuple(pair for pair in judge.rows if pair[0].design == name))
        parameters = design(name).parameters.file.parameter
        cache: dict[tuple[tuple[str, Value], ...], dict[str, float]] = {}
        for structure, errors in found.items():
            part = tuple((knob, value) for knob, value in structure if knob in parameters)
            if part not in cache:
                numbers = range(1, seeds + 1)
                cache[part] = mine.errors(mine.predict(dict(part), seeds=numbers, packets=packets, executor=executor))
            errors.update(cache[part])
    scored = [Scored(dict(s), e, score(e)) for s, e in found.items()]
    return sorted(scored, key=lambda item: item.score)


def admissible(scored: Sequence[Scored]) -> list[Scored]:
    """Return the structures whose score is within SLACK of the best."""
    return [item for item in scored if item.score <= scored[0].score + SLACK]


def frame(scored: Sequence[Scored]) -> pd.DataFrame:
    """Return structures as a table: parameters, relative error of each row, score."""
    import pandas as pd

    return pd.DataFrame([{**item.structure, **item.errors, "score": item.score} for item in scored])
