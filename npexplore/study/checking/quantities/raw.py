"""The RAW router's published quantities: rates by version and length, steps from version to version, latencies.

Latency is the paper's sum (Sec. 5.1): what the null router takes to move a packet, the stages, and beyond 64 bytes what
the packet buffer adds, from runs in which packets do not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

from npexplore.designs import design
from npexplore.designs.raw.traffic import lookup_cycles
from npexplore.ledger import Row
from npexplore.machine.parameters import Parameters
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.base import Get, Quantity, knobs_of, throughput
from npexplore.study.sweeping.points import Point

VERSIONS = ("v1", "v2", "v3", "v4")  # those of Fig. 15
TRACE = "raw_trace"
SHORT, LONG = 64, 1500
LIGHT = 0.2  # Gb/s offered in all: packets do not meet
MISPRINT = 0.425  # Tables 1 and 2 print cycles x 0.425 as nanoseconds


def facts() -> Parameters:
    """Return the machine's numbers."""
    return design("raw").parameters


def at(version: str, load: int | str = LONG, **knobs: str | float) -> Point:
    """Return the point of a version: packets of one length (bytes) or the trace, whose routes are short."""
    if load == "trace":
        return Point.of("raw", TRACE, {"version": version, "prefix": "short", **knobs})
    return Point.of("raw", f"{load} bytes", {"version": version, **knobs})


def point_of(row: Row) -> Point:
    """Return the point of a row; 1500 bytes where it names no packets."""
    chosen = {name: value for name, value in knobs_of(row).items() if name != "version"}
    load: int | str = "trace" if row.conditions.get("mix") == "trace" else int(row.conditions.get("packet_bytes", LONG))
    return at(str(row.conditions.get("version", "v3")), load, **chosen)


def baseline_of(row: Row) -> Point:
    """Return the other side of a comparison."""
    changed = {
        name.removeprefix("baseline_"): value
        for name, value in row.conditions.items()
        if name.startswith("baseline_") and name != "baseline_packet_bytes"
    }
    known, point = facts().file.parameter, point_of(row)
    return Point.of(
        point.design, point.mix, {**dict(point.knobs), **{k: known[k].check(k, v) for k, v in changed.items()}}
    )


def pair(row: Row) -> list[Point]:
    """Return both sides of a comparison."""
    return [point_of(row), baseline_of(row)]


def one(number: Callable[[Prediction], float | bool]) -> Quantity:
    """Return the quantity that is a number of the row's point."""
    return Quantity(lambda row: [point_of(row)], lambda row, get: number(get(point_of(row))))


def between(points: Callable[[Row], list[Point]], of: Callable[[float], float]) -> Quantity:
    """Return a quantity of the throughputs' ratio at two points."""

    def value(row: Row, get: Get) -> float:
        first, second = points(row)
        return of(throughput(get(first)) / throughput(get(second)))

    return Quantity(points, value)


def gain(*points: Point) -> Quantity:
    """Return the improvement of the first of two points over the second."""
    return between(lambda row: list(points), lambda ratio: ratio - 1)


# ---- ratios to other systems


def _over_system(row: Row, get: Get) -> float:
    p, answer = facts(), get(point_of(row))
    if row.conditions["system"] == "general_purpose":
        return answer.throughput_bps / float(p.general_purpose_gbps * 1e9)
    if row.conditions.get("packet_bytes") == SHORT:
        return answer.rate_pps / float(p.ixp1200_mpps * 1e6)
    return answer.throughput_bps / float(p.ixp1200_gbps * 1e9)


def _trace_points(row: Row) -> list[Point]:
    return [at(version, load) for version in VERSIONS for load in ("trace", SHORT)]


def _trace_against_short(row: Row, get: Get) -> float:
    """Packets a second on the trace over those of 64 bytes, mean of the versions."""
    return fmean(get(at(v, "trace")).rate_pps / get(at(v, SHORT)).rate_pps for v in VERSIONS)


# ---- latency


def _alone(version: str, size: int) -> Point:
    return at(version, size, offered_gbps=LIGHT)


def _latency_points(row: Row) -> list[Point]:
    sizes = (SHORT, LONG)
    return [_alone(str(row.conditions.get("version", "v3")), size) for size in sizes] + [
        _alone("null", size) for size in sizes
    ]


def cycles(get: Get, version: str, size: int) -> float:
    """Return the latency of a packet in cycles, as the paper sums it."""
    p = facts()
    moved = {SHORT: p.null_latency_64_cycles, LONG: p.null_latency_1500_cycles}[size]
    if version == "null":
        return float(moved)
    stages = lookup_cycles(p, "long", "miss") + p.checksum_cycles + p.update_cycles + p.dequeue_cycles
    return float(moved + stages + stored(get, version, size))


def stored(get: Get, version: str, size: int) -> float:
    """Return the cycles that a packet buffer adds to a lone packet, beyond what longer packets cost anyway."""

    def longer(which: str) -> float:
        means = [get(_alone(which, length)).latency_s.mean for length in (size, SHORT)]
        return float((means[0] or 0.0) - (means[1] or 0.0))

    return (longer(version) - longer("null")) * float(facts().clock_mhz) * 1e6


def _latency(row: Row, get: Get) -> float:
    found = cycles(get, str(row.conditions["version"]), int(row.conditions["packet_bytes"]))
    return found * MISPRINT * 1e-9 if row.unit == "ns" else found  # as printed, and as it was measured


def _overhead(row: Row, get: Get) -> float:
    """Cycles of a 1500-byte packet beyond those of a 64-byte one and two for each further word."""
    return cycles(get, "v3", LONG) - cycles(get, "v3", SHORT) - 2 * (LONG - SHORT) / int(facts().word_bytes)


def _long_penalty(row: Row, get: Get) -> float:
    kept = str(row.conditions["cache"])
    sides = [lookup_cycles(facts(), str(row.conditions[name]), kept) for name in ("prefix", "baseline_prefix")]
    return sides[0] / sides[1] - 1


def _by_memory(prediction: Prediction) -> bool:
    """Say whether of all that works (and does not wait for somebody else) a part of the memory is busiest."""
    busy = {
        name: share.busy - share.blocked
        for name, share in prediction.utilization.items()
        if not name.startswith(("threads", "queue")) and not name.endswith((".space", ".room"))
    }
    return max(busy, key=lambda name: busy[name]).startswith(("dram", "mdn", "reads"))


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": one(throughput),
    "forwarding rate": one(lambda prediction: prediction.rate_pps),
    "throughput improvement": between(pair, lambda ratio: ratio - 1),
    "throughput loss": between(pair, lambda ratio: 1 - ratio),
    "throughput ratio": Quantity(lambda row: [point_of(row)], _over_system),
    "bottleneck": one(_by_memory),
    "latency": Quantity(_latency_points, _latency),
    "service time": Quantity(_latency_points, _overhead),
    "extra time": Quantity(lambda row: [], _long_penalty, "exact"),
    "raw.trace.below_64": Quantity(_trace_points, _trace_against_short),
    # the claims of Sec. 7 that name no versions
    "raw.claim.static_gdn_over_mdn": gain(at("v3", LONG), at("v3d", LONG)),
    "raw.claim.dor_penalty": between(
        lambda row: [at("v2", LONG, layout="v1"), at("v2", LONG)], lambda ratio: 1 - ratio
    ),
    "raw.claim.static_gain": gain(at("v3", SHORT), at("v3d", SHORT)),
    "raw.claim.streaming_over_dma": gain(at("v3", LONG), at("v3", LONG, write="dma")),
}  # fmt: skip
