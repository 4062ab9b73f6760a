"""Reads and writes ARP messages over Ethernet (RFC 826): requests and replies."""

from __future__ import annotations

from typing import NamedTuple

REQUEST, REPLY = 1, 2
SIZE = 28
HARDWARE = frozenset({b"\x00\x01", b"\x00\x06"})  # Ethernet, and IEEE 802 networks with the same format
FOR_IPV4 = b"\x08\x00\x06\x04"  # protocol type, and lengths of MAC and IPv4 addresses


class Arp(NamedTuple):
    """An ARP message: operation, sender's MAC and IPv4 address, target's IPv4 and MAC address (0 in a request)."""

    operation: int
    sender_mac: bytes
    sender: int
    target: int
    target_mac: bytes = bytes(6)


def read_arp(packet: bytes) -> Arp | None:
    """Return the message behind an Ethernet header, None if it is no ARP message about IPv4 over Ethernet."""
    if len(packet) < SIZE or packet[:2] not in HARDWARE or packet[2:6] != FOR_IPV4:
        return None
    operation = int.from_bytes(packet[6:8], "big")
    sender, target = int.from_bytes(packet[14:18], "big"), int.from_bytes(packet[24:28], "big")
    message = Arp(operation, packet[8:14], sender, target, packet[18:24])
    return message if operation in (REQUEST, REPLY) else None


def write_arp(message: Arp) -> bytes:
    """Return the 28 octets of a message."""
    head = b"\x00\x01" + FOR_IPV4 + message.operation.to_bytes(2, "big")
    sender = message.sender_mac + message.sender.to_bytes(4, "big")
    return head + sender + message.target_mac + message.target.to_bytes(4, "big")
