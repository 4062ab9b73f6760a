"""The schema of a file of rules besides rules: classes, policers, queues and schedulers, for all ports or by name.

These records mirror the TOML; `golden/diffserv/edge.py` checks them against a router. Keys: docs/diffserv.md.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from npexplore.toml import Record

Drop = Literal["yellow", "red", "never"]
# size of a packet: IP packet (RFC 2697 section 2); with Ethernet header; also with padding and check sequence
BytesUnit = Literal["ip", "frame", "line"]


class LeakyBucketRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="leaky_bucket"):
    """Quanta rate and depth (`burst`), in bytes or packets as the rate counts (10Mb/s or 62500pps).

    drop: drops packets of this colour or a worse one; never: marks all and drops none. per_rule: each rule that names
    it has a separate policer, else they share one. bytes: a packet's size for the policer.
    """

    rate: str
    burst: int
    tick_ns: int = 1
    drop: Drop = "red"
    per_rule: bool = False
    bytes: BytesUnit = "line"


class SingleRateRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="single_rate"):
    """srTCM (RFC 2697): committed rate, committed and excess burst."""

    rate: str
    burst: int
    excess: int
    aware: bool = False
    drop: Drop = "red"
    per_rule: bool = False
    bytes: BytesUnit = "ip"


class TwoRateRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="two_rate"):
    """trTCM (RFC 2698): peak rate and burst, committed rate and burst."""

    peak: str
    peak_burst: int
    rate: str
    burst: int
    aware: bool = False
    drop: Drop = "red"
    per_rule: bool = False
    bytes: BytesUnit = "ip"


class DifferentiatedTwoRateRecord(Record, frozen=True, kw_only=True, tag_field="kind", tag="differentiated_two_rate"):
    """RFC 4115: committed rate and burst, excess rate and burst; a packet must be smaller than a bucket's tokens."""

    rate: str
    burst: int
    excess_rate: str
    excess_burst: int
    aware: bool = False
    drop: Drop = "red"
    per_rule: bool = False
    bytes: BytesUnit = "ip"


PolicerRecord = LeakyBucketRecord | SingleRateRecord | TwoRateRecord | DifferentiatedTwoRateRecord


class EarlyRecord(Record, frozen=True, kw_only=True):
    """Early drop: thresholds in packets for green, yellow, red; drop probability at `high`; shift of the average."""

    low: tuple[int, int, int]
    high: tuple[int, int, int]
    chance: float = 0.1
    shift: int = 9


class QueueRecord(Record, frozen=True, kw_only=True):
    """A class's queue: weight (in the scheduler's unit), limits in packets and bytes (neither: 64 packets)."""

    weight: int | None = None
    packets: int | None = None
    bytes: int | None = None
    early: EarlyRecord | None = None


class ShapeRecord(Record, frozen=True, kw_only=True):
    """Shaping of a port: a token bucket of this rate and burst in bytes."""

    rate: str
    burst: int


class PortQueuesRecord(Record, frozen=True, kw_only=True):
    """Settings of one port that replace those of all ports."""

    scheduler: str | None = None
    shape: ShapeRecord | None = None
    bytes: BytesUnit | None = None
    queue: dict[str, QueueRecord] = msgspec.field(default_factory=dict)
