"""DRAM alone against its data sheet: one bank, one open row, and banks in turn.

    one bank, pages closed   an access every max(tRC, tRAS + tRP, read to precharge + tRP): M/D/1, less what outlasts it
    one row, pages open      hits, an access every burst (or tCCD): M/D/1 at the data bus
    banks in turn            with threads enough, the least of the peak rate, 4 / tFAW, 1 / tRRD and banks / tRC
    rows drawn, pages open   one bank and one thread: renewal at each row command; k hits follow it with chance
                             p^k (1 - p), p the row's share; the next row command comes max(tRC, tRP + max(tRAS,
                             tRCD + (k + 1) hit)) later

Packets come between edges of the clock, and wait half a clock for the next one; who comes back at once waits for a
whole number of clocks. Reads; refresh and posted writes have no such result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from npexplore.errors import RefusedError
from npexplore.machine.described.defaults import choices
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.resources import DramController
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.line import Line

AMPLE = 2.0  # times as many threads as keep the scarcest rule busy
ROUNDING = 1e-9


class _Read(NamedTuple):
    """Seconds of a read: from its command to its last data, of a bank's cycle, at the bus, of rules between rows.

    issued: from its first column command to its last.
    """

    latency: float
    issued: float
    cycle: float
    bus: float
    rows: float
    clock: float
    banks: int


def closed_dram(lone: LoneResource, threads: int) -> float:
    """Return packets a second of threads; raises RefusedError where no result is known."""
    at = _where(lone)
    read = _read(lone, alone=threads == 1)
    if at == "rows":
        return _mixed_rows(lone, read, threads)
    if at == "round_robin":
        scarcest = max(read.bus, read.rows, read.cycle / read.banks)
        if threads * scarcest < AMPLE * read.latency:
            raise RefusedError("theory: of banks in turn the rate of threads enough is known, twice those in a latency")
        return 1 / scarcest
    service = read.cycle if read.rows else read.bus
    alone = math.ceil(max(read.latency, service) / read.clock - ROUNDING) * read.clock if read.clock else read.latency
    return 1 / max(alone, service) if threads == 1 else min(threads / read.latency, 1 / service)


def _mixed_rows(lone: LoneResource, read: _Read, threads: int) -> float:
    """Return packets a second of one thread whose reads of one bank draw their rows."""
    if threads > 1:
        raise RefusedError("theory: rows that are drawn have a result for one thread, since hits of others pass")
    assert isinstance(lone.resource, DramController)
    if lone.resource.policy.close_after_s:
        raise RefusedError("theory: rows that are drawn have a result where no idle row is closed (close_after_s = 0)")
    t, clock, device = lone.resource.seconds, read.clock, lone.resource.device
    late, early = ((clocks - 1) * device.t_ck * 1e-9 for clocks in (device.row_clocks, device.column_clocks))
    hit = math.ceil(read.latency / clock - ROUNDING) * clock if clock else read.latency
    # rules count between the last clocks of two commands, and a precharge has one clock
    opening, closing = lone.resource.opening(True) + late - early, t("t_rp") - late
    opened = opening + max(hit, read.issued + t("t_rtp") + early)  # from row command to precharge, without more hits
    earliest = max(t("t_ras") + t("t_rp"), t("t_rc"))  # from one row command to the next
    mean = 0.0
    for reads, share in _shares(str(lone.operands["row"]), choices(lone.resource, "row")):
        waited, hits = 0.0, 0
        while (more := earliest - opened - hits * hit - closing) > 0:
            waited += share**hits * more
            hits += 1
        missed = 1 - share
        mean += reads * (missed * (opened + closing) + share * hit + missed**2 * waited)
    return 1 / mean


def _shares(drawn: str, rows: int) -> list[tuple[float, float]]:
    """Return shares of the reads, and the chance that the next read has the same row; in turn none has."""
    if drawn == "round_robin":
        return [(1.0, 0.0 if rows > 1 else 1.0)]
    hot = float(drawn.removeprefix("hot:")) if drawn.startswith("hot:") else 1 / rows
    return [(hot, hot), (1 - hot, (1 - hot) / max(rows - 1, 1))]


def open_dram(lone: LoneResource, rate: float) -> float:
    """Return the mean seconds of a read behind Poisson arrivals; raises RefusedError where no result is known."""
    read = _read(lone)
    if _where(lone) != "one":
        raise RefusedError("theory: banks in turn, or rows drawn, behind random arrivals have no exact result")
    service = read.cycle if read.rows else read.bus
    return Line.constant(service).open(rate) - service + read.latency + read.clock / 2


def _where(lone: LoneResource) -> str:
    bank, row = lone.operands.get("bank"), lone.operands.get("row")
    if bank == "round_robin" and row is None:
        return "round_robin"
    if str(row).partition(":")[0] in DRAWN and not isinstance(bank, str) and _is_open(lone):
        return "rows"
    if isinstance(bank, str) or isinstance(row, str):
        raise RefusedError("theory: DRAM's results need one bank and one row, or banks in turn with closed pages")
    return "one"


def _is_open(lone: LoneResource) -> bool:
    return isinstance(lone.resource, DramController) and not lone.resource.closed


def _read(lone: LoneResource, alone: bool = False) -> _Read:
    """Return the times of a read; those between rows are 0 where it hits an open row. alone: no other read waits."""
    dram, length = lone.resource, lone.amount("bytes")
    if lone.visit != "read":
        raise RefusedError("theory: of DRAM reads alone have a result")
    if not isinstance(dram, DramController):
        raise RefusedError("theory: the controller of the paper has options, and no result")
    t, device, policy = dram.seconds, dram.device, dram.policy
    refreshed = policy.refresh != "none" and device.t_rfc > 0
    if refreshed or dram.units > 1 or policy.page == "adaptive":
        raise RefusedError("theory: of DRAM one channel without refresh has a result, its pages open or closed")
    if (policy.cap and not dram.closed and not alone) or dram.address_map is not None:
        raise RefusedError("theory: DRAM's results need a bank and a row, and no cap on hits")
    clock = device.t_ck * 1e-9
    bursts = -(-length // device.burst_bytes)
    issued, last = (bursts - 1) * dram.same, dram.last(True)
    opening, closing = dram.opening(True), t("t_rtp") + t("t_rp")
    commands = (bursts * device.column_clocks + device.row_clocks) * clock / device.command_buses
    cycle, rows = max(dram.cycle, opening + issued + closing), max(t("t_rrd"), t("t_faw") / 4, commands)
    bus = max(bursts * t("t_ccd"), bursts * dram.same / device.groups) if dram.closed else bursts * dram.same
    edge, banks, closed = clock if policy.whole_clocks else 0.0, device.banks, dram.closed
    if closed:
        return _Read(opening + issued + last, issued, cycle, bus, rows, edge, banks)
    return _Read(issued + last, issued, bus, bus, 0.0, edge, banks)
