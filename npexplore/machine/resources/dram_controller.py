"""DRAM of today behind controllers that schedule: bank groups, sub- and pseudo-channels, write buffers, refresh modes.

    read:   entry of the queue -> (PRE) -> (ACT) -> RD -> tCL -> data -> leave
    write:  entry of the write buffer -> leave; the controller writes when it drains the buffer

The engine schedules the commands (docs/engine_dram.md), by the rules of a DramDevice and a DramPolicy. Bank n is in
bank group n mod groups.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from npexplore._kernels import dram
from npexplore.errors import ModelError
from npexplore.machine.resources.address_map import AddressMap
from npexplore.machine.resources.base import Example, Hold, OwnFaces, Server, Uses, count_of, known
from npexplore.machine.resources.dram_device import TIMES, DramDevice
from npexplore.machine.resources.dram_policy import LATENCIES, DramPolicy, Integers, block, refreshes
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Expression, Operand, Values, Variable, ceildiv, maximum
from npexplore.rows.server import Controller

OUTCOMES = (("row_hits", "M_HITS"), ("row_misses", "M_MISSES"), ("row_conflicts", "M_CONFLICTS"))


class DramController(OwnFaces, kind="dram_controller"):
    """`channels` alike channels of a device, each behind a controller of its own with a policy.

    Visits have a `bank` (counted over all channels and pseudo-channels) and, unless pages are closed, a `row`; or with
    an `address_map` an `address`, whose channel field counts pseudo-channels too. An access is as many bursts as its
    bytes need, all in one row; a narrow access takes a whole burst. A random row is one of 16,384.
    For bounds and queueing every access is a row hit unless pages are closed (an upper bound on throughput).

    Example:
        >>> from npexplore.machine import DramController, dram_devices
        >>> DramController("dram", dram_devices()["ddr5_4800"], channels=2).name
        'dram'
    """

    WHY = "commands go when the rules that all accesses share allow it, in the order that the controller chooses"
    EXAMPLE = Example(
        {"device": "ddr4_3200", "policy": {"page": "closed"}},
        "read",
        {"bytes": 64, "bank": "random"},
        more={"channels": 2, "address_map": {"order": "row bank column channel", "row_bytes": 8192}},
    )
    VISITS = {"read": ("bytes", "bank", "row", "address"), "write": ("bytes", "bank", "row", "address")}
    OPTIONAL = {"bank": 0, "row": 0, "address": 0}
    CHANCE = frozenset({"row"})

    def __init__(
        self, name: str, device: DramDevice, channels: int = 1, policy: DramPolicy | None = None,
        address_map: AddressMap | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.device, self.policy = device, policy or DramPolicy()
        self.channels = count_of(f"{name}: channels", channels)
        self.units = self.channels * device.pseudo_channels
        self.address_map = address_map
        if address_map is not None:
            address_map.check(name, device.banks, self.units)
            if address_map.row_bytes != device.row_bytes:
                raise ModelError(
                    f"{name}: the address map needs row_bytes = {device.row_bytes}, got {address_map.row_bytes}"
                )
        refreshes(device, self.policy)
        t = self.seconds
        self.same = t("t_ccd_l") or t("t_ccd")
        self.cycle = max(t("t_rc"), t("t_ras") + t("t_rp"))
        self.closed, self.grouped = self.policy.page == "closed", device.groups > 1
        self.until_data = self.policy.entries_until == "data"

    def seconds(self, rule: str) -> float:
        """Return a rule in seconds as this controller applies it: rounded up to clocks, except latencies of data."""
        exact: float = getattr(self.device, rule) * 1e-9
        return exact if rule in LATENCIES or not self.policy.whole_clocks else self.device.seconds(rule)

    def opening(self, read: bool) -> float:
        """Return the seconds from a row command to a column command."""
        return self.seconds("t_rcd" if read or not self.device.t_rcd_write else "t_rcd_write")

    def last(self, read: bool) -> float:
        """Return the seconds from a column command to the end of its data."""
        d = self.device
        early = d.column_clocks - 1
        return self.seconds("t_cl" if read else "t_wl") + (d.burst_clocks + early) * d.t_ck * 1e-9

    def clocks(self, needed: bool = False) -> dict[str, float]:
        """Return the distance of command edges, a clock or half a clock; without whole clocks, every rule."""
        d = self.device
        if not self.policy.whole_clocks:
            return {name: seconds for name in ("t_ck", *TIMES) if (seconds := getattr(d, name) * 1e-9)}
        half = d.close_clocks % 1 or d.row_clocks % 1
        return {"half t_ck": d.t_ck * 0.5e-9} if half else {"t_ck": d.t_ck * 1e-9}

    def servers(self) -> list[Server]:
        """Return queue entries, banks, groups, row commands (tRRD), window of four (tFAW), command bus, data bus."""
        d, name = self.device, self.name
        sets, interval, rule = refreshes(d, self.policy)
        bank_refresh_share = getattr(d, rule) / (max(sets, 1) * interval) if sets else 0.0  # of a bank's time
        refresh_share = bank_refresh_share if sets == 1 else 0.0  # share of time in which all banks refresh at once
        approximation = "refresh as time lost" if sets else None
        t, slots = self.seconds, self.policy.reads
        missed, opened = (0.0, 0.0) if self.closed else (self.cycle / d.banks, t("t_rp") + t("t_rcd"))
        servers = [
            Server(f"{name}.slots", members=self.channels, units=slots, role="limit")
            if self.until_data
            else Server(f"{name}.slots", units=self.channels * slots, role="limit"),
            Server(f"{name}.bank", members=self.units * d.banks, away=bank_refresh_share, approximation=approximation),
            Server(f"{name}.activate", members=self.units, away=refresh_share),
            Server(f"{name}.window", members=self.units, units=4, away=refresh_share),
            Server(f"{name}.command", members=self.channels, units=d.command_buses),
            Server(f"{name}.bus", members=self.units, away=refresh_share, unseen_busy_s=missed, unseen_s=opened),
        ]
        if self.grouped:
            servers.insert(2, Server(f"{name}.group", members=self.units * d.groups, away=refresh_share))
        if self.policy.writes:
            servers.append(Server(f"{name}.buffer", units=self.channels * self.policy.writes, role="hidden"))
        return servers

    def _check(self, method: str, operands: Mapping[str, object]) -> None:
        """Raise ModelError if the operands of a visit do not identify its bank and row, or do so twice."""
        needs = {"address"} if self.address_map else {"bank"} if self.closed else {"bank", "row"}
        for name in sorted(needs - set(operands)):
            reason = "an address map" if self.address_map else f"{self.policy.page} pages"
            raise ModelError(f"{self.name}.{method} needs the operand {name!r}: the controller has {reason}")
        for name in sorted(set(operands) - needs - {"bytes"} - (set() if self.address_map else {"row"})):
            reason = "an" if self.address_map else "no"
            raise ModelError(f"{self.name}.{method} must not have the operand {name!r}: it has {reason} address map")

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return what one access occupies without contention: a row hit, unless pages are closed."""
        self._check(method, values)
        d, name, read, t = self.device, self.name, method == "read", self.seconds
        bank = values["address"] if self.address_map else values["bank"]
        if bank is not None and self.address_map:
            bank = self.address_map.bank_of(bank, d.banks, self.units)
        unit = None if bank is None else np.floor_divide(bank, d.banks)
        channel = None if bank is None else np.floor_divide(bank, d.banks * d.pseudo_channels)
        group = None if bank is None else np.floor_divide(bank, d.banks) * d.groups + np.mod(bank, d.groups)
        bursts = np.maximum(np.ceil(known(self, method, "bytes", values) / d.burst_bytes), 1.0)
        clock, nothing = d.t_ck * 1e-9, np.zeros_like(bursts)
        opening = self.opening(read) if self.closed else 0.0
        issued = opening + (bursts - 1) * self.same
        latency = issued + self.last(read)
        precharge_delay = t("t_rtp") if read else t("t_wl") + d.burst_clocks * clock + t("t_wr")
        busy = np.maximum(self.cycle, issued + precharge_delay + t("t_rp"))  # with open pages the group is the limit
        commands = (bursts * d.column_clocks + (d.row_clocks if self.closed else 0.0)) * clock
        grouped = bursts * (self.same if read else max(t("t_ccd_l_write"), self.same))
        # rules inside the bank's time; for queueing only the scarcest keeps its time, and the bank has the remainder
        rules = {"command": (commands, commands * d.pseudo_channels / d.command_buses, channel)}
        if self.grouped:
            rules["group"] = (grouped, grouped / d.groups, group)
        if self.closed:
            rules["bank"] = (busy, busy / d.banks, bank)
            rules["activate"] = (nothing + t("t_rrd"), nothing + t("t_rrd"), unit)
            rules["window"] = (nothing + t("t_faw"), nothing + t("t_faw") / 4, unit)
        scarcest = np.stack([share for _, share, _ in rules.values()]).argmax(axis=0)
        seconds_by_rule = {rule: np.where(scarcest == k, rules[rule][0], nothing) for k, rule in enumerate(rules)}
        other_rules = sum((seconds_by_rule[rule] for rule in rules if rule != "bank"), nothing)
        posted = self.policy.writes > 0 and not read
        early = self.policy.bank_queue > 0 or (self.closed and self.policy.entries_until == "row")
        entry = latency if self.until_data else nothing if early else issued  # early: the entry is free at once
        place = channel if self.until_data else None
        holds = [] if posted else [Hold(f"{name}.slots", entry, nothing, member=place)]
        holds.append(Hold(f"{name}.bus", bursts * t("t_ccd"), member=unit))
        if self.closed:
            holds.append(Hold(f"{name}.bank", busy, np.maximum(busy - other_rules, 0.0), member=bank))
        for rule, (seconds, _, member) in rules.items():
            if rule != "bank":
                visits = bursts + self.closed if rule == "command" else bursts if rule == "group" else 1.0
                holds.append(Hold(f"{name}.{rule}", seconds, seconds_by_rule[rule], visits, member))
        counts: dict[str, Values] = {f"{name}.bytes": bursts * d.burst_bytes, f"{name}.accesses": nothing + 1}
        if not self.closed:
            counts |= {f"{name}.row_hits": nothing + 1, f"{name}.row_misses": nothing, f"{name}.row_conflicts": nothing}
        limit = None if posted else f"{name}.slots"
        return Uses(nothing if posted else latency, holds, counts=counts, aside=posted, limit=limit)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Send the access to the controller of its channel."""
        self._check(method, operands)
        d = self.device
        first = asm.dram(self.name, lambda: self.controllers(asm))
        banks, total = d.banks * d.pseudo_channels, self.units * d.banks
        with asm.scope():
            bank: Operand = operands.get("bank", 0)
            row: Operand = operands.get("row", 0)
            if self.address_map is not None:
                bank, row = self.address_map.emit(operands["address"], d.banks, self.units, asm)
            else:
                bank_variable = Variable("bank")
                asm.let(bank_variable, bank)
                bank = bank_variable
                asm.check_below(bank, total, f"{self.name}.bank has members")
            bursts = asm.value_of(maximum(ceildiv(operands["bytes"], d.burst_bytes), 1), "bursts")
            several, write = self.channels > 1, method == "write"
            channel = asm.value_of(bank // banks, "channel") if several else 0
            entry = None
            if self.until_data and not (write and self.policy.writes):
                entry = asm.take(f"{self.name}.slots", channel)
            asm.ask(channel + first if several else first, bank % banks if several else bank, row, bursts, write)
            if entry is not None:
                asm.give(entry)
            asm.count(f"{self.name}.bytes", bursts * d.burst_bytes)

    def controllers(self, asm: Assembler) -> list[Controller]:
        """Return one controller per channel, with the indices of its block from which servers and counters are read."""
        d = self.device
        make_block: Callable[[int, int], Integers] = partial(block, d, self.policy, asm.tick)
        D = make_block(0, 0)
        controllers = []
        for k in range(self.channels):
            busy = [(asm.number(f"{self.name}.command") + k, dram.M_BUSY_COMMAND)]
            if not self.until_data:
                busy.append((asm.number(f"{self.name}.slots"), dram.M_BUSY_SLOTS))
            if self.policy.writes:
                busy.append((asm.number(f"{self.name}.buffer"), dram.M_BUSY_BUFFER))
            for server_kind, per_unit, at, width, place in (
                ("bank", d.banks, dram.M_BANKS_AT, dram.M_BANK_WIDTH, dram.M_B_BUSY),
                ("group", d.groups, dram.M_GROUPS_AT, dram.M_GROUP_WIDTH, dram.M_G_BUSY),
                ("bus", 1, dram.M_UNITS_AT, dram.M_UNIT, dram.M_U_BUSY),
                ("activate", 1, dram.M_UNITS_AT, dram.M_UNIT, dram.M_U_ROWS),
                ("window", 1, dram.M_UNITS_AT, dram.M_UNIT, dram.M_U_WINDOW),
            ):
                if server_kind == "group" and not self.grouped:
                    continue
                members = per_unit * d.pseudo_channels
                server = asm.number(f"{self.name}.{server_kind}") + k * members
                busy += [(server + j, int(D[at]) + j * width + place) for j in range(members)]
            names = () if self.closed else OUTCOMES
            counts = [(asm.counter(f"{self.name}.{name}"), getattr(dram, place)) for name, place in names]
            controllers.append(Controller(make_block, tuple(busy), tuple(counts)))
        return controllers
