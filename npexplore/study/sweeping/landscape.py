"""Tabulates a machine's bounds and queueing over a grid of knobs, and interpolates between the nodes of the grid.

    log f(x) between two nodes a < x < b:  (1 - w) log f(a) + w log f(b),  w = log(x / a) / log(b / a)

for one knob after the other (multilinear in logarithms). It is exact for powers of a knob, as most ceilings are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import log
from typing import Any

import numpy as np

from npexplore.designs import design as design_of
from npexplore.designs.base import Design
from npexplore.designs.prepared import DEMANDS
from npexplore.designs.shelf import DesignLike
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike, as_workload
from npexplore.machine.workload_sources import workload as workload_of
from npexplore.records import by_content
from npexplore.solve.simulate import PACKETS
from npexplore.study.sweeping.answers import Answer, Refusal, answer, answer_all
from npexplore.study.sweeping.grid import SweepPoint

MAX_CEILING_RATIO = 6.0  # a ceiling that exceeds this multiple of the lowest at all nodes is left out: it never binds
PRECISION, BUDGET_S = 0.01, 0.2  # precision and time budget of a node's estimate
PACKET_BYTES = "packet_bytes"  # this knob changes the packets of a machine that has no knob of this name


@by_content
@dataclass(frozen=True)
class Landscape:
    """Rates in packets/s over a grid of knobs; arrays have one axis for each knob, in the order of `knobs`.

    queueing is NaN where the model refuses; estimate is NaN where there is none (None: no estimates). bits: counted
    bits per packet, so that rate x bits is the throughput.
    between: knobs that may take values between nodes; other knobs act in steps (lengths that are cut into cells).

    Example:
        >>> import npexplore as npx
        >>> from npexplore.study import landscape
        >>> found = landscape("ixp2400_dram", None, {"banks": [2, 4]})
        >>> found.queueing.shape
        (2,)
    """

    design: str
    knobs: Mapping[str, tuple[Value, ...]]
    ceilings: Mapping[str, np.ndarray]
    queueing: np.ndarray
    bits: np.ndarray
    counted: str
    between: frozenset[str]
    solve: Callable[[Mapping[str, Value]], tuple[dict[str, float], float, float]]
    estimate: np.ndarray | None = None

    @property
    def nodes(self) -> int:
        """The number of machines evaluated."""
        return int(self.bits.size)

    def at(self, point: Mapping[str, Value]) -> tuple[dict[str, float], float, float]:
        """Return (ceiling by resource, queueing, bits) at a point; raises InputError for a point outside the grid."""
        neighbours = [_between(name, values, point[name]) for name, values in self.knobs.items()]
        return (
            {name: _blend(array, neighbours) for name, array in self.ceilings.items()},
            _blend(self.queueing, neighbours),
            _blend(self.bits, neighbours),
        )

    def misses(self, points: int, seed: int) -> dict[str, np.ndarray]:
        """Return the relative errors of interpolated bounds and queueing at random points.

        Values of knobs in `between` are uniform in their logarithm, rounded if the grid's values are integers; values
        of other knobs are nodes. Points where the grid or the model refuses are left out.
        """
        draw = np.random.default_rng(seed)
        errors: dict[str, list[float]] = {"bounds": [], "queueing": []}
        for _ in range(points):
            point = {name: _drawn(values, draw, name in self.between) for name, values in self.knobs.items()}
            ceilings, queueing, _ = self.at(point)
            limits, solved_queueing, _ = self.solve(point)
            errors["bounds"].append(min(ceilings.values()) / min(limits.values()) - 1)
            if np.isfinite(queueing) and np.isfinite(solved_queueing):
                errors["queueing"].append(queueing / solved_queueing - 1)
        return {name: np.array(values) for name, values in errors.items()}


def landscape(
    of: DesignLike,
    workload: WorkloadLike | None,
    knobs: Mapping[str, Sequence[Value]],
    *,
    between: Collection[str] = (),
    estimates: bool = False,
) -> Landscape:
    """Return the landscape of a design; `packet_bytes` changes the packets of a machine that has no such knob.

    of: the machine, or anything that npx.design takes. workload: anything that npx.workload takes (None: the machine's
    own). knobs: values of each knob. between: knobs that may take values between nodes. estimates: also estimate every
    node. Raises InputError unless the values of each knob are rising positive numbers, or names.
    """
    design = design_of(of)
    packets = None if workload is None else as_workload(workload)
    grid = {name: tuple(values) for name, values in knobs.items()}
    for name, values in grid.items():
        numbers = [value for value in values if not isinstance(value, str)]
        if numbers and (len(numbers) < len(values) or numbers[0] <= 0 or sorted(set(numbers)) != numbers):
            raise InputError(f"values of knob {name} must be names, or rising numbers above 0, got {list(values)}")

    question = partial(_question, design, packets)
    nodes = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    answers: list[tuple[dict[str, float], float, float]] = []
    for first in range(0, len(nodes), DEMANDS):  # in batches, which need few calls of the queueing model
        questions = [question(node) for node in nodes[first : first + DEMANDS]]
        solved = answer_all(questions, PACKETS)
        answers += [_rates(sweep_point, prediction) for sweep_point, prediction in zip(questions, solved, strict=True)]
    shape = tuple(len(values) for values in grid.values())
    names = dict.fromkeys(name for ceilings, *_ in answers for name in ceilings)
    lowest = np.array([min(ceilings.values()) for ceilings, *_ in answers])
    arrays = {name: np.array([ceilings.get(name, np.inf) for ceilings, *_ in answers]) for name in names}
    binding = {
        name: array.reshape(shape) for name, array in arrays.items() if (array < MAX_CEILING_RATIO * lowest).any()
    }
    return Landscape(
        design.name, grid, binding, np.array([rate for _, rate, _ in answers]).reshape(shape),
        np.array([bits for *_, bits in answers]).reshape(shape), design.demands(packets).machine.counted,
        frozenset(between), partial(_solve, design, packets),
        np.array([_estimated(question(node)) for node in nodes]).reshape(shape) if estimates else None,
    )  # fmt: skip


def _question(design: Design, packets: Workload | None, point: Mapping[str, Value]) -> SweepPoint:
    """Return the sweep point of a grid point, to be solved by queueing."""
    load, settings = packets, dict(point)
    if PACKET_BYTES in settings and PACKET_BYTES not in design.parameters.file.parameter:
        load = workload_of(packet_bytes=int(settings.pop(PACKET_BYTES)))
    return SweepPoint(design.with_(**settings), load, "queueing", None)


def _solve(
    design: Design, packets: Workload | None, point: Mapping[str, Value]
) -> tuple[dict[str, float], float, float]:
    """Return (ceiling by resource, queueing, bits) of a point."""
    sweep_point = _question(design, packets, point)
    return _rates(sweep_point, answer(sweep_point))


def _estimated(point: SweepPoint) -> float:
    """Return the estimated rate of a point in packets/s (NaN: there is no estimate)."""
    try:
        return float(point.design.estimate(point.workload, precision=PRECISION, budget=BUDGET_S).rate_pps)
    except NpexploreError:
        return float("nan")


def _rates(point: SweepPoint, waiting: Answer) -> tuple[dict[str, float], float, float]:
    """Return ceilings, the queueing model's rate (NaN: it refuses) and counted bits per packet of a point."""
    demands = point.design.demands(point.workload)
    rate = float("nan") if isinstance(waiting, Refusal) else float(waiting.rate_pps)
    return demands.ceilings(), rate, float(demands.counted_bits)


def _between(name: str, values: Sequence[Value], value: Value) -> list[tuple[int, float]]:
    """Return (node, weight) for a value that is a node, or for the nodes on both sides of it."""
    if value in values:
        return [(list(values).index(value), 1.0)]
    numbers: Any = values
    if isinstance(value, str) or isinstance(values[0], str) or not numbers[0] < value < numbers[-1]:
        raise InputError(f"knob {name} must be within its grid {list(values)}, got {value!r}")
    above = next(k for k, node in enumerate(numbers) if node > value)
    weight = log(value / numbers[above - 1]) / log(numbers[above] / numbers[above - 1])
    return [(above - 1, 1 - weight), (above, weight)]


def _blend(array: np.ndarray, ways: Sequence[Sequence[tuple[int, float]]]) -> float:
    total = 0.0
    for corner in product(*ways):
        weight = float(np.prod([share for _, share in corner]))
        total += weight * log(float(array[tuple(node for node, _ in corner)]))
    return float(np.exp(total))


def _drawn(values: Sequence[Value], draw: np.random.Generator, between: bool) -> Value:
    if not between or isinstance(values[0], str):
        return values[int(draw.integers(len(values)))]
    numbers: Any = values
    value = float(np.exp(draw.uniform(log(numbers[0]), log(numbers[-1]))))
    return round(value) if all(isinstance(number, int) for number in numbers) else value
