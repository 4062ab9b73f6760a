"""Rules for the SoCLIB NPU's published quantities: words at egress, peaks over processors, conflicts, element table.

If a row names a range of processors, its number is the mean over the range (a claim must hold for all). One solver
answers a whole curve, so that points of bounds and of simulations are never mixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from npexplore.designs import design
from npexplore.designs.soclib.design import bits_per_cycle, conflict_cycles, words_read
from npexplore.designs.soclib.unit import ELEMENTS, element_cycles, packet_words
from npexplore.ledger import Row
from npexplore.ledger.rules import Rule, rule
from npexplore.machine.parameters import Parameters
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.base import Conditions, Get, MissingError, Quantity, exact, label_of
from npexplore.study.sweeping.points import Point

NEARLY, STOPPED, GREAT, STEPS = (rule(f"soclib.{name}") for name in ("nearly", "stopped", "great", "steps"))
GRIDS: Mapping[tuple[str, str], Rule] = {
    (memory, lock): rule(f"soclib.{memory}_{lock}")
    for memory, lock in (("shared", "mutex"), ("distributed", "mutex"), ("distributed", "spin"))
}
CONDITIONS = Conditions(baseline="lock")


def parameters_at(point: Point) -> Parameters:
    """Return the parameters of a point."""
    return design(point.design).with_(**dict(point.knobs)).parameters


def words(point: Point, prediction: Prediction) -> float:
    """Return the words read at egress at a point."""
    return words_read(parameters_at(point), prediction)


def rate(point: Point, prediction: Prediction) -> float:
    """Return the throughput of a point in bits per cycle."""
    return bits_per_cycle(parameters_at(point), prediction)


def conflicts(point: Point, prediction: Prediction) -> float:
    """Return the conflict cycles of a point; raises MissingError if a solver does not model waiting."""
    cycles = conflict_cycles(parameters_at(point), prediction)
    if cycles is None:
        raise MissingError
    return cycles


def grid(row: Row) -> list[Point]:
    """Return the points of a row over the number of processors."""
    (point,) = CONDITIONS.points(row)
    counts = GRIDS[(str(row.conditions["memory"]), str(row.conditions["lock"]))]
    return [point.with_(processors=n) for n in counts.value]


def points(row: Row) -> list[Point]:
    """Return the points of a row: one, or one for each number of processors in a range."""
    (point,) = CONDITIONS.points(row)
    text = str(row.conditions.get("processors", ""))
    if ".." not in text:
        return [point]
    first, last = (int(end) for end in text.split(".."))
    steps = sorted({*range(first, last + 1, max(1, (last - first) // STEPS.value)), last})
    return [point.with_(processors=n) for n in steps]


def _curve(row: Row, get: Get) -> list[tuple[int, float]]:
    return [(int(str(dict(p.knobs)["processors"])), rate(p, get(p))) for p in grid(row)]


def peak(curve: Sequence[tuple[int, float]]) -> tuple[int, float]:
    """Return (processors, value) of the highest point of a curve."""
    return max(curve, key=lambda point: point[1])


def knee(curve: Sequence[tuple[int, float]]) -> int:
    """Return the fewest processors whose throughput is at least the share `soclib.nearly` of the highest."""
    return next(n for n, x in curve if x >= NEARLY.value * peak(curve)[1])


def collapse(curve: Sequence[tuple[int, float]]) -> int:
    """Return the fewest processors beyond the peak with less than the share `soclib.stopped` of its throughput.

    Raises MissingError if the curve has no such point.
    """
    top, highest = peak(curve)
    stopped = [n for n, x in curve if n > top and x < STOPPED.value * highest]
    if not stopped:
        raise MissingError
    return stopped[0]


def _ratios(row: Row, get: Get) -> dict[str, float]:
    return {
        f"{dict(p.knobs)['processors']} processors": rate(p, get(p)) / rate(q, get(q))
        for p in points(row)
        for q in [CONDITIONS.baseline_of(row, p)]
    }


def _throughput(row: Row, get: Get) -> dict[str, float | bool]:
    if row.kind != "ordinal":
        return {label_of(p): rate(p, get(p)) for p in points(row)}
    better = "baseline_lock" not in row.conditions
    return {name: x > 1.0 if better else x <= GREAT.value for name, x in _ratios(row, get).items()}


def _against(row: Row) -> list[Point]:
    own_points = points(row)
    if not any(name.startswith("baseline") for name in row.conditions):
        return own_points
    return [*own_points, *(CONDITIONS.baseline_of(row, point) for point in own_points)]


def _table(row: Row) -> dict[str, int]:
    return element_cycles(design(row.design).parameters)


def _share(row: Row) -> float:
    cycles = _table(row)
    element = row.key.rsplit(".", 1)[1]
    return (
        cycles[element] / sum(cycles.values()) if element in ELEMENTS else sum(cycles.values()) / sum(cycles.values())
    )


def _mean_time(row: Row, get: Get) -> float:
    counts = []
    for p in points(row):
        at = parameters_at(p)
        counts.append(float(at.processors * (at.window_cycles - at.boot_cycles)) * packet_words(at) / words(p, get(p)))
    return fmean(counts)


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(_against, _throughput),
    "words read at egress": Quantity(points, lambda row, get: fmean(words(p, get(p)) for p in points(row))),
    "mean time per packet": Quantity(points, _mean_time),
    "throughput ratio": Quantity(_against, _ratios),
    "processors at peak": Quantity(grid, lambda row, get: float(peak(_curve(row, get))[0])),
    "processors at knee": Quantity(grid, lambda row, get: float(knee(_curve(row, get)))),
    "processors at collapse": Quantity(grid, lambda row, get: float(collapse(_curve(row, get)))),
    "conflict cycles": Quantity(points, lambda row, get: fmean(conflicts(p, get(p)) for p in points(row))),
    "service time": exact(lambda row: float(sum(_table(row).values()))),
    "share of total": exact(_share),
}
