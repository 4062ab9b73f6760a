"""Compares results stored in JMT's files with the answers of our solvers (`npexplore solve FILE --compare-stored`).

A .jsimg file has means of a simulation with the interval of the last sample, a .jmva file has means of an algorithm.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from npexplore.errors import InputError
from npexplore.networks.jmt_file import read_file
from npexplore.networks.records import Network
from npexplore.networks.result import NetworkResult
from npexplore.strict_input import Entry


class Stored(NamedTuple):
    """A stored mean. station, class_name: "" for all of them; low, high: its interval, or None."""

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
    """Return the means stored in a file of JMT, or in FILE-result.jsim beside it; InputError if there are none."""
    root = read_file(path)
    results = [*_simulated(root), *_solved(root)]
    written = [path.with_name(f"{path.name}-result{suffix}") for suffix in (".jsim", ".jsimg")]
    for file in written:  # written by JMT's command line
        if not results and file.is_file():
            results = [*_written(read_file(file))]
    if not results:
        raise InputError(f"{path.name}: no results are stored in this file, nor in {written[0].name}")
    return results


def beside(stored: Sequence[Stored], results: Sequence[NetworkResult], network: Network) -> list[dict[str, Any]]:
    """Return a row for each stored mean with the value of each solver (None: it has no such mean)."""
    return [
        _row(mean, {result.solver: None if result.refused else _ours(mean, result, network) for result in results})
        for mean in stored
    ]


def beside_net(stored: Sequence[Stored], results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each stored mean of a Petri net; results: of its solvers, from `to_dict`."""
    tables = {"Number of Customers": ("places", "mean"), "Firing Throughput": ("transitions", "throughput")}
    rows = []
    for mean in stored:
        values: dict[str, float | None] = {}
        table, column = tables.get(mean.measure, ("", ""))
        for result in results:
            if "places" in result:
                entries = result.get(table) or {}
                entry = entries.get(mean.station) or entries.get(f"{mean.station} {mean.class_name}") or {}
                values[result["solver"]] = entry.get(column)
        rows.append(_row(mean, values))
    return rows


def _row(mean: Stored, values: dict[str, float | None]) -> dict[str, Any]:
    return {
        "station": mean.station or None, "class": mean.class_name or None, "measure": mean.measure,
        "stored": mean.value, "low": mean.low, "high": mean.high, "ours": values,
        "difference": {
            solver: None if value is None or not mean.value else float(value / mean.value - 1)
            for solver, value in values.items()
        },
    }  # fmt: skip


def _simulated(root: Entry) -> Iterator[Stored]:
    for measure in [entry for results in root.every("results") for entry in results.every("measure")]:
        text = measure.value("@finalValue", "")
        samples = measure.every("sample")
        if not text and not samples:
            continue
        if samples and not text:  # a what-if run has one sample per step; the first is for the file's values
            samples = samples[:1]
        value = measure.number(text or samples[-1].value("@meanValue"), "finalValue")
        ends = [samples[-1].value(end, "") if samples else "" for end in ("@lowerBound", "@upperBound")]
        low, high = (measure.number(end) if end else None for end in ends)
        yield Stored(
            measure.value("@referenceStation", ""), measure.value("@referenceClass", ""),
            measure.value("@name").rpartition("_")[2], value, low, high,
        )  # fmt: skip


def _written(root: Entry) -> Iterator[Stored]:
    for measure in root.every("measure"):
        ends = [measure.value(end, "") for end in ("@lowerLimit", "@upperLimit")]
        low, high = (measure.number(end) if end else None for end in ends)
        yield Stored(
            measure.value("@station", ""), measure.value("@class", ""), measure.value("@measureType"),
            measure.number(measure.value("@meanValue")), low, high,
        )  # fmt: skip


def _solved(root: Entry) -> Iterator[Stored]:
    for solution in root.every("solutions")[:1]:
        for station in solution.every("stationresults"):
            for results in station.every("classresults"):
                for measure in results.every("measure"):
                    text = measure.value("@meanValue", "")
                    if text:
                        yield Stored(
                            station.value("@station"), results.value("@customerclass"), measure.value("@measureType"),
                            measure.number(text, "meanValue"),
                        )  # fmt: skip


def _ours(mean: Stored, result: NetworkResult, network: Network) -> float | None:
    """Return a solver's value for a stored mean; None for a mean that JMT defines differently.

    JMT includes lost customers in the system's throughput, and counts a customer that changes its class as a new one.
    """
    single_class = next(iter(result.classes)) if len(result.classes) == 1 else ""
    class_result = result.classes.get(mean.class_name or single_class)
    if mean.measure in (*OF_CLASSES, "Residence Time") and (network.switches or _field(class_result, "loss")):
        return None
    if mean.measure in OF_CLASSES:
        return _field(class_result, OF_CLASSES[mean.measure])
    name = "" if mean.class_name == single_class else mean.class_name
    here = result.station_classes.get(mean.station, {}).get(name) if name else result.stations.get(mean.station)
    if mean.measure == "Residence Time":
        passes, number = _field(class_result, "throughput"), _field(here, "mean_number")
        return number / passes if passes and number is not None else None
    if mean.measure == "Utilization" and name:
        station, service = network.station.get(mean.station), network.classes[name].service.get(mean.station)
        throughput = _field(here, "throughput")
        if station is None or service is None or throughput is None or station.rates or station.when_full == "block":
            return None
        return throughput * service.moments()[0] / station.servers
    return _field(here, AT_STATIONS[mean.measure]) if mean.measure in AT_STATIONS else None


def _field(record: object, name: str) -> float | None:
    value: float | None = getattr(record, name, None)
    return value
