"""A cocotb test that holds the device to the golden router, frame by frame; what it hands to software is left out."""

import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from npexplore.testing import Bench
from npexplore.testing.probes import probes

LONGEST = 60


async def through(dut, port, frame):
    """Put a frame in; return what leaves as (port, frame), None if the device hands it to software."""
    for place, octet in enumerate(frame):
        dut.in_valid.value, dut.in_port.value, dut.in_data.value = 1, port, octet
        dut.in_last.value = int(place == len(frame) - 1)
        await RisingEdge(dut.clk)
    dut.in_valid.value = 0
    out = bytearray()
    while True:
        await RisingEdge(dut.clk)
        if int(dut.punt.value):
            return None
        if int(dut.out_valid.value):
            out.append(int(dut.out_data.value))
            if int(dut.out_last.value):
                return int(dut.out_port.value), bytes(out)


@cocotb.test()
async def forwards_as_the_golden_router(dut):
    """Try the shorter probes; write the table, and fail if the device does otherwise."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value, dut.in_valid.value = 1, 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    bench = Bench(os.environ["ROUTER"], failures=1000)
    forwarded = 0
    for port, frame in (case for case in probes(bench.router) if len(case[1]) < LONGEST):
        sent = await through(dut, port, frame)
        if sent is not None:
            bench.drive(port, frame)
            bench.expect(*sent)
            forwarded += 1
    found = bench.conformance()
    Path(os.environ["FOUND"]).write_text(found.to_json())
    assert forwarded >= 10
    found.raise_if_failed()
