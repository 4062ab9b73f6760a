"""IPv6 headers of many packets: fields, validation, extension headers, hop limit; and frames as they come.

Packets lie in `buffer` (uint8) at offset, length bytes each; addresses are two uint64 a row, the upper word first.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
# codes of golden/reasons.py (a test compares them)
NONE, LOCAL_DELIVERY, OTHER_STATION = 0, 17, 28
TOO_SHORT6, BAD_VERSION6, TRUNCATED6, MARTIAN_SOURCE6, MARTIAN_DESTINATION6 = 30, 31, 32, 33, 34
EXTENSION_CUT, HOP_BY_HOP_LATE, MULTICAST6, LINK_LOCAL_DESTINATION, HOP_LIMIT_EXCEEDED = 35, 36, 39, 40, 44
JUMBOGRAM = 57
GO, SLOW = 254, 255
ETHERNET, SHORTEST = 14, 40
ROUTABLE, UNSPECIFIED, LOOPBACK, LINK_LOCAL, MULTICAST_KIND = 0, 1, 2, 3, 4  # golden/ipv6/scope.py
INTERFACE_SCOPE = np.uint64(1)  # multicast that stays in its node
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS = 0, 43, 44, 51, 60
ICMP6, INFORMATIONAL = 58, 128


@kernel()
def _word(b: Array, o: int) -> int:
    s = np.uint64(0)
    for k in range(8):
        s = s << np.uint64(8) | np.uint64(b[o + k])
    return s


@kernel()
def _chained(protocol: int) -> bool:
    return protocol in (0, 43, 44, 51, 60, 135, 139, 140)


@kernel()
def _valid(buffer: Array, o: int, n: int) -> int:
    if n < SHORTEST:
        return TOO_SHORT6
    if buffer[o] >> 4 != 6:
        return BAD_VERSION6
    if SHORTEST + (np.int64(buffer[o + 4]) << 8 | np.int64(buffer[o + 5])) > n:
        return TRUNCATED6
    return NONE


@kernel()
def _chain(buffer: Array, o: int) -> tuple[int, int, int, int, int]:
    """Return (reason, pointer, protocol, at, headers) of a valid packet."""
    end = SHORTEST + (np.int64(buffer[o + 4]) << 8 | np.int64(buffer[o + 5]))
    protocol = np.int64(buffer[o + 6])
    if protocol == HOP_BY_HOP and end == SHORTEST:
        return JUMBOGRAM, 0, HOP_BY_HOP, SHORTEST, 0
    at, named, count = 40, 6, 0
    while _chained(protocol):
        if protocol == HOP_BY_HOP and at != SHORTEST:
            return HOP_BY_HOP_LATE, named, protocol, at, count
        if at + 8 > end:
            return EXTENSION_CUT, at, protocol, at, count
        size = 8 * np.int64(buffer[o + at + 1]) + 8
        if protocol == FRAGMENT:
            size = 8
        elif protocol == AUTHENTICATION:
            size = 4 * np.int64(buffer[o + at + 1]) + 8
        if at + size > end:
            return EXTENSION_CUT, at, protocol, at, count
        later = protocol == FRAGMENT and (buffer[o + at + 2] != 0 or buffer[o + at + 3] >> 3 != 0)
        protocol = np.int64(buffer[o + at])
        named = at
        at += size
        count += 1
        if later:
            return NONE, 0, FRAGMENT, at, count
    return NONE, 0, protocol, at, count


@kernel()
def _kind(high: int, low: int) -> int:
    if high == np.uint64(0) and low < np.uint64(2):
        return LOOPBACK if low else UNSPECIFIED
    if high >> np.uint64(56) == np.uint64(0xFF):
        return MULTICAST_KIND
    return LINK_LOCAL if high >> np.uint64(54) == np.uint64(0x3FA) else ROUTABLE


@kernel()
def validate(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (uint8) with the reason code of the first test of RFC 8200 section 3 that fails, 0 for none."""
    for i in range(len(offset)):
        out[i] = _valid(buffer, offset[i], length[i])


@kernel()
def fields(buffer: Array, offset: Array, length: Array, numbers: Array, source: Array, destination: Array) -> None:
    """Fill numbers (6, n) and addresses (n, 2), given as 0, with the fields; packets below 40 bytes keep 0."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < SHORTEST:
            continue
        numbers[0, i] = buffer[o] >> 4
        numbers[1, i] = (np.int64(buffer[o]) & 15) << 4 | np.int64(buffer[o + 1]) >> 4
        numbers[2, i] = (np.int64(buffer[o + 1]) & 15) << 16 | np.int64(buffer[o + 2]) << 8 | np.int64(buffer[o + 3])
        numbers[3, i] = np.int64(buffer[o + 4]) << 8 | np.int64(buffer[o + 5])
        numbers[4, i] = buffer[o + 6]
        numbers[5, i] = buffer[o + 7]
        for word in range(2):
            source[i, word] = _word(buffer, o + 8 + 8 * word)
            destination[i, word] = _word(buffer, o + 24 + 8 * word)


@kernel()
def chains(buffer: Array, offset: Array, length: Array, columns: Array) -> None:
    """Fill columns (5, n), given as 0, with reason, pointer, protocol, its place and the number of headers."""
    for i in range(len(offset)):
        columns[0, i] = _valid(buffer, offset[i], length[i])
        if columns[0, i] == NONE:
            reason, pointer, protocol, at, count = _chain(buffer, offset[i])
            columns[0, i] = reason
            columns[1, i] = pointer
            columns[2, i] = protocol
            columns[3, i] = at
            columns[4, i] = count


@kernel()
def _about_error(buffer: Array, o: int, n: int) -> bool:
    if n < SHORTEST:
        return False
    kind, at, fragment = np.int64(buffer[o + 6]), SHORTEST, False
    while kind in (HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS):
        if at + (4 if kind == FRAGMENT else 2) > n:
            return False
        size = 8 * np.int64(buffer[o + at + 1]) + 8
        if kind == FRAGMENT:
            place = np.int64(buffer[o + at + 2]) << 8 | np.int64(buffer[o + at + 3])
            if place >> 3 != 0:
                return False
            size, fragment = 8, place != 0
        elif kind == AUTHENTICATION:
            size = 4 * np.int64(buffer[o + at + 1]) + 8
        kind = np.int64(buffer[o + at])
        at += size
    if kind != ICMP6:
        return False
    return buffer[o + at] < INFORMATIONAL if at < n else not fragment


@kernel()
def about_errors(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (bool): does each packet carry an ICMPv6 error as far as Linux looks (golden/linux)?"""
    for i in range(len(offset)):
        out[i] = _about_error(buffer, offset[i], length[i])


@kernel()
def kinds(address: Array, out: Array) -> None:
    """Fill out (uint8) with the kind of each address (n, 2)."""
    for i in range(len(address)):
        out[i] = _kind(address[i, 0], address[i, 1])


@kernel()
def decrement(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Take one from each hop limit in place; fill out (uint8) with reason codes."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < SHORTEST:
            out[i] = TOO_SHORT6
        elif buffer[o + 7] <= 1:
            out[i] = HOP_LIMIT_EXCEEDED
        else:
            buffer[o + 7] -= 1
            out[i] = NONE


@kernel()
def arrive(buffer: Array, words: Array, offset: Array, length: Array, in_port: Array, mac: Array, own: Array,
           whole_chain: bool, verdict: Array, destination: Array) -> None:  # fmt: skip
    """Fill verdict (uint8) of IPv6 frames by frame, header and addresses, and destination (n, 2) where it is GO.

    mac (ports, 2) uint32: the first and the last four bytes of each port's address, as `words` holds them. own (k, 2):
    the router's addresses. whole_chain: look at all extension headers. What may cause a message, has hop-by-hop options
    or comes from the unspecified address, on which profiles differ, is SLOW.
    """
    for i in range(len(offset)):
        o = offset[i]
        destination[i, 0] = np.uint64(0)
        destination[i, 1] = np.uint64(0)
        p = in_port[i]
        link_multicast = buffer[o] & 1 != 0
        if not link_multicast and (words[o] != mac[p, 0] or words[o + 2] != mac[p, 1]):
            verdict[i] = OTHER_STATION
            continue
        o += ETHERNET
        code = _valid(buffer, o, length[i] - ETHERNET)
        if code != NONE:
            verdict[i] = code
            continue
        high, low = _word(buffer, o + 24), _word(buffer, o + 32)
        source = _kind(_word(buffer, o + 8), _word(buffer, o + 16))
        target = _kind(high, low)
        if source == LOOPBACK or source == MULTICAST_KIND:
            verdict[i] = MARTIAN_SOURCE6
            continue
        if target == LOOPBACK and source != UNSPECIFIED:
            verdict[i] = MARTIAN_DESTINATION6
            continue
        multicast = target == MULTICAST_KIND and high >> np.uint64(48) & np.uint64(15) > INTERFACE_SCOPE
        plain = source == ROUTABLE and target == ROUTABLE and not link_multicast
        if source == UNSPECIFIED or buffer[o + 6] == HOP_BY_HOP or not (multicast or plain):
            verdict[i] = SLOW
            continue
        if whole_chain and _chained(np.int64(buffer[o + 6])):
            code = _chain(buffer, o)[0]
            if code != NONE:
                verdict[i] = SLOW if code == HOP_BY_HOP_LATE else code
                continue
        code = MULTICAST6 if multicast else GO
        for k in range(len(own)):
            if high == own[k, 0] and low == own[k, 1]:
                code = LOCAL_DELIVERY
        verdict[i] = code
        if code == GO:
            destination[i, 0] = high
            destination[i, 1] = low
