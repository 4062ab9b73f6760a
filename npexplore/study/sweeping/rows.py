"""Makes the rows of a sweep: the question (design, knobs, workload, solver, seed) and the answer, units in the names.

    design, KNOB..., workload, workload_key, arrivals, offered_mpps, solver, seed, packets, version, model,
    throughput_bps, ..., refused, utilization_RESOURCE...

`model` and `version` distinguish rows of another model or another npexplore (study/sweeping/identity.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from npexplore.designs import Design
from npexplore.errors import InputError
from npexplore.machine.workload import Workload, offered_rate
from npexplore.solve.batch_answers import Answers
from npexplore.solve.prediction import UTILIZATION, line_columns
from npexplore.study.sweeping.answers import Answer, Refusal, solved
from npexplore.study.sweeping.grid import SEEDED, SweepPoint
from npexplore.study.sweeping.identity import code_version, model_key
from npexplore.study.sweeping.tables import SLICE_ROWS, beside, concatenate, tabulate, taken

T = TypeVar("T")
TEXT, WHOLE, REAL = pa.string(), pa.int64(), pa.float64()
ASKED = {
    "design": TEXT, "workload": TEXT, "workload_key": TEXT, "mean_packet_bytes": REAL, "mean_frame_bytes": REAL,
    "arrivals": TEXT, "offered_mpps": REAL, "solver": TEXT,
    "seed": WHOLE, "packets": WHOLE, "version": TEXT, "model": TEXT,
}  # fmt: skip
ANSWERED = {
    "throughput_bps": REAL, "throughput_low_bps": REAL, "throughput_high_bps": REAL, "counted": TEXT,
    "rate_mpps": REAL, "bottleneck": TEXT, "latency_mean_ns": REAL, "latency_p50_ns": REAL, "latency_p95_ns": REAL,
    "latency_p99_ns": REAL, "latency_p999_ns": REAL, "latency_low_ns": REAL, "latency_high_ns": REAL,
    "loss": REAL, "dropped": WHOLE, "refused": TEXT, "rate_low_mpps": REAL, "rate_high_mpps": REAL,
    **{f"latency_{name}_{end}_ns": REAL for name in ("p50", "p95", "p99") for end in ("low", "high")},
    "line_rate_mpps": REAL, "line_rate_share": REAL,
    "loss_low": REAL, "loss_high": REAL, "precision": REAL, "method": TEXT,
}  # fmt: skip
SCHEMA: dict[str, pa.DataType] = {**ASKED, **ANSWERED}
UNITS = {
    "offered_mpps": "Mpps", "packets": "packets", "throughput_bps": "bit/s", "throughput_low_bps": "bit/s",
    "throughput_high_bps": "bit/s", "rate_mpps": "Mpps", "latency_mean_ns": "ns", "latency_p50_ns": "ns",
    "latency_p95_ns": "ns", "latency_p99_ns": "ns", "latency_p999_ns": "ns",
    "latency_low_ns": "ns", "latency_high_ns": "ns", "loss": "1", "dropped": "packets", "rate_low_mpps": "Mpps",
    "rate_high_mpps": "Mpps", "loss_low": "1", "loss_high": "1", "precision": "1",
    "mean_packet_bytes": "bytes", "mean_frame_bytes": "bytes",
    "line_rate_mpps": "Mpps", "line_rate_share": "1",
    **{f"latency_{name}_{end}_ns": "ns" for name in ("p50", "p95", "p99") for end in ("low", "high")},
}  # fmt: skip
# knobs whose name is also a column of every sweep
RENAMED = {"version": "design_version", "rate_mpps": "design_rate_mpps", "arrivals": "design_arrivals"}


def questions(points: Sequence[SweepPoint], packets: int) -> pa.Table:
    """Return the question of each point as a row; raises InputError for a workload or knob that a row cannot hold.

    A row holds the design's knobs, and other parameters that are changed at any point of the design. A design or
    workload that several points share is described once.
    """
    of_design = _numbered(points, lambda point: id(point.design))
    with_load = _numbered(points, _load_of)
    designs = [points[k].design for k in of_design.first]
    columns_by_design = _columns(designs)
    described = _in_slices(
        designs,
        lambda design: {**_question_columns(design, columns_by_design[design.name]), "model": model_key(design)},
    )
    described = taken(described, of_design.number)
    offered = _in_slices([points[k] for k in with_load.first], lambda point: _offered(point.design, point.workload))
    offered = taken(offered, with_load.number)
    simulated = np.array([point.solver == "simulation" for point in points])
    seeded = np.array([point.solver in SEEDED for point in points])
    seeds = np.array([1 if point.seed is None else point.seed for point in points], np.int64)
    solver_columns = {
        "solver": pa.array([point.solver for point in points], TEXT),
        "seed": pa.array(seeds, WHOLE, mask=~seeded),
        "packets": pa.array(np.full(len(points), packets, np.int64), WHOLE, mask=~simulated),
        "version": pa.array([code_version()] * len(points), TEXT),
    }
    table = beside(beside(described, offered), pa.table(solver_columns))
    return table.select([name for name in table.column_names if name != "model"] + ["model"])


def _load_of(point: SweepPoint) -> Hashable:
    """Return a key of a point's packets: the workload, with the design if it brings or changes packets."""
    plain = point.design.own is None and point.design.dress is None
    return id(point.workload) if plain else (id(point.design), id(point.workload))


class _Numbered(NamedTuple):
    """Numbers of the distinct keys of points: each point's number, and the first point with each number."""

    number: npt.NDArray[np.int64]
    first: list[int]


def _numbered(points: Sequence[SweepPoint], what: Callable[[SweepPoint], Hashable]) -> _Numbered:
    numbers: dict[Hashable, int] = {}
    point_numbers = np.empty(len(points), np.int64)
    first: list[int] = []
    for k, point in enumerate(points):
        point_numbers[k] = number = numbers.setdefault(what(point), len(numbers))
        if number == len(first):
            first.append(k)
    return _Numbered(point_numbers, first)


def _in_slices(things: Sequence[T], describe: Callable[[T], dict[str, Any]]) -> pa.Table:
    """Return one row for each thing; at most SLICE_ROWS rows exist as Python objects at the same time."""
    starts = range(0, len(things), SLICE_ROWS)
    slices = (things[start : start + SLICE_ROWS] for start in starts)
    return concatenate([tabulate([describe(thing) for thing in part], SCHEMA) for part in slices]).combine_chunks()


def _question_columns(design: Design, shown: Sequence[str]) -> dict[str, Any]:
    """Return a design's name and parameters as columns, without recording them as read."""
    changed, known = design.parameters.changed(), design.parameters.file.parameter
    values = {RENAMED.get(name, name): changed.get(name, known[name].value) for name in shown if name in known}
    return {"design": design.name, **values}


def _offered(design: Design, workload: Workload | None) -> dict[str, Any]:
    """Return the packets that arrive at a design as columns."""
    load = design.workload(workload)
    offered = offered_rate(load) if load.arrivals == "timestamps" else load.rate_pps
    return {
        "workload": load.name,
        "workload_key": load.key,
        "arrivals": load.arrivals,
        "mean_packet_bytes": load.mean_packet_bytes,
        "mean_frame_bytes": load.mean_frame_bytes,
        "offered_mpps": None if offered is None else offered / 1e6,
    }


def answered(answer: Answer) -> dict[str, Any]:
    """Return the columns of a solver's answer, or the reason in `refused`."""
    if isinstance(answer, Refusal):
        return {**dict.fromkeys(ANSWERED), "refused": answer.reason}
    return answer.record()


def answered_rows(points: Sequence[SweepPoint], packets: int) -> pa.Table:
    """Return the answers of one task as rows, in the order of its points; workers send columns instead of objects."""
    alone, batches = solved(points, packets)
    tables = [tabulate([answered(answer) for answer in alone.values()], SCHEMA)] if alone else []
    tables += [_batch_rows(answers) for _, answers in batches]
    order = [*alone, *(k for numbers, _ in batches for k in numbers)]
    return concatenate(tables).take(np.argsort(order))


def _batch_rows(answers: Answers) -> pa.Table:
    """Return the answers of a batch as rows, equal to the rows of its points answered one by one."""
    names = np.array(answers.names, dtype=object)
    values = {
        "throughput_bps": answers.throughput_bps,
        "counted": [answers.batch.like.machine.counted] * len(answers),
        "rate_mpps": answers.rate_pps * answers.batch.finished / 1e6,
        "bottleneck": names[answers.bottleneck],
        "latency_mean_ns": answers.latency_s * 1e9,
        **line_columns(answers.rate_pps * answers.batch.finished, answers.line_pps),
        **({"loss": np.maximum(0.0, answers.about["loss"])} if "loss" in answers.about else {}),
    }
    columns = {
        name: pa.array(values[name], kind) if values.get(name) is not None else pa.nulls(len(answers), kind)
        for name, kind in ANSWERED.items()
    }
    shares = {UTILIZATION + name: pa.array(busy, REAL) for name, busy in answers.utilization.items()}
    return pa.table({**columns, **shares})


def units(designs: Iterable[Design], names: Iterable[str]) -> dict[str, str]:
    """Return the unit of each column that has one, for a sweep over some designs ("1": a share)."""
    unit_by_name = dict(UNITS)
    for design in {design.name: design for design in designs}.values():
        for name, parameter in design.parameters.file.parameter.items():
            if parameter.unit:
                unit_by_name.setdefault(RENAMED.get(name, name), parameter.unit)
    return {
        name: "1" if name.startswith(UTILIZATION) else unit_by_name[name]
        for name in names
        if name in unit_by_name or name.startswith(UTILIZATION)
    }


def arranged(names: Iterable[str], question: Sequence[str]) -> list[str]:
    """Return column names in a fixed order: names in `question`, other knobs, answer, utilizations."""
    rest = [name for name in names if name not in question]
    knobs = sorted(name for name in rest if name not in ANSWERED and not name.startswith(UTILIZATION))
    shares = sorted(name for name in rest if name.startswith(UTILIZATION))
    return [
        *(name for name in question if name in names),
        *knobs,
        *(name for name in ANSWERED if name in rest),
        *shares,
    ]


def _columns(designs: Sequence[Design]) -> dict[str, list[str]]:
    """Return by design name the parameters that become columns: knobs, and parameters changed at some point."""
    columns: dict[str, dict[str, None]] = {}
    kinds: dict[str, tuple[type, str]] = {}
    for design in designs:
        parameters = design.parameters.file.parameter
        if design.name not in columns:
            columns[design.name] = {name: None for name, parameter in parameters.items() if parameter.kind == "knob"}
        columns[design.name].update(dict.fromkeys(design.parameters.changed()))
    for design in {design.name: design for design in designs}.values():
        for name in columns[design.name]:
            if RENAMED.get(name, name) in SCHEMA or name.startswith(UTILIZATION):
                raise InputError(f"knob {name!r} of {design.name} has the name of a column of every sweep")
            kind = type(design.parameters.file.parameter[name].value)
            first_kind, first_design = kinds.setdefault(name, (kind, design.name))
            if (kind is str) != (first_kind is str):
                raise InputError(
                    f"knob {name!r} is text in one of {first_design}, {design.name} and a number in the other"
                )
    return {name: list(names) for name, names in columns.items()}
