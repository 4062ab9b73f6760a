"""The table of link types: what a capture's packets start with (numbers: www.tcpdump.org/linktypes.html).

A packet format is one file of this folder with a list FORMATS; the table below is the one place that names the files.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.packets.links import (
    cisco_hdlc,
    erf,
    ethernet,
    frame_relay,
    ieee80211,
    lan_llc,
    linux_cooked,
    mpls,
    null_loop,
    ppp,
    raw_ip,
    unknown,
)
from npexplore.packets.links.format import LinkFormat

FORMATS: tuple[LinkFormat, ...] = (
    *ethernet.FORMATS,
    *raw_ip.FORMATS,
    *null_loop.FORMATS,
    *linux_cooked.FORMATS,
    *ppp.FORMATS,
    *cisco_hdlc.FORMATS,
    *frame_relay.FORMATS,
    *mpls.FORMATS,
    *ieee80211.FORMATS,
    *lan_llc.FORMATS,
    *erf.FORMATS,
    *unknown.FORMATS,
)
LINK_TYPES: dict[int, LinkFormat] = {number: form for form in FORMATS for number in form.numbers}


def link_format(number: int) -> LinkFormat:
    """Return how packets of a link type start; a number that is not in the table gets its number as its name."""
    return LINK_TYPES.get(number) or LinkFormat(f"LINKTYPE_{number}", (number,))


def link_rows(numbers: list[int]) -> NDArray[np.int64]:
    """Return one row of kernel numbers for each link type, shape (len(numbers), 5)."""
    rows = [link_format(number).row() for number in numbers]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)
