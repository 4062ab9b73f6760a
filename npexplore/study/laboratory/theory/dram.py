"""DRAM alone against its data sheet: one bank, one open row, and banks in turn.

    one bank, pages closed   an access every max(tRC, tRAS + tRP, read to precharge + tRP): M/D/1, less what outlasts it
    one row, pages open      hits, an access every burst (or tCCD): M/D/1 at the data bus
    banks in turn            with threads enough, the least of the peak rate, 4 / tFAW, 1 / tRRD and banks / tRC

Packets come between edges of the clock, and wait half a clock for the next one; who comes back at once waits for a
whole number of clocks. Reads; refresh and posted writes have no such result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from npexplore.errors import RefusedError
from npexplore.machine.resources import DramController
from npexplore.study.laboratory.lone import LoneResource
from npexplore.study.laboratory.theory.line import Line

AMPLE = 2.0  # times as many threads as keep the scarcest rule busy
ROUNDING = 1e-9


class _Read(NamedTuple):
    """Seconds of a read: from its command to its last data, of a bank's cycle, at the bus, of rules between rows."""

    latency: float
    cycle: float
    bus: float
    rows: float
    clock: float
    banks: int


def closed_dram(lone: LoneResource, threads: int) -> float:
    """Return packets a second of threads; raises RefusedError where no result is known."""
    read, at = _read(lone), _where(lone)
    if at == "round_robin":
        scarcest = max(read.bus, read.rows, read.cycle / read.banks)
        if threads * scarcest < AMPLE * read.latency:
            raise RefusedError("theory: of banks in turn the rate of threads enough is known, twice those in a latency")
        return 1 / scarcest
    service = read.cycle if read.rows else read.bus
    alone = math.ceil(max(read.latency, service) / read.clock - ROUNDING) * read.clock if read.clock else read.latency
    return 1 / max(alone, service) if threads == 1 else min(threads / read.latency, 1 / service)


def open_dram(lone: LoneResource, rate: float) -> float:
    """Return the mean seconds of a read behind Poisson arrivals; raises RefusedError where no result is known."""
    read = _read(lone)
    if _where(lone) == "round_robin":
        raise RefusedError("theory: banks in turn behind random arrivals have no exact result")
    service = read.cycle if read.rows else read.bus
    return Line.constant(service).open(rate) - service + read.latency + read.clock / 2


def _where(lone: LoneResource) -> str:
    bank, row = lone.operands.get("bank"), lone.operands.get("row")
    if bank == "round_robin" and row is None:
        return "round_robin"
    if isinstance(bank, str) or isinstance(row, str):
        raise RefusedError("theory: DRAM's results need one bank and one row, or banks in turn with closed pages")
    return "one"


def _read(lone: LoneResource) -> _Read:
    """Return the times of a read; those between rows are 0 where it hits an open row."""
    dram, size = lone.resource, lone.operands["bytes"]
    length = lone.packet_bytes if size == "packet.packet_bytes" else float(size)
    if lone.visit != "read":
        raise RefusedError("theory: of DRAM reads alone have a result")
    if not isinstance(dram, DramController):
        raise RefusedError("theory: the controller of the paper has options, and no result")
    t, device, policy = dram.seconds, dram.device, dram.policy
    refreshed = policy.refresh != "none" and device.t_rfc > 0
    if refreshed or dram.units > 1 or policy.page == "adaptive":
        raise RefusedError("theory: of DRAM one channel without refresh has a result, its pages open or closed")
    if (policy.cap and not dram.closed) or dram.address_map is not None:
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
        return _Read(opening + issued + last, cycle, bus, rows, edge, banks)
    return _Read(issued + last, bus, bus, 0.0, edge, banks)
