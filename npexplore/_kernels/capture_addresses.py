"""Where packets hold addresses: what is replaced, what is cleared, which checksums follow, and where the packet is cut.

A whitelist: only what is named here is kept. IPv4 with its options (RFC 791), IPv6 with its extension headers (RFC 8200,
8754, 6275), ARP (RFC 826), ICMP (RFC 792, 1256), ICMPv6 with neighbour discovery and multicast listeners (RFC 4443, 4861,
3810, 8106), IGMP (RFC 2236, 3376), quoted packets, and IP in IP, IPv6 in IP and GRE (RFC 2784, 2890).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_layout import _be16
from npexplore.jit import kernel

Array = NDArray[Any]
NOTHING, FOUR, SIX, RESOLUTION = 0, 1, 2, 3  # what stands at the network layer
DEPTH = 3  # packets inside packets that are looked at
CLEARED = 0  # kind of an edit; others are the size of an address, 4 or 16
TO_CUT = -1  # the end of what a checksum covers: where the packet is cut
NONE = -1  # no pseudo header
UDP_SUM = 1

# what a loop reads next
_STOP, _IP4, _IP6, _UPPER = 0, 1, 2, 3


@kernel()
def _edit(edits, counts, at, amount, kind):
    """Note an edit if there is room for it; count it in any case."""
    n = counts[0]
    if n < len(edits):
        edits[n, 0] = at
        edits[n, 1] = amount
        edits[n, 2] = kind
    counts[0] = n + 1


@kernel()
def _clear(edits, counts, at, end):
    if end > at:
        _edit(edits, counts, at, end - at, CLEARED)


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
def _addresses(edits, counts, at, many, size, end):
    """Note addresses in a row; return where the last whole one ends."""
    for _ in range(many):
        if at + size > end:
            break
        _edit(edits, counts, at, size, size)
        at += size
    return at


@kernel()
def _options4(b, edits, counts, k, end):
    """Note what the options of an IPv4 header hold; return the place of a source route's last address, NONE without."""
    last = NONE
    while k < end:
        kind = b[k]
        if kind == 0:
            _clear(edits, counts, k + 1, end)
            break
        if kind == 1:
            k += 1
            continue
        if k + 1 >= end:
            break
        n = np.int64(b[k + 1])
        if n < 2 or k + n > end:
            _clear(edits, counts, k + 2, end)
            break
        if kind == 7 or kind == 131 or kind == 137:
            done = _addresses(edits, counts, k + 3, (n - 3) // 4, 4, k + n)
            _clear(edits, counts, max(done, k + 3), k + n)
            if kind != 7 and n >= 7:
                last = done - 4
        elif kind == 68 and n >= 4 and b[k + 3] & 15 == 0:
            pass
        elif kind == 68 and n >= 4 and (b[k + 3] & 15 == 1 or b[k + 3] & 15 == 3):
            at = k + 4
            while at + 8 <= k + n:
                _edit(edits, counts, at, 4, 4)
                at += 8
            _clear(edits, counts, at, k + n)
        elif not (kind == 148 and n == 4):
            _clear(edits, counts, k + 2, k + n)
        k += n
    return last


@kernel()
def _options6(b, edits, counts, k, end):
    """Note what options of an extension header hold; return the place of a home address, NONE without."""
    home = NONE
    while k < end:
        kind = b[k]
        if kind == 0:
            k += 1
            continue
        if k + 1 >= end:
            break
        n = np.int64(b[k + 1])
        if k + 2 + n > end:
            _clear(edits, counts, k + 2, end)
            break
        if kind == 201 and n == 16:
            _edit(edits, counts, k + 2, 16, 16)
            home = k + 2
        elif not ((kind == 5 and n == 2) or (kind == 4 and n == 1) or (kind == 194 and n == 4)):
            _clear(edits, counts, k + 2, k + 2 + n)
        k += 2 + n
    return home


@kernel()
def _routing(b, edits, counts, p, end):
    """Note the addresses of a routing header; return the place of the last destination, NONE if none is to come."""
    kind, left = b[p + 2], b[p + 3]
    if kind == 0 or kind == 2:
        done = _addresses(edits, counts, p + 8, (end - p - 8) // 16, 16, end)
        _clear(edits, counts, done, end)
        return done - 16 if left and done > p + 8 else NONE
    if kind == 4:
        done = _addresses(edits, counts, p + 8, np.int64(b[p + 4]) + 1 if p + 8 <= end else 0, 16, end)
        _clear(edits, counts, done, end)
        return p + 8 if left and done > p + 8 else NONE
    _clear(edits, counts, p + 4, end)
    return NONE


@kernel()
def _discovery(b, edits, counts, k, end):
    """Note the addresses of neighbour discovery's options; return where the last known one ends."""
    while k + 2 <= end:
        kind, n = b[k], 8 * np.int64(b[k + 1])
        if n == 0 or k + n > end:
            break
        if kind == 3 and n == 32:
            _edit(edits, counts, k + 16, 16, 16)
        elif kind == 24 and n == 24:
            _edit(edits, counts, k + 8, 16, 16)
        elif kind == 25:
            _clear(edits, counts, _addresses(edits, counts, k + 8, (n - 8) // 16, 16, k + n), k + n)
        elif kind > 2 and kind != 5:
            _clear(edits, counts, k + 2, k + n)
        k += n
    return k


@kernel()
def _groups(b, edits, counts, k, many, size, end):
    """Note the addresses of group records (RFC 3376 4.2.4, RFC 3810 5.2); return where the last whole one ends."""
    for _ in range(many):
        if k + 4 + size > end:
            break
        sources, extra = _be16(b, k + 2), 4 * np.int64(b[k + 1])
        _edit(edits, counts, k + 4, size, size)
        k += 4 + size
        done = _addresses(edits, counts, k, sources, size, end)
        if done < k + sources * size:
            return done
        k = done
        _clear(edits, counts, k, min(k + extra, end))
        k = min(k + extra, end)
    return k


@kernel()
def _icmp6(b, edits, counts, o, end):
    """Note the addresses of an ICMPv6 message but a quoted packet; return where it is cut."""
    kind = b[o]
    fixed = 8
    if kind >= 133 and kind <= 137:
        fixed = (8, 16, 24, 24, 40)[kind - 133]
    elif kind >= 130 and kind <= 132:
        fixed = 24
    elif kind == 143:
        return _groups(b, edits, counts, o + 8, _be16(b, o + 6), 16, end) if o + 8 <= end else o + 4
    elif kind == 0 or (kind != 128 and kind != 129 and kind > 4):
        return min(o + 4, end)
    if o + fixed > end:
        return min(o + 8, end)
    if fixed >= 24:
        _addresses(edits, counts, o + 8, (fixed - 8) // 16, 16, o + fixed)
    if kind == 130 and o + 28 <= end:
        return _addresses(edits, counts, o + 28, _be16(b, o + 26), 16, end)
    return _discovery(b, edits, counts, o + fixed, end) if kind >= 133 else o + fixed


@kernel()
def _igmp(b, edits, counts, o, end):
    """Note the addresses of an IGMP message; return where it is cut."""
    kind = b[o]
    if kind == 0x22:
        return _groups(b, edits, counts, o + 8, _be16(b, o + 6), 4, end)
    if kind != 0x11 and kind != 0x12 and kind != 0x16 and kind != 0x17:
        return o + 4
    _edit(edits, counts, o + 4, 4, 4)
    if kind == 0x11 and o + 12 <= end:
        return _addresses(edits, counts, o + 12, _be16(b, o + 10), 4, end)
    return o + 8


@kernel()
def _advertised(b, edits, counts, o, end):
    """Note the addresses of a router advertisement (RFC 1256); return where it is cut."""
    at, size = o + 8, 4 * np.int64(b[o + 5])
    for _ in range(np.int64(b[o + 4])):
        if size < 4 or at + size > end:
            break
        _edit(edits, counts, at, 4, 4)
        _clear(edits, counts, at + 8, at + size)
        at += size
    return at


@kernel()
def _resolution(b, edits, counts, o, end):
    """Note the addresses of ARP for IPv4 and its relatives; return where the packet is cut.

    Cisco's SLARP has an address where they have their header. Hardware addresses of 4 bytes are those of IPv4 tunnels,
    long ones (Infiniband's) hold addresses of IPv6.
    """
    if o + 8 > end or _be16(b, o + 2) != 0x0800:
        return o
    hardware, size = np.int64(b[o + 4]), np.int64(b[o + 5])
    if size != 4 or hardware == 4 or hardware > 8:
        return o + 8
    at = o + 8 + hardware
    if at + 4 > end:
        return min(at, end)
    _edit(edits, counts, at, 4, 4)
    at += 4 + hardware
    if at + 4 > end:
        return min(at, end)
    _edit(edits, counts, at, 4, 4)
    return at + 4


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
