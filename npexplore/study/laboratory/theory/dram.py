"""Results for DRAM alone from its data sheet: one bank, one open row, banks in turn, and random rows.

    one bank, pages closed   an access every max(tRC, tRAS + tRP, read to precharge + tRP): the wait of M/D/1 with this
                             service time, then the latency of a read
    one row, pages open      hits, an access every burst (or tCCD): M/D/1 at the data bus
    banks in turn            with enough threads, the minimum of the peak rate, 4 / tFAW, 1 / tRRD and banks / tRC
    random rows, pages open  one bank and one thread: a renewal at each row command; k hits follow it with probability
                             p^k (1 - p), where p is the row's share; the next row command is max(tRC, tRP + max(tRAS,
                             tRCD + (k + 1) hit)) later

Packets arrive between clock edges and wait half a clock on average for the next edge; a thread that returns at once
waits for a whole number of clocks. Only reads have results, not refresh and posted writes.
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

AMPLE = 2.0  # required threads relative to the threads that saturate the tightest rule
ROUNDING = 1e-9


class _Read(NamedTuple):
    """Times of a read in s. latency: from its command to its last data; issued: from its first to its last column
    command; cycle: of the bank; bus: at the data bus; rows: distance of row commands by rules (0: the read hits).
    """

    latency: float
    issued: float
    cycle: float
    bus: float
    rows: float
    clock: float
    banks: int


def closed_dram(lone: LoneResource, threads: int) -> float:
    """Return the packets/s of some threads; raises RefusedError if no result is known."""
    case = _where(lone)
    read = _read(lone, alone=threads == 1)
    if case == "rows":
        return _mixed_rows(lone, read, threads)
    if case == "round_robin":
        tightest = max(read.bus, read.rows, read.cycle / read.banks)
        if threads * tightest < AMPLE * read.latency:
            raise RefusedError("theory: of banks in turn the rate of threads enough is known, twice those in a latency")
        return 1 / tightest
    service = read.cycle if read.rows else read.bus
    lone_s = math.ceil(max(read.latency, service) / read.clock - ROUNDING) * read.clock if read.clock else read.latency
    return 1 / max(lone_s, service) if threads == 1 else min(threads / read.latency, 1 / service)


def _mixed_rows(lone: LoneResource, read: _Read, threads: int) -> float:
    """Return the packets/s of one thread that reads random rows of one bank."""
    if threads > 1:
        raise RefusedError("theory: rows that are drawn have a result for one thread, since hits of others pass")
    assert isinstance(lone.resource, DramController)
    if lone.resource.policy.close_after_s:
        raise RefusedError("theory: rows that are drawn have a result where no idle row is closed (close_after_s = 0)")
    t, clock, device = lone.resource.seconds, read.clock, lone.resource.device
    row_s, column_s = ((clocks - 1) * device.t_ck * 1e-9 for clocks in (device.row_clocks, device.column_clocks))
    hit = math.ceil(read.latency / clock - ROUNDING) * clock if clock else read.latency
    # timing rules count between the last clocks of two commands; a precharge takes one clock
    opening, closing = lone.resource.opening(True) + row_s - column_s, t("t_rp") - row_s
    # from the row command to the precharge, without further hits
    opened = opening + max(hit, read.issued + t("t_rtp") + column_s)
    earliest = max(t("t_ras") + t("t_rp"), t("t_rc"))  # from one row command to the next
    mean = 0.0
    for reads, share in _shares(str(lone.operands["row"]), choices(lone.resource, "row")):
        mean_wait, hits = 0.0, 0
        while (extra_wait := earliest - opened - hits * hit - closing) > 0:
            mean_wait += share**hits * extra_wait
            hits += 1
        missed = 1 - share
        mean += reads * (missed * (opened + closing) + share * hit + missed**2 * mean_wait)
    return 1 / mean


def _shares(drawn: str, rows: int) -> list[tuple[float, float]]:
    """Return (share of the reads, probability that the next read has the same row) by group of rows."""
    if drawn == "round_robin":
        return [(1.0, 0.0 if rows > 1 else 1.0)]
    hot = float(drawn.removeprefix("hot:")) if drawn.startswith("hot:") else 1 / rows
    return [(hot, hot), (1 - hot, (1 - hot) / max(rows - 1, 1))]


def open_dram(lone: LoneResource, rate: float) -> float:
    """Return the mean time of a read in s with Poisson arrivals; raises RefusedError if no result is known."""
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
    """Return the times of a read; raises RefusedError if no result is known. alone: no other read waits."""
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
