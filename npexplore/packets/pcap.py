"""The file header of pcap (draft-ietf-opsawg-pcap section 4) and its older variants: byte order, clock, record layout.

magic a1b2c3d4 microseconds, a1b23c4d nanoseconds, a1b2cd34 longer record headers (Alexey Kuznetzov's patch),
1c0001ac and 1c0001ab microseconds with a total length behind the file header (Ixia)
"""

import struct
from dataclasses import dataclass

from npexplore.errors import InputError

# magic -> (name of the format, bytes of the file header, bytes of a record header, nanoseconds a tick)
MAGICS: dict[int, tuple[str, int, int, int]] = {
    0xA1B2C3D4: ("pcap", 24, 16, 1000),
    0xA1B23C4D: ("pcap-ns", 24, 16, 1),
    0xA1B2CD34: ("pcap-modified", 24, 24, 1000),
    0x1C0001AC: ("pcap-ixia-hw", 28, 16, 1000),
    0x1C0001AB: ("pcap-ixia-sw", 28, 16, 1000),
}
CAPTURED_FIRST, ORIGINAL_FIRST, SMALLER_IS_CAPTURED = 0, 1, 2


@dataclass(frozen=True)
class PcapHeader:
    """The fields of a pcap file header; fcs_bytes is None if the file does not state it.

    words: magic and version, as numbers of 32 bits in the file's byte order.
    """

    name: str
    big_endian: bool
    file_header_bytes: int
    record_header_bytes: int
    ns_per_tick: int
    length_order: int
    snaplen: int
    link_type: int
    fcs_bytes: int | None
    words: tuple[int, int]


def magic_order(magic: bytes) -> str | None:
    """Return the struct byte order (`<` or `>`) in which four bytes are a pcap magic, or None."""
    for order in "<>":
        if struct.unpack(order + "I", magic)[0] in MAGICS:
            return order
    return None


def file_header_bytes(magic: bytes) -> int:
    """Return the length of a file header that starts with these four bytes."""
    return MAGICS[struct.unpack(f"{magic_order(magic)}I", magic)[0]][1]


def parse_header(name: str, data: bytes) -> PcapHeader:
    """Read the file header of file `name`; raises InputError for an unknown version."""
    order = magic_order(data[:4])
    magic, major, minor, _zone, _sigfigs, snaplen, link = struct.unpack(f"{order}IHHiIII", data[:24])
    kind, header_bytes, record_bytes, ns = MAGICS[magic]
    if (major, minor) != (543, 0) and major != 2:
        raise InputError(f"{name}: pcap version at offset 4 must be 2.x or 543.0, got {major}.{minor}")
    if major == 543 or minor < 3:
        length_order = ORIGINAL_FIRST
    else:
        length_order = SMALLER_IS_CAPTURED if minor == 3 else CAPTURED_FIRST
    # draft section 4: bit 26 (P) says that bits 28 to 31 hold the length of the frame check sequence, in 16-bit words
    fcs = (link >> 28) * 2 if link & 0x04000000 else None
    words = struct.unpack(f"{order}II", data[:8])
    return PcapHeader(
        kind, order == ">", header_bytes, record_bytes, ns, length_order, snaplen, link & 0xFFFF, fcs, words
    )
