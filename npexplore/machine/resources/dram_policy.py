"""The policy of a DRAM controller, and the block of integers that describes device and policy to the engine.

    first ready, first come, first served: Rixner et al., Memory access scheduling, ISCA 2000
    a cap on younger hits:                 Mutlu and Moscibroda, Stall-time fair memory access scheduling, MICRO 2007
    write buffer with two marks:           drained from `high` down to `low`, or while no read waits

The layout is in _kernels/dram_layout.py (names that begin with M_). Rules are whole clocks, counted from the first
clock of a command to the first clock of the next (standards count from the last clocks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from npexplore._kernels import dram
from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import count_of, time_of
from npexplore.machine.resources.dram_device import DramDevice

Integers = npt.NDArray[np.int64]
Page = Literal["open", "closed", "adaptive"]
Refresh = Literal["all-bank", "bank", "none"]
PAGES = get_args(Page)
FIRST = ("oldest", "column", "row")
LATENCIES = ("t_cl", "t_wl", "t_rtw")  # latencies of data, not rounded: 2.5 clocks are possible
FINEST_S = 1.5e-15  # with ticks of 1 fs, times are rounded; with coarser ticks, times between ticks are refused
LONG_AGO = -(10**15)  # ticks; time of commands that were never issued
CAUSES = (
    "data bus", "bank group", "turn-around", "row opening", "bank", "row commands apart", "window of four", "refresh",
    "command bus", "order", "no access",
)  # fmt: skip


@dataclass(frozen=True)
class DramPolicy:
    """How a controller queues and schedules accesses.

    page: a row stays open, is closed with every access, or is closed with an access if no other access to it waits.
    close_after_s: an open row without an access for this time is closed (0: never).
    cap: number of younger hits that may pass an older access to another row of their bank, since the row was opened.
    reads, writes: entries of the read queue and of the write buffer (0: writes queue with the reads and end with their
    data; else a write ends when it has an entry).
    high, low: numbers of writes that start a drain, and that end it if a read waits.
    bank_queue: 0: one queue, which issues either reads or writes at a time. Else the size of a queue for each bank, in
    which reads and writes mix: one access a clock moves there; a drain empties the write buffer, and more than `low`
    writes also move while no bank queue has work.
    entries_until: an entry is free at the column command, at the row command, or at the end of the data (for accesses
    of a machine; an entry of the write buffer is free at the column command).
    refresh: all banks at once, as many as the device refreshes at a time, or never.
    refresh_holds: whether only accesses of the banks to be refreshed wait, or all accesses.
    order: "oldest" issues any command that the rules allow, for the oldest access first. "ready" does not reorder: a
    bank serves its accesses in order of arrival, commands go in the order in which banks became ready, and no column
    command passes one that waits for the data bus.
    first: if a row and a column command could go in the same clock: the one of the oldest access, or always one kind.
    whole_clocks: commands go at clock edges and rules are rounded up to clocks; else at any tick of the simulation.

    Example:
        >>> from npexplore.machine import DramPolicy
        >>> DramPolicy(page="closed").page
        'closed'
    """

    page: Page = "open"
    close_after_s: float = 0.0
    cap: int = 4
    reads: int = 32
    writes: int = 32
    high: int = 26
    low: int = 6
    bank_queue: int = 0
    entries_until: Literal["column", "row", "data"] = "column"
    refresh: Refresh = "all-bank"
    refresh_holds: Literal["banks", "all"] = "banks"
    order: Literal["oldest", "ready"] = "oldest"
    first: Literal["oldest", "column", "row"] = "oldest"
    whole_clocks: bool = True

    def __post_init__(self) -> None:
        one_of("DRAM policy: page", self.page, PAGES)
        one_of("DRAM policy: entries_until", self.entries_until, ("column", "row", "data"))
        one_of("DRAM policy: first", self.first, FIRST)
        one_of("DRAM policy: order", self.order, ("oldest", "ready"))
        one_of("DRAM policy: refresh", self.refresh, get_args(Refresh))
        one_of("DRAM policy: refresh_holds", self.refresh_holds, ("banks", "all"))
        time_of("DRAM policy: close_after_s", self.close_after_s)
        for name, least in (("cap", 0), ("reads", 1), ("writes", 0), ("bank_queue", 0), ("low", 0)):
            count_of(f"DRAM policy: {name}", getattr(self, name), least)
        if self.writes and not self.low < self.high <= self.writes:
            raise ModelError(
                f"DRAM policy: low must be below high, and high at most writes = {self.writes}, "
                f"got low {self.low} and high {self.high}"
            )


def ticks_of(device: DramDevice, tick: float) -> tuple[int, int]:
    """Return the distance of clock edges and the clock in ticks; half clocks are rounded down to ticks.

    Raises ModelError if a clock is not a whole number of ticks, or half a clock is less than one tick.
    """
    clock = device.t_ck * 1e-9 / tick
    if device.close_clocks % 1 or device.row_clocks % 1:
        half = int(clock / 2 + 1e-6)
        if not half:
            raise ModelError(
                f"DRAM device: half a clock must be at least a tick of {tick!r} s, got {clock / 2:.3g} ticks"
            )
        return half, 2 * half
    if (abs(clock - round(clock)) > 1e-6 and tick > FINEST_S) or round(clock) < 1:
        raise ModelError(f"DRAM device: t_ck must be a whole number of ticks of {tick!r} s, got {clock:.6g}")
    return round(clock), round(clock)


def refreshes(device: DramDevice, policy: DramPolicy) -> tuple[int, float, str]:
    """Return the number of refreshes that cover all banks (0: none), their interval in ns, and the name of their rule.

    Raises ModelError if the policy refreshes single banks and the device cannot.
    """
    if policy.refresh == "none" or not device.t_rfc:
        return 0, 0.0, "t_rfc"
    if policy.refresh == "all-bank":
        return 1, device.t_refi, "t_rfc"
    if device.bank_refresh == "none":
        raise ModelError(
            'DRAM policy: refresh must be "all-bank" or "none" where the device has no bank_refresh, got "bank"'
        )
    at_a_time = {"same-bank": device.groups, "bank-pair": 2, "per-bank": 1}[device.bank_refresh]
    sets = device.banks // at_a_time
    return sets, device.t_refi / sets, "t_rfc_bank"


def block(device: DramDevice, policy: DramPolicy, tick: float, room: int, start: int = 0) -> Integers:
    """Return the block of an idle controller: device and policy in ticks, and room for `room` requests beyond entries.

    start: index of the block in the engine's array, on which references to banks and requests are based.
    """
    edge, clock = ticks_of(device, tick)
    units, groups, banks = device.pseudo_channels, device.groups, device.banks * device.pseudo_channels
    room += policy.reads + policy.writes + banks * (policy.bank_queue + 1)  # an entry may be free before its access
    at, places = dram.M_HEADER, []
    for size in (units * dram.M_UNIT, units * groups * dram.M_GROUP_WIDTH, banks * dram.M_BANK_WIDTH, banks,
                 room * dram.M_REQUEST, 2 * room * dram.M_DONE_WIDTH):  # fmt: skip
        places.append(at)
        at += size
    D = np.zeros(at, dtype=np.int64)
    for name, value in _rules(device, policy, edge, clock, tick).items():
        D[getattr(dram, f"M_{name}")] = value
    names = ("UNITS_AT", "GROUPS_AT", "BANKS_AT", "ACTIVE_AT", "REQUESTS_AT", "DONE_AT")
    for name, place in zip(names, places, strict=True):
        D[getattr(dram, f"M_{name}")] = place
    D[dram.M_BANKS], D[dram.M_ROOM] = banks, room
    first, last = dram.M_OUT_READ, dram.M_IN_WRITE_TAIL
    D[first : last + 1] = D[dram.M_AWAKE] = -1
    _at_rest(D, units, groups, banks, room, start)
    return D


def _at_rest(D: Integers, units: int, groups: int, banks: int, room: int, start: int) -> None:
    """Set the initial state: no row is open, no rule delays a command, the first refresh is due after an interval."""
    unit = D[dram.M_UNITS_AT] + np.arange(units) * dram.M_UNIT
    for k in range(4):
        D[unit + dram.M_U_FAW + k] = LONG_AGO
    D[unit + dram.M_U_DUE] = D[dram.M_REFI]
    D[unit + dram.M_U_ACTIVE_AT] = start + D[dram.M_ACTIVE_AT] + np.arange(units) * (banks // units)
    numbers = np.arange(banks)
    bank = D[dram.M_BANKS_AT] + numbers * dram.M_BANK_WIDTH
    banks_per_unit = banks // units
    group = numbers // banks_per_unit * groups + numbers % groups
    D[bank + dram.M_B_UNIT] = start + unit[numbers // banks_per_unit]
    D[bank + dram.M_B_GROUP] = start + D[dram.M_GROUPS_AT] + group * dram.M_GROUP_WIDTH
    D[bank + dram.M_B_SET] = numbers % banks_per_unit * max(int(D[dram.M_REFRESH_SETS]), 1) // banks_per_unit
    for name in ("ROW", "OWNER", "HEAD", "TAIL", "HIT", "OTHER", "GO"):
        D[bank + getattr(dram, f"M_B_{name}")] = -1
    for name in ("HEAD", "TAIL", "HIT", "OTHER", "GO"):
        D[bank + getattr(dram, f"M_B_{name}") + 1] = -1
    D[bank + dram.M_B_GO + 2] = -1
    request = D[dram.M_REQUESTS_AT] + np.arange(room) * dram.M_REQUEST
    D[request + dram.M_R_NEXT] = np.append(start + request[1:], -1)
    D[dram.M_FREE] = start + request[0]


def _rules(device: DramDevice, policy: DramPolicy, edge: int, clock: int, tick: float) -> dict[str, int]:
    """Return rules and policy in ticks, by their names in the block; raises ModelError for times between ticks."""

    def t(name: str, instead: str = "") -> int:
        name = name if getattr(device, name) or not instead else instead
        if policy.whole_clocks and name not in LATENCIES:
            return device.clocks(name) * clock
        ticks: float = getattr(device, name) / device.t_ck * clock
        if abs(ticks - round(ticks)) > 1e-6 and tick > FINEST_S:
            raise ModelError(
                f"DRAM device: {name} = {getattr(device, name)!r} ns is not a whole number of ticks of {tick!r} s"
            )
        return round(ticks)

    def up(ticks: int) -> int:
        return -(-ticks // clock) * clock if policy.whole_clocks else ticks

    row, column, close = (
        round(getattr(device, f"{command}_clocks") * clock / edge) * edge for command in ("row", "column", "close")
    )
    late, early = row - edge, column - edge  # from the first to the last edge of a command
    burst = device.burst_clocks * clock
    sets, interval, rule = refreshes(device, policy)
    ccd_l, interval = t("t_ccd_l", "t_ccd"), interval / device.t_ck + 1e-6
    if not policy.whole_clocks:
        edge = 1
    return {
        "EDGE": edge, "CLOCK": clock if policy.whole_clocks else 1,
        "UNITS": device.pseudo_channels, "GROUPS": device.groups,
        "ROW_TIME": row, "COLUMN_TIME": column, "CLOSE_TIME": close,
        "DUAL": device.command_buses - 1, "SPLIT": t("t_aad"),
        "RCD_READ": t("t_rcd") + late - early, "RCD_WRITE": t("t_rcd_write", "t_rcd") + late - early,
        "RP": t("t_rp") - late, "RAS": t("t_ras") + late, "RC": max(t("t_rc"), t("t_ras") + t("t_rp")),
        "READ_CLOSE": t("t_rtp") + early, "WRITE_CLOSE": up(t("t_wl") + burst + t("t_wr")) + early,
        "RRD_S": t("t_rrd"), "RRD_L": t("t_rrd_l", "t_rrd"), "FAW": t("t_faw"), "PPD": t("t_ppd"),
        "CCD_S": t("t_ccd"), "CCD_L": ccd_l, "CCD_S_WRITE": t("t_ccd"), "CCD_L_WRITE": t("t_ccd_l_write") or ccd_l,
        "READ_WRITE": up(max(t("t_cl") + burst + t("t_rtw") - t("t_wl"), t("t_ccd"))),
        "WRITE_READ_S": up(max(t("t_wl") + burst + t("t_wtr"), t("t_ccd"))),
        "WRITE_READ_L": up(max(t("t_wl") + burst + t("t_wtr_l", "t_wtr"), ccd_l)),
        "REFRESH_SETS": sets, "REFI": int(interval) * clock if policy.whole_clocks else int(interval * clock),
        "RFC": t(rule) - late, "RREFD": t("t_rrefd") - late, "RFC_REF": t("t_ref_ref") if sets > 1 else t(rule),
        "STALL": policy.refresh_holds == "all", "PAGE": PAGES.index(policy.page),
        "IDLE": round(policy.close_after_s / (device.t_ck * 1e-9)) * clock, "CAP": policy.cap,
        "READS": policy.reads, "WRITES": policy.writes, "HIGH": policy.high, "LOW": policy.low,
        "BANK_QUEUE": policy.bank_queue, "EARLY": policy.entries_until == "row", "FIRST": FIRST.index(policy.first),
        "IN_ORDER": policy.order == "ready",
        "READ_LAST": t("t_cl") + burst + early, "WRITE_LAST": t("t_wl") + burst + early,
    }  # fmt: skip
