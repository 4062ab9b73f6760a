"""Computes sums that follow from the IXP1200's paper: SDRAM transfers, and printed against executed code.

clocks of a transfer = commands x (row and column + precharge) + words
clocks per packet that a printed share implies = share x clock / packet rate
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npexplore.designs import Design
from npexplore.designs.ixp1200.units import LONGWORD_PAIR
from npexplore.ledger import Ledger

if TYPE_CHECKING:
    import pandas as pd

SHORTEST_SEARCH = 1  # number of rules; every loop of the search runs about once


def sdram_transfers(design: Design) -> pd.DataFrame:
    """Return the SDRAM transfers of a packet in the text: columns transfer, said (quote), bytes, commands, clocks."""
    import pandas as pd

    p = design.parameters
    mps = -(-p.packet_bytes // p.mp_bytes)
    clock, command_ns = p.sdram_word_ns, p.sdram_command_ns + p.sdram_precharge_ns
    transfers = (
        ("RFIFO to SDRAM", "the receiver thread moves the packet to SDRAM", p.mp_bytes * mps, 2 * mps),
        ("marked header to SDRAM", "it is marked with a DSCP in the header", p.header_write_bytes, 1),
        ("SDRAM to TFIFO", "sends the entire packet in SDRAM to TFIFO", p.mp_bytes * mps, 2 * mps),
    )
    rows = [(*transfer, transfer[3] * command_ns / clock + transfer[2] / LONGWORD_PAIR) for transfer in transfers]
    return pd.DataFrame(rows, columns=["transfer", "said", "bytes", "commands", "clocks"])


def sdram_asked(design: Design, rates_pps: dict[str, float], ledger: Ledger) -> pd.DataFrame:
    """Return the SDRAM's clocks per packet that printed shares imply at given rates, and the model's clocks.

    rates_pps: packets/s by the key of an SDRAM share's row. Columns key, rate_kpps, asked (implied clocks), model
    (with refreshes). The last row is plain forwarding of such packets at wire speed, with all clocks as the limit.
    """
    import pandas as pd

    p = design.parameters
    hertz, model_clocks = 1e9 / p.sdram_word_ns, float(sdram_transfers(design)["clocks"].sum())
    refreshes = hertz * p.sdram_refresh_ns / p.sdram_refresh_every_ns
    rows = []
    for key, rate in rates_pps.items():
        share = ledger[key].point
        assert share is not None
        rows.append((key, rate / 1e3, share / 100 * hertz / rate, model_clocks + refreshes / rate))
    line = ledger["ixp1200.ipfwd.throughput"].point
    assert line is not None
    line_pps = line * 1e9 / (8 * (p.packet_bytes + p.gap_bytes))
    plain = model_clocks - float(sdram_transfers(design)["clocks"].iloc[1])
    rows.append(("ixp1200.ipfwd.throughput", line_pps / 1e3, hertz / line_pps, plain + refreshes / line_pps))
    return pd.DataFrame(rows, columns=["key", "rate_kpps", "asked", "model"])


def code_paths(design: Design) -> pd.DataFrame:
    """Return printed code sizes and executed cycles: columns program, printed, plain, counted, whole, fitted.

    plain: instructions of plain forwarding; counted: cycles of DiffServ's modules in the golden code with one rule,
    where every loop runs about once; whole: (printed - plain) / counted, the factor with which the counted cycles make
    up the rest of the printed code; fitted: the factor in use (None: the printed code itself runs).
    """
    import pandas as pd

    p = design.parameters
    smallest = design.with_(receivers=1, receiver_engines=1, rules=SHORTEST_SEARCH, packet_bytes=p.mp_bytes)

    def cycles(server: str, **knobs: float | str) -> float:
        demand = smallest.with_(**knobs).demands().demands.servers[server]
        return float(demand.seconds * p.me_clock_mhz * 1e6)

    plain, counted = p.receive_mp_instructions + p.header_instructions, cycles("me0", scale_diffserv=2.0)
    counted -= cycles("me0", scale_diffserv=1.0)
    sending = p.transmit_mp_instructions
    counted_sending = cycles("me2", transmit_path="counted", scale_diffserv=2.0)
    counted_sending -= cycles("me2", transmit_path="counted", scale_diffserv=1.0)
    runs_printed_code = p.transmit_path == "code"
    rows = [
        ("receiver", p.code_receiver, plain, counted, (p.code_receiver - plain) / counted, p.scale_diffserv),
        ("transmitter", p.code_transmitter, sending, counted_sending, (p.code_transmitter - sending) / counted_sending,
         None if runs_printed_code else p.scale_diffserv),
        ("scheduler", p.code_scheduler, p.schedule_instructions, None, None, None if runs_printed_code else 1.0),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["program", "printed", "plain", "counted", "whole", "fitted"])
