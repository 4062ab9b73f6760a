"""The router's replies to packets for itself (RFC 1812 section 4.3.3.6 and 4.3.3.8, RFC 1122 section 3.2.2).

Echo and timestamp requests get replies. No UDP port is open (RFC 1122 section 4.1.3.1), and other protocols are not
supported: such packets get errors. TCP packets get no answer. Fragments are reassembled before (`reassembly`).
"""

from __future__ import annotations

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.ipv4.icmp import ICMP, UNREACHABLE, IcmpError

ECHO_REPLY, ECHO, TIMESTAMP, TIMESTAMP_REPLY = 0, 8, 13, 14
PROTOCOL, PORT = 2, 3  # codes of Destination Unreachable
IGMP, TCP, UDP = 2, 6, 17
SHORTEST, ORIGINATE = 8, 12


def host_answer(packet: bytes, time_ms: int) -> bytes | IcmpError | None:
    """Return the ICMP reply to a packet (type to data), the error about it, or None for no answer."""
    header = read_header(packet)
    data = packet[header.header_length : header.total_length]
    if header.protocol == ICMP:
        return _reply(data, time_ms)
    if header.protocol == UDP:
        ends = packet[12:20] + bytes([0, UDP])
        return IcmpError(UNREACHABLE, PORT) if whole_datagram(data, ends) else None
    return None if header.protocol in (IGMP, TCP) else IcmpError(UNREACHABLE, PROTOCOL)


def whole_datagram(data: bytes, ends: bytes, *, may_lack: bool = True) -> bool:
    """Say whether a UDP datagram is complete and its checksum correct (RFC 768). ends: pseudo header without length.

    may_lack: a checksum of 0 is allowed and means no checksum.
    """
    size = int.from_bytes(data[4:6], "big")
    if not SHORTEST <= size <= len(data):
        return False
    if data[6:8] == b"\0\0":
        return may_lack
    return internet_checksum(ends + data[4:6] + data[:size]) == 0


def _reply(data: bytes, time_ms: int) -> bytes | None:
    if len(data) < SHORTEST or internet_checksum(data):
        return None
    if data[0] == ECHO:
        return summed(bytes([ECHO_REPLY]) + data[1:2] + bytes(2) + data[4:])
    if data[0] == TIMESTAMP and len(data) >= ORIGINATE:
        times = data[8:ORIGINATE] + 2 * time_ms.to_bytes(4, "big")
        return summed(bytes([TIMESTAMP_REPLY, 0, 0, 0]) + data[4:8] + times)
    return None


def summed(message: bytes) -> bytes:
    """Return an ICMP message with its checksum."""
    return message[:2] + internet_checksum(message).to_bytes(2, "big") + message[4:]
