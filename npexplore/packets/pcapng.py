"""pcapng's blocks that describe: section header and interface description (draft-ietf-opsawg-pcapng sections 4.1, 4.2).

time in seconds = ticks / 10^n, or / 2^n where the top bit of if_tsresol is set, + if_tsoffset
"""

import struct
from dataclasses import dataclass

from npexplore._kernels.capture_records import DIVIDE, MULTIPLY, SHIFT

SECTION_TYPE = b"\x0a\x0d\x0d\x0a"
_ORDER_MAGIC = 0x1A2B3C4D
_FAR = 1 << 62  # seconds no int64 of nanoseconds can hold
_NAME, _RESOLUTION, _FCS, _OFFSET = 2, 9, 13, 14


@dataclass(frozen=True)
class Interface:
    """One interface of a capture file: what its packets start with, and how its clock counts.

    resolution: ticks a second as text, such as `10^-6`; offset_s is added to every time stamp, in seconds;
    snaplen 0 means no limit; fcs_bytes is None if the file does not state it.
    """

    section: int
    link_type: int
    snaplen: int = 0
    resolution: str = "10^-6"
    offset_s: int = 0
    name: str = ""
    fcs_bytes: int | None = None


def section_order(header: bytes) -> str | None:
    """Return the struct byte order of a section from its first 12 bytes, None if its byte-order magic is wrong."""
    for order in "<>":
        if struct.unpack(order + "I", header[8:12])[0] == _ORDER_MAGIC:
            return order
    return None


def parse_interface(block: bytes, order: str, section: int) -> tuple[Interface, tuple[int, int, int]]:
    """Read an interface description block of at least 20 bytes; return it and (kind, amount, offset) for the kernel.

    An option that is cut off or too short for its value ends the list; unknown options are skipped.
    """
    link_type, snaplen = struct.unpack(order + "HxxI", block[8:16])
    resolution, offset_s, name, fcs = 6, 0, "", None
    at, end = 16, len(block) - 4
    while at + 4 <= end:
        code, size = struct.unpack(order + "HH", block[at : at + 4])
        value = block[at + 4 : at + 4 + size]
        if code == 0 or at + 4 + size > end:
            break
        if code == _NAME:
            name = value.rstrip(b"\0").decode("utf-8", "replace")
        elif code == _RESOLUTION and size >= 1:
            resolution = value[0]
        elif code == _FCS and size >= 1:
            fcs = value[0]
        elif code == _OFFSET and size >= 8:
            offset_s = struct.unpack(order + "q", value[:8])[0]
        at += 4 + (size + 3 & ~3)
    base, exponent = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    interface = Interface(section, link_type, snaplen, f"{base}^-{exponent}", offset_s, name, fcs)
    offset_s = max(-_FAR, min(_FAR, offset_s))
    if base == 2:
        return interface, (SHIFT, exponent, offset_s)
    if exponent <= 9:
        return interface, (MULTIPLY, 10 ** (9 - exponent), offset_s)
    # 2^64 ticks of 10^-29 s and less are no nanosecond: 0 stands for that; 10^19 goes as the int64 of its 64 bits
    divisor = 10 ** (exponent - 9) if exponent <= 28 else 0
    return interface, (DIVIDE, divisor - (1 << 64) if divisor >= 1 << 63 else divisor, offset_s)
