"""Fragmentation (RFC 791 section 3.2; RFC 1812 section 4.2.2.7).

Pieces but the last carry a multiple of 8 bytes. The first keeps all options, the others those whose copied flag is set.
A piece of a fragment keeps the fragment's place: its offset is added, and the last piece has More Fragments if it had.
"""

from typing import NamedTuple

from npexplore.golden.ipv4.header import DF, MF, read_header, with_checksum
from npexplore.golden.ipv4.options import NOP, raw_options, read_options
from npexplore.golden.reasons import Reason

COPIED = 128  # option types from here on are in every piece


class Fragmented(NamedTuple):
    """The packets to send, or the reason why there are none, with the MTU a sender must be told (RFC 1191)."""

    reason: Reason
    packets: tuple[bytes, ...]
    mtu: int = 0


def fragment(packet: bytes, mtu: int, *, keep_header_length: bool = False, last_in_units: bool = False) -> Fragmented:
    """Return a validated packet in pieces of at most `mtu` bytes; one that fits stays whole. Link padding is cut off.

    keep_header_length: options that are not copied become No Operation instead of going, as the Linux kernel does it;
    all headers are then equally long.
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
    later = _later_header(packet[: header.header_length], keep_header_length)
    pieces: list[bytes] = []
    head, done = packet[: header.header_length], 0
    while done < len(payload):
        room = (mtu - len(head)) // 8 * 8 if last_in_units else mtu - len(head)
        rest = len(payload) - done
        size = rest if rest <= room else room // 8 * 8
        more = header.flags & MF if size == rest else MF
        place = header.flags & ~MF & 7 | more
        pieces.append(_piece(head, payload[done : done + size], place, header.fragment_offset + done // 8))
        head, done = later, done + size
    return Fragmented(Reason.NONE, tuple(pieces))


def _piece(head: bytes, data: bytes, flags: int, offset: int) -> bytes:
    """Offsets beyond 13 bits, which only a lying fragment asks for, wrap as the field does."""
    total = (len(head) + len(data)).to_bytes(2, "big")
    place = (flags << 13 | offset & 0x1FFF).to_bytes(2, "big")
    return with_checksum(head[:2] + total + head[4:6] + place + head[8:] + data)


def _later_header(head: bytes, keep_length: bool) -> bytes:
    """Return the header of all pieces but the first: with the copied options alone."""
    copied = b""
    for octets in raw_options(head) if not keep_length else ():
        copied += octets if octets[0] >= COPIED else b""
    for option in read_options(head).options if keep_length else ():
        copied += option.octets if option.copied else bytes([NOP]) * len(option.octets)
    length = len(head) - 20 if keep_length else len(copied) + -len(copied) % 4
    return bytes([0x40 | 5 + length // 4]) + head[1:20] + copied.ljust(length, b"\0")
