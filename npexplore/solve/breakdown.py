"""The breakdown of a packet's latency by resource, into service, waiting, and waiting for a holder that waits itself.

    latency = sum over resources of (service + waiting + held)      and, for closed threads, = threads / rate

service: in service, or holding the resource while no other is visited. waiting: in the resource's line while its
holders work. held: in the line while its holders wait for another resource, which is the cause. Time at no resource
stands under "". The links of one network are one resource. The time that a thread waits for its packet is not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.records import content_hash
from npexplore.results import Result
from npexplore.units import readable

if TYPE_CHECKING:
    from npexplore.engine.accounts import Tally

QUANTILES = {"p50": 0.50, "p99": 0.99}
QUANTILE_HALF_WIDTH = 0.005  # of all packets, to each side of a quantile
Floats = npt.NDArray[np.float64]


class Part(NamedTuple):
    """Seconds of a packet at one resource."""

    resource: str
    service_s: float
    waiting_s: float
    held_s: float

    @property
    def total_s(self) -> float:
        """All three."""
        return self.service_s + self.waiting_s + self.held_s


@dataclass(frozen=True)
class Breakdown(Result):
    """Parts of a latency in seconds, the longest first; resources without time are left out.

    quantiles: "p50" and "p99", each the mean breakdown of the packets around it: those whose latency falls into the
    bins (3 % wide) of the ranks from 0.5 % below to 0.5 % above. Its latency is the mean of these packets.
    classes: by value of the workload's column `class`.

    Example:
        >>> import npexplore as npx
        >>> run = npx.design("smartnic").simulate(64, packets=500)
        >>> run.breakdown.parts[0].resource
        'core'
    """

    latency_s: float
    parts: tuple[Part, ...]
    quantiles: Mapping[str, Breakdown] = field(default_factory=dict)
    classes: Mapping[str, Breakdown] = field(default_factory=dict)

    @staticmethod
    def of(parts: Iterable[Part], latency_s: float | None = None) -> Breakdown:
        """Return the parts sorted; latency_s: their sum, if it is known more precisely than by adding."""
        present = [part for part in parts if any(part[1:])]
        total = sum(part.total_s for part in present) if latency_s is None else latency_s
        return Breakdown(total, tuple(sorted(present, key=lambda part: -part.total_s)))

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each resource, times in nanoseconds."""
        return [
            {"resource": p.resource or "elsewhere", "service_ns": p.service_s * 1e9, "waiting_ns": p.waiting_s * 1e9,
             "held_ns": p.held_s * 1e9, "total_ns": p.total_s * 1e9} for p in self.parts
        ]  # fmt: skip

    def heading(self) -> str:
        """Return the latency."""
        return f"Latency {readable(self.latency_s, 's')}"

    def __repr__(self) -> str:
        parts = ", ".join(f"{p.resource or 'elsewhere'} {readable(p.total_s, 's')}" for p in self.parts)
        return f"Breakdown({readable(self.latency_s, 's')}: {parts})"

    @property
    def waiting(self) -> tuple[tuple[str, float], ...]:
        """Resources that packets wait for, with seconds (waiting and held), the longest first."""
        waits = [(part.resource, part.waiting_s + part.held_s) for part in self.parts]
        return tuple(sorted((wait for wait in waits if wait[1] > 0), key=lambda wait: -wait[1]))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, times in nanoseconds."""
        document: dict[str, Any] = {
            "latency_ns": self.latency_s * 1e9,
            "parts": [
                {"resource": p.resource, "service_ns": p.service_s * 1e9, "waiting_ns": p.waiting_s * 1e9,
                 "held_ns": p.held_s * 1e9} for p in self.parts
            ],
        }  # fmt: skip
        for name, quantile in self.quantiles.items():
            document[name] = quantile.to_dict()
        if self.classes:
            document["classes"] = {name: breakdown.to_dict() for name, breakdown in self.classes.items()}
        return document


def of_tally(tally: Tally, tick: float, by_class: bool) -> Breakdown | None:
    """Return the mean breakdown of a simulation's packets, with quantiles, and by class if wanted (None: no packet)."""
    if not tally.packets.sum():
        return None
    overall = _mean(tally, tick, np.ones(len(tally.packets), dtype=np.bool_), int(tally.latency.sum()))
    classes = {}
    if by_class:
        for number in np.unique(tally.classes[tally.packets > 0]).tolist():
            classes[str(number)] = _mean(tally, tick, tally.classes == number, int(tally.latency[number]))
    return Breakdown(overall.latency_s, overall.parts, overall.quantiles, classes)


def _mean(tally: Tally, tick: float, rows: npt.NDArray[np.bool_], latency: int) -> Breakdown:
    """Return the mean breakdown of the packets in some rows, with quantiles; time in no account is at no resource."""
    ticks = tally.ticks[rows]
    total, missing = ticks.sum(axis=0), latency - int(ticks.sum())
    total[0, 1] += missing
    packets, bins = tally.packets[rows], tally.bins[rows]
    overall = _of_ticks(tally.names, total, int(packets.sum()), tick)
    by_bin = np.bincount(bins, packets)
    ranks = np.cumsum(by_bin) / by_bin.sum()
    quantiles = {}
    for name, q in QUANTILES.items():
        first, last = np.searchsorted(ranks, (q - QUANTILE_HALF_WIDTH, q + QUANTILE_HALF_WIDTH))
        near = (bins >= first) & (bins <= last) & (packets > 0)
        quantiles[name] = _of_ticks(tally.names, ticks[near].sum(axis=0), int(packets[near].sum()), tick)
    return Breakdown(overall.latency_s, overall.parts, quantiles)


def _of_ticks(names: tuple[str, ...], ticks: npt.NDArray[np.int64], packets: int, tick: float) -> Breakdown:
    """Return the mean breakdown of packets; ticks: sums over all packets by place and kind."""
    mean_s = ticks * (tick / packets)
    parts = [Part(name, *row) for name, row in zip(names, mean_s.tolist(), strict=True)]
    return Breakdown.of(parts, int(ticks.sum()) * tick / packets)
