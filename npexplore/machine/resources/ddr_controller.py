"""DDR SDRAM behind a plain controller: a part of a data sheet under a policy of DramController that passes nobody.

    a bank serves its accesses in order of arrival; accesses of different banks overtake each other
    a slot is held from the entry to the end of the data; writes are like reads, or posted into a write buffer

The rules are those of DramTiming (JESD79). Parts faster than DDR3-2133 have bank groups and need a DramDevice.
"""

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.address_map import AddressMap
from npexplore.machine.resources.base import Example, count_of
from npexplore.machine.resources.dram_controller import DramController
from npexplore.machine.resources.dram_device import DramDevice
from npexplore.machine.resources.dram_policy import DramPolicy
from npexplore.machine.resources.dram_timing import NANOSECOND, SLACK, DramTiming

Page = Literal["closed", "open"]
First = Literal["column", "row"]
FASTEST_WITHOUT_GROUPS = 0.9375e-9  # clock period of DDR3-2133 (JESD79-3); DDR4 and DDR5 are faster, with bank groups
BURSTS_PER_ROW = 2048  # bursts of an open row without an address map; no rule depends on it


@dataclass(frozen=True)
class WriteBuffer:
    """Posted writes: `entries` of a channel; `high` waiting writes start a drain that leaves `low`.

    Example:
        >>> from npexplore.machine import WriteBuffer
        >>> WriteBuffer(entries=32, high=24, low=8)
        WriteBuffer(entries=32, high=24, low=8)
    """

    entries: int
    high: int
    low: int = 0

    def __post_init__(self) -> None:
        for name, least in (("entries", 1), ("high", 1), ("low", 0)):
            count_of(f"write buffer: {name}", getattr(self, name), least)
        if not self.low < self.high <= self.entries:
            raise ModelError(
                f"write buffer: low must be below high, and high at most entries = {self.entries}, "
                f"got low {self.low} and high {self.high}"
            )


class DdrController(DramController, kind="ddr"):
    """`channels` alike channels of `banks` banks behind a bus of `bus_bytes`; `slots` accesses at once in a channel.

    Visits have a `bank` (counted over all channels) and, with open pages, a `row`; or with an `address_map` an
    `address`. An access is as many bursts of `burst_length` transfers as its bytes need, all in one row.
    first: the command that goes first if a column and a row command could go in the same clock: "column" keeps the data
    bus busy, "row" the banks. None: column commands with open pages or if the bus is the bottleneck, else row commands.
    whole_clocks: commands go at clock edges and every distance is rounded up to clocks, as in synchronous parts.
    For bounds and queueing every access with open pages is a row hit (an upper bound on throughput).

    Example:
        >>> from npexplore.machine import DdrController, DramTiming, dram_parts
        >>> part = DramTiming.of(dram_parts()["ddr_400"])
        >>> DdrController("dram", part, banks=4, bus_bytes=8, slots=16).name
        'dram'
    """

    EXAMPLE = Example(
        {"timing": "ddr_400", "banks": 4, "bus_bytes": 8, "slots": 8},
        "read",
        {"bytes": 64, "bank": "random"},
        more={"banks": 8, "slots": 16, "write_buffer": {"entries": 32, "high": 24}, "address_map": {}},
    )

    def __init__(
        self, name: str, timing: DramTiming, banks: int, bus_bytes: int, slots: int, burst_length: int = 8, *,
        page: Page = "closed", channels: int = 1, whole_clocks: bool = True, address_map: AddressMap | None = None,
        write_buffer: WriteBuffer | None = None, first: First | None = None,
    ) -> None:  # fmt: skip
        count_of(f"{name}: banks", banks)
        count_of(f"{name}: slots", slots)
        one_of(f"{name}: page", page, get_args(Page))
        if count_of(f"{name}: burst_length", burst_length, least=2) % 2:
            raise ModelError(f"{name}: burst_length must be even (two transfers a clock), got {burst_length!r}")
        if min(timing.t_cl, timing.t_wl) < timing.t_ck or not timing.t_ck:
            raise ModelError(f"{name}: t_cl and t_wl must be at least t_ck, and t_ck above 0, got {timing}")
        if timing.t_ck < FASTEST_WITHOUT_GROUPS * (1 - SLACK):
            warnings.warn(
                f"{name}: a clock period of {1e9 * timing.t_ck:.4g} ns is that of a part with bank groups, which this "
                "kind does not know: row hits within one group come out up to 50 % too fast; take dram_controller",
                stacklevel=2,
            )
        t = self.timing = timing.in_clocks() if whole_clocks else timing
        self.page, self.banks, self.slots, self.whole_clocks = page, banks, slots, whole_clocks
        self.write_buffer = write_buffer
        self.burst = burst_length // 2 * t.t_ck
        self.burst_bytes = burst_length * count_of(f"{name}: bus_bytes", bus_bytes)
        if address_map is not None and address_map.row_bytes % self.burst_bytes:
            raise ModelError(
                f"{name}: a burst of burst_length {burst_length} on bus_bytes {bus_bytes} must divide the address "
                f"map's row_bytes = {address_map.row_bytes}, got {self.burst_bytes} bytes"
            )
        data_spacing = max(t.t_ccd, self.burst)
        cycle = max(t.t_rc, t.t_ras + t.t_rp)
        row_spacing = max(t.t_rrd, t.t_faw / 4, cycle / banks)
        default_first: First = "column" if page == "open" or data_spacing > row_spacing * (1 + SLACK) else "row"
        self.first: First = default_first if first is None else one_of(f"{name}: first", first, get_args(First))  # type: ignore[assignment]
        last_prefetch = max(self.burst - t.t_ccd, 0.0)  # start of the last prefetch of a burst, from which tRTP counts
        complete = replace(t, t_rc=cycle, t_ccd=data_spacing, t_rtp=last_prefetch + max(t.t_rtp, t.t_ccd))
        device = DramDevice(
            **{rule: seconds / NANOSECOND for rule, seconds in asdict(complete).items()}, source="DramTiming",
            banks=banks, groups=1, bus_bits=8 * bus_bytes, burst_length=burst_length, transfers=2,
            row_bytes=address_map.row_bytes if address_map else BURSTS_PER_ROW * self.burst_bytes,
        )  # fmt: skip
        buffer = write_buffer or WriteBuffer(1, 1)
        policy = DramPolicy(
            page=page, cap=0, reads=slots, writes=buffer.entries if write_buffer else 0, high=buffer.high,
            low=buffer.low, entries_until="data", order="ready", first=self.first, whole_clocks=whole_clocks,
        )  # fmt: skip
        super().__init__(name, device, channels, policy, address_map)
