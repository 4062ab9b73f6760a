"""The outermost network layer and the ports behind it: IPv4 (RFC 791), IPv6 with its extension headers (RFC 8200).

Fields that are not captured are 0. Both functions return flags, length, offset of the transport layer, its protocol, class
of service, hops left, identification and fragment; `network` is the header's offset in the packet, `on_wire` the bytes
from there to the packet's end.
"""

import numpy as np

from npexplore._kernels.capture_layout import *
from npexplore._kernels.capture_layout import _be16, _be32
from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _checksum_flag(b, o, size):
    total = 0
    for k in range(0, size, 4):
        total += _be32(b, o + k)
    total = (total & 0xFFFF) + (total >> 16 & 0xFFFF) + (total >> 32)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return CHECKSUM_GOOD if total == 0xFFFF else CHECKSUM_BAD


@kernel(forceinline=True, _nrt=False)
def _ipv4(b, o, end, network, on_wire):
    have = end - o
    flag, service, total, number, piece, hops, protocol = IPV4, 0, 0, 0, 0, 0, 0
    if have >= 20:
        flag |= HEADER
        service, hops, protocol = np.int64(b[o + 1]), np.int64(b[o + 8]), np.int64(b[o + 9])
        total, number, piece = _be16(b, o + 2), _be16(b, o + 4), _be16(b, o + 6)
    else:
        service = np.int64(b[o + 1]) if have >= 2 else 0
        total = _be16(b, o + 2) if have >= 4 else 0
        number = _be16(b, o + 4) if have >= 6 else 0
        piece = _be16(b, o + 6) if have >= 8 else 0
        hops = np.int64(b[o + 8]) if have >= 9 else 0
        protocol = np.int64(b[o + 9]) if have >= 10 else 0
    if total == 0:
        total = on_wire
    if piece & 0x4000:
        flag |= DONT_FRAGMENT
    if piece & 0x3FFF:
        flag |= FRAGMENT
    if piece & 0x1FFF:
        flag |= NONFIRST
    transport = NO_OFFSET
    size = (np.int64(b[o]) & 15) * 4 if have >= 1 else 0
    if have >= 1 and (size < 20 or b[o] >> 4 != 4):
        flag |= MALFORMED | CHECKSUM_BAD
    else:
        if size > 20:
            flag |= OPTIONS
        flag |= CHECKSUM_CUT if have < max(size, 20) else _checksum_flag(b, o, size)
        if have >= 4 and (total < size or total > on_wire):
            flag |= MALFORMED
        if size >= 20 and network + size < NO_OFFSET:
            transport = network + size
    return flag, total, transport, protocol, service, hops, number, piece


@kernel(_nrt=False)
def _is_extension(protocol):
    return (
        protocol == 0 or protocol == 43 or protocol == 44 or protocol == 51 or protocol == 60 or protocol == 135
        or protocol == 139 or protocol == 140
    )  # fmt: skip


@kernel(forceinline=True, _nrt=False)
def _ipv6(b, o, end, network, on_wire):
    have = end - o
    flag = IPV6
    total = _be16(b, o + 4) if have >= 6 else 0
    if total == 0:
        total = on_wire
    else:
        total += 40
        if total > on_wire:
            flag |= MALFORMED
    number, piece, transport = np.int64(0), np.int64(0), np.int64(NO_OFFSET)
    if have >= 1 and b[o] >> 4 != 6:
        return flag | MALFORMED, total, transport, np.int64(0), np.int64(0), np.int64(0), number, piece
    service = _be16(b, o) >> 4 & 0xFF if have >= 2 else 0
    protocol = np.int64(b[o + 6]) if have >= 7 else 0
    hops = np.int64(b[o + 7]) if have >= 8 else 0
    if have < 40:
        return flag, total, transport, protocol, service, hops, number, piece
    flag |= HEADER
    at = o + 40
    while _is_extension(protocol) and not flag & NONFIRST:
        if at + 8 > end:
            return flag, total, transport, protocol, service, hops, number, piece
        following = np.int64(b[at])
        if protocol == 44:
            word = _be16(b, at + 2)
            piece = (word & 1) << 13 | word >> 3
            number = _be32(b, at + 4)
            if piece:
                flag |= FRAGMENT
            if piece & 0x1FFF:
                flag |= NONFIRST
            at += 8
        elif protocol == 51:
            at += (np.int64(b[at + 1]) + 2) * 4
        else:
            if protocol != 43:
                flag |= OPTIONS
            at += (np.int64(b[at + 1]) + 1) * 8
        protocol = following
    if network + at - o < NO_OFFSET:
        transport = network + at - o
    return flag, total, transport, protocol, service, hops, number, piece


@kernel(forceinline=True, _nrt=False)
def _ports(b, at, last, protocol):
    """Return the ports of TCP, UDP, SCTP, DCCP or UDP-Lite at an offset, TCP's flags, and the flag that says so."""
    if not (protocol == 6 or protocol == 17 or protocol == 132 or protocol == 33 or protocol == 136) or at + 4 > last:
        return 0, np.int64(0), np.int64(0), np.int64(0)
    control = np.int64(b[at + 13]) if protocol == 6 and at + 14 <= last else 0
    return PORTS, _be16(b, at), _be16(b, at + 2), control
