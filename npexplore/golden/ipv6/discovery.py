"""Reads and writes neighbour solicitations and advertisements (RFC 4861 sections 4.3 and 4.4)."""

from __future__ import annotations

from typing import NamedTuple

from npexplore.golden.ipv6.header import ICMP6, SHORTEST, read_header, write_packet
from npexplore.golden.ipv6.icmp import checksum

SOLICITATION, ADVERTISEMENT = 135, 136
SOURCE_MAC, TARGET_MAC = 1, 2  # options
ROUTER, SOLICITED, OVERRIDE = 0x80, 0x40, 0x20  # flags of an advertisement
HOP_LIMIT, FIXED = 255, 24
ALL_NODES = (0xFF02 << 112) | 1
SOLICITED_NODES = (0xFF02 << 112) | (1 << 32) | (0xFF << 24)


class Message(NamedTuple):
    """A solicitation or advertisement: source, destination, target address, and MAC address (empty: no option)."""

    kind: int
    source: int
    destination: int
    target: int
    mac: bytes = b""
    flags: int = 0


def solicited_node(address: int) -> int:
    """Return the solicited-node multicast address of an address (RFC 4291 section 2.7.1)."""
    return SOLICITED_NODES | address & 0xFFFFFF


def multicast_mac(address: int) -> bytes:
    """Return the MAC address of a multicast address (RFC 2464 section 7)."""
    return b"\x33\x33" + (address & 0xFFFFFFFF).to_bytes(4, "big")


def read_message(packet: bytes) -> Message | None:
    """Return the message in a packet, None if there is none or it fails RFC 4861 sections 7.1.1 and 7.1.2."""
    header, body = read_header(packet), packet[SHORTEST:]
    if header.next_header != ICMP6 or header.hop_limit != HOP_LIMIT or len(body) < FIXED:
        return None
    source, destination, target = header.source, header.destination, int.from_bytes(body[8:24], "big")
    bad_checksum = checksum(source, destination, body[:2] + bytes(2) + body[4:]) != int.from_bytes(body[2:4], "big")
    if body[0] not in (SOLICITATION, ADVERTISEMENT) or body[1] or bad_checksum or target >> 120 == 0xFF:
        return None
    mac, at = b"", FIXED
    while at < len(body):
        size = 8 * body[at + 1] if at + 2 <= len(body) else 0
        if not size or at + size > len(body):
            return None
        if body[at] == (SOURCE_MAC if body[0] == SOLICITATION else TARGET_MAC) and not mac:
            mac = body[at + 2 : at + 8]
        at += size
    to_multicast, flags = destination >> 120 == 0xFF, body[4]
    if body[0] == SOLICITATION and not source and (mac or destination != solicited_node(target)):
        return None
    if body[0] == ADVERTISEMENT and to_multicast and flags & SOLICITED:
        return None
    return Message(body[0], source, destination, target, mac, flags)


def write_message(message: Message) -> bytes:
    """Return the IPv6 packet of a message."""
    kind = SOURCE_MAC if message.kind == SOLICITATION else TARGET_MAC
    option = bytes([kind, 1]) + message.mac if message.mac else b""
    body = bytes([message.kind, 0, 0, 0, message.flags, 0, 0, 0]) + message.target.to_bytes(16, "big") + option
    ends = message.source, message.destination
    body = body[:2] + checksum(*ends, body).to_bytes(2, "big") + body[4:]
    return write_packet(*ends, body, next_header=ICMP6, hop_limit=HOP_LIMIT)
