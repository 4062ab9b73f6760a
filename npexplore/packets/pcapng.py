"""pcapng's descriptive blocks: section header and interface description (draft-ietf-opsawg-pcapng sections 4.1, 4.2).

time in seconds = ticks / 10^n (ticks / 2^n if the top bit of if_tsresol is set) + if_tsoffset
"""

import struct
from dataclasses import dataclass

from npexplore._kernels.capture_records import DIVIDE, MULTIPLY, SHIFT
from npexplore.errors import InputError

SECTION_TYPE = b"\x0a\x0d\x0d\x0a"
_ORDER_MAGIC = 0x1A2B3C4D
VERSIONS = ((1, 0), (1, 2))  # section 4.1: both are the same; other versions may have blocks that cannot be read
_FAR = 1 << 62  # seconds no int64 of nanoseconds can hold
_NAME, _RESOLUTION, _FCS, _OFFSET = 2, 9, 13, 14
# options that change how packets are read: code -> (name, bytes of the value)
_MEANING = {_RESOLUTION: ("if_tsresol", 1), _FCS: ("if_fcslen", 1), _OFFSET: ("if_tsoffset", 8)}
# kind of block -> option ("*": every other one) -> why it changes no packet (docs/inputs.md)
IRRELEVANT = {
    "section": {"*": "who captured, with what; its length is not needed, since every block has its own"},
    "interface": {
        "if_description": "prose", "if_IPv4addr": "an address of the card, not of packets",
        "if_IPv6addr": "an address of the card, not of packets", "if_MACaddr": "an address of the card, not of packets",
        "if_EUIaddr": "an address of the card, not of packets", "if_speed": "the link's rate; rates are measured",
        "if_tzone": "where the clock stood; time stamps are UTC", "if_filter": "what the capture left out is not in it",
        "if_os": "a label", "if_hardware": "a label", "if_txspeed": "the link's rate; rates are measured",
        "if_rxspeed": "the link's rate; rates are measured", "if_iana_tzname": "where the clock stood",
        "*": "custom options and unknown codes, which the standard says to skip",
    },
    "packet": {"*": "remarks of the capturing tool: comment, direction, hash, losses, identity, queue, verdict"},
    "block without packets": {"*": "`trace stats` and `Capture.other_blocks` list them by type"},
}  # fmt: skip
BLOCKS = {
    4: "name resolution", 5: "interface statistics", 7: "IRIG time stamp", 8: "ARINC 429", 9: "systemd journal",
    10: "decryption secrets", 0xBAD: "custom", 0x40000BAD: "custom",
}  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """One interface of a capture file: the link type of its packets and the resolution and offset of its clock.

    resolution: ticks a second as text, such as `10^-6`; offset_s is added to every time stamp, in seconds;
    snaplen 0 means no limit; fcs_bytes: length of the frame check sequence at the end of packets, which their lengths
    include; None if the file does not state it.
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


def block_name(kind: int) -> str:
    """Return the name, in messages, of a type of blocks that hold no packets."""
    return f"{BLOCKS[kind]} (0x{kind:08x})" if kind in BLOCKS else f"unknown type 0x{kind:08x}"


def parse_interface(block: bytes, order: str, section: int) -> tuple[Interface, tuple[int, int, int]]:
    """Read an interface description block of at least 20 bytes; return it and (kind, amount, offset) for the kernel.

    Options that change no packet, and unknown options, are skipped (docs/inputs.md). Raises InputError for options
    that are cut off, and if an option that changes time stamps or frames has a wrong size or occurs twice.
    """
    link_type, snaplen = struct.unpack(order + "HxxI", block[8:16])
    values: dict[int, bytes] = {}
    at, end = 16, len(block) - 4
    while at < end:
        code, size = struct.unpack(order + "HH", block[at : at + 4]) if at + 4 <= end else (0, end - at)
        if code == 0 and size == 0:
            break
        if at + 4 + size > end:
            raise InputError(f"options of an interface must end inside its block of {len(block)} bytes, one does not")
        value = block[at + 4 : at + 4 + size]
        name, required = _MEANING.get(code, ("", size))
        if size != required:
            raise InputError(f"option {name} of an interface must have {required} bytes, got {size}")
        if name and code in values:
            raise InputError(f"option {name} of an interface must stand once, got another")
        values[code] = value
        at += 4 + (size + 3 & ~3)
    name = values.get(_NAME, b"").rstrip(b"\0").decode("utf-8", "replace")
    resolution = values.get(_RESOLUTION, b"\6")[0]
    fcs = values[_FCS][0] if _FCS in values else None
    offset_s = struct.unpack(order + "q", values.get(_OFFSET, bytes(8)))[0]
    base, exponent = (2, resolution & 0x7F) if resolution & 0x80 else (10, resolution)
    interface = Interface(section, link_type, snaplen, f"{base}^-{exponent}", offset_s, name, fcs)
    offset_s = max(-_FAR, min(_FAR, offset_s))
    if base == 2:
        return interface, (SHIFT, exponent, offset_s)
    if exponent <= 9:
        return interface, (MULTIPLY, 10 ** (9 - exponent), offset_s)
    # 0: even 2^64 ticks of 10^-29 s are below a nanosecond; a divisor of 2^63 or more is passed as a negative int64
    divisor = 10 ** (exponent - 9) if exponent <= 28 else 0
    return interface, (DIVIDE, divisor - (1 << 64) if divisor >= 1 << 63 else divisor, offset_s)
