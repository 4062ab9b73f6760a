"""Flows of a capture of any size: exact up to a number of flows, beyond that a sample and the largest flows.

    weight = 1 for the largest flows, 2^k for the other flows whose hash begins with k zero bits

Sums of weights estimate totals. Sampling by a hash takes all packets of a flow or none (Duffield, Lund, Thorup,
"Estimating flow distributions from sampled flow statistics", SIGCOMM 2003), so that distributions of the sample are
those of all flows.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from npexplore.display import ShownByArguments
from npexplore.packets.columns import PacketTable
from npexplore.packets.hashing import in_sample, mixed
from npexplore.packets.statistics.endpoints import FIRST_IPV6, Endpoints, endpoints
from npexplore.packets.statistics.flows import TUPLE, flow_table, numbered, ranked

if TYPE_CHECKING:
    import pandas as pd

MERGE_FLOWS = 1 << 17
FLOW_BYTES = 640  # memory of a flow while two tables of flows are joined
LARGEST_SHARE = 4  # one in LARGEST_SHARE of the stored flows is reserved for the largest flows


class FlowCounter(ShownByArguments):
    """The directed 5-tuples of all packets added, with the columns of `flow_table`; all tables share address numbers.

    packets: number of packets with a whole IP header. most_flows: the largest number of stored flows (None: no limit).
    Beyond it, `sampled` is the number of flows that each sampled flow stands for, and `lacking` bounds the bytes that
    one of the largest flows may lack, because it was discarded while it was small.

    Example:
        >>> from npexplore.packets import CaptureScan, FlowCounter
        >>> counter = FlowCounter()
        >>> for table in CaptureScan("sample:zeek_wikipedia"): counter.add(table)
        >>> len(counter.flows())
        57
    """

    def __init__(self, most_flows: int | None = None) -> None:
        self.packets = 0
        self.most_flows = most_flows
        self.sampled, self.lacking = 1, 0
        self._known: dict[bytes, int] = {}
        self._parts: list[pd.DataFrame] = []
        self._waiting = 0

    def add(self, table: PacketTable) -> None:
        """Add a table's packets."""
        ends = endpoints(table)
        self.packets += len(ends.rows)
        part = flow_table(table, ends=ends)
        if len(ends.ipv6):
            numbers = [self._known.setdefault(row.tobytes(), len(self._known)) for row in ends.ipv6]
            shared_numbers = FIRST_IPV6 + np.array(numbers, np.int64)
            for end in ("src", "dst"):
                column = part[end].to_numpy(copy=True)
                is_ipv6 = column >= FIRST_IPV6
                column[is_ipv6] = shared_numbers[column[is_ipv6] - FIRST_IPV6]
                part[end] = column
        self._parts.append(part)
        self._waiting += len(part)
        if self._waiting > max(MERGE_FLOWS, len(self._parts[0])):
            self._merge()

    def flows(self) -> "pd.DataFrame":
        """Return one row per flow, in order of first packets; the stored flows with `weight` if sampled."""
        self._merge()
        stored = self._parts[0]
        if self.sampled == 1:
            return stored
        weight = np.where(self._in_sample(stored), self.sampled, 0)
        weight[self._largest(stored)] = 1
        return stored.assign(weight=weight)[weight > 0].reset_index(drop=True)

    def sample(self) -> "pd.DataFrame":
        """Return all flows, or a sample with the same distributions."""
        self._merge()
        return self._parts[0] if self.sampled == 1 else self._parts[0][self._in_sample(self._parts[0])]

    @property
    def count(self) -> int:
        """The number of flows; if sampled, with a relative standard error of 1 / sqrt(flows of the sample)."""
        return len(self.sample()) * self.sampled

    @property
    def count_text(self) -> str:
        """The number of flows; if sampled, with two standard errors and no digit beyond them."""
        if self.sampled == 1:
            return f"{self.count:,}"
        margin = 2 * self.count / max(len(self.sample()), 1) ** 0.5
        digits = -math.floor(math.log10(max(margin, 1)))
        return f"{round(self.count, digits):,} ± {round(margin, digits):,.0f}"

    def talkers(self, count: int, end: str) -> "pd.DataFrame":
        """Return the addresses that send (`src`) or receive (`dst`) most bytes, as `top_talkers` does."""
        flows = self.flows()
        weight = flows["weight"] if self.sampled > 1 else 1
        packets, octets = flows["packets"] * weight, flows["bytes"] * weight
        return ranked(flows[end].to_numpy(), packets, octets, self.endpoints(), count)

    def endpoints(self) -> Endpoints:
        """Return the numbering of the addresses, to convert them to text; it has no packets."""
        none = np.empty(0, np.int64)
        ipv6 = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, 16)
        return Endpoints(none, none, none, ipv6)

    def _merge(self) -> None:
        import pandas as pd

        if not self._parts:
            self._parts = [flow_table(PacketTable.empty())]
        if len(self._parts) > 1:
            joined = pd.concat(self._parts, ignore_index=True)
            joined["flow"] = numbered({name: joined[name].to_numpy() for name in TUPLE})
            grouped = joined.groupby("flow", sort=False)
            aggregations = {"packets": "sum", "bytes": "sum", "first_ns": "min", "last_ns": "max"}
            merged = grouped.agg({**dict.fromkeys(TUPLE, "first"), **aggregations}).reset_index(drop=True)
            merged["duration_s"] = (merged["last_ns"] - merged["first_ns"]) * 1e-9
            self._parts = [merged]
        self._waiting = 0
        if self.most_flows is not None and len(self._parts[0]) > self.most_flows:
            self._parts = [self._thinned(self._parts[0], self.most_flows)]

    def _thinned(self, flows: "pd.DataFrame", most: int) -> "pd.DataFrame":
        """Return the largest flows and a sample of all, together at most `most`."""
        largest = self._largest(flows)
        while (sample := self._in_sample(flows)).sum() > most - len(largest):
            self.sampled *= 2
        sample[largest] = True
        self.lacking += int(flows["bytes"].to_numpy()[~sample].max(initial=0))
        return flows[sample].reset_index(drop=True)

    def _largest(self, flows: "pd.DataFrame") -> NDArray[np.int64]:
        """Return the rows of the flows with the most bytes."""
        count = min(len(flows), (self.most_flows or len(flows)) // LARGEST_SHARE)
        return np.argpartition(-flows["bytes"].to_numpy(), max(count - 1, 0))[:count]

    def _in_sample(self, flows: "pd.DataFrame") -> NDArray[np.bool_]:
        return in_sample(mixed(flows[name].to_numpy() for name in TUPLE), self.sampled)
