"""Recomputes Figs. 11 and 14 from synthesised engines: rate per area, and which virtual routers to merge.

    rate per area = rate of the event engine / (clusters x engines x LUTs of an engine (threads))      (/ scale)
    Fig. 14       = its rules (virtual_routers.py) with these LUTs, for the threads with which all programs exist

A common scale of all engines does not change ratios between engines; it only weighs engines against a processor's fixed
part.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from npexplore.designs import Design
from npexplore.hardware.area import engine_luts, syntheses
from npexplore.ledger.rules import rule
from npexplore.study.papers.gorilla.performance import simulated
from npexplore.study.papers.gorilla.synthesised import DEVICES, scale
from npexplore.study.papers.gorilla.virtual_routers import (
    CONFIGURATIONS,
    METHODS,
    Engines,
    area,
    consolidate,
    grouping,
)

FIG11, PROTO, MPPS = (rule(f"gorilla.{name}") for name in ("fig11", "fig11_proto", "fig11_mpps"))
PROGRAMS = ("labels", "ipv4", "ipv4+mpls")  # programs of the virtual routers M, I, B
DEVICE = "v7855t"
AGAINST = ("isolated", "merged")


def per_area(design: Design, stores: str, seed: int = 1) -> list[dict[str, Any]]:
    """Return a record for each configuration of Fig. 11: rate, LUTs of its engines, Mpps per thousand LUTs.

    scaled: Mpps per thousand LUTs with the scale of one calibration cell of Fig. 12.
    """
    p = design.parameters
    sizes = [tuple(int(n) for n in str(name).split("-")) for name in FIG11.value]
    knobs = [
        {"clusters": c, "engines": e, "threads": t, "proto": PROTO.value, "protocols": PROTO.value,
         "rate_mpps": MPPS.value} for c, e, t in sizes
    ]  # fmt: skip
    predictions, scaling = simulated(design, knobs, seed), scale(p, stores)
    records = []
    for (clusters, engines, threads), prediction in zip(sizes, predictions, strict=True):
        luts = clusters * engines * engine_luts("ipv4", threads, stores).mean
        per_area = prediction.rate_pps / 1e6 / (luts / 1000)
        records.append({
            "configuration": f"{clusters}-{engines}-{threads}", "engines": engines, "threads": threads,
            "mpps": prediction.rate_pps / 1e6, "luts": luts, "per_area": per_area, "scaled": per_area / scaling,
        })  # fmt: skip
    return records


def gains(records: list[dict[str, Any]], more: str) -> dict[int, float]:
    """Return the ratio of rates per area between the most and the fewest `more`, by the number of the other unit.

    more: "threads" or "engines", and the other unit is engines or threads.
    """
    other = {"threads": "engines", "engines": "threads"}[more]
    ratios: dict[int, float] = {}
    for count in sorted({record[other] for record in records}):
        series = sorted((record for record in records if record[other] == count), key=lambda record: int(record[more]))
        ratios[count] = series[-1]["per_area"] / series[0]["per_area"]
    return ratios


def common_threads(stores: str) -> tuple[int, ...]:
    """Return the numbers of threads with which engines of all virtual routers' programs were synthesised."""
    threads_by_program = [
        {s.threads for s in syntheses() if (s.program, s.stores, s.scheduler) == (program, stores, "ready")}
        for program in PROGRAMS
    ]
    return tuple(sorted(set.intersection(*threads_by_program)))


def engines_of(design: Design, stores: str, scaled: bool = False) -> Engines:
    """Return the areas of synthesised engines on Fig. 14's device; scaled: with the scale of Fig. 12."""
    p = design.parameters
    factor = (scale(p, stores) if scaled else 1.0) / float(p[DEVICES[DEVICE]])
    return Engines(
        lambda threads, protocols: factor * engine_luts("+".join(protocols), threads, stores).mean,
        common_threads(stores),
    )


def merged(design: Design, stores: str, scaled: bool = False, fixed: float | None = 0.0) -> dict[str, Any]:
    """Return Fig. 14 by synthesised engines: `groups` of each configuration, and mean savings against other methods.

    fixed: a processor's fixed part in per cent of the reference (None: the model's assumption).
    """
    areas, groups, saved = engines_of(design, stores, scaled), {}, []
    for name in map(str, CONFIGURATIONS.value):
        processors = {method: consolidate(design, name, method, fixed=fixed, engines_of=areas) for method in METHODS}
        protocol_area = area(processors["protocol"])
        groups[name] = grouping(processors["protocol"])
        saved.append([1 - protocol_area / area(processors[against]) for against in AGAINST])
    means = (fmean(column) for column in zip(*saved, strict=True))
    return {"groups": groups, **dict(zip(AGAINST, means, strict=True))}


def ways(fitted: Design, measured: Design, stores: str) -> list[dict[str, Any]]:
    """Return Fig. 14 with measured and fitted cycles, and with unfitted and scaled engines.

    A processor with unfitted engines has no fixed part; with scaled engines it has the model's fixed part.
    """
    return [
        {"cycles": cycles, "engines": "scaled" if scaled else "unfitted",
         **merged(machine, stores, scaled, None if scaled else 0.0)}
        for cycles, machine, scaled in (
            ("measured", measured, False), ("measured", measured, True), ("fitted", fitted, True),
        )
    ]  # fmt: skip
