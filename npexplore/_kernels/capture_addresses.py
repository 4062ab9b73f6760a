"""Where packets hold addresses: what is replaced, what is cleared, which checksums follow, and where the packet is cut.

A whitelist: only what is named here and in capture_messages.py is kept. IPv4, IPv6, what stands behind them, quoted
packets (RFC 792, 4443), and IP in IP, IPv6 in IP and GRE (RFC 2784, 2890).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_layout import _be16
from npexplore._kernels.capture_messages import (
    NONE,
    _addresses,
    _advertised,
    _clear,
    _edit,
    _icmp6,
    _igmp,
    _options4,
    _options6,
    _resolution,
    _routing,
)
from npexplore.jit import kernel

Array = NDArray[Any]
NOTHING, FOUR, SIX, RESOLUTION = 0, 1, 2, 3  # what stands at the network layer
DEPTH = 3  # packets inside packets that are looked at
TO_CUT = -1  # the end of what a checksum covers: where the packet is cut
UDP_SUM = 1

# what a loop reads next
_STOP, _IP4, _IP6, _UPPER = 0, 1, 2, 3


@kernel()
def _sum(sums, counts, at, start, end, source, target, size, flag):
    """Note a checksum at `at` over [start, end) and over a pseudo header's two addresses."""
    n = counts[1]
    if n < len(sums):
        sums[n, 0] = at
        sums[n, 1] = start
        sums[n, 2] = end
        sums[n, 3] = source
        sums[n, 4] = target
        sums[n, 5] = size
        sums[n, 6] = flag
    counts[1] = n + 1


@kernel()
def _contexts(b, edits, counts, at, end):
    """Clear the contexts of service headers among link headers: they may be anything (RFC 8300 sections 2.4, 2.5)."""
    while at + 10 <= end:
        stop = at + 2 + 4 * (_be16(b, at + 2) & 63)
        if _be16(b, at) == 0x894F and b[at + 2] >> 6 == 0 and b[at + 5] >= 1 and b[at + 5] <= 5 and stop <= end:
            _clear(edits, counts, at + 10, stop)
        at += 2


@kernel()
def _packet(b, kind, o, end, edits, sums, counts):
    """Note what is to be done in one packet whose network layer begins at `o`; return where it is cut."""
    if kind == RESOLUTION:
        return _resolution(b, edits, counts, o, end)
    step = _IP4 if kind == FOUR else _IP6 if kind == SIX else _STOP
    cut, depth, protocol, source, target, size = o, 0, 0, 0, 0, 4
    while step != _STOP:
        if step == _IP4:
            if o + 20 > end or b[o] >> 4 != 4 or b[o] & 15 < 5 or depth > DEPTH:
                return o
            length, total, place = 4 * (np.int64(b[o]) & 15), _be16(b, o + 2), _be16(b, o + 6)
            stop = min(o + length, end)
            _sum(sums, counts, o + 10, o, stop, NONE, NONE, 0, 0)
            _addresses(edits, counts, o + 12, 2, 4, end)
            last = _options4(b, edits, counts, o + 20, stop)
            source, target, size = o + 12, o + 16 if last == NONE else last, 4
            if o + length > end or place & 0x1FFF:
                return stop
            end = min(end, o + total) if total >= length else end
            protocol = np.int64(b[o + 9])
            o += length
            step = _UPPER
        elif step == _IP6:
            if o + 40 > end or b[o] >> 4 != 6 or depth > DEPTH:
                return o
            _addresses(edits, counts, o + 8, 2, 16, end)
            source, target, size = o + 8, o + 24, 16
            protocol, total = np.int64(b[o + 6]), _be16(b, o + 4)
            end = min(end, o + 40 + total) if total else end
            o += 40
            while True:
                if protocol == 44:
                    if o + 8 > end:
                        return o
                    protocol, later = np.int64(b[o]), _be16(b, o + 2) & 0xFFF8
                    o += 8
                    if later:
                        return o
                    continue
                if protocol != 0 and protocol != 60 and protocol != 43 and protocol != 51:
                    break
                if o + 4 > end:
                    return o
                length = 4 * (np.int64(b[o + 1]) + 2) if protocol == 51 else 8 * (np.int64(b[o + 1]) + 1)
                stop = min(o + length, end)
                if protocol == 43:
                    last = _routing(b, edits, counts, o, stop)
                    target = target if last == NONE else last
                elif protocol == 51:
                    _clear(edits, counts, o + 12, stop)
                else:
                    home = _options6(b, edits, counts, o + 2, stop)
                    source = source if home == NONE else home
                if o + length > end:
                    return stop
                protocol = np.int64(b[o])
                o += length
            step = _UPPER
        else:
            step, cut = _STOP, o
            if protocol == 6:
                cut = min(o + 20, end)
                if o + 18 <= end:
                    _sum(sums, counts, o + 16, o, TO_CUT, source, target, size, 0)
            elif protocol == 17 or protocol == 136 or protocol == 33 or protocol == 132:
                cut = min(o + 8, end)
                if protocol != 132 and o + 8 <= end and (protocol != 17 or _be16(b, o + 6)):
                    _sum(sums, counts, o + 6, o, TO_CUT, source, target, size, UDP_SUM if protocol == 17 else 0)
            elif protocol == 1 and size == 4 and o + 8 <= end:
                _sum(sums, counts, o + 2, o, TO_CUT, NONE, NONE, 0, 0)
                cut = o + 8
                if b[o] == 9:
                    cut = _advertised(b, edits, counts, o, end)
                elif b[o] == 5:
                    _edit(edits, counts, o + 4, 4, 4)
                if b[o] == 3 or b[o] == 4 or b[o] == 5 or b[o] == 11 or b[o] == 12:
                    o, depth, step = o + 8, depth + 1, _IP4
                elif b[o] > 18 or b[o] == 1 or b[o] == 2 or b[o] == 6 or b[o] == 7:
                    cut = o + 4
            elif protocol == 58 and size == 16 and o + 4 <= end:
                _sum(sums, counts, o + 2, o, TO_CUT, source, target, size, 0)
                cut = _icmp6(b, edits, counts, o, end)
                if b[o] >= 1 and b[o] <= 4 and o + 8 <= end:
                    o, depth, step = o + 8, depth + 1, _IP6
            elif protocol == 2 and size == 4 and o + 8 <= end:
                _sum(sums, counts, o + 2, o, TO_CUT, NONE, NONE, 0, 0)
                cut = _igmp(b, edits, counts, o, end)
            elif protocol == 4 or protocol == 41:
                depth, step = depth + 1, _IP4 if protocol == 4 else _IP6
            elif protocol == 51 and size == 4 and o + 12 <= end:
                length = 4 * (np.int64(b[o + 1]) + 2)
                _clear(edits, counts, o + 12, min(o + length, end))
                cut = min(o + length, end)
                if o + length <= end:
                    protocol, o, step = np.int64(b[o]), o + length, _UPPER
                    if length < 12:
                        return cut
            elif protocol == 50:
                cut = min(o + 8, end)
            elif protocol == 135 and o + 6 <= end:
                _sum(sums, counts, o + 4, o, TO_CUT, source, target, size, 0)
                cut = o + 6
            elif protocol == 47 and o + 4 <= end:
                flags, inside = _be16(b, o), _be16(b, o + 2)
                length = 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1))
                cut = o + 4
                if not flags & 0x4007 and o + length <= end:
                    if flags & 0x8000:
                        _sum(sums, counts, o + 4, o, TO_CUT, NONE, NONE, 0, 0)
                    o += length
                    if inside == 0x6558 and o + 14 <= end:
                        inside = _be16(b, o + 12)
                        o += 14
                    cut, depth = o, depth + 1
                    step = _IP4 if inside == 0x0800 else _IP6 if inside == 0x86DD else _STOP
    return cut


@kernel()
def find_addresses(
    b: Array, base: int, kinds: Array, position: Array, captured: Array, l3: Array, cut: Array, edits: Array, sums: Array,
    counts: Array,
) -> None:  # fmt: skip
    """Note edits and checksums of all packets in their order, and in `cut` how many bytes of each are kept.

    kinds: what stands at byte `l3` of a packet, NOTHING: all from there on is cut. edits: int64 (n, 3) place, bytes, kind
    (CLEARED, or the size of an address); sums: int64 (n, 7) place, start, end, places of a pseudo header's addresses and
    their size, flag. counts: int64 (2,), how many there are; more than there is room for: call it again with more room.
    """
    for i in range(len(kinds)):
        start = position[i] - base
        first = counts[1]
        at = min(np.int64(l3[i]), np.int64(captured[i]))
        end = start + np.int64(captured[i])
        if kinds[i] == NOTHING:
            cut[i] = at
            continue
        _contexts(b, edits, counts, start, start + at)
        stop = _packet(b, np.int64(kinds[i]), start + at, end, edits, sums, counts)
        cut[i] = stop - start
        for k in range(first, min(counts[1], len(sums))):
            if sums[k, 2] == TO_CUT:
                sums[k, 2] = stop


@kernel()
def replace_addresses(b: Array, edits: Array, sums: Array, four: Array, six: Array) -> None:
    """Write the images of addresses (`four`, `six`: in the order of the edits), clear, and update the checksums.

    Innermost checksums first: an outer one covers them. HC' = ~(~HC + ~m + m') (RFC 1624 equation 3).
    """
    old = b.copy()
    n4 = n6 = 0
    for k in range(len(edits)):
        at, amount, kind = edits[k, 0], edits[k, 1], edits[k, 2]
        if kind == 4:
            b[at : at + 4] = four[n4]
            n4 += 1
        elif kind == 16:
            b[at : at + 16] = six[n6]
            n6 += 1
        else:
            b[at : at + amount] = 0
    for k in range(len(sums) - 1, -1, -1):
        at, start, end, size = sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 5]
        before = _be16(b, at)
        total = before ^ 0xFFFF
        changed = False
        for o in range(start, end, 2):
            if o == at:
                continue
            one, two = np.int64(old[o]) << 8, np.int64(b[o]) << 8
            if o + 1 < end:
                one |= np.int64(old[o + 1])
                two |= np.int64(b[o + 1])
            if one != two:
                total += (one ^ 0xFFFF) + two
                changed = True
        for j in range(2 if sums[k, 3] != NONE else 0):
            for o in range(sums[k, 3 + j], sums[k, 3 + j] + size, 2):
                one, two = _be16(old, o), _be16(b, o)
                if one != two:
                    total += (one ^ 0xFFFF) + two
                    changed = True
        if changed:
            while total > 0xFFFF:
                total = (total & 0xFFFF) + (total >> 16)
            total ^= 0xFFFF
            if sums[k, 6] == UDP_SUM and total == 0:
                total = 0xFFFF
            b[at] = total >> 8
            b[at + 1] = total & 0xFF
