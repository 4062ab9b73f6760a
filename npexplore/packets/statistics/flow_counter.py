"""Flows of a capture of any size: exact, in memory that grows with the flows and not with the packets."""

from typing import TYPE_CHECKING

import numpy as np

from npexplore.display import ShownByArguments
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics.endpoints import FIRST_IPV6, Endpoints, endpoints
from npexplore.packets.statistics.flows import TUPLE, flow_table, numbered, ranked

if TYPE_CHECKING:
    import pandas as pd

MERGE_FLOWS = 1 << 17


class FlowCounter(ShownByArguments):
    """The directed 5-tuples of all packets added, with the columns of `flow_table`; addresses are numbered for all.

    packets: how many packets had a whole IP header.

    Example:
        >>> from npexplore.packets import CaptureScan, FlowCounter
        >>> counter = FlowCounter()
        >>> for table in CaptureScan("sample:zeek_wikipedia"): counter.add(table)
        >>> len(counter.flows())
        57
    """

    def __init__(self) -> None:
        self.packets = 0
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
            of_all = FIRST_IPV6 + np.array(numbers, np.int64)
            for end in ("src", "dst"):
                column = part[end].to_numpy(copy=True)
                six = column >= FIRST_IPV6
                column[six] = of_all[column[six] - FIRST_IPV6]
                part[end] = column
        self._parts.append(part)
        self._waiting += len(part)
        if self._waiting > max(MERGE_FLOWS, len(self._parts[0])):
            self._merge()

    def flows(self) -> "pd.DataFrame":
        """Return one row per flow, in order of first packets."""
        self._merge()
        return self._parts[0]

    def talkers(self, count: int, end: str) -> "pd.DataFrame":
        """Return who sends (`src`) or receives (`dst`) most bytes, as `top_talkers` does."""
        flows = self.flows()
        return ranked(flows[end].to_numpy(), flows["packets"], flows["bytes"], self.endpoints(), count)

    def endpoints(self) -> Endpoints:
        """Return the numbering of the addresses, to write them out; it has no packets."""
        none = np.empty(0, np.int64)
        six = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, 16)
        return Endpoints(none, none, none, six)

    def _merge(self) -> None:
        import pandas as pd

        if not self._parts:
            self._parts = [flow_table(PacketTable.empty())]
        if len(self._parts) > 1:
            joined = pd.concat(self._parts, ignore_index=True)
            joined["flow"] = numbered({name: joined[name].to_numpy() for name in TUPLE})
            grouped = joined.groupby("flow", sort=False)
            how = {"packets": "sum", "bytes": "sum", "first_ns": "min", "last_ns": "max"}
            merged = grouped.agg({**dict.fromkeys(TUPLE, "first"), **how}).reset_index(drop=True)
            merged["duration_s"] = (merged["last_ns"] - merged["first_ns"]) * 1e-9
            self._parts = [merged]
        self._waiting = 0
