"""What is replaced and cleared in headers' options and in messages: the places of addresses, and what may be anything.

Options of IPv4 (RFC 791), extension headers of IPv6 (RFC 8200, 8754, 6275), ARP (RFC 826), ICMP router discovery (RFC 1256),
ICMPv6 with neighbour discovery and multicast listeners (RFC 4443, 4861, 3810, 8106), IGMP (RFC 2236, 3376). What is
noted is only counted where there is no room for it.
"""

import numpy as np

from npexplore._kernels.capture_layout import _be16
from npexplore.jit import kernel

CLEARED = 0  # kind of an edit; others are the size of an address, 4 or 16
NONE = -1  # no address, no pseudo header


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
