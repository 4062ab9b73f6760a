"""IPv4 headers of many packets: checksums, validation, fields, time to live.

Packets lie in `buffer` (uint8) at offset, length bytes each. `words` is the same buffer as overlapping words of 4 bytes
(word i begins at byte i). The sum of one's complement does not depend on the order of bytes (RFC 1071 section 2 B), so
that words are added as the machine reads them; the carries come back at the end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
# codes of golden/reasons.py (a test compares them)
NONE, TOO_SHORT, BAD_VERSION, BAD_HEADER_LENGTH, HEADER_CUT = 0, 2, 3, 4, 5
BAD_TOTAL_LENGTH, TRUNCATED, BAD_CHECKSUM, MARTIAN_SOURCE, MARTIAN_DESTINATION, TTL_EXPIRED = 6, 7, 8, 9, 10, 11
GO, SLOW = 254, 255  # golden_forward.py
END, NOP, ROUTER_ALERT = 0, 1, 148  # golden/ipv4/options.py


@kernel()
def _sums_to_ones(words: Array, o: int, ihl: int) -> bool:
    s = np.uint64(words[o]) + np.uint64(words[o + 4]) + np.uint64(words[o + 8])
    s += np.uint64(words[o + 12]) + np.uint64(words[o + 16])
    for k in range(5, ihl):
        s += np.uint64(words[o + 4 * k])
    # a multiple of 0xffff above zero is all ones; 2^16 = 1 modulo 0xffff
    s = (s & np.uint64(0xFFFFFFFF)) + (s >> np.uint64(32))
    s = (s & np.uint64(0xFFFF)) + (s >> np.uint64(16))
    s = (s & np.uint64(0xFFFF)) + (s >> np.uint64(16))
    return s == np.uint64(0xFFFF)


@kernel()
def header_sums(buffer: Array, words: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (bool): is there a whole header and is its checksum right?"""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < 20:
            out[i] = False
            continue
        ihl = np.int64(buffer[o]) & 15
        out[i] = ihl >= 5 and 4 * ihl <= length[i] and _sums_to_ones(words, o, ihl)


@kernel()
def checksums(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (uint16) with the internet checksum of all bytes of each packet."""
    for i in range(len(offset)):
        s = np.uint64(0)
        o = offset[i]
        end = o + length[i]
        while o + 1 < end:
            s += np.uint64(buffer[o]) << np.uint64(8) | np.uint64(buffer[o + 1])
            o += 2
        if o < end:
            s += np.uint64(buffer[o]) << np.uint64(8)
        while s > np.uint64(0xFFFF):
            s = (s & np.uint64(0xFFFF)) + (s >> np.uint64(16))
        out[i] = np.uint64(0xFFFF) - s


@kernel(forceinline=True)
def _two(b: Array, o: int) -> int:
    return np.int64(b[o]) << 8 | np.int64(b[o + 1])


@kernel(forceinline=True)
def _updated(checksum: int, old: int, new: int) -> int:
    s = (checksum ^ 0xFFFF) + (old ^ 0xFFFF) + new
    s = (s & 0xFFFF) + (s >> 16)
    s = (s & 0xFFFF) + (s >> 16)
    return s ^ 0xFFFF


@kernel(forceinline=True)
def _rewrite(b: Array, o: int, at: int, new: int) -> None:
    """Write two bytes into the header at o, `at` bytes behind its begin, and mend its checksum (RFC 1624 equation 3)."""
    checksum = _updated(_two(b, o + 10), _two(b, o + at), new)
    b[o + at] = new >> 8
    b[o + at + 1] = new & 0xFF
    b[o + 10] = checksum >> 8
    b[o + 11] = checksum & 0xFF


@kernel()
def updates(checksum: Array, old: Array, new: Array, out: Array) -> None:
    """Fill out (uint16) with each checksum after a word changed from old to new (RFC 1624 equation 3)."""
    for i in range(len(checksum)):
        out[i] = _updated(np.int64(checksum[i]), np.int64(old[i]), np.int64(new[i]))


@kernel()
def _passive(buffer: Array, at: int, end: int) -> bool:
    """Say whether all options are such that routers send them on as they are: no operation, router alert, end."""
    while at < end and buffer[at] != END:
        if buffer[at] == NOP:
            at += 1
        elif buffer[at] == ROUTER_ALERT and at + 4 <= end and buffer[at + 1] == 4:
            at += 4
        else:
            return False
    while at < end:
        if buffer[at] != END:  # Linux clears what is behind the end
            return False
        at += 1
    return True


@kernel(forceinline=True)
def _header(buffer: Array, words: Array, o: int, n: int) -> int:
    """Return why n bytes at o are no packet (golden/ipv4/validate.py), SLOW if options are to be handled, or GO."""
    if n < 20:
        return TOO_SHORT
    if buffer[o] >> 4 != 4:
        return BAD_VERSION
    ihl = np.int64(buffer[o]) & 15
    if ihl < 5:
        return BAD_HEADER_LENGTH
    if 4 * ihl > n:
        return HEADER_CUT
    total = _two(buffer, o + 2)
    if total < 4 * ihl:
        return BAD_TOTAL_LENGTH
    if total > n:
        return TRUNCATED
    if not _sums_to_ones(words, o, ihl):
        return BAD_CHECKSUM
    return GO if ihl == 5 or _passive(buffer, o + 20, o + 4 * ihl) else SLOW


@kernel()
def validate(buffer: Array, words: Array, offset: Array, length: Array, out: Array) -> None:
    """Fill out (uint8) with the reason code of the first test of RFC 1812 section 5.2.2 that fails, 0 for none."""
    for i in range(len(offset)):
        code = _header(buffer, words, offset[i], length[i])
        out[i] = code if code < GO else NONE


@kernel()
def fields(buffer: Array, offset: Array, length: Array, version: Array, header_length: Array, tos: Array,
           total_length: Array, identification: Array, flags: Array, fragment_offset: Array, ttl: Array,
           protocol: Array, checksum: Array, source: Array, destination: Array) -> None:  # fmt: skip
    """Fill columns, given as 0, with the fields of the headers; packets below 20 bytes keep 0."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < 20:
            continue
        version[i] = buffer[o] >> 4
        header_length[i] = (buffer[o] & 15) * 4
        tos[i] = buffer[o + 1]
        total_length[i] = _two(buffer, o + 2)
        identification[i] = _two(buffer, o + 4)
        flags[i] = buffer[o + 6] >> 5
        fragment_offset[i] = (np.int64(buffer[o + 6]) & 31) << 8 | np.int64(buffer[o + 7])
        ttl[i] = buffer[o + 8]
        protocol[i] = buffer[o + 9]
        checksum[i] = _two(buffer, o + 10)
        s = np.int64(0)
        d = np.int64(0)
        for k in range(4):
            s = s << 8 | np.int64(buffer[o + 12 + k])
            d = d << 8 | np.int64(buffer[o + 16 + k])
        source[i] = s
        destination[i] = d


@kernel()
def decrement(buffer: Array, offset: Array, length: Array, out: Array) -> None:
    """Take one from each time to live in place and mend the checksum; fill out (uint8) with reason codes."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < 20:
            out[i] = TOO_SHORT
            continue
        if buffer[o + 8] <= 1:
            out[i] = TTL_EXPIRED
            continue
        _rewrite(buffer, o, 8, _two(buffer, o + 8) - 0x100)
        out[i] = NONE


@kernel()
def mark(buffer: Array, offset: Array, length: Array, dscp: Array) -> None:
    """Write code points (-1: none) into the DS fields in place and mend the checksums."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] < 20 or dscp[i] < 0:
            continue
        _rewrite(buffer, o, 0, _two(buffer, o) & 0xFF03 | np.int64(dscp[i]) << 2)


@kernel()
def _bad(address: int, value: Array, mask: Array, bad: Array) -> bool:
    """Say whether the first prefix that holds an address is a bad one."""
    for k in range(len(value)):
        if address & mask[k] == value[k]:
            return bad[k]
    return False


@kernel()
def martians(source: Array, destination: Array, value: Array, mask: Array, bad_source: Array, bad_destination: Array,
             out: Array) -> None:  # fmt: skip
    """Fill out (uint8) with reason codes. Rows (uint32 value and mask, bool, bool) are sorted longest prefix first."""
    for i in range(len(source)):
        out[i] = NONE
        if _bad(source[i], value, mask, bad_source):
            out[i] = MARTIAN_SOURCE
        elif _bad(destination[i], value, mask, bad_destination):
            out[i] = MARTIAN_DESTINATION


@kernel()
def destinations(destination: Array, address: Array, mask: Array, broadcasts: Array, out: Array) -> None:
    """Fill out (uint8) with the kind of each destination (golden/ipv4/delivery.py).

    address, mask (uint32), broadcasts (bool): of the router's links; without broadcasts a link has no such addresses.
    """
    for i in range(len(destination)):
        d = np.uint32(destination[i])
        if d == np.uint32(0xFFFFFFFF):
            out[i] = 2
            continue
        if d >> np.uint32(28) == np.uint32(14):
            out[i] = 5
            continue
        kind = 0
        for k in range(len(address)):
            if d == address[k]:
                kind = 1
                break
            if broadcasts[k] and (d & mask[k]) == (address[k] & mask[k]):
                if d | mask[k] == np.uint32(0xFFFFFFFF):
                    kind = 3
                elif d & ~mask[k] == np.uint32(0) and kind == 0:
                    kind = 4
        out[i] = kind
