"""What a router answers about IPv6 packets for itself: RFC 4443 sections 4.1 (echo), 3.1 (port), 3.4 (next header)."""

from __future__ import annotations

from npexplore.golden.ipv4.host import whole_datagram
from npexplore.golden.ipv6.extensions import CHAINED
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, UDP, read_header
from npexplore.golden.ipv6.icmp import PARAMETER_PROBLEM, UNREACHABLE, IcmpError, checksum

ECHO, ECHO_REPLY = 128, 129
PORT, NEXT_HEADER = 4, 1  # codes
TCP, NOTHING, NEXT_HEADER_AT = 6, 59, 6


def host_answer6(packet: bytes) -> bytes | IcmpError | None:
    """Return the ICMPv6 message that replies to a packet (its checksum is 0), the error it calls for, or None.

    None about packets with extension headers: they are not walked for the router itself.
    """
    header = read_header(packet)
    data = packet[SHORTEST : SHORTEST + header.payload_length]
    if header.next_header == ICMP6:
        right = len(data) >= 8 and data[0] == ECHO
        sound = right and checksum(header.source, header.destination, data) == 0
        return bytes([ECHO_REPLY]) + data[1:2] + bytes(2) + data[4:] if sound else None
    if header.next_header == UDP:
        ends = packet[8:SHORTEST] + bytes(2) + b"\0" + bytes([UDP])
        return IcmpError(UNREACHABLE, PORT) if whole_datagram(data, ends, may_lack=False) else None
    if header.next_header in CHAINED or header.next_header in (TCP, NOTHING):
        return None
    return IcmpError(PARAMETER_PROBLEM, NEXT_HEADER, NEXT_HEADER_AT)
