"""A controller that issues the commands of DDR SDRAM, each at the first moment that every rule of the part allows.

    closed page:  slot -> bank -> ACT -> tRCD -> RD/WR with auto precharge -> tCL/tWL -> data -> leave
    open page:    slot -> bank -> row open? hit RD/WR; miss ACT first; conflict PRE, tRP, ACT first
    between them: tRC tRAS tRP tRTP tWR of a bank; tRRD tFAW tCCD tWTR and turn-around of the channel; a command a clock
    refresh:      every tREFI all banks are precharged, then tRFC nothing
    writes:       like reads, or posted: gathered until `high` are there, then drained to `low`, no read between

Accesses of a bank are served in order of arrival; accesses of different banks overtake each other. The rules are those
of DramTiming; ddr_commands.py has them as engine operations.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.address_map import AddressMap
from npexplore.machine.resources.base import Example, Hold, OwnFaces, Server, Uses, count_of, known
from npexplore.machine.resources.ddr_commands import Access
from npexplore.machine.resources.dram_timing import SLACK, DramTiming
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Constant, Expression, Operand, Values, Variable, ceildiv, maximum

Page = Literal["closed", "open"]
First = Literal["column", "row"]
FASTEST_WITHOUT_GROUPS = 0.9375e-9  # clock period of DDR3-2133 (JESD79-3); DDR4 and DDR5 are faster, with bank groups


@dataclass(frozen=True)
class WriteBuffer:
    """Posted writes: `entries` of a channel; `high` waiting ones start a drain that leaves `low`.

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


class DdrController(OwnFaces, kind="ddr"):
    """`channels` alike channels of `banks` banks behind a bus of `bus_bytes`; `slots` accesses at once in a channel.

    Visits name a `bank` (counted over all channels) and, with open pages, its `row`; or with an `address_map` an
    `address`. An access is one burst of `burst_length` transfers, or as many as its bytes need, all in one row.
    first: who gets the command bus where a column and a row command could go in the same clock: "column" keeps the data
    bus full, "row" the banks. None: column commands with open pages or where the bus is the scarcer, else row commands.
    whole_clocks: commands go at clock edges and every distance is rounded up to clocks, as synchronous parts want it.
    For bounds and queueing an access to an open page is a row hit (the most that is possible).

    Example:
        >>> from npexplore.machine import DdrController, DramTiming, dram_parts
        >>> part = DramTiming.of(dram_parts()["ddr_400"])
        >>> DdrController("dram", part, banks=4, bus_bytes=8, slots=16).name
        'dram'
    """

    WHY = "commands go when the rules that all accesses share allow it"
    EXAMPLE = Example(
        {"timing": "ddr_400", "banks": 4, "bus_bytes": 8, "slots": 8},
        "read",
        {"bytes": 64, "bank": "random"},
        more={"banks": 8, "slots": 16, "write_buffer": {"entries": 32, "high": 24}, "address_map": {}},
    )
    VISITS = {"read": ("bytes", "bank", "row", "address"), "write": ("bytes", "bank", "row", "address")}
    OPTIONAL = {"bank": 0, "row": 0, "address": 0}

    def __init__(
        self, name: str, timing: DramTiming, banks: int, bus_bytes: int, slots: int, burst_length: int = 8, *,
        page: Page = "closed", channels: int = 1, whole_clocks: bool = True, address_map: AddressMap | None = None,
        write_buffer: WriteBuffer | None = None, first: First | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.banks = count_of(f"{name}: banks", banks)
        self.channels = count_of(f"{name}: channels", channels)
        self.slots = count_of(f"{name}: slots", slots)
        self.page: Page = one_of(f"{name}: page", page, get_args(Page))  # type: ignore[assignment]
        if count_of(f"{name}: burst_length", burst_length, least=2) % 2:
            raise ModelError(f"{name}: burst_length must be even (two transfers a clock), got {burst_length!r}")
        self.burst_bytes = burst_length * count_of(f"{name}: bus_bytes", bus_bytes)
        if min(timing.t_cl, timing.t_wl) < timing.t_ck or not timing.t_ck:
            raise ModelError(f"{name}: t_cl and t_wl must be at least t_ck, and t_ck above 0, got {timing}")
        if address_map is not None:
            address_map.check(name, banks, channels)
        if timing.t_ck < FASTEST_WITHOUT_GROUPS * (1 - SLACK):
            warnings.warn(
                f"{name}: a clock period of {1e9 * timing.t_ck:.4g} ns is that of a part with bank groups, which this "
                "kind does not know: row hits within one group come out up to 50 % too fast; take dram_controller",
                stacklevel=2,
            )
        self.address_map, self.write_buffer, self.whole_clocks = address_map, write_buffer, whole_clocks
        t = self.timing = timing.in_clocks() if whole_clocks else timing
        # distances that are sums: seconds between commands
        self.burst = burst_length // 2 * t.t_ck
        self.same = max(t.t_ccd, self.burst)  # read to read, write to write
        self.read_to_write = self._up(max(self.same, t.t_cl + self.burst + t.t_rtw - t.t_wl))
        self.write_to_read = self._up(max(self.same, t.t_wl + self.burst + t.t_wtr))
        self.read_close = max(self.burst - t.t_ccd, 0.0) + max(t.t_rtp, t.t_ccd)  # to the precharge
        self.write_close = self._up(t.t_wl + self.burst + t.t_wr)
        self.cycle = max(t.t_rc, t.t_ras + t.t_rp)
        self.rows_apart = t.t_rrd > t.t_ck  # else the command bus keeps them apart
        self.window = t.t_faw > 4 * max(t.t_rrd, t.t_ck)  # else four row commands never come too close
        row_limit = max(t.t_rrd, t.t_faw / 4, self.cycle / self.banks)
        best: First = "column" if page == "open" or self.same >= row_limit else "row"
        self.first: First = best if first is None else one_of(f"{name}: first", first, get_args(First))  # type: ignore[assignment]

    def _up(self, seconds: float) -> float:
        return self.timing.up(seconds) if self.whole_clocks else seconds

    def latency(self, read: bool) -> float:
        """Return the seconds from a column command to its first data."""
        return self.timing.t_cl if read else self.timing.t_wl

    def close(self, read: bool) -> float:
        """Return the seconds from a column command to the precharge."""
        return self.read_close if read else self.write_close

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Its clock, at whose edges commands go, or without edges every distance of commands."""
        if self.whole_clocks:
            return {"t_ck": self.timing.t_ck}
        return {f.name: seconds for f in fields(self.timing) if (seconds := getattr(self.timing, f.name))}

    def servers(self) -> list[Server]:
        """Slots, banks, row commands (tRRD), window of four (tFAW), command bus, data bus; the rest for the engine."""
        name, members, inside = self.name, self.channels, f"{self.name}.slots"
        t, always = self.timing, self.page == "closed"  # else a visit's row may be closed, and another open
        missed, opened = (0.0, 0.0) if always else (self.cycle, t.t_rp + t.t_rcd)
        servers = [
            Server(inside, members=members, units=self.slots, role="limit"),
            Server(f"{name}.bank", members=self.banks * members),
            Server(f"{name}.command", members=members, discipline="keyed"),
            Server(f"{name}.column", members=members, role="hidden"),
            Server(f"{name}.bus", members=members, unseen_busy_s=missed / self.banks, unseen_s=opened),
        ]
        if self.rows_apart:
            servers.append(Server(f"{name}.activate", members=members))
        if self.window:
            servers.append(Server(f"{name}.window", members=members, units=4))
        if self.timing.t_rfc:
            servers.append(Server(f"{name}.quiet", members=members, units=self.banks, role="hidden"))
        if self.write_buffer is not None:
            servers.append(Server(f"{name}.turn", members=members, units=self.slots, role="hidden"))
            servers.append(Server(f"{name}.posted", members=members, units=self.write_buffer.entries, role="hidden"))
            servers.append(Server(f"{name}.posted.waiting", members=members, units=0, role="hidden"))
        return servers

    def _check(self, method: str, given: Mapping[str, object]) -> None:
        """Raise ModelError if a visit does not say where it goes, or says it twice."""
        needs = {"address"} if self.address_map else {"bank", "row"} if self.page == "open" else {"bank"}
        for name in sorted(needs - set(given)):
            why = "an address map" if self.address_map else f"{self.page} pages"
            raise ModelError(f"{self.name}.{method} needs the operand {name!r}: the controller has {why}")
        known_names = needs | {"bytes"} | ({"row"} if not self.address_map else set())
        for name in sorted(set(given) - known_names):
            why = "an" if self.address_map else "no"
            raise ModelError(f"{self.name}.{method} must not have the operand {name!r}: it has {why} address map")

    def _place(self, values: Mapping[str, Values | None]) -> tuple[Values | None, Values | None]:
        """Return bank and channel of a visit's operands (None: random)."""
        bank = values["address"] if self.address_map else values["bank"]
        if bank is None:
            return None, None
        if self.address_map:
            bank = self.address_map.bank_of(bank, self.banks, self.channels)
        return bank, np.floor_divide(bank, self.banks)

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """What one access occupies without contention; with open pages, one that hits its row."""
        self._check(method, values)
        t, name, read = self.timing, self.name, method == "read"
        bank, channel = self._place(values)
        bursts = np.maximum(np.ceil(known(self, method, "bytes", values) / self.burst_bytes), 1.0)
        last = (bursts - 1) * self.same + (max(t.t_rcd, t.t_ck) if self.page == "closed" else 0.0)
        issued = last + t.t_ck
        moved = bursts * self.burst_bytes
        counts: dict[str, Values] = {f"{name}.bytes": moved, f"{name}.accesses": np.ones_like(bursts)}
        if self.page == "closed":
            row_commands = 1
            busy = np.maximum(self.cycle, last + self.close(read) + t.t_rp)
        else:
            row_commands = 0
            busy = issued
            counts |= {f"{name}.row_hits": np.ones_like(bursts)}
            counts |= {f"{name}.row_misses": np.zeros_like(bursts), f"{name}.row_conflicts": np.zeros_like(bursts)}
        commands = (bursts + row_commands) * t.t_ck
        latency = last + self.latency(read) + self.burst
        nothing = np.zeros_like(latency)
        posted = self.write_buffer is not None and not read
        # inside the bank's time; for queueing the scarcest of them keeps its time, and the bank what is left
        rules = {"command": (commands, commands), "bank": (busy, busy / self.banks)}
        if self.page == "closed" and self.rows_apart:
            rules["activate"] = (nothing + t.t_rrd, nothing + t.t_rrd)
        if self.page == "closed" and self.window:
            rules["window"] = (nothing + t.t_faw, nothing + t.t_faw / 4)
        scarcest = np.stack([np.broadcast_to(share, busy.shape) for _, share in rules.values()]).argmax(axis=0)
        kept = {rule: np.where(scarcest == k, rules[rule][0], nothing) for k, rule in enumerate(rules)}
        rest = np.maximum(busy - sum(kept[rule] for rule in rules if rule != "bank"), 0.0)
        holds = [
            Hold(f"{name}.slots", latency, nothing, member=channel),
            Hold(f"{name}.column", (bursts - 1) * self.same + t.t_ck, nothing, member=channel),
            Hold(f"{name}.bus", bursts * self.burst, member=channel),
            Hold(f"{name}.bank", busy, rest, member=bank),
        ]
        for rule, (seconds, _) in rules.items():
            if rule != "bank":
                visits = bursts + row_commands if rule == "command" else 1.0
                holds.append(Hold(f"{name}.{rule}", seconds, kept[rule], visits, channel))
        if t.t_rfc:
            holds.append(Hold(f"{name}.quiet", issued, nothing, member=channel))
        if self.write_buffer is not None and read:
            holds.append(Hold(f"{name}.turn", issued, nothing, member=channel))
        data = nothing + self.burst  # the last of them; until then the packet is at the bank
        way: dict[str, Values] = {} if posted else {f"{name}.bus": data, f"{name}.bank": latency - data}
        return Uses(nothing if posted else latency, holds, counts=counts, aside=posted, limit=f"{name}.slots", way=way)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """The access as engine operations; a posted write goes on by itself."""
        self._check(method, operands)
        row: Operand = operands.get("row", 0)
        if self.address_map is not None:
            bank, row = self.address_map.emit(operands["address"], self.banks, self.channels, asm)
        else:
            bank = _once(asm, operands["bank"], "bank")
            row = _once(asm, row, "row")
        channel = _once(asm, bank // self.banks, "channel") if self.channels > 1 else 0
        bursts = _once(asm, maximum(ceildiv(operands["bytes"], self.burst_bytes), 1), "bursts")
        access = Access(self, asm, method == "read", bank, channel, row, bursts)
        with asm.scope():
            if self.write_buffer is not None and method == "write":
                access.post()
            else:
                access.run()
        asm.count(f"{self.name}.bytes", bursts * self.burst_bytes)

    def note(self, asm: Assembler, command: str, access: Access, time: Expression) -> None:
        """Called where a command is issued, with its time in ticks; a tracer may append operations here."""


def _once(asm: Assembler, value: Operand, name: str) -> Operand:
    """Return a constant as it is, anything else in a register of its own."""
    if isinstance(value, int | float | Constant):
        return value
    variable = Variable(name)
    asm.let(variable, value)
    return variable
