"""Find the packet records in a block of capture bytes: where each starts, its time stamp and its two lengths.

pcap: draft-ietf-opsawg-pcap section 4 and 5, with the older and modified record headers of libpcap's and Wireshark's
readers. pcapng: draft-ietf-opsawg-pcapng sections 3 and 4. ERF: Endace EDM11-01. The kernels stop, never guess, at
anything that is no record: `state` tells the caller where and why.

    state[0] index of the first byte not consumed      state[2] bytes wanted, or the value found
    state[1] one of the statuses below                 state[3] the bound that was broken
    state[4:] pairs of a pcapng block type without packets and how many of it were passed over
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]

MORE, OUT_FULL, SECTION, INTERFACE, SKIP = 0, 1, 2, 3, 4
TOO_LONG, BLOCK_TOO_SHORT, BLOCK_TOO_LONG, TRAILER_DIFFERS, NO_SUCH_INTERFACE, DATA_OVERRUNS = 10, 11, 12, 13, 14, 15
RECORD_TOO_SHORT, NEXT_FILE = 16, 17

NO_TIME = np.iinfo(np.int64).min
# the layout of one row of `interfaces`
KIND, AMOUNT, OFFSET_S, SNAPLEN, LIMIT = 0, 1, 2, 3, 4
MULTIPLY, DIVIDE, SHIFT = 0, 1, 2

SECTION_BLOCK, INTERFACE_BLOCK, PACKET_BLOCK, SIMPLE_BLOCK, ENHANCED_BLOCK = 0x0A0D0D0A, 1, 2, 3, 6
MAX_BLOCK_BYTES = 1 << 24
OTHER_TYPES = 16  # types of blocks without packets that are counted apart; the last row of `state` has the rest
MAX_SECONDS = 9_223_372_035


@kernel()
def _u32(b, o, big):
    if big:
        return np.int64(b[o]) << 24 | np.int64(b[o + 1]) << 16 | np.int64(b[o + 2]) << 8 | np.int64(b[o + 3])
    return np.int64(b[o + 3]) << 24 | np.int64(b[o + 2]) << 16 | np.int64(b[o + 1]) << 8 | np.int64(b[o])


@kernel()
def _stop(state, status, value, bound):
    """Say why no record follows here."""
    state[1], state[2], state[3] = status, value, bound


@kernel()
def frame_pcap(
    b: Array,
    start: int,
    end: int,
    base: int,
    big: bool,
    header_bytes: int,
    order: int,
    ns_per_tick: int,
    limit: int,
    words: tuple[int, int],
    state: Array,
    t_ns: Array,
    length: Array,
    captured: Array,
    position: Array,
) -> int:
    """Write up to len(t_ns) records found in b[start:end]; return their number.

    order: 0 captured length first, 1 original length first (versions before 2.3), 2 whichever is smaller is the
    captured one (version 2.3). position is absolute: index + base. words: the first two of the file header, which end
    the file where they stand again in front of two zeros: another capture was appended to it.
    """
    n, o = 0, start
    state[1] = OUT_FULL
    while n < len(t_ns):
        if end - o < header_bytes:
            _stop(state, MORE, header_bytes, 0)
            break
        first = _u32(b, o + 8, big)
        second = _u32(b, o + 12, big)
        if first == 0 and second == 0 and _u32(b, o, big) == words[0] and _u32(b, o + 4, big) == words[1]:
            _stop(state, NEXT_FILE, 0, 0)
            break
        if order == 1 or (order == 2 and first > second):
            first, second = second, first
        if first > limit:
            _stop(state, TOO_LONG, first, limit)
            break
        if end - o - header_bytes < first:
            _stop(state, MORE, header_bytes + first, 0)
            break
        t_ns[n] = _u32(b, o, big) * 1_000_000_000 + _u32(b, o + 4, big) * ns_per_tick
        captured[n] = first
        length[n] = second
        position[n] = base + o + header_bytes
        o += header_bytes + first
        n += 1
    state[0] = o
    return n


@kernel()
def ticks_to_ns(high, low, kind, amount, offset_s):
    """Return whole nanoseconds since 1970 for a 64-bit tick count, NO_TIME where an int64 cannot hold them."""
    ticks = np.uint64(high) << np.uint64(32) | np.uint64(low)
    billion = np.uint64(1_000_000_000)
    if kind == MULTIPLY:
        per_second = billion // np.uint64(amount)
        seconds = ticks // per_second
        ns = (ticks % per_second) * np.uint64(amount)
    elif kind == DIVIDE:
        whole = ticks // np.uint64(amount) if amount != 0 else np.uint64(0)
        seconds = whole // billion
        ns = whole % billion
    elif amount < 32:
        seconds = ticks >> np.uint64(amount)
        ns = ((ticks & ((np.uint64(1) << np.uint64(amount)) - np.uint64(1))) * billion) >> np.uint64(amount)
    else:
        seconds = np.uint64(0)
        if amount < 64:
            seconds = ticks >> np.uint64(amount)
            ticks = ticks & ((np.uint64(1) << np.uint64(amount)) - np.uint64(1))
        ns = np.uint64(0)
        if amount < 95:
            upper = (ticks >> np.uint64(32)) * billion
            lower = (ticks & np.uint64(0xFFFFFFFF)) * billion
            ns = (upper + (lower >> np.uint64(32))) >> np.uint64(amount - 32)
    if seconds >> np.uint64(62):
        return NO_TIME
    total = np.int64(seconds) + offset_s
    if total > MAX_SECONDS or total < -MAX_SECONDS:
        return NO_TIME
    return total * 1_000_000_000 + np.int64(ns)


@kernel()
def _note_other(state: Array, kind: int) -> None:
    """Count a block without packets by its type; the last pair of state[4:] has type -1 and all that found no room."""
    for k in range(OTHER_TYPES):
        at = 4 + 2 * k
        if k == OTHER_TYPES - 1:
            state[at] = -1
        elif state[at + 1] == 0:
            state[at] = kind
        if state[at] == kind or state[at] == -1:
            state[at + 1] += 1
            return


@kernel()
def frame_pcapng(
    b: Array,
    start: int,
    end: int,
    base: int,
    big: bool,
    interfaces: Array,
    known: int,
    first: int,
    state: Array,
    t_ns: Array,
    length: Array,
    captured: Array,
    position: Array,
    interface: Array,
) -> int:
    """Write the packets of the blocks in b[start:end]; return their number.

    interfaces: int64 (>= known, 5), the rows of this section; first is the number of the section's interface 0 in the
    whole file. Section headers and interface descriptions are left to the caller (status SECTION, INTERFACE); a block
    that holds no packet is passed over, with SKIP where it reaches beyond `end`.
    """
    n, o = 0, start
    state[1] = OUT_FULL
    while n < len(t_ns):
        if end - o < 12:
            _stop(state, MORE, 12, 0)
            break
        kind = _u32(b, o, big)
        total = _u32(b, o + 4, big)
        if kind == SECTION_BLOCK:
            _stop(state, SECTION, total, 0)
            break
        if total < 12:
            _stop(state, BLOCK_TOO_SHORT, total, 12)
            break
        padded = (total + 3) & ~3
        packet = kind == ENHANCED_BLOCK or kind == PACKET_BLOCK or kind == SIMPLE_BLOCK
        if (packet or kind == INTERFACE_BLOCK) and padded > MAX_BLOCK_BYTES:
            _stop(state, BLOCK_TOO_LONG, total, MAX_BLOCK_BYTES)
            break
        smallest = 12
        if packet:
            smallest = 16 if kind == SIMPLE_BLOCK else 32
        elif kind == INTERFACE_BLOCK:
            smallest = 20
        if total < smallest:
            _stop(state, BLOCK_TOO_SHORT, total, smallest)
            break
        if end - o < padded:
            _stop(state, MORE if packet or kind == INTERFACE_BLOCK else SKIP, padded, 0)
            break
        trailer = _u32(b, o + padded - 4, big)
        if trailer != total:
            _stop(state, TRAILER_DIFFERS, total, trailer)
            break
        if kind == INTERFACE_BLOCK:
            _stop(state, INTERFACE, total, 0)
            break
        if packet:
            number = np.int64(0)
            if kind == ENHANCED_BLOCK:
                number = _u32(b, o + 8, big)
            elif kind == PACKET_BLOCK:
                pair = _u32(b, o + 8, big)
                number = pair >> 16 if big else pair & 0xFFFF
            if number >= known:
                _stop(state, NO_SUCH_INTERFACE, number, known)
                break
            if kind == SIMPLE_BLOCK:
                at = o + 12
                original = _u32(b, o + 8, big)
                included = min(original, total - 16)
                snaplen = interfaces[number, SNAPLEN]
                if snaplen > 0:
                    included = min(included, snaplen)
                time = NO_TIME
            else:
                at = o + 28
                included = _u32(b, o + 20, big)
                original = _u32(b, o + 24, big)
                time = ticks_to_ns(
                    _u32(b, o + 12, big),
                    _u32(b, o + 16, big),
                    interfaces[number, KIND],
                    interfaces[number, AMOUNT],
                    interfaces[number, OFFSET_S],
                )
            if included > interfaces[number, LIMIT]:
                _stop(state, TOO_LONG, included, interfaces[number, LIMIT])
                break
            if at + included > o + padded - 4:
                _stop(state, DATA_OVERRUNS, included, padded - 4 - (at - o))
                break
            t_ns[n] = time
            captured[n] = included
            length[n] = original
            position[n] = base + at
            interface[n] = first + number
            n += 1
        else:
            _note_other(state, kind)
        o += padded
    state[0] = o
    return n


@kernel()
def frame_erf(
    b: Array,
    start: int,
    end: int,
    base: int,
    subheaders: Array,
    interfaces: Array,
    state: Array,
    t_ns: Array,
    length: Array,
    captured: Array,
    position: Array,
    interface: Array,
) -> int:
    """Write the packets of the ERF records in b[start:end]; return their number.

    subheaders: int64 (128,) bytes between headers and packet by type; interfaces: int64 (128, 4) by type and port, -1
    where the caller must name one first (status INTERFACE, state[2] = 4 type + port). Times are rounded to the nearest
    nanosecond. Padding records (type 48) are passed over.
    """
    n, o = 0, start
    state[1] = OUT_FULL
    while n < len(t_ns):
        if end - o < 16:
            _stop(state, MORE, 16, 0)
            break
        kind = np.int64(b[o + 8]) & 0x7F
        size = np.int64(b[o + 10]) << 8 | np.int64(b[o + 11])
        smallest = 16 if kind == 48 else 17
        if size < smallest:
            _stop(state, RECORD_TOO_SHORT, size, smallest)
            break
        if end - o < size:
            _stop(state, MORE, size, 0)
            break
        if kind == 48:
            o += size
            continue
        at = 16
        more = b[o + 8] & 0x80
        while more and at + 8 <= size:
            more = b[o + at] & 0x80
            at += 8
        at += 8 if more else subheaders[kind]
        if at > size:
            _stop(state, RECORD_TOO_SHORT, size, at)
            break
        port = np.int64(b[o + 9]) & 3
        if interfaces[kind, port] < 0:
            _stop(state, INTERFACE, 4 * kind + port, 0)
            break
        wire = np.int64(b[o + 14]) << 8 | np.int64(b[o + 15])
        fraction = _u32(b, o, False) * 1_000_000_000
        t_ns[n] = _u32(b, o + 4, False) * 1_000_000_000 + (fraction >> 32) + (fraction >> 31 & 1)
        length[n] = wire
        captured[n] = min(wire, size - at)
        position[n] = base + o + at
        interface[n] = interfaces[kind, port]
        o += size
        n += 1
    state[0] = o
    return n
