"""Results that JMT stored in its files, beside the answers of our solvers (`npexplore solve FILE --compare-stored`).

A .jsimg file has means of a simulation with the interval of the last sample, a .jmva file those of an algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from npexplore.errors import InputError
from npexplore.networks.jmt_file import read_file
from npexplore.networks.result import NetworkResult
from npexplore.strict_input import Entry


class Stored(NamedTuple):
    """A stored mean. station, class_name: "" for all of them; low, high: its interval, None without one."""

    station: str
    class_name: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None


# measure of JMT -> field of a station's results
AT_STATIONS = {
    "Number of Customers": "mean_number", "Queue Time": "mean_wait", "Response Time": "mean_response",
    "Throughput": "throughput", "Utilization": "utilization",
}  # fmt: skip
OF_CLASSES = {"System Response Time": "mean_response", "System Throughput": "throughput"}


def stored_results(path: Path) -> list[Stored]:
    """Return the means that a file of JMT has; raises InputError if it has none."""
    root = read_file(path)
    found = [*_simulated(root), *_solved(root)]
    if not found:
        raise InputError(f"{path.name}: no results are stored in this file")
    return found


def beside(stored: Sequence[Stored], results: Sequence[NetworkResult]) -> list[dict[str, Any]]:
    """Return a row for each stored mean: what was stored, and what each solver says (None: it has no such mean)."""
    rows = []
    for one in stored:
        ours = {result.solver: None if result.refused else _ours(one, result) for result in results}
        rows.append({
            "station": one.station or None, "class": one.class_name or None, "measure": one.measure,
            "stored": one.value, "low": one.low, "high": one.high, "ours": ours,
            "difference": {
                solver: None if value is None or not one.value else value / one.value - 1
                for solver, value in ours.items()
            },
        })  # fmt: skip
    return rows


def _simulated(root: Entry) -> Iterator[Stored]:
    for measure in [entry for results in root.every("results") for entry in results.every("measure")]:
        text = measure.value("@finalValue", "")
        samples = measure.every("sample")
        if not text and not samples:
            continue
        value = measure.number(text or samples[-1].value("@meanValue"), "finalValue")
        ends = [samples[-1].value(end, "") if samples else "" for end in ("@lowerBound", "@upperBound")]
        low, high = (measure.number(end) if end else None for end in ends)
        yield Stored(
            measure.value("@referenceStation", ""), measure.value("@referenceClass", ""),
            measure.value("@name").rpartition("_")[2], value, low, high,
        )  # fmt: skip


def _solved(root: Entry) -> Iterator[Stored]:
    for solution in root.every("solutions")[:1]:
        for station in solution.every("stationresults"):
            for one in station.every("classresults"):
                for measure in one.every("measure"):
                    text = measure.value("@meanValue", "")
                    if text:
                        yield Stored(
                            station.value("@station"), one.value("@customerclass"), measure.value("@measureType"),
                            measure.number(text, "meanValue"),
                        )  # fmt: skip


def _ours(one: Stored, result: NetworkResult) -> float | None:
    """Return what a solver says of a stored mean."""
    only = next(iter(result.classes)) if len(result.classes) == 1 else ""
    name = "" if one.class_name == only else one.class_name
    if one.measure in OF_CLASSES:
        return _field(result.classes.get(one.class_name or only), OF_CLASSES[one.measure])
    there = result.station_classes.get(one.station, {}).get(name) if name else result.stations.get(one.station)
    if one.measure == "Residence Time":
        passes = _field(result.classes.get(one.class_name or only), "throughput")
        number = _field(there, "mean_number")
        return number / passes if passes and number is not None else None
    return _field(there, AT_STATIONS[one.measure]) if one.measure in AT_STATIONS else None


def _field(record: object, name: str) -> float | None:
    found: float | None = getattr(record, name, None)
    return found
