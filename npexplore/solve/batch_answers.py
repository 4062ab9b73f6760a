"""A solver's answers for a batch of points, as arrays with an axis of points, with the bottleneck of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.machine.line_rates import line_rate
from npexplore.records import by_content
from npexplore.solve.batch import Batch
from npexplore.solve.prediction import Floats, Integers, Latency, Prediction, Utilization


@by_content
@dataclass(frozen=True)
class Answers:
    """A solver's answers for P points: arrays (P,), by server or name; bottleneck: indices into `names`."""

    solver: str
    batch: Batch
    rate_pps: Floats  # per packet of the workload
    names: tuple[str, ...]
    bottleneck: Integers
    utilization: Mapping[str, Floats]
    latency_s: Floats
    approximation: str
    about: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rate_pps)

    @staticmethod
    def joined(batch: Batch, parts: Sequence[tuple[Integers, Answers]]) -> Answers:
        """Return the answers of a batch that was solved in parts; parts: (numbers of its points, answers) of each."""
        answers = [part for _, part in parts]
        names = tuple(dict.fromkeys(name for part in answers for name in part.names))

        def whole(values: Sequence[npt.ArrayLike]) -> npt.NDArray[Any]:
            column = np.zeros(len(batch), dtype=np.result_type(*values))
            for (rows, _), part in zip(parts, values, strict=True):
                column[rows] = part
            return column

        def by_name(tables: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
            return {
                name: whole([table.get(name, 0.0) for table in tables])
                for name in dict.fromkeys(name for table in tables for name in table)
            }

        return Answers(
            answers[0].solver, batch, whole([part.rate_pps for part in answers]), names,
            whole([np.array([names.index(part.names[k]) for k in part.bottleneck]) for part in answers]),
            by_name([part.utilization for part in answers]), whole([part.latency_s for part in answers]),
            "; ".join(dict.fromkeys(part.approximation for part in answers)), by_name([part.about for part in answers]),
        )  # fmt: skip

    @property
    def throughput_bps(self) -> Floats:
        """Counted bits per second (P,)."""
        bits: Floats = self.rate_pps * self.batch.finished * self.batch.counted_bits
        return bits

    @cached_property
    def line_pps(self) -> Floats | None:
        """Packets per second that the wires allow, at every point (None: packets use no wire)."""
        lowest = line_rate(self.batch.like.machine, self.batch.ceilings())
        return None if lowest is None else lowest[1]

    def prediction(self, point: int) -> Prediction:
        """Return the answer at one point."""
        like, rate = self.batch.like, float(self.rate_pps[point])
        offered = self.batch.offered[point]
        rated = like.workload.rate_pps is not None
        return Prediction(
            solver=self.solver,
            throughput_bps=rate * float(self.batch.finished[point]) * float(self.batch.counted_bits[point]),
            rate_pps=rate * float(self.batch.finished[point]),
            counted=like.machine.counted,
            bottleneck=self.names[self.bottleneck[point]],
            utilization={name: Utilization(float(busy[point])) for name, busy in self.utilization.items()},
            latency_s=Latency(mean=float(self.latency_s[point])),
            rates={name: rate * float(amount[point]) for name, amount in self.batch.counts.items()},
            offered_pps=float(offered) if rated else None,
            loss=max(0.0, float(self.about["loss"][point])) if "loss" in self.about else None,
            approximation=self.approximation,
            about={name: float(value[point]) for name, value in self.about.items()},
            line_pps=None if self.line_pps is None else float(self.line_pps[point]),
        )
