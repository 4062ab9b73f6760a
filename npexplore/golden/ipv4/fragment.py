"""Fragmentation (RFC 791 section 3.2; RFC 1812 section 4.2.2.7).

All fragments except the last carry a multiple of 8 bytes. The first keeps all options, the others only options with the
copied flag. Fragments of a fragment add its offset, and the last one has More Fragments if the original had.
"""

from typing import NamedTuple

from npexplore.golden.ipv4.header import DF, MF, read_header, with_checksum
from npexplore.golden.ipv4.options import NOP, raw_options, read_options
from npexplore.golden.reasons import Reason

COPIED = 128  # option types from here on are in every fragment


class Fragmented(NamedTuple):
    """The packets to send, or the reason for a drop, with the MTU for the error to the sender (RFC 1191)."""

    reason: Reason
    packets: tuple[bytes, ...]
    mtu: int = 0


def fragment(packet: bytes, mtu: int, *, keep_header_length: bool = False, last_in_units: bool = False) -> Fragmented:
    """Return a validated packet in fragments of at most `mtu` bytes, or unchanged if it fits; without link padding.

    keep_header_length: options that are not copied become No Operation instead of being removed, as in the Linux
    kernel; all headers then have the same length. last_in_units: the room for the last fragment's data, too, is rounded
    down to a multiple of 8 bytes, as in Click.
    """
    header = read_header(packet)
    packet = packet[: header.total_length]
    if len(packet) <= mtu:
        return Fragmented(Reason.NONE, (packet,))
    if header.flags & DF:
        return Fragmented(Reason.FRAGMENTATION_NEEDED, (), mtu)
    payload = packet[header.header_length :]
    if mtu - header.header_length < 8:
        return Fragmented(Reason.MTU_TOO_SMALL, (), mtu)
    later_head = _later_header(packet[: header.header_length], keep_header_length)
    pieces: list[bytes] = []
    head, done = packet[: header.header_length], 0
    while done < len(payload):
        room = (mtu - len(head)) // 8 * 8 if last_in_units else mtu - len(head)
        rest = len(payload) - done
        size = rest if rest <= room else room // 8 * 8
        more_fragments = header.flags & MF if size == rest else MF
        flags = header.flags & ~MF & 7 | more_fragments
        pieces.append(_piece(head, payload[done : done + size], flags, header.fragment_offset + done // 8))
        head, done = later_head, done + size
    return Fragmented(Reason.NONE, tuple(pieces))


def _piece(head: bytes, data: bytes, flags: int, offset: int) -> bytes:
    """Return a fragment; offsets above 13 bits, possible only for an inconsistent original, wrap."""
    total = (len(head) + len(data)).to_bytes(2, "big")
    offset_word = (flags << 13 | offset & 0x1FFF).to_bytes(2, "big")
    return with_checksum(head[:2] + total + head[4:6] + offset_word + head[8:] + data)


def _later_header(head: bytes, keep_length: bool) -> bytes:
    """Return the header of all fragments except the first: only with the copied options."""
    copied = b""
    for octets in raw_options(head) if not keep_length else ():
        copied += octets if octets[0] >= COPIED else b""
    for option in read_options(head).options if keep_length else ():
        copied += option.octets if option.copied else bytes([NOP]) * len(option.octets)
    length = len(head) - 20 if keep_length else len(copied) + -len(copied) % 4
    return bytes([0x40 | 5 + length // 4]) + head[1:20] + copied.ljust(length, b"\0")
