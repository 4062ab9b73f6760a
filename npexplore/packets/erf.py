"""ERF, the record format of Endace's capture cards (Endace EDM11-01, ERF Types Reference Guide): no file header at all.

record = time (64 bits, little-endian, units of 2^-32 s since 1970), type, flags, then big-endian record length, loss
counter, wire length; extension headers of 8 bytes, each present while the top bit of the preceding type is set; a
subheader (some types only); the packet; padding. Bits 0 and 1 of the flags number the card's interface.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.packets.pcapng import Interface
from npexplore.packets.source import Source

HEADER_BYTES = 16
PAD = 48
FIRST_RECORDS = 3
LONGEST_STEP_S = 366 * 86_400
OWN_LINK_TYPES = 0xE700
"""An ERF type without a LINKTYPE_ number gets this number plus its type; captures cannot be written with it."""


@dataclass(frozen=True)
class ErfType:
    """One record type: its name, the link type of its content (None: `own_link_type`), and its subheader's size."""

    name: str
    link_type: int | None = None
    subheader_bytes: int = 0


TYPES: dict[int, ErfType] = {
    1: ErfType("HDLC_POS", 50),
    2: ErfType("ETH", 1, 2),
    3: ErfType("ATM"),
    4: ErfType("AAL5"),
    5: ErfType("MC_HDLC", 50, 4),
    6: ErfType("MC_RAW", None, 4),
    7: ErfType("MC_ATM", None, 4),
    8: ErfType("MC_RAW_CHANNEL", None, 4),
    9: ErfType("MC_AAL5", None, 4),
    10: ErfType("COLOR_HDLC_POS", 50),
    11: ErfType("COLOR_ETH", 1, 2),
    12: ErfType("MC_AAL2", None, 4),
    13: ErfType("IP_COUNTER"),
    14: ErfType("TCP_FLOW_COUNTER"),
    15: ErfType("DSM_COLOR_HDLC_POS", 50),
    16: ErfType("DSM_COLOR_ETH", 1, 2),
    17: ErfType("COLOR_MC_HDLC_POS", 50, 4),
    18: ErfType("AAL2", None, 4),
    19: ErfType("COLOR_HASH_POS", 50),
    20: ErfType("COLOR_HASH_ETH", 1, 2),
    21: ErfType("INFINIBAND", 247),
    22: ErfType("IPV4", 228),
    23: ErfType("IPV6", 229),
    24: ErfType("RAW_LINK"),
    25: ErfType("INFINIBAND_LINK"),
    27: ErfType("META"),
    28: ErfType("OPA_SNC"),
    29: ErfType("OPA_9B"),
    PAD: ErfType("PAD"),
}


def own_link_type(kind: int) -> int:
    """Return the number that stands for an ERF type which has no LINKTYPE_ number."""
    return OWN_LINK_TYPES + kind


def subheader_bytes() -> NDArray[np.int64]:
    """Return the subheader's length for each of the 128 types."""
    return np.array([TYPES[kind].subheader_bytes if kind in TYPES else 0 for kind in range(128)], np.int64)


def interface(kind: int, port: int) -> Interface:
    """Return the interface that stands for the records of one type from one of the card's interfaces."""
    erf_type = TYPES.get(kind)
    link = own_link_type(kind) if erf_type is None or erf_type.link_type is None else erf_type.link_type
    return Interface(0, link, 0, "2^-32", 0, f"interface {port}")


def looks_like(source: Source) -> bool:
    """Return whether the first 3 records of a source look like ERF, which has no magic number.

    Types must be known, lengths must cover the headers, and times must not go back by two seconds or forward by a year;
    at least one whole record other than padding is needed. Checking more records would reject files damaged early on.
    """
    at, has_packet, previous_s = 0, False, None
    for _ in range(FIRST_RECORDS):
        if not source.need(at + HEADER_BYTES):
            break
        header = source.data[source.start + at : source.start + at + HEADER_BYTES].tobytes()
        ticks, kind, _, size = struct.unpack("<QBB", header[:10]) + struct.unpack(">H", header[10:12])
        kind &= 0x7F
        if kind not in TYPES or size < HEADER_BYTES + (kind != PAD):
            return False
        if kind != PAD:
            step = (ticks >> 32) - previous_s if previous_s is not None else 0
            if not -2 < step <= LONGEST_STEP_S:
                return False
            previous_s = ticks >> 32
        at += size
        if not source.need(at):
            break
        has_packet |= kind != PAD
    return has_packet
