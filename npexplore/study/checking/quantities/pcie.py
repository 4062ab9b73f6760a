"""Rules for pcie-bench's measurements on a host: bandwidth of all workers, and latency of one worker's transfer."""

from __future__ import annotations

from collections.abc import Mapping

from npexplore.ledger import Row
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Value
from npexplore.study.checking.quantities.base import Quantity, knobs_of, throughput
from npexplore.study.sweeping.points import Point

SHARE, LONE = rule("pcie.share"), rule("pcie.lone")
BOTH = "both"


def point_of(row: Row) -> Point:
    """Return the point of a row: transfers of one size; a single worker for latencies."""
    conditions = row.conditions
    knobs: dict[str, Value] = {**knobs_of(row), **({"workers": LONE.value} if row.quantity == "latency" else {})}
    return Point.of("pcie", f"{int(conditions['transfer_bytes'])} bytes", knobs, SHARE.value)


def one_way(row: Row) -> float:
    """Return the share of all transfers that a row counts: one direction, which is half if both are measured."""
    return 1 / 2 if row.conditions["op"] == BOTH else 1.0


QUANTITIES: Mapping[str, Quantity] = {
    "bandwidth": Quantity(
        lambda row: [point_of(row)], lambda row, get: one_way(row) * throughput(get(point_of(row)))
    ),
    "latency": Quantity(lambda row: [point_of(row)], lambda row, get: get(point_of(row)).latency_s.mean or 0.0),
}  # fmt: skip
