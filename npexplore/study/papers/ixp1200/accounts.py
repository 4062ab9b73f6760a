"""Sums that the IXP1200's paper leaves to the reader: SDRAM transfers, and printed code against executed code.

clocks of a transfer = commands x (row and column + precharge) + words
clocks that a printed share asks for = share x clock / packet rate
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npexplore.designs import Design
from npexplore.designs.ixp1200.units import LONGWORD_PAIR
from npexplore.ledger import Ledger

if TYPE_CHECKING:
    import pandas as pd

SHORTEST_SEARCH = 1  # rules: every loop of the search turns about once


def sdram_transfers(design: Design) -> pd.DataFrame:
    """Return every transfer of a packet that the text describes: columns transfer, said, bytes, commands, clocks."""
    import pandas as pd

    p = design.parameters
    mps = -(-p.packet_bytes // p.mp_bytes)
    clock, behind = p.sdram_word_ns, p.sdram_command_ns + p.sdram_precharge_ns
    named = (
        ("RFIFO to SDRAM", "the receiver thread moves the packet to SDRAM", p.mp_bytes * mps, 2 * mps),
        ("marked header to SDRAM", "it is marked with a DSCP in the header", p.header_write_bytes, 1),
        ("SDRAM to TFIFO", "sends the entire packet in SDRAM to TFIFO", p.mp_bytes * mps, 2 * mps),
    )
    rows = [(*one, one[3] * behind / clock + one[2] / LONGWORD_PAIR) for one in named]
    return pd.DataFrame(rows, columns=["transfer", "said", "bytes", "commands", "clocks"])


def sdram_asked(design: Design, rates_pps: dict[str, float], ledger: Ledger) -> pd.DataFrame:
    """Return the SDRAM's clocks a packet that printed numbers ask for at these rates, beside those of the model.

    rates_pps: by key of the row of an SDRAM share, the packets a second behind it. Columns key, rate_kpps, asked, model
    (refreshes among them). The last row is plain forwarding of such packets at wire speed: no more than all clocks.
    """
    import pandas as pd

    p = design.parameters
    hertz, moved = 1e9 / p.sdram_word_ns, float(sdram_transfers(design)["clocks"].sum())
    refreshes = hertz * p.sdram_refresh_ns / p.sdram_refresh_every_ns
    rows = []
    for key, rate in rates_pps.items():
        share = ledger[key].point
        assert share is not None
        rows.append((key, rate / 1e3, share / 100 * hertz / rate, moved + refreshes / rate))
    line = ledger["ixp1200.ipfwd.throughput"].point
    assert line is not None
    most = line * 1e9 / (8 * (p.packet_bytes + p.gap_bytes))
    plain = moved - float(sdram_transfers(design)["clocks"].iloc[1])
    rows.append(("ixp1200.ipfwd.throughput", most / 1e3, hertz / most, plain + refreshes / most))
    return pd.DataFrame(rows, columns=["key", "rate_kpps", "asked", "model"])


def code_paths(design: Design) -> pd.DataFrame:
    """Return printed code against what a packet runs: columns program, printed, plain, counted, whole, fitted.

    plain: instructions of plain forwarding; counted: cycles that golden code counts for DiffServ's modules with one
    rule, where every loop turns about once; whole: the factor at which they are all the code that is printed beside the
    plain path; fitted: the factor in use (None: the printed code itself runs).
    """
    import pandas as pd

    p = design.parameters
    one = design.with_(receivers=1, receiver_engines=1, rules=SHORTEST_SEARCH, packet_bytes=p.mp_bytes)

    def cycles(server: str, **knobs: float | str) -> float:
        demand = one.with_(**knobs).demands().demands.servers[server]
        return float(demand.seconds * p.me_clock_mhz * 1e6)

    plain, counted = p.receive_mp_instructions + p.header_instructions, cycles("me0", scale_diffserv=2.0)
    counted -= cycles("me0", scale_diffserv=1.0)
    sending = p.transmit_mp_instructions
    taking = cycles("me2", transmit_path="counted", scale_diffserv=2.0)
    taking -= cycles("me2", transmit_path="counted", scale_diffserv=1.0)
    runs = p.transmit_path == "code"
    rows = [
        ("receiver", p.code_receiver, plain, counted, (p.code_receiver - plain) / counted, p.scale_diffserv),
        ("transmitter", p.code_transmitter, sending, taking, (p.code_transmitter - sending) / taking,
         None if runs else p.scale_diffserv),
        ("scheduler", p.code_scheduler, p.schedule_instructions, None, None, None if runs else 1.0),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["program", "printed", "plain", "counted", "whole", "fitted"])
