"""Rules for the RAW router's published quantities: rates by version and length, gains between versions, latencies.

    latency of the null router = interrupts and polls + time of a lone packet until its last word left the line card
    latency of another version = null router at 64 bytes + stages of Table 2 + time of a lone packet for further bytes

The study adds up its stages (Sec. 5.1), although they overlap in the machine. A lone packet is simulated at a load so
light that it meets no other packet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from npexplore.designs import design
from npexplore.designs.raw.traffic import lookup_cycles
from npexplore.ledger import Row
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Parameters
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.base import Get, Quantity, exact, knobs_of, ratio, throughput
from npexplore.study.sweeping.points import Point

VERSIONS, USUAL_VERSION, NULL = (rule(f"raw.{n}") for n in ("versions", "usual_version", "null_version"))
TRACE_PREFIX = rule("raw.trace_prefix")
LONG, LONG_SHARE, SHORT = rule("raw.usual_bytes"), rule("raw.long_share"), rule("raw.short_bytes")
LIGHT, LIGHT_SHARE, MISPRINT = rule("raw.light_gbps"), rule("raw.light_share"), rule("raw.misprint")
TRACE = "raw_trace"


def numbers() -> Parameters:
    """Return the machine's parameters."""
    return design("raw").parameters


def at(version: str, load: int | str | None = None, **knobs: str | float) -> Point:
    """Return the point of a version. load: packet bytes (None: long packets), or "trace" with its short prefixes."""
    load = LONG.value if load is None else load
    share = LONG_SHARE.value if load == LONG.value else 1.0
    if load == "trace":
        return Point.of("raw", TRACE, {"version": version, "prefix": TRACE_PREFIX.value, **knobs})
    return Point.of("raw", f"{load} bytes", {"version": version, **knobs}, share)


def point_of(row: Row) -> Point:
    """Return the point of a row; 1500-byte packets if the row names none."""
    knobs = {name: value for name, value in knobs_of(row).items() if name != "version"}
    load = "trace" if row.conditions.get("mix") == "trace" else row.conditions.get("packet_bytes")
    version = row.conditions.get("version") or USUAL_VERSION.value
    return at(str(version), int(load) if isinstance(load, float | int) else load, **knobs)


def baseline_of(row: Row) -> Point:
    """Return the baseline point of a comparison."""
    changed = {
        name.removeprefix("baseline_"): value
        for name, value in row.conditions.items()
        if name.startswith("baseline_") and name != "baseline_packet_bytes"
    }
    parameters, point = numbers().file.parameter, point_of(row)
    return Point.of(
        point.design,
        point.mix,
        {**dict(point.knobs), **{k: parameters[k].check(k, v) for k, v in changed.items()}},
        point.share,
    )


def pair(row: Row) -> list[Point]:
    """Return the point and the baseline point of a comparison."""
    return [point_of(row), baseline_of(row)]


def one(number: Callable[[Prediction], float | bool]) -> Quantity:
    """Return the quantity `number` of the prediction at the row's point."""
    return Quantity(lambda row: [point_of(row)], lambda row, get: number(get(point_of(row))))


def between(points: Callable[[Row], list[Point]], of: Callable[[float], float]) -> Quantity:
    """Return the quantity `of(throughput at the first point / throughput at the second point)`."""

    def value(row: Row, get: Get) -> float:
        first, second = points(row)
        return of(ratio(throughput(get(first)), throughput(get(second))))

    return Quantity(points, value)


def _throughput(row: Row, get: Get) -> float:
    """Return the throughput in bit/s, doubled if the row counts each bit on its way in and out."""
    return throughput(get(point_of(row))) * (2 if row.conditions.get("counted") == "twice" else 1)


def _gain(ratio: float) -> float:
    return ratio - 1


def claimed(name: str, load: Callable[[], int], knob: str = "") -> Callable[[Row], list[Point]]:
    """Return the function of the two points of a claim without versions; the scoring rule `raw.NAME` has its sides.

    load: returns the packet bytes. knob: the knob whose two values are the sides (empty: two versions are).
    """
    sides = rule(f"raw.{name}")

    def points(row: Row) -> list[Point]:
        first, second = sides.value
        return [at(first, load()), at(first, load(), **{knob: second}) if knob else at(second, load())]

    return points


# ---- ratios to other systems


def _over_system(row: Row, get: Get) -> float:
    p, answer = numbers(), get(point_of(row))
    if row.conditions["system"] == "general_purpose":
        return answer.throughput_bps / float(p.general_purpose_gbps * 1e9)
    if row.conditions.get("packet_bytes") == SHORT.value:
        return answer.rate_pps / float(p.ixp1200_mpps * 1e6)
    return answer.throughput_bps / float(p.ixp1200_gbps * 1e9)


def _trace_points(row: Row) -> list[Point]:
    return [at(version, load) for version in VERSIONS.value for load in ("trace", SHORT.value)]


def _trace_against_short(row: Row, get: Get) -> dict[str, float]:
    """Return the ratio of packets/s on the trace to packets/s of 64 bytes, by version."""
    short = SHORT.value
    return {v: get(at(v, "trace")).rate_pps / get(at(v, short)).rate_pps for v in VERSIONS.value}


# ---- latency


def _alone(version: str, size: int) -> Point:
    point = at(version, size, offered_gbps=LIGHT.value)
    return replace(point, share=LIGHT_SHARE.value)


def _version(row: Row) -> str:
    return str(row.conditions.get("version") or USUAL_VERSION.value)


def _cycles(get: Get, version: str, size: int) -> float:
    """Return the cycles of a lone packet until its last word has left the line card."""
    p = numbers()
    inside_cycles = (get(_alone(version, size)).latency_s.mean or 0.0) * float(p.clock_mhz) * 1e6
    return float(inside_cycles + 8 * size / (float(p.card_gbps) * 1e9) * float(p.clock_mhz) * 1e6)


def stages_cycles(p: Parameters) -> float:
    """Return the sum in cycles of the stages of a packet whose lookup misses the cache (Table 2)."""
    return float(lookup_cycles(p, p.prefix, "miss") + p.checksum_cycles + p.update_cycles + p.dequeue_cycles)


def _summed(row: Row, get: Get, size: int) -> float:
    """Return a packet's latency in cycles as the study adds it up."""
    version, p = _version(row), numbers()
    if version == NULL.value:
        return float(p.interrupt_cycles) + _cycles(get, version, size)
    further_bytes_cycles = _cycles(get, version, size) - _cycles(get, version, SHORT.value)
    return float(p.interrupt_cycles) + _cycles(get, NULL.value, SHORT.value) + stages_cycles(p) + further_bytes_cycles


def _latency_points(row: Row) -> list[Point]:
    version, size = _version(row), int(row.conditions.get("packet_bytes") or LONG.value)
    if version == NULL.value:
        return [_alone(version, size)]
    return [_alone(version, size), _alone(version, SHORT.value), _alone(NULL.value, SHORT.value)]


def _latency(row: Row, get: Get) -> float:
    latency = _summed(row, get, int(row.conditions["packet_bytes"]))
    return latency * float(MISPRINT.value) * 1e-9 if row.unit == "ns" else latency  # ns: as printed, cycles x 0.425


def _overhead(row: Row, get: Get) -> float:
    """Return latency(1500 bytes) - latency(64 bytes) - two cycles per further word, in cycles."""
    long, short = int(LONG.value), int(SHORT.value)
    return _summed(row, get, long) - _summed(row, get, short) - 2 * (long - short) / int(numbers().word_bytes)


def _long_penalty(row: Row) -> float:
    cached = str(row.conditions["cache"])
    sides = [lookup_cycles(numbers(), str(row.conditions[name]), cached) for name in ("prefix", "baseline_prefix")]
    return sides[0] / sides[1] - 1


def _by_memory(prediction: Prediction) -> bool:
    """Return whether a part of the memory has the largest working share (busy - blocked) of all resources."""
    busy = {
        name: share.busy - share.blocked
        for name, share in prediction.utilization.items()
        if not name.startswith(("threads", "queue")) and not name.endswith((".space", ".room"))
    }
    return max(busy, key=lambda name: busy[name]).startswith(("dram", "mdn", "reads"))


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(lambda row: [point_of(row)], _throughput),
    "forwarding rate": one(lambda prediction: prediction.rate_pps),
    "throughput improvement": between(pair, _gain),
    "throughput loss": between(pair, lambda ratio: 1 - ratio),
    "throughput ratio": Quantity(lambda row: [point_of(row)], _over_system),
    "bottleneck": one(_by_memory),
    "latency": Quantity(_latency_points, _latency),
    "service time": Quantity(_latency_points, _overhead),
    "extra time": exact(_long_penalty),
    "raw.trace.below_64": Quantity(_trace_points, _trace_against_short),
    # claims of Sec. 7 that name no versions
    "raw.claim.static_gdn_over_mdn": between(claimed("static_gdn_over_mdn", lambda: LONG.value), _gain),
    "raw.claim.dor_penalty": between(claimed("dor", lambda: LONG.value, "layout"), lambda ratio: 1 - 1 / ratio),
    "raw.claim.static_gain": between(claimed("static_gain", lambda: SHORT.value), _gain),
    "raw.claim.streaming_over_dma": between(claimed("streaming", lambda: LONG.value, "write"), _gain),
}  # fmt: skip
