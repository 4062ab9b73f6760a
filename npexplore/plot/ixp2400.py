"""Drawings of the IXP2400 (Figs. 1 to 4 of the paper): the machine with its demands, a packet in cells, the DRAM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npexplore.plot import theme
from npexplore.plot.drawing import Drawing

if TYPE_CHECKING:
    import pandas as pd


def machine(demands: pd.DataFrame, facts: Any) -> Drawing:
    """Return the block diagram; each block is shaded by its load at the machine's upper bound.

    demands: table of study.papers.tables.demands. facts: the design's parameters.
    """
    d = Drawing(940, 470, demands, label="IXP2400 block drawing: media interface, microengines, memories, demands")
    by_server = demands.set_index("server")

    def block(x: float, y: float, w: float, h: float, server: str, *lines: str) -> None:
        if server not in by_server.index:
            d.block(x, y, w, h, [*lines, "not used"])
            return
        row = by_server.loc[server]
        demand_text = f"{row.ns_per_packet:,.4g} ns a packet"
        tip = f"{server}: {demand_text} in {row.visits:.3g} visits; full at {row.ceiling_mpps:.3g} Mpps"
        d.block(x, y, w, h, [*lines, demand_text], load=float(row.load), tip=tip)

    d.box(150, 40, 530, 400, fill="#fafbfc", dash="6 4", radius=12)
    d.text(162, 60, "on chip", size=12, anchor="start", colour=theme.GREY)
    d.text(702, 60, "off chip", size=12, anchor="start", colour=theme.GREY)
    block(180, 90, 150, 100, "msf", "Media interface", f"buffers of {facts.receive_buffer_bytes // 1024} KB",
          f"cells of {facts.cell_bytes} bytes")  # fmt: skip
    d.arrow((30, 115), (178, 115), colour=theme.BLACK, width=2)
    d.text(90, 107, "packets in", size=12)
    d.arrow((178, 165), (30, 165), colour=theme.BLACK, width=2)
    d.text(90, 157, "packets out", size=12)
    block(390, 90, 250, 100, "me", f"{facts.engines} of 8 microengines at {facts.me_clock_mhz:g} MHz",
          f"{facts.threads} threads, one packet each")  # fmt: skip
    d.arrow((332, 140), (388, 140), both=True)
    block(180, 240, 150, 70, "hash", "Hash unit")
    block(180, 340, 150, 70, "scratch", f"Scratchpad, {facts.scratch_bytes // 1024} KB")
    block(390, 240, 250, 70, "dram.slots", f"DRAM controller, {facts.dram_slots} slots")
    block(390, 340, 250, 70, "sram.read", f"{facts.sram_channels} SRAM controllers")
    d.arrow((255, 238), (255, 215), (420, 215), (420, 192), both=True)
    d.arrow((332, 375), (360, 375), (360, 202), (410, 202), (410, 192))
    d.arrow((515, 192), (515, 238), both=True, width=2.4, colour=theme.BLUE)
    d.arrow((642, 360), (664, 360), (664, 140), (642, 140), both=True)
    d.arrow((642, 385), (738, 385), both=True)
    block(740, 340, 170, 70, "sram.write", "SRAM: lookup table")
    d.box(725, 90, 200, 224, fill="white", radius=10)
    d.text(825, 111, "DDR SDRAM", bold=True)
    block(740, 122, 170, 84, "dram.bank", f"{facts.banks} banks", "closed page")
    block(740, 218, 170, 84, "dram.bus", f"Data bus, {facts.bus_bits} bit",
          f"{facts.bus_clock_mhz:g} M moves a second")  # fmt: skip
    d.arrow((642, 275), (738, 262), both=True, width=3, colour=theme.BLUE)
    return d


def cells(sizes: tuple[int, ...], cell_bytes: int, data: pd.DataFrame) -> Drawing:
    """Return packets cut into cells, each with its start-of-packet and end-of-packet bits.

    data: columns packet_bytes, cell, bytes, sop, eop (study.papers.ixp2400.tables.cells).
    """
    scale, height = 3.0, 92
    width = 130 + max(-(-size // cell_bytes) for size in sizes) * (cell_bytes * scale + 14)
    d = Drawing(width, len(sizes) * height + 10, data, label="Packets cut into cells with SOP and EOP bits")
    for row, (size, part) in enumerate(data.groupby("packet_bytes", sort=True)):
        y = 10 + row * height
        d.text(10, y + 34, f"{size} bytes", anchor="start", bold=True)
        for number, cell in enumerate(part.itertuples()):
            x = 110 + number * (cell_bytes * scale + 14)
            d.box(x, y + 8, cell_bytes * scale, 42, dash="4 3", fill="white")
            narrow = cell.bytes < cell_bytes
            d.box(x, y + 8, cell.bytes * scale, 42, fill="#fde3cf" if narrow else "#d6e8f5",
                  stroke=theme.VERMILION if narrow else theme.BLUE)  # fmt: skip
            d.text(x + cell.bytes * scale / 2, y + 34, f"{cell.bytes} bytes")
            d.text(x + cell_bytes * scale / 2, y + 69, f"SOP {cell.sop}   EOP {cell.eop}", size=12, colour="#57606a")
    return d


def dram(steps: pd.DataFrame, facts: Any) -> Drawing:
    """Return the DRAM: controller, command bus, banks with their page buffers, I/O gating, data bus.

    steps: columns server, read_ns, write_ns: the time for which a wide access without contention holds each part.
    """
    d = Drawing(940, 300, steps, label="DRAM: controller slots, command bus, banks, I/O gating, data bus")
    by_server = steps.set_index("server")

    def holds(name: str) -> str:
        return f"read {by_server.loc[name, 'read_ns']:.3g} ns, write {by_server.loc[name, 'write_ns']:.3g} ns"

    d.block(20, 100, 190, 90, ["Memory controller", f"{facts.dram_slots} slots, each held", holds("dram.slots")])
    d.arrow((115, 98), (115, 40), (318, 40), (318, 66))
    d.text(330, 32, f"address and command bus: {holds('dram.command')}", size=12, anchor="start")
    drawn_banks = min(int(facts.banks), 4)
    for number in range(drawn_banks - 1):
        d.box(300 + 26 * number, 68 + 14 * number, 210, 76, fill="#eef4fa", stroke=theme.BLUE)
    x, y = 300 + 26 * (drawn_banks - 1), 68 + 14 * (drawn_banks - 1)
    d.box(x, y, 210, 76, fill="#d6e8f5", stroke=theme.BLUE)
    d.text(x + 105, y + 24, f"{facts.banks} banks, each", bold=True)
    d.text(x + 105, y + 42, holds("dram.bank"), size=12)
    d.box(x, y + 80, 210, 26, fill="#fdf3d8", stroke=theme.ORANGE)
    d.text(x + 105, y + 98, "page buffer (one row)", size=12)
    d.block(640, 100, 130, 90, ["I/O gating", *holds("dram.gating").split(", ")])
    d.arrow((x + 212, 155), (638, 150), both=True, colour=theme.BLUE, width=2)
    d.block(800, 100, 130, 90, ["Data bus", *holds("dram.bus").split(", ")])
    d.arrow((772, 145), (798, 145), both=True, colour=theme.BLUE, width=3)
    d.arrow((865, 192), (865, 270), (115, 270), (115, 192), both=True, colour=theme.BLUE, width=3)
    d.text(490, 290, "data between packet buffer, media interface and microengines", size=12)
    return d
