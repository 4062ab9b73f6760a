"""Figs. 11 and 14 out of synthesised engines: rate per area, and which virtual routers to merge.

    rate per area = rate of the event engine / (clusters x engines x LUTs of an engine (threads))      (/ scale)
    Fig. 14       = its rules (virtual_routers.py) with these LUTs, for the threads that all programs were made with

One scale for all engines leaves ratios as they are: it only weighs engines against what a processor has beside them.
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
PROGRAMS = ("labels", "ipv4", "ipv4+mpls")  # of the virtual routers: M, I, B
DEVICE = "v7855t"
AGAINST = ("isolated", "merged")


def per_area(design: Design, stores: str, seed: int = 1) -> list[dict[str, Any]]:
    """Return a record for each configuration of Fig. 11: rate, LUTs of its engines, Mpps for a thousand of them.

    scaled: with the scale of one calibration cell of Fig. 12.
    """
    p = design.parameters
    sizes = [tuple(int(n) for n in str(name).split("-")) for name in FIG11.value]
    knobs = [
        {"clusters": c, "engines": e, "threads": t, "proto": PROTO.value, "protocols": PROTO.value,
         "rate_mpps": MPPS.value} for c, e, t in sizes
    ]  # fmt: skip
    predictions, by_one = simulated(design, knobs, seed), scale(p, stores)
    records = []
    for (clusters, engines, threads), got in zip(sizes, predictions, strict=True):
        luts = clusters * engines * engine_luts("ipv4", threads, stores).mean
        each = got.rate_pps / 1e6 / (luts / 1000)
        records.append({
            "configuration": f"{clusters}-{engines}-{threads}", "engines": engines, "threads": threads,
            "mpps": got.rate_pps / 1e6, "luts": luts, "per_area": each, "scaled": each / by_one,
        })  # fmt: skip
    return records


def gains(records: list[dict[str, Any]], more: str) -> dict[int, float]:
    """Return by the number of the other how many times the rate per area is from the fewest to the most of `more`.

    more: "threads" or "engines".
    """
    other = {"threads": "engines", "engines": "threads"}[more]
    ratios: dict[int, float] = {}
    for at in sorted({one[other] for one in records}):
        mine = sorted((one for one in records if one[other] == at), key=lambda one: int(one[more]))
        ratios[at] = mine[-1]["per_area"] / mine[0]["per_area"]
    return ratios


def common_threads(stores: str) -> tuple[int, ...]:
    """Return the numbers of threads that engines of all programs of virtual routers were synthesised with."""
    known = [
        {one.threads for one in syntheses() if (one.program, one.stores, one.scheduler) == (program, stores, "ready")}
        for program in PROGRAMS
    ]
    return tuple(sorted(set.intersection(*known)))


def engines_of(design: Design, stores: str, scaled: bool = False) -> Engines:
    """Return what synthesised engines take of Fig. 14's device; scaled: with the one scale of Fig. 12."""
    p = design.parameters
    factor = (scale(p, stores) if scaled else 1.0) / float(p[DEVICES[DEVICE]])
    return Engines(
        lambda threads, spoken: factor * engine_luts("+".join(spoken), threads, stores).mean, common_threads(stores)
    )


def merged(design: Design, stores: str, scaled: bool = False, fixed: float | None = 0.0) -> dict[str, Any]:
    """Return Fig. 14 by synthesised engines: `groups` of each configuration, mean savings against the other methods.

    fixed: what a processor has beside engines, in per cent of the reference (None: the model's own assumption).
    """
    areas, groups, saved = engines_of(design, stores, scaled), {}, []
    for name in map(str, CONFIGURATIONS.value):
        processors = {one: consolidate(design, name, one, fixed=fixed, engines_of=areas) for one in METHODS}
        ours = area(processors["protocol"])
        groups[name] = grouping(processors["protocol"])
        saved.append([1 - ours / area(processors[against]) for against in AGAINST])
    means = (fmean(column) for column in zip(*saved, strict=True))
    return {"groups": groups, **dict(zip(AGAINST, means, strict=True))}


def ways(fitted: Design, measured: Design, stores: str) -> list[dict[str, Any]]:
    """Return Fig. 14 with measured and fitted cycles, engines unfitted and with one scale.

    Unfitted, a processor has nothing beside its engines; with the scale it has what the model assumes.
    """
    return [
        {"cycles": cycles, "engines": "scaled" if scaled else "unfitted",
         **merged(machine, stores, scaled, None if scaled else 0.0)}
        for cycles, machine, scaled in (
            ("measured", measured, False), ("measured", measured, True), ("fitted", fitted, True),
        )
    ]  # fmt: skip
