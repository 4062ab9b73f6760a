"""Rules for the XDP authors' measurements on a server: program rates by cores, busy shares, latencies, an attack.

Three formulas complement the machine: the busy share at a light load (at most one interrupt per moderation time), the
latency of a packet that waits for an interrupt, and transactions during an attack (the receive core has priority).
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from npexplore import units
from npexplore.designs import design
from npexplore.designs.server.cycles import cycles
from npexplore.designs.server.design import packet_miss
from npexplore.ledger import Row, facts
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Parameters
from npexplore.study.checking.quantities.base import Get, MissingError, Quantity, exact, knobs_of
from npexplore.study.sweeping.points import Point

SHARE, PACKET = rule("server.share"), rule("server.packet_bytes")
ROUND_TRIP_LOST_S, SERVED_SHARE = rule("server.retransmission_s"), rule("server.served_share")
MHZ, US = units.factor("MHz"), units.factor("us")


def offered(row: Row) -> float:
    """Return the highest rate of a row's traffic generators in Mpps, from input rows of the ledger."""
    conditions, inputs = row.conditions, facts()
    flows_key = f"xdp.gen.flows{int(float(conditions.get('flows', 0)))}"
    if flows_key in {row.key for row in inputs}:
        return float(inputs[flows_key].point or 0)
    if conditions.get("program") == "katran":
        return float(inputs["xdp.gen.katran"].point or 0)
    two_generators = conditions.get("stack") == "dpdk" or conditions.get("cqe_compress") == "on"
    return float(inputs["xdp.gen.two" if two_generators else "xdp.gen.one"].point or 0)


def point_of(row: Row) -> Point:
    """Return the point of a row: frames of one size from generators that send at their highest rate."""
    mix = str(row.conditions.get("mix", f"{int(row.conditions.get('packet_bytes', PACKET.value))} bytes"))
    return Point.of("server", mix, {**knobs_of(row), "generated_mpps": offered(row)}, SHARE.value)


def _parameters(row: Row) -> Parameters:
    return design("server").parameters.with_(**knobs_of(row))


def _capacity(p: Parameters) -> float:
    """Return the packets/s of one core."""
    return float(p.clock_mhz) * MHZ / cycles(p)


def _load(row: Row) -> float:
    return float(row.conditions["load_mpps"]) * MHZ


def busy(row: Row) -> float:
    """Return the busy share of a core at a load: time for packets, and for interrupts in the remaining time."""
    p, load = _parameters(row), _load(row)
    packets = load / _capacity(p)
    gap = float(p.moderation_us) * US
    interrupts = min(load, 1 / gap) * float(p[f"interrupt_cycles_{p.stack}"]) / (float(p.clock_mhz) * MHZ)
    return min(1.0, packets + max(0.0, 1 - packets) * interrupts)


def _discards(row: Row, get: Get) -> float:
    return max(0.0, _load(row) - get(point_of(row)).rate_pps)


def _reference(key: str) -> float:
    """Return a calibration row's number in SI units."""
    row = facts()[key]
    return row.si(row.point or 0.0)


def _miss_share(row: Row) -> float:
    """Return a packet's misses over its references to the third-level cache, measured for a program that reads."""
    return packet_miss(_parameters(row)) / _reference("xdp.drop.read.r1024.good.l3refs")


def _per_cycle(row: Row) -> float:
    """Return instructions per cycle: the value of one core, reduced by the cycles of cache misses."""
    p = _parameters(row)
    hit_cycles = cycles(p)
    return _reference(f"xdp.tx.r{p.ring}.ipc.c1") * hit_cycles / (hit_cycles + packet_miss(p) * int(p.miss_cycles))


def _transactions(row: Row) -> float:
    """Return transactions/s during an attack: each waits for the receive core, or for its remaining time."""
    protected = row.conditions["protection"] == "on"
    alone_s = 1 / _reference("xdp.ddos.filter.m0" if protected else "xdp.ddos.bare.m0")
    p = _attacked(protected)
    capacity, attack = _capacity(p), float(row.conditions["attack_mpps"]) * MHZ
    share = attack / capacity
    if share < 1:
        polled, served = share * int(p.poll_packets) / 2 / capacity, float(SERVED_SHARE.value)
        return 1 / (alone_s + polled if protected else alone_s * (1 - served + served / (1 - share)))
    lost = 1 - 1 / share
    return 1 / (alone_s + int(p.ring) / capacity + lost / (1 - lost) * float(ROUND_TRIP_LOST_S.value))


def _attacked(on: bool) -> Parameters:
    settings = {"stack": "xdp", "program": "ddos_filter"} if on else {"stack": "linux", "program": "udp_no_port"}
    return design("server").parameters.with_(**settings)


def _latencies(row: Row) -> tuple[float, float]:
    """Return the latencies in s of packets that arrive just before and just after an interrupt.

    Both include the wires and a polling program. The first is the last packet of a poll, the second waits for the next
    interrupt; packets between them arrive at even intervals. A polling program, and a program that is idle between
    packets, have a single latency.
    """
    base_s, p = _reference("xdp.latency.dpdk.idle"), design("server").parameters
    stack = str(row.conditions["stack"])
    gap_s = float(p.moderation_us) * US
    if stack == "dpdk" or _load(row) < 1 / gap_s:
        lone_s = base_s if stack == "dpdk" else _reference(f"xdp.latency.{stack}.idle")
        return lone_s, lone_s
    program = {"linux": "route", "xdp": "redirect"}[stack]
    service_s = 1 / _capacity(p.with_(stack=stack, program=program))
    return base_s + _load(row) * gap_s * service_s + service_s, base_s + gap_s + service_s


def _latency(row: Row) -> float:
    """Return the mean of the shortest and the longest latency in s; raises MissingError for other statistics."""
    if "statistic" in row.conditions:
        raise MissingError("no formula gives the worst packet's latency")
    return fmean(_latencies(row))


def _share_below(row: Row) -> float:
    """Return the share of packets whose latency is below the time that the row's quantity names."""
    limit_s = float(row.quantity.split()[-2]) * US  # "share of packets below 10 us"
    min_s, max_s = _latencies(row)
    return float(min_s < limit_s) if min_s == max_s else min(1.0, max(0.0, (limit_s - min_s) / (max_s - min_s)))


def _counter(row: Row) -> float:
    raise MissingError("a counter that the model takes from the measurement")


COUNTERS = ("instructions", "L3 references", "branches", "branch misses", "L3 misses", "cycles")
QUANTITIES: Mapping[str, Quantity] = {
    **{f"{name} per packet": exact(_counter) for name in COUNTERS},
    "share of packets below 10 us": exact(_share_below),
    "forwarding rate": Quantity(lambda row: [point_of(row)], lambda row, get: get(point_of(row)).rate_pps),
    "packets the card discards before the host": Quantity(lambda row: [point_of(row)], _discards),
    "utilization": exact(busy),
    "miss share of L3 references": exact(_miss_share),
    "instructions per cycle": exact(_per_cycle),
    "transaction rate": exact(_transactions),
    "offered rate": exact(lambda row: _capacity(_attacked(row.conditions["protection"] == "on"))),
    "latency": exact(_latency),
}  # fmt: skip
