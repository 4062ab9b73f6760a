"""Results that JMT stored in its files, beside the answers of our solvers (`npexplore solve FILE --compare-stored`).

A .jsimg file has means of a simulation with the interval of the last sample, a .jmva file those of an algorithm.
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
    """Return the means that a file of JMT has, or FILE-result.jsim beside it; raises InputError if there are none."""
    root = read_file(path)
    results = [*_simulated(root), *_solved(root)]
    written = [path.with_name(f"{path.name}-result{suffix}") for suffix in (".jsim", ".jsimg")]
    for file in written:  # as JMT's command line writes them
        if not results and file.is_file():
            results = [*_written(read_file(file))]
    if not results:
        raise InputError(f"{path.name}: no results are stored in this file, nor in {written[0].name}")
    return results


def beside(stored: Sequence[Stored], results: Sequence[NetworkResult], network: Network) -> list[dict[str, Any]]:
    """Return a row for each stored mean: what was stored, and what each solver says (None: it has no such mean)."""
    return [
        _row(one, {result.solver: None if result.refused else _ours(one, result, network) for result in results})
        for one in stored
    ]


def beside_net(stored: Sequence[Stored], results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each mean stored of a Petri net; results: of its solvers, as `to_dict` returns them."""
    tables = {"Number of Customers": ("places", "mean"), "Firing Throughput": ("transitions", "throughput")}
    rows = []
    for one in stored:
        ours: dict[str, float | None] = {}
        table, column = tables.get(one.measure, ("", ""))
        for result in results:
            if "places" in result:
                known = result.get(table) or {}
                entry = known.get(one.station) or known.get(f"{one.station} {one.class_name}") or {}
                ours[result["solver"]] = entry.get(column)
        rows.append(_row(one, ours))
    return rows


def _row(one: Stored, ours: dict[str, float | None]) -> dict[str, Any]:
    return {
        "station": one.station or None, "class": one.class_name or None, "measure": one.measure, "stored": one.value,
        "low": one.low, "high": one.high, "ours": ours,
        "difference": {
            solver: None if value is None or not one.value else float(value / one.value - 1)
            for solver, value in ours.items()
        },
    }  # fmt: skip


def _simulated(root: Entry) -> Iterator[Stored]:
    for measure in [entry for results in root.every("results") for entry in results.every("measure")]:
        text = measure.value("@finalValue", "")
        samples = measure.every("sample")
        if not text and not samples:
            continue
        if samples and not text:  # of a what-if run, one sample a step: the first is of the file's own values
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
            for one in station.every("classresults"):
                for measure in one.every("measure"):
                    text = measure.value("@meanValue", "")
                    if text:
                        yield Stored(
                            station.value("@station"), one.value("@customerclass"), measure.value("@measureType"),
                            measure.number(text, "meanValue"),
                        )  # fmt: skip


def _ours(one: Stored, result: NetworkResult, network: Network) -> float | None:
    """Return what a solver says of a stored mean; None for one that JMT defines in another way.

    JMT counts lost customers in the system's throughput, and takes a customer that changes its class for a new one.
    """
    only = next(iter(result.classes)) if len(result.classes) == 1 else ""
    whole = result.classes.get(one.class_name or only)
    if one.measure in (*OF_CLASSES, "Residence Time") and (network.switches or _field(whole, "loss")):
        return None
    if one.measure in OF_CLASSES:
        return _field(whole, OF_CLASSES[one.measure])
    name = "" if one.class_name == only else one.class_name
    there = result.station_classes.get(one.station, {}).get(name) if name else result.stations.get(one.station)
    if one.measure == "Residence Time":
        passes, number = _field(whole, "throughput"), _field(there, "mean_number")
        return number / passes if passes and number is not None else None
    if one.measure == "Utilization" and name:
        station, service = network.station.get(one.station), network.classes[name].service.get(one.station)
        throughput = _field(there, "throughput")
        if station is None or service is None or throughput is None or station.rates or station.when_full == "block":
            return None
        return throughput * service.moments()[0] / station.servers
    return _field(there, AT_STATIONS[one.measure]) if one.measure in AT_STATIONS else None


def _field(record: object, name: str) -> float | None:
    value: float | None = getattr(record, name, None)
    return value
